//! A response's body on its way to messages: coding undone, then JSON collected or events decoded.
//!
//! Rules: work goes on in pieces until one item is ready, so that queues stay bounded whatever the chunk; a
//! bound is checked before bytes are kept. What an item means for the exchange is not decided here.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::outcome::SizeLimit;
use super::request::Cursor;
use super::salvage::{self, ENDPOINT, Item, Items, MESSAGE};
use super::state::BodyKind;
#[cfg(feature = "gzip")]
use crate::http::{CodingError, ContentCoding, GZIP_MAGIC, InflateEnd, Inflater, Progress};
use crate::http::{MediaType, ResponseHead};
use crate::limits::Limits;
use crate::sse::{DecodeError, DecoderConfig, Part, SseDecoder};

/// Why a body cannot be read on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// The coded data is corrupt (E13).
    #[cfg_attr(not(feature = "gzip"), expect(dead_code, reason = "without inflating, nothing is found corrupt"))]
    Corrupt,
    /// A limit on the body as a whole was passed (E13, E14).
    TooLarge { which: SizeLimit, limit: u64 },
    /// A body without a media type is neither JSON nor an event stream, or not the one that will do (E24).
    NeitherKind,
    /// Enough of a failed response's body was kept (E18).
    ExcerptFull,
}

/// What was passed over without a word to the caller, for diagnosis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ignored {
    /// Events of other types than `message`, and events without data.
    pub events: u64,
    /// Events whose data is no JSON-RPC message, and repeated answers.
    pub messages: u64,
    /// On a 2024-11-05 channel: `endpoint` events after the first, which are not obeyed (H2).
    pub endpoints: u64,
    /// On a 2024-11-05 channel: `message` events before the first `endpoint`, which are refused (H2).
    pub early_messages: u64,
}

/// How a body is to be read.
#[derive(Clone, Debug, Default)]
pub(super) struct Manner {
    /// The status is one of failure: the body is of use for an excerpt and a JSON-RPC error.
    pub(super) is_failed: bool,
    /// Arrays of messages are read (E25).
    pub(super) arrays: bool,
    /// Only an event stream will do.
    pub(super) streams_only: bool,
    /// `endpoint` events mean something.
    pub(super) endpoints: bool,
    /// Event ids are kept (E26).
    pub(super) tracks_cursor: bool,
    /// Where the stream begins.
    pub(super) cursor: Option<String>,
}

/// How the body's bytes are read.
enum Content {
    EventStream(Box<SseDecoder>),
    Json(Vec<u8>),
    /// No media type was given: the bytes before the first one that tells (E24).
    Untold(Vec<u8>),
    /// The body of a failed response, of no use but for its excerpt.
    Opaque,
}

enum Coding {
    Identity,
    /// Uncoded by its head, but gzip tells itself by its first two bytes (E13); the first has come.
    #[cfg(feature = "gzip")]
    FirstByte {
        held: bool,
    },
    #[cfg(feature = "gzip")]
    Inflate(Box<Inflating>),
}

#[cfg(feature = "gzip")]
struct Inflating {
    inflater: Inflater,
    piece: Vec<u8>,
    taken: usize,
    error: Option<CodingError>,
}

/// The body of one response.
pub(super) struct Body {
    coding: Coding,
    reader: Reader,
    queued: Items,
    /// Bytes of the body as they came, before inflating.
    pub(super) received: u64,
}

/// The part of a body behind its coding.
struct Reader {
    content: Content,
    /// Its cursor is the newest usable event id.
    manner: Manner,
    limits: Limits,
    /// The first bytes of a failed response's body.
    excerpt: Option<Vec<u8>>,
    /// Whether the last event changed the cursor.
    has_new_id: bool,
    /// The last `retry`, as of the end: what cuts a line short is no directive.
    retry_at_end: Option<Option<Duration>>,
    ignored: Ignored,
}

impl Body {
    /// A body under `head`.
    pub(super) fn new(head: &ResponseHead, manner: Manner, limits: &Limits) -> Self {
        let content = match head.media_type() {
            MediaType::EventStream => Content::EventStream(Box::new(decoder(limits, manner.tracks_cursor))),
            MediaType::Json => Content::Json(Vec::new()),
            _ => Content::Untold(Vec::new()),
        };
        Self {
            coding: Coding::of(head, limits),
            reader: Reader {
                content,
                limits: limits.clone(),
                excerpt: manner.is_failed.then(Vec::new),
                manner,
                has_new_id: false,
                retry_at_end: None,
                ignored: Ignored::default(),
            },
            queued: Items::default(),
            received: 0,
        }
    }

