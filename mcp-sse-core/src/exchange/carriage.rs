//! What whoever counts the bytes of an HTTP/1.1 connection sees of one request and its response, as facts for the exchange.
//!
//! Rules: bytes can be taken long before they are written, by TLS or by a buffer, and the network writes bytes that are no
//! part of a request; only the two together tell that it is on its way. Nothing here knows a socket.

use memchr::memchr;

use super::{BreakKind, Exchange, Misuse, State};
use crate::http::ChunkedResponse;
use crate::time::Timestamp;

/// How far one request is written over an HTTP/1.1 connection, and how far its response is read. Made by
/// [`default`](Self::default) it is of a connection without a request, and tells nothing of being written.
///
/// ```
/// use mcp_sse_core::Timestamp;
/// use mcp_sse_core::exchange::{Carriage, Exchange, ExchangeConfig, Exposure, Request};
///
/// let now = Timestamp::ZERO;
/// let mut exchange = Exchange::new(&Request::new("tools/list").with_id(7), ExchangeConfig::default(), now);
/// exchange.on_connected(now)?;
/// let mut carriage = Carriage::of_request(2);
/// carriage.on_taken(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{");
/// carriage.tell(&mut exchange, now);
/// assert_eq!(exchange.exposure(), Exposure::Unsent, "TLS may hold all of it");
/// carriage.on_written(100);
/// carriage.on_flushed();
/// carriage.tell(&mut exchange, now);
/// assert_eq!(exchange.exposure(), Exposure::PartlySent);
/// carriage.on_taken(b"}");
/// carriage.on_flushed();
/// carriage.tell(&mut exchange, now);
/// assert_eq!(exchange.exposure(), Exposure::Sent);
/// # Ok::<(), mcp_sse_core::exchange::Misuse>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Carriage {
    is_of_request: bool,
    is_taken: bool,
    is_written: bool,
    is_sent: bool,
    /// So many bytes of the empty line that ends the request's head were taken, and so many of its body are not yet.
    head_end: usize,
    body_left: usize,
    end: Option<BreakKind>,
    response: ChunkedResponse,
}

/// What ends a head, its last line's end included.
const HEAD_END: &[u8] = b"\r\n\r\n";

impl Carriage {
    /// Of a request that begins, the only one on its connection for now, with a body of this size.
    #[must_use]
    pub fn of_request(body_bytes: usize) -> Self {
        Self { is_of_request: true, body_left: body_bytes, ..Self::default() }
    }

    /// These bytes of the request were taken from whoever makes them. True if they are the first.
    pub fn on_taken(&mut self, mut bytes: &[u8]) -> bool {
        let is_first = !self.is_taken && !bytes.is_empty();
        self.is_taken |= is_first;
        // Most are taken at once. Wherever the head may have ended before, no less of the body follows.
        let head = bytes.len().checked_sub(self.body_left).and_then(|end| bytes.get(..end));
        if self.head_end < HEAD_END.len() && head.is_some_and(|head| head.ends_with(HEAD_END)) {
            (self.head_end, self.body_left) = (HEAD_END.len(), 0);
            return is_first;
        }
        while let Some(expected) = HEAD_END.get(self.head_end) {
            if self.head_end == 0 {
                // Nothing else begins it.
                bytes = bytes.get(memchr(b'\r', bytes).unwrap_or(bytes.len())..).unwrap_or_default();
            }
            let Some((byte, rest)) = bytes.split_first() else {
                break;
            };
            self.head_end = match byte {
                byte if byte == expected => self.head_end + 1,
                b'\r' => 1,
                _ => 0,
            };
            bytes = rest;
        }
        self.body_left = self.body_left.saturating_sub(bytes.len());
        is_first
    }

    /// The network took so many bytes, whatever they were.
    pub const fn on_written(&mut self, bytes: usize) {
        self.is_written |= bytes > 0;
    }

    /// The network took all that was taken so far.
    pub const fn on_flushed(&mut self) {
        let is_whole = self.head_end == HEAD_END.len() && self.body_left == 0;
        self.is_sent |= is_whole && self.has_begun();
    }

    /// Bytes of the response were read.
    pub fn on_read(&mut self, bytes: &[u8]) {
        self.response.follow(bytes);
    }

    /// The other side ended, in this way.
    pub const fn on_end(&mut self, kind: BreakKind) {
        self.end = Some(kind);
    }

    /// Whether a request waits, and nothing of it was taken yet.
    #[must_use]
    pub const fn is_waiting(&self) -> bool {
        self.is_of_request && !self.is_taken
    }

    /// Whether the network took any byte of the request.
    #[must_use]
    pub const fn has_begun(&self) -> bool {
        self.is_of_request && self.is_taken && self.is_written
    }

