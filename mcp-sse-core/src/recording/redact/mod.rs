//! The same recording with less shown.
//!
//! Lives here: what is redacted of which line, and the proof that it tells the same. `json` redacts a JSON text, `stream` an
//! event stream, `coded` a gzip body, `filler` has what stands for a string. Rules: every redacted text has the size of its original;
//! what is redacted is replayed before it is given out, and if it tells another story all payloads are withheld. The query
//! of a URL and session ids are gone in every recording.

#[cfg(feature = "gzip")]
mod coded;
mod filler;
mod json;
mod stream;

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use filler::Fillers;
use json::Place;

use super::input::{Input, head};
use super::replay::{ReplayError, Replayed, Sameness, play};
use super::{Bodies, Recording, without_query};
use crate::client::Endpoint;
use crate::http::{ContentCoding, MediaType, ResponseHead};
use crate::tape::{Line, checksum};

pub(super) fn with_bodies(recording: &Recording, bodies: Bodies) -> Recording {
    let mut shown = recording.clone();
    if let Some((_, url)) = shown.subject.arguments.first_mut().filter(|_| recording.subject.word == "client") {
        *url = without_query(url);
    }
    match bodies {
        _ if recording.bodies == bodies => shown,
        Bodies::Whole => shown,
        Bodies::Redacted => {
            redacted(&shown).filter(|redacted| unreadable(redacted).is_none()).unwrap_or_else(|| sized(shown))
        }
        Bodies::Sized => sized(shown),
    }
}

/// The first line that could not be read again: one that somebody wrote by hand, and that what was hidden made into none.
fn unreadable(recording: &Recording) -> Option<usize> {
    let of_client = recording.subject.word == "client";
    let is_readable = |line: &Line| {
        Line::parse(alloc::format!("{line}").as_bytes()).is_ok_and(|line| Input::read(&line, of_client).is_ok())
    };
    recording.lines.iter().position(|(_, line)| !is_readable(line))
}

/// All payloads withheld.
fn sized(mut recording: Recording) -> Recording {
    recording.bodies = Bodies::Sized;
    hide_config(&mut recording, &mut Fillers::default());
    for (_, line) in recording.lines.iter_mut().filter(|(_, line)| line.payload.is_some()) {
        note_original(line);
        line.payload = None;
    }
    for (_, line) in &mut recording.lines {
        hide_location(line);
        hide_place(line);
    }
    // As far as it can be played, up to what is withheld.
    expect_anew(&mut recording).ok();
    if let Some(end) = unreadable(&recording) {
        // It is cut there, as a full one is.
        recording.lines.truncate(end);
        recording.is_complete = false;
    }
    recording
}

/// The same shapes with other contents; nothing if they would tell another story, or cannot be redacted.
fn redacted(recording: &Recording) -> Option<Recording> {
    let mut shown = recording.clone();
    shown.bodies = Bodies::Redacted;
    let mut fillers = Fillers::default();
    hide_config(&mut shown, &mut fillers);
    for (_, line) in &mut shown.lines {
        hide_location(line);
        let place = match &*line.word {
            "call" | "notify" => Place::Params,
            "listen" | "respond" => Place::Payload,
            _ => continue,
        };
        let Some(payload) = &line.payload else { continue };
        let hidden = match line.get("error") {
            Some(_) => filler::text(payload),
            None => json::redact(payload, place, &mut fillers),
        };
        note_original(line);
        line.payload = Some(hidden);
    }
    hide_bodies(&mut shown, &mut fillers)?;
    expect_anew(&mut shown).ok()?;
    Some(shown)
}

/// Says of all that comes out what it comes to now, if that differs in nothing but in what payloads say.
fn expect_anew(recording: &mut Recording) -> Result<Replayed, ReplayError> {
    let mut expected = BTreeMap::new();
    let came_out = |place, line| drop(expected.insert(place, line));
    let replayed = play(recording, Sameness::ButPayloads, |_, _| {}, came_out);
    for (place, expected) in expected {
        if let Some((_, line)) = recording.lines.get_mut(place) {
            *line = expected;
        }
    }
    replayed
}

/// The size and the checksum of what is about to be replaced.
fn note_original(line: &mut Line) {
    let Some(payload) = &line.payload else { return };
    if line.get("crc").is_none() {
        let facts = [("bytes", alloc::format!("{}", payload.len())), ("crc", checksum(payload))];
        line.arguments.extend(facts.map(|(name, value)| (Cow::Borrowed(name), value)));
    }
}

/// Who the client says that it is, where it calls, and where a stream goes on.
fn hide_config(recording: &mut Recording, fillers: &mut Fillers) {
    for (name, value) in &mut recording.config.arguments {
        if matches!(&**name, "client_info" | "capabilities") {
            let hidden = json::redact(value.as_bytes(), Place::Payload, fillers);
            *value = String::from_utf8(hidden).unwrap_or_default();
        }
    }
    let is_client = recording.subject.word == "client";
    for (name, value) in &mut recording.subject.arguments {
        let hidden = match &**name {
            "" if is_client => {
                let hidden = String::from_utf8(filler::url(value.as_bytes())).unwrap_or_default();
                // As it is read again.
                Endpoint::parse(&hidden).map_or(hidden, |endpoint| String::from(endpoint.as_str())).into_bytes()
            }
            "last_event_id" => fillers.event_id(value.as_bytes()),
            _ => continue,
        };
        *value = String::from_utf8(hidden).unwrap_or_default();
    }
}

