//! One request over HTTP/2 from its head to the end of its stream: carrying out what its script says.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use serde_json::Value;
use tokio::sync::mpsc;

use super::frame::go_away;
use super::log::Journal;
use super::pipe::Order;
use super::script::{Ending, Interlude, LastStream, Script};
use crate::peer::{Mark, Rendered, Request};

/// How long a stalled stream is held.
const HOLD: Duration = Duration::from_secs(60);

/// Where a stream is served.
pub(super) struct Place {
    pub(super) journal: Arc<Journal>,
    pub(super) connection: usize,
    pub(super) orders: mpsc::UnboundedSender<Order>,
}

/// Serves a request. An error means that the client has reset the stream, or that the connection is gone.
pub(super) async fn serve(
    place: Place,
    request: http::Request<RecvStream>,
    respond: SendResponse<Bytes>,
) -> Result<(), h2::Error> {
    let stream = respond.stream_id().as_u32();
    let (head, mut body) = request.into_parts();
    let mut bytes = Vec::new();
    while let Some(data) = body.data().await {
        let data = data?;
        body.flow_control().release_capacity(data.len())?;
        bytes.extend_from_slice(&data);
    }
    let header = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let request = Request {
        http_method: head.method.to_string(),
        target: head.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
        headers: head.headers.iter().map(header).collect(),
        messages: match serde_json::from_slice(&bytes) {
            Ok(Value::Array(messages)) => messages,
            Ok(message) => vec![message],
            Err(_) => Vec::new(),
        },
        body: bytes,
        connection: place.connection,
        attempt: 0,
        executions: 0,
        earlier_call: None,
    };
    let (index, request, script) = place.journal.on_request(stream, request);
    let rendered = script.render(&request);
    let (place, script) = (&place, &script);
    let mut writer = Writer { place, stream, respond, sender: None, rendered, script, written: 0, has_ended: false };
    writer.run(index).await
}

struct Writer<'a> {
    place: &'a Place,
    stream: u32,
    respond: SendResponse<Bytes>,
    sender: Option<SendStream<Bytes>>,
    rendered: Rendered,
    script: &'a Script,
    /// Bytes of the rendered response that were written; those of the head come all at once.
    written: usize,
    /// Whether END_STREAM was written with the last of the body.
    has_ended: bool,
}

impl Writer<'_> {
    async fn run(&mut self, index: usize) -> Result<(), h2::Error> {
        let (at, ending) = &self.script.ending;
        let end = at.resolve(&self.rendered);
        let mut interludes: Vec<_> =
            self.script.interludes.iter().map(|(at, interlude)| (at.resolve(&self.rendered), interlude)).collect();
        interludes.retain(|(offset, _)| *offset <= end);
        interludes.sort_by_key(|(offset, _)| *offset);
        for (offset, interlude) in interludes {
            self.write(offset).await?;
            match interlude {
                Interlude::Wait(gate) => gate.wait().await,
                Interlude::GoAway(last, reason) => {
                    let last = match last {
                        LastStream::Below => self.stream.saturating_sub(2),
                        LastStream::This => self.stream,
                        LastStream::Above => i32::MAX as u32,
                    };
                    self.order(Order::Add(go_away(last, *reason)));
                }
            }
        }
        self.write(end).await?;
        self.place.journal.on_done(index);
        self.end(ending).await
    }

    fn order(&self, order: Order) {
        // Fails only if the connection is gone.
        let _ = self.place.orders.send(order);
    }

    /// Puts the response on the wire up to this offset, and waits until it is there.
    async fn write(&mut self, up_to: usize) -> Result<(), h2::Error> {
        let head_len = self.rendered.head_len;
        if up_to < head_len {
            return Ok(());
        }
        let is_all = up_to == self.rendered.bytes.len() && self.script.ending.1 == Ending::EndStream;
        let ends_with_data = is_all && self.script.ends_in_last_frame && up_to > self.written.max(head_len);
        if self.sender.is_none() {
            let head = head_of(&self.rendered, self.script.declares_length);
            self.sender = Some(self.respond.send_response(head, false)?);
            self.written = head_len;
        }
        let Some(sender) = &mut self.sender else {
            return Ok(());
        };
        while self.written < up_to {
            let size = frame_size(self.script, &self.rendered, self.written).min(up_to - self.written);
            let data = Bytes::copy_from_slice(&self.rendered.bytes[self.written..self.written + size]);
            self.written += size;
            self.has_ended = ends_with_data && self.written == up_to;
            send(sender, data, self.has_ended).await?;
        }
        let (connection, stream, bytes) = (self.place.connection, self.stream, self.written - head_len);
        let has_head = |log: &super::Log| {
            log.connections[connection].sent.iter().any(|frame| frame.stream == stream)
                && log.sent_data(connection, stream) >= bytes
        };
        self.place.journal.until(has_head).await;
        Ok(())
    }

    async fn end(&mut self, ending: &Ending) -> Result<(), h2::Error> {
        match ending {
            Ending::EndStream => match &mut self.sender {
                Some(sender) if !self.has_ended => sender.send_data(Bytes::new(), true),
                _ => Ok(()),
            },
            Ending::ResetStream(reason) => {
                match &mut self.sender {
                    Some(sender) => sender.send_reset(*reason),
                    None => self.respond.send_reset(*reason),
                }
                Ok(())
            }
            Ending::Close(hangup) => {
                self.order(Order::Close(*hangup));
                self.hold().await
            }
            Ending::Stall => self.hold().await,
            Ending::Repeat(bytes) => {
                let Some(sender) = &mut self.sender else {
                    return Ok(());
                };
                loop {
                    send(sender, Bytes::copy_from_slice(bytes), false).await?;
                }
            }
        }
    }

    /// Waits for the client to reset the stream.
    async fn hold(&mut self) -> Result<(), h2::Error> {
        let (sender, respond) = (&mut self.sender, &mut self.respond);
        let reset = poll_fn(|context| match sender {
            Some(sender) => sender.poll_reset(context),
            None => respond.poll_reset(context),
        });
        tokio::time::timeout(HOLD, reset).await.map_or(Ok(()), |reset| reset.map(drop))
    }
}