    /// Takes from the front of `input` until an item is ready or nothing is left.
    #[inline]
    pub(super) fn feed(&mut self, input: &mut &[u8]) -> Result<Option<Item>, Fault> {
        if !self.queued.is_empty() {
            return Ok(self.queued.next());
        }
        let before = input.len();
        let result = self.advance(input);
        self.received = self.received.saturating_add((before - input.len()) as u64);
        result
    }

    /// Whether an item may come without further bytes.
    pub(super) const fn may_hold_more(&self) -> bool {
        match &self.coding {
            #[cfg(feature = "gzip")]
            Coding::Inflate(_) => true,
            _ => !self.queued.is_empty(),
        }
    }

    #[inline]
    fn advance(&mut self, input: &mut &[u8]) -> Result<Option<Item>, Fault> {
        match &mut self.coding {
            Coding::Identity => self.reader.read(input, &mut self.queued),
            #[cfg(feature = "gzip")]
            Coding::FirstByte { .. } => self.look_for_gzip(input),
            #[cfg(feature = "gzip")]
            Coding::Inflate(inflating) => inflating.advance(input, &mut self.reader, &mut self.queued),
        }
    }

    #[cfg(feature = "gzip")]
    fn look_for_gzip(&mut self, input: &mut &[u8]) -> Result<Option<Item>, Fault> {
        let [first, second] = GZIP_MAGIC;
        while let Coding::FirstByte { held } = &mut self.coding {
            match (*held, input.split_first()) {
                (_, None) => return Ok(None),
                (false, Some((byte, rest))) if *byte == first => {
                    *held = true;
                    *input = rest;
                }
                (false, Some(_)) => self.coding = Coding::Identity,
                (true, Some((byte, _))) => {
                    let gzip = if *byte == second { ContentCoding::Gzip } else { ContentCoding::Identity };
                    self.coding = Coding::undoing(gzip, &self.reader.limits);
                    let item = self.advance(&mut &[first][..])?;
                    if item.is_some() {
                        return Ok(item);
                    }
                }
            }
        }
        self.advance(input)
    }

    /// Says that no more bytes come, however that is: whether the coded data is short (E13).
    pub(super) fn is_coding_short(&self) -> bool {
        match &self.coding {
            #[cfg(feature = "gzip")]
            Coding::Inflate(inflating) => inflating.inflater.end() == InflateEnd::Short,
            _ => false,
        }
    }

    /// The items of a JSON body, judged as it stands now; empty for other bodies.
    pub(super) fn take_json(&mut self) -> Items {
        let wants_stream = self.reader.wants_stream();
        match &mut self.reader.content {
            _ if wants_stream => Items::default(),
            Content::Json(bytes) | Content::Untold(bytes) => {
                salvage::read_json(core::mem::take(bytes), self.reader.manner.arrays)
            }
            _ => Items::default(),
        }
    }

    /// The items of an event stream's unfinished last event (E9); empty for other bodies.
    pub(super) fn take_tail(&mut self) -> Items {
        self.reader.has_new_id = false;
        match &mut self.reader.content {
            Content::EventStream(decoder) => {
                self.reader.retry_at_end = Some(decoder.retry());
                salvage::read_tail(decoder, self.reader.manner.arrays)
            }
            _ => Items::default(),
        }
    }

    pub(super) fn kind(&self) -> BodyKind {
        match &self.reader.content {
            _ if self.reader.excerpt.is_some() => BodyKind::Failed,
            Content::EventStream(_) => BodyKind::EventStream,
            Content::Untold(_) if self.reader.manner.streams_only && self.received > 0 => BodyKind::EventStream,
            _ if self.reader.manner.streams_only => BodyKind::Untold,
            _ => BodyKind::Json,
        }
    }

    pub(super) fn cursor(&self) -> Option<&str> {
        self.reader.manner.cursor.as_deref()
    }

    /// Whether the event that the last item came in has a usable id of its own, and a new one (F11).
    pub(super) const fn has_new_id(&self) -> bool {
        self.reader.has_new_id
    }

    /// The stream's last event id, usable or not.
    pub(super) fn last_event_id(&self) -> &str {
        match &self.reader.content {
            Content::EventStream(decoder) => decoder.last_event_id(),
            _ => "",
        }
    }

    pub(super) fn retry(&self) -> Option<Duration> {
        match &self.reader.content {
            Content::EventStream(decoder) => self.reader.retry_at_end.unwrap_or_else(|| decoder.retry()),
            _ => None,
        }
    }

    pub(super) fn excerpt(&self) -> &[u8] {
        self.reader.excerpt.as_deref().unwrap_or_default()
    }