fn hide_location(line: &mut Line) {
    for (_, value) in line.arguments.iter_mut().filter(|(name, _)| name == "location") {
        *value = String::from_utf8(filler::url(value.as_bytes())).unwrap_or_default();
    }
}

/// The path of a request that was sent.
fn hide_place(line: &mut Line) {
    if line.word == "expect" && line.place(0) == Some("send") {
        if let Some((_, place)) = line.arguments.get_mut(3) {
            *place = String::from_utf8(filler::url(place.as_bytes())).unwrap_or_default();
        }
    }
}

/// A body of an exchange: the lines of its head and of its pieces.
struct Body {
    head: usize,
    pieces: Vec<usize>,
}

/// Redacts each body as a whole, since its pieces may be cut anywhere.
fn hide_bodies(recording: &mut Recording, fillers: &mut Fillers) -> Option<()> {
    let mut bodies: BTreeMap<String, Body> = BTreeMap::new();
    for (place, (_, line)) in recording.lines.iter().enumerate() {
        let Some(exchange) = line.place(0).filter(|_| matches!(&*line.word, "on_head" | "on_body")) else {
            continue;
        };
        if line.word == "on_head" {
            bodies.insert(String::from(exchange), Body { head: place, pieces: Vec::new() });
        } else {
            bodies.get_mut(exchange)?.pieces.push(place);
        }
    }
    for body in bodies.into_values().filter(|body| !body.pieces.is_empty()) {
        hide_body(&mut recording.lines, &body, fillers)?;
    }
    Some(())
}

fn hide_body(lines: &mut [(usize, Line)], body: &Body, fillers: &mut Fillers) -> Option<()> {
    let head = head(&lines.get(body.head)?.1).ok()?;
    let mut pieces = Vec::new();
    for place in &body.pieces {
        pieces.push(lines.get(*place)?.1.payload.clone()?);
    }
    let is_coded =
        head.content_coding() != ContentCoding::Identity || pieces.concat().starts_with(&crate::http::GZIP_MAGIC);
    let hidden = if is_coded {
        let hidden = hide_coded(&head, &pieces, fillers)?;
        let (before, after): (usize, usize) = (pieces.iter().map(Vec::len).sum(), hidden.iter().map(Vec::len).sum());
        let length = head.content_length().map(|length| length.saturating_sub(before as u64) + after as u64);
        for (name, value) in &mut lines.get_mut(body.head)?.1.arguments {
            if let ("content-length", Some(length)) = (&**name, length) {
                *value = alloc::format!("{length}");
            }
        }
        hidden
    } else {
        let hidden = hide_plain(&head, pieces.concat(), fillers);
        let mut rest = &*hidden;
        let cut = |piece: &Vec<u8>| {
            let (piece, after) = rest.split_at_checked(piece.len())?;
            rest = after;
            Some(piece.to_vec())
        };
        pieces.iter().map(cut).collect::<Option<Vec<_>>>()?
    };
    for (place, hidden) in body.pieces.iter().zip(hidden) {
        let line = &mut lines.get_mut(*place)?.1;
        note_original(line);
        line.payload = Some(hidden);
    }
    Some(())
}

#[cfg(feature = "gzip")]
fn hide_coded(head: &ResponseHead, pieces: &[Vec<u8>], fillers: &mut Fillers) -> Option<Vec<Vec<u8>>> {
    coded::redact(head.content_coding(), pieces, |body| hide_plain(head, body, fillers))
}

#[cfg(not(feature = "gzip"))]
fn hide_coded(_: &ResponseHead, _: &[Vec<u8>], _: &mut Fillers) -> Option<Vec<Vec<u8>>> {
    None
}

/// A body that is not coded, as the exchange would read it (E24).
fn hide_plain(head: &ResponseHead, mut body: Vec<u8>, fillers: &mut Fillers) -> Vec<u8> {
    const BOM: &[u8] = b"\xEF\xBB\xBF";
    let begins = if body.starts_with(BOM) { BOM.len() } else { 0 };
    let Some(text) = body.get_mut(begins..) else { return body };
    let is_json = matches!(text.trim_ascii_start().first(), Some(b'{' | b'['));
    let hidden = match head.media_type() {
        MediaType::EventStream => stream::redact(text, fillers),
        MediaType::Json => json::redact(text, Place::Message, fillers),
        _ if is_json => json::redact(text, Place::Message, fillers),
        _ if head.is_success() => stream::redact(text, fillers),
        _ => filler::text(text),
    };
    text.copy_from_slice(hidden.get(..text.len()).unwrap_or_default());
    body
}
