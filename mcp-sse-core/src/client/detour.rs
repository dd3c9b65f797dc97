//! What an answer, or a status of failure, says of the server instead of the call: another revision, another era, a
//! session that is gone, headers that do not match (F3, F4, F6, F7).
//!
//! Rules: here is only read and decided; the client takes the detour. Each happens once a call, and none for what may
//! have been answered well: a 2xx settles the call, whatever it shows.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::call::{Call, Kind};
use super::config::Protocol;
use super::http_request::TOOLS_CALL;
use super::origin::{Origin, Standing};
use super::versions::{self, UnsupportedVersions};
use crate::exchange::{Answer, FailureKind};
use crate::http::{Era, ProtocolVersion};

/// What is done instead of ending the call.
pub(super) enum Detour {
    /// F6: this is no modern server; `initialize`, and then the same request.
    Ladder,
    /// F3: the same request under this revision.
    Version(ProtocolVersion),
    /// F3: there is no revision in common.
    NoVersion { theirs: Vec<ProtocolVersion> },
    /// F4: the list of tools is read again, and then the same request; this answer stands if that leads nowhere.
    Tools(Box<Answer>),
    /// F7: the session is gone.
    NewSession,
}

/// The code of a mismatch between headers and body.
const HEADER_MISMATCH: i64 = -32020;

/// What an answer to `call` leads to, besides being its answer.
pub(super) fn of_answer(call: &Call, answer: &Answer, origin: &Origin, protocol: Protocol) -> Option<Detour> {
    let route = call.route.as_ref()?;
    let status = answer.info.status;
    if route.era != Era::Modern {
        return of_status(call, status, origin);
    }
    let error = answer.message.error()?;
    if let Some(theirs) = UnsupportedVersions::read(&error) {
        if theirs.supported.is_empty() {
            // It names none, so there is nothing to choose from, and nothing to tell but its own words.
            return None;
        }
        let chosen = versions::choose(&ours(protocol), &theirs.supported).filter(|_| !call.has_changed_version);
        return Some(chosen.map_or(Detour::NoVersion { theirs: theirs.supported }, Detour::Version));
    }
    if is_header_mismatch(answer) {
        let may_list = call.kind == Kind::Request && call.outgoing.method == TOOLS_CALL && !call.has_listed_tools;
        return may_list.then(|| Detour::Tools(Box::new(answer.clone())));
    }
    if answer.info.proves_modern {
        return None;
    }
    of_status(call, status, origin)
}

/// F4: whether the server found that headers and body do not match.
pub(super) fn is_header_mismatch(answer: &Answer) -> bool {
    answer.message.error().is_some_and(|error| error.code == HEADER_MISMATCH)
}

/// What a failure of `call` leads to.
pub(super) fn of_failure(call: &Call, kind: &FailureKind, origin: &Origin) -> Option<Detour> {
    match kind {
        FailureKind::Status(failure) if !call.is_resuming => of_status(call, failure.status(), origin),
        _ => None,
    }
}

/// What a status of failure leads to that is no recognised modern error.
fn of_status(call: &Call, status: u16, origin: &Origin) -> Option<Detour> {
    let route = call.route.as_ref()?;
    match route.era {
        // Only a client that was to find out ever leaves the modern era. Another call may have found out meanwhile.
        Era::Modern => {
            let is_refusal = (400..500).contains(&status) && !matches!(status, 401 | 403 | 429);
            let is_open = !matches!(origin.standing, Standing::Modern(_));
            (is_refusal && is_open && call.kind != Kind::Notification).then_some(Detour::Ladder)
        }
        Era::Legacy => {
            (status == 404 && route.session_id.is_some() && !call.kind.listens()).then_some(Detour::NewSession)
        }
        Era::HttpSse => None,
    }
}

/// The revisions that the caller allows.
pub(super) fn ours(protocol: Protocol) -> Vec<ProtocolVersion> {
    let mut ours: Vec<_> =
        ProtocolVersion::KNOWN.into_iter().filter(|version| Origin::allowed(protocol, *version)).collect();
    if let Protocol::Fixed(version) = protocol {
        if !ours.contains(&version) {
            ours.push(version);
        }
    }
    ours
}