    pub(super) fn ignored(&self) -> Ignored {
        self.reader.ignored
    }

    pub(super) fn ignored_mut(&mut self) -> &mut Ignored {
        &mut self.reader.ignored
    }

    /// Bytes kept, within the limits; a piece of inflated bytes (32 KiB) comes on top.
    pub(super) fn held_bytes(&self) -> usize {
        let content = match &self.reader.content {
            Content::EventStream(decoder) => decoder.held_bytes(),
            Content::Json(bytes) | Content::Untold(bytes) => bytes.len(),
            Content::Opaque => 0,
        };
        content + self.queued.held_bytes() + self.excerpt().len() + self.cursor().map_or(0, str::len)
    }
}

impl Coding {
    #[cfg(feature = "gzip")]
    fn of(head: &ResponseHead, limits: &Limits) -> Self {
        match head.content_coding() {
            ContentCoding::Identity => Self::FirstByte { held: false },
            coding => Self::undoing(coding, limits),
        }
    }

    #[cfg(feature = "gzip")]
    fn undoing(coding: ContentCoding, limits: &Limits) -> Self {
        Inflater::new(coding, limits.max_inflated_bytes)
            .map_or(Self::Identity, |inflater| Self::Inflate(Inflating::new(inflater)))
    }

    #[cfg(not(feature = "gzip"))]
    const fn of(_: &ResponseHead, _: &Limits) -> Self {
        Self::Identity
    }
}

#[cfg(feature = "gzip")]
impl Inflating {
    fn new(inflater: Inflater) -> Box<Self> {
        Box::new(Self { inflater, piece: Vec::new(), taken: 0, error: None })
    }

    fn advance(&mut self, input: &mut &[u8], reader: &mut Reader, queued: &mut Items) -> Result<Option<Item>, Fault> {
        loop {
            let mut rest = self.piece.get(self.taken..).unwrap_or_default();
            if !rest.is_empty() {
                let before = rest.len();
                let result = reader.read(&mut rest, queued);
                self.taken += before - rest.len();
                let item = result?;
                if item.is_some() {
                    return Ok(item);
                }
                continue;
            }
            if let Some(error) = self.error {
                return Err(match error {
                    CodingError::TooLarge { limit } => Fault::TooLarge { which: SizeLimit::Inflated, limit },
                    _ => Fault::Corrupt,
                });
            }
            self.piece.clear();
            self.taken = 0;
            match self.inflater.inflate(input, &mut self.piece) {
                Ok(Progress::NeedInput) if self.piece.is_empty() => return Ok(None),
                Ok(_) => {}
                // What was inflated before the fault is good.
                Err(error) => self.error = Some(error),
            }
        }
    }
}

impl Reader {
    /// Whether nothing but an event stream will do.
    const fn wants_stream(&self) -> bool {
        self.manner.streams_only && !self.manner.is_failed
    }

    /// Takes from the front of `bytes` until an item is found or nothing is left. What more came with it is queued.
    #[inline]
    fn read(&mut self, bytes: &mut &[u8], queued: &mut Items) -> Result<Option<Item>, Fault> {
        match &self.content {
            Content::EventStream(_) if self.excerpt.is_none() => Ok(self.read_events(bytes, queued)),
            _ => self.read_other(bytes, queued),
        }
    }

    /// The same of any content, while its first bytes are kept if they are to be.
    fn read_other(&mut self, bytes: &mut &[u8], queued: &mut Items) -> Result<Option<Item>, Fault> {
        let whole = *bytes;
        let result = self.read_content(bytes, queued);
        if let Some(excerpt) = &mut self.excerpt {
            // A fault is the end: what it came with still belongs to the first bytes.
            let taken = if result.is_err() { whole.len() } else { whole.len() - bytes.len() };
            let room = self.limits.max_excerpt_bytes.saturating_sub(excerpt.len());
            excerpt.extend_from_slice(whole.get(..taken.min(room)).unwrap_or_default());
            let is_full = excerpt.len() >= self.limits.max_excerpt_bytes;
            if is_full && matches!(self.content, Content::Opaque) {
                return Err(Fault::ExcerptFull);
            }
        }
        result
    }

