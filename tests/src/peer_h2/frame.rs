//! The frames of HTTP/2 as they lie on the wire (RFC 9113, section 4.1): cutting bytes into them, and the few that are made here.

use std::fmt;

use h2::Reason;

/// What a client sends before its first frame.
const PREFACE_BYTES: usize = 24;
const HEADER_BYTES: usize = 9;

/// The types of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// DATA.
    Data,
    /// HEADERS.
    Headers,
    /// RST_STREAM.
    ResetStream,
    /// SETTINGS.
    Settings,
    /// PING.
    Ping,
    /// GOAWAY.
    GoAway,
    /// WINDOW_UPDATE.
    WindowUpdate,
    /// Any other.
    Other(u8),
}

/// One frame, without its payload.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Its type.
    pub kind: FrameKind,
    /// Its flags, as they are.
    pub flags: u8,
    /// Its stream; 0 is the connection.
    pub stream: u32,
    /// The length of its payload, in bytes.
    pub length: usize,
    /// The reason of RST_STREAM and GOAWAY.
    pub reason: Option<Reason>,
}

impl Frame {
    /// Whether it ends its stream (END_STREAM).
    pub fn ends_stream(&self) -> bool {
        matches!(self.kind, FrameKind::Data | FrameKind::Headers) && self.flags & 1 != 0
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({}, {} bytes, flags {})", self.kind, self.stream, self.length, self.flags)?;
        self.reason.map_or(Ok(()), |reason| write!(f, " {reason:?}"))
    }
}

/// Cuts bytes into frames, wherever they are cut on the way.
#[derive(Default)]
pub(super) struct Frames {
    buffer: Vec<u8>,
    preface_left: usize,
}

impl Frames {
    /// Of a client: the preface comes first and is no frame.
    pub(super) fn of_client() -> Self {
        Self { buffer: Vec::new(), preface_left: PREFACE_BYTES }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole frame and its bytes.
    pub(super) fn next(&mut self) -> Option<(Frame, Vec<u8>)> {
        let preface = self.preface_left.min(self.buffer.len());
        self.buffer.drain(..preface);
        self.preface_left -= preface;
        let header = self.buffer.get(..HEADER_BYTES)?;
        let length = usize::from(header[0]) << 16 | usize::from(header[1]) << 8 | usize::from(header[2]);
        if self.buffer.len() < HEADER_BYTES + length {
            return None;
        }
        let bytes: Vec<u8> = self.buffer.drain(..HEADER_BYTES + length).collect();
        Some((read(&bytes), bytes))
    }
}

fn number_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn read(bytes: &[u8]) -> Frame {
    let kind = match bytes[3] {
        0 => FrameKind::Data,
        1 => FrameKind::Headers,
        3 => FrameKind::ResetStream,
        4 => FrameKind::Settings,
        6 => FrameKind::Ping,
        7 => FrameKind::GoAway,
        8 => FrameKind::WindowUpdate,
        other => FrameKind::Other(other),
    };
    let reason = match kind {
        FrameKind::ResetStream => number_at(bytes, HEADER_BYTES),
        FrameKind::GoAway => number_at(bytes, HEADER_BYTES + 4),
        _ => None,
    };
    Frame {
        kind,
        flags: bytes[4],
        stream: number_at(bytes, 5).unwrap_or_default() & 0x7fff_ffff,
        length: bytes.len() - HEADER_BYTES,
        reason: reason.map(Reason::from),
    }
}

/// A GOAWAY.
pub(super) fn go_away(last_stream: u32, reason: Reason) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, 7, 0, 0, 0, 0, 0];
    bytes.extend(last_stream.to_be_bytes());
    bytes.extend(u32::from(reason).to_be_bytes());
    bytes
}