    /// Whether the network took all of it.
    #[must_use]
    pub const fn is_sent(&self) -> bool {
        self.is_sent
    }

    /// How the other side ended, once it has.
    #[must_use]
    pub const fn end(&self) -> Option<BreakKind> {
        self.end
    }

    /// Tells how far the request is written. What was told before means nothing a second time.
    pub fn tell(&self, exchange: &mut Exchange, now: Timestamp) {
        if exchange.state() == State::Sent {
            // All of that is known, and nothing that comes later.
            return;
        }
        if self.has_begun() {
            exchange.on_sending(now).ok();
        }
        if self.is_sent {
            exchange.on_sent(now).ok();
        }
    }

    /// Tells of a body that failed although no frame of it was malformed: by the connection's end, or, if it has none, by
    /// its framing.
    ///
    /// # Errors
    /// [`Misuse`] after the exchange's end.
    pub fn tell_end(&self, exchange: &mut Exchange, now: Timestamp) -> Result<(), Misuse> {
        let kind = self.end.unwrap_or(BreakKind::Malformed);
        exchange.on_connection_end(kind, self.response.is_complete(), now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &[u8] = b"POST /\r\r\n HTTP/1.1\r\nContent-Length: 5\r\r\n\r\n\r\n\r\n!";

    /// E1: wherever the request is cut, it is sent once its last byte was written, and not before.
    #[test]
    fn a_request_is_sent_with_its_last_byte_however_it_is_cut() {
        for size in 1..=REQUEST.len() {
            let mut carriage = Carriage::of_request(5);
            let mut taken = 0;
            for piece in REQUEST.chunks(size) {
                assert_eq!(carriage.on_taken(piece), taken == 0);
                taken += piece.len();
                carriage.on_written(piece.len());
                carriage.on_flushed();
                assert!(carriage.has_begun());
                assert_eq!(carriage.is_sent(), taken == REQUEST.len(), "{taken} bytes in pieces of {size}");
            }
        }
    }

    /// E1, E5: what a carriage tells is how far the exchange takes the request to have got.
    #[test]
    fn the_exchange_is_told_how_far_the_request_is_written() {
        use crate::exchange::{ExchangeConfig, Exposure, Request};
        let now = Timestamp::ZERO;
        let mut exchange = Exchange::new(&Request::new("tools/list").with_id(7), ExchangeConfig::default(), now);
        exchange.on_connected(now).unwrap();
        let mut carriage = Carriage::of_request(1);
        for (bytes, exposure) in [(&b"POST / HTTP/1.1\r\n\r\n"[..], Exposure::PartlySent), (b"!", Exposure::Sent)] {
            carriage.on_taken(bytes);
            carriage.on_written(bytes.len());
            carriage.on_flushed();
            carriage.tell(&mut exchange, now);
            assert_eq!(exchange.exposure(), exposure);
        }
    }

    /// E8: behind the last chunk the connection may end without TLS's alert; before it that is a break.
    #[test]
    fn e8_an_end_behind_the_last_chunk_is_no_break() {
        use crate::exchange::{Cause, ExchangeConfig, ExchangeEvent, Request, Verdict};
        let now = Timestamp::ZERO;
        for (response, is_whole) in [("0\r\n\r\n", true), ("5\r\n: ok", false)] {
            let mut exchange = Exchange::new(&Request::new("tools/list").with_id(7), ExchangeConfig::default(), now);
            let headers = [("Content-Type", "text/event-stream"), ("Transfer-Encoding", "chunked")];
            exchange.on_head(&crate::http::ResponseHead::from_headers(200, headers), now).unwrap();
            let mut carriage = Carriage::of_request(0);
            carriage.on_read(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
            carriage.on_read(response.as_bytes());
            carriage.on_end(BreakKind::TlsTruncated);
            carriage.tell_end(&mut exchange, now).unwrap();
            let Some(ExchangeEvent::Ended(Verdict::Reissue { cause, .. })) = exchange.poll_event() else {
                panic!("it is lost");
            };
            assert_eq!(cause == Cause::Ended, is_whole, "{cause:?}");
        }
    }

    #[test]
    fn what_the_network_takes_is_no_request_unless_one_was_taken() {
        let mut carriage = Carriage::of_request(0);
        carriage.on_written(100);
        carriage.on_flushed();
        assert!(carriage.is_waiting() && !carriage.has_begun() && !carriage.is_sent());
        let mut idle = Carriage::default();
        idle.on_taken(REQUEST);
        idle.on_written(REQUEST.len());
        idle.on_flushed();
        assert!(!idle.is_waiting() && !idle.has_begun() && !idle.is_sent());
    }
}