/// Gives the bytes to h2 as the client's window lets them go.
async fn send(sender: &mut SendStream<Bytes>, mut data: Bytes, ends: bool) -> Result<(), h2::Error> {
    while !data.is_empty() {
        sender.reserve_capacity(data.len());
        while sender.capacity() == 0 {
            // `None`: the stream is closed.
            match poll_fn(|context| sender.poll_capacity(context)).await {
                Some(capacity) => capacity?,
                None => return Err(Reason::CANCEL.into()),
            };
        }
        let piece = data.split_to(data.len().min(sender.capacity()));
        sender.send_data(piece, ends && data.is_empty())?;
    }
    Ok(())
}

/// How many bytes go into the DATA frame that begins at this offset of the rendered response.
fn frame_size(script: &Script, rendered: &Rendered, offset: usize) -> usize {
    if let Some(last) = script.frame_sizes.last() {
        let mut ends = rendered.head_len;
        let mut sizes = script.frame_sizes.iter().chain(std::iter::repeat(last));
        while ends <= offset {
            ends += sizes.next().unwrap_or(last);
        }
        return ends - offset;
    }
    let is_block_end = |mark: &(Mark, usize)| matches!(mark, (Mark::BlockEnd(_), end) if *end > offset);
    let block_end = rendered.marks().iter().filter(|mark| is_block_end(mark)).map(|(_, end)| *end).min();
    block_end.unwrap_or(rendered.bytes.len()) - offset
}

/// The head as HTTP/2 has it: without what frames HTTP/1.1.
fn head_of(rendered: &Rendered, declares_length: Option<isize>) -> http::Response<()> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut parsed = httparse::Response::new(&mut headers);
    // A head that was written by hand may be no head; the test sees a status that it did not ask for.
    let _ = parsed.parse(&rendered.bytes[..rendered.head_len]);
    let mut head = http::Response::builder().status(parsed.code.unwrap_or(599));
    let framing = ["connection", "transfer-encoding", "content-length"];
    for header in parsed.headers.iter().filter(|it| !framing.contains(&it.name.to_ascii_lowercase().as_str())) {
        head = head.header(header.name.to_ascii_lowercase(), header.value);
    }
    if let Some(difference) = declares_length {
        let length = (rendered.bytes.len() - rendered.head_len).saturating_add_signed(difference);
        head = head.header("content-length", length);
    }
    head.body(()).unwrap_or_default()
}