    fn read_content(&mut self, bytes: &mut &[u8], queued: &mut Items) -> Result<Option<Item>, Fault> {
        if let Content::Untold(held) = &mut self.content {
            let told = match first_telling(held, bytes) {
                Some(told) => told,
                // So much white space is no JSON that anybody writes; an event stream does not mind it.
                None if held.len() + bytes.len() >= MAX_UNTOLD_BYTES => Telling::Other,
                None => {
                    held.extend_from_slice(bytes);
                    *bytes = &[];
                    return Ok(None);
                }
            };
            let held = core::mem::take(held);
            self.content = match (told, self.excerpt.is_some()) {
                (Telling::Json, _) if self.wants_stream() => return Err(Fault::NeitherKind),
                (Telling::Json, _) => Content::Json(Vec::new()),
                (_, true) => Content::Opaque,
                (Telling::Markup, false) => return Err(Fault::NeitherKind),
                (Telling::Other, false) => {
                    Content::EventStream(Box::new(decoder(&self.limits, self.manner.tracks_cursor)))
                }
            };
            // White space and a BOM alone complete nothing, so this finds no item and takes all.
            self.read_told(&mut held.as_slice(), queued)?;
        }
        self.read_told(bytes, queued)
    }

    fn read_told(&mut self, bytes: &mut &[u8], queued: &mut Items) -> Result<Option<Item>, Fault> {
        match &mut self.content {
            Content::Json(body) => {
                let limit = self.limits.max_json_bytes;
                if bytes.len() > limit.saturating_sub(body.len()) {
                    return Err(Fault::TooLarge { which: SizeLimit::JsonBody, limit: limit as u64 });
                }
                body.extend_from_slice(bytes);
                *bytes = &[];
            }
            Content::EventStream(_) => return Ok(self.read_events(bytes, queued)),
            Content::Opaque => *bytes = &[],
            Content::Untold(_) => {}
        }
        Ok(None)
    }

    /// Events, blocks and errors of an event stream, up to the first that is an item.
    fn read_events(&mut self, bytes: &mut &[u8], queued: &mut Items) -> Option<Item> {
        let Content::EventStream(decoder) = &mut self.content else {
            return None;
        };
        while !bytes.is_empty() {
            match decoder.decode_part(bytes) {
                Ok(None) => {}
                Ok(Some(Part::Event(event))) => {
                    if self.manner.tracks_cursor {
                        self.has_new_id = keep_cursor(&mut self.manner.cursor, event.last_event_id());
                    }
                    if event.kind() == MESSAGE && !event.data().is_empty() {
                        // So most messages begin, and need no second look.
                        if event.data().starts_with('{') {
                            return Some(salvage::read_object(event));
                        }
                        *queued = salvage::read_items(event, self.manner.arrays);
                        if !queued.is_empty() {
                            return queued.next();
                        }
                    } else if self.manner.endpoints && event.kind() == ENDPOINT {
                        return Some(Item::Endpoint(event.into_data()));
                    } else {
                        // E23: another type, or a priming event.
                        self.ignored.events += 1;
                    }
                }
                Ok(Some(_)) => {
                    if self.manner.tracks_cursor {
                        keep_cursor(&mut self.manner.cursor, decoder.last_event_id());
                    }
                }
                Err(DecodeError::EventTooLarge { limit, .. }) => return Some(Item::Oversized(limit as u64)),
                Err(_) => self.ignored.events += 1,
            }
        }
        None
    }
}

/// The first byte that tells is looked for among so many, however the body is cut.
const MAX_UNTOLD_BYTES: usize = 4096;

/// What the first byte that is neither BOM nor white space says of a body without a media type (E24).
enum Telling {
    Json,
    Markup,
    Other,
}

fn first_telling(held: &[u8], bytes: &[u8]) -> Option<Telling> {
    const BOM: [u8; 3] = [0xEF, 0xBB, 0xBF];
    let mut all = held.iter().chain(bytes).copied().take(MAX_UNTOLD_BYTES).enumerate();
    let byte = all.find_map(|(at, byte)| {
        let is_bom = BOM.get(at) == Some(&byte) && held.iter().chain(bytes).zip(&BOM).take(at + 1).all(|(a, b)| a == b);
        (!is_bom && !matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).then_some(byte)
    })?;
    Some(match byte {
        b'{' | b'[' => Telling::Json,
        b'<' => Telling::Markup,
        _ => Telling::Other,
    })
}

/// E26: an id that can be a cursor takes the place of the previous one, which else stays; true if that changed it.
fn keep_cursor(cursor: &mut Option<String>, id: &str) -> bool {
    let is_new = Cursor::can_be(id) && cursor.as_deref() != Some(id);
    if is_new {
        *cursor = Some(String::from(id));
    }
    is_new
}

fn decoder(limits: &Limits, shows_blocks: bool) -> SseDecoder {
    SseDecoder::with_config(
        DecoderConfig::default()
            .with_max_event_bytes(limits.max_event_bytes)
            .with_max_id_bytes(limits.max_id_bytes)
            .with_max_kind_bytes(limits.max_kind_bytes)
            .with_blocks(shows_blocks),
    )
}
