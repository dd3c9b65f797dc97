//! Detours carried out: another revision, another era, a new session, the list of tools read again (F3, F4, F6, F7).
//!
//! Rules: what an answer leads to is decided in `detour`; here the call is parked, and what it waits for is begun. Who
//! waited for a list goes on when it is there, or is given the refusal that came first.

use alloc::format;
use alloc::vec::Vec;

use super::Client;
use super::call::{Kind, Phase};
use super::detour::{self, Detour};
use super::http_request::json_string;
use super::origin::{Part, Standing};
use super::outcome::{CallId, Done, Outcome, Step};
use super::policy::CallOptions;
use super::running::TOOLS_LIST;
use crate::exchange::FailureKind;
use crate::http::{Era, ProtocolVersion};
use crate::time::Timestamp;

/// How many pages of a list are read at most because of a mismatch (F4). The headers of more tools than come on so many
/// would not be kept ([`ToolHeaders::MAX_TOOLS`](crate::tools::ToolHeaders::MAX_TOOLS), 50 a page).
const MAX_TOOL_PAGES: u32 = 80;

impl Client {
    /// Does what an answer said of the server instead of ending the call.
    pub(super) fn take(&mut self, detour: Detour, id: CallId, now: Timestamp) {
        let Some(call) = self.calls.get_mut(&id) else {
            return;
        };
        let is_probe = call.kind == Kind::Probe;
        match detour {
            Detour::Ladder => {
                if is_probe {
                    return self.climb(Part::Initialize, id, now);
                }
                self.park(id, Phase::Waiting(now));
                if matches!(self.origin.standing, Standing::Unknown) && self.origin.opening.is_none() {
                    self.park(id, Phase::Blocked);
                    self.climb(Part::Initialize, id, now);
                }
            }
            Detour::Version(version) => {
                call.has_changed_version = true;
                self.set_version(version);
                match version.era() {
                    // It has found out what it was for.
                    Era::Legacy if is_probe => self.climb(Part::Initialize, id, now),
                    Era::HttpSse if is_probe => self.climb(Part::Channel, id, now),
                    _ => self.park(id, Phase::Waiting(now)),
                }
            }
            Detour::NoVersion { theirs } => {
                let ours = detour::ours(self.config.protocol);
                let done = call.give_up(FailureKind::UnsupportedVersion { ours, theirs });
                self.end(id, done, now);
            }
            Detour::Tools(answer) => {
                call.has_listed_tools = true;
                call.first_refusal = Some((call.attempts, answer));
                self.park(id, Phase::Listing);
                self.list_tools(id, now);
            }
            Detour::NewSession => {
                let generation = call.route.as_ref().map_or(0, |route| route.generation);
                let repeats = !call.has_renewed_session && call.may_be_repeated(&self.config);
                call.has_renewed_session = true;
                self.origin.expire(generation);
                if repeats {
                    return self.park(id, Phase::Waiting(now));
                }
                let done = call.give_up(FailureKind::SessionExpired);
                self.end(id, done, now);
            }
        }
    }

    /// F3: the server has this revision; it may be of another era.
    fn set_version(&mut self, version: ProtocolVersion) {
        if !matches!(self.origin.standing, Standing::Unknown | Standing::Modern(_)) {
            // Another request was told the same before, and a session may be there.
            return;
        }
        self.origin.standing = match version.era() {
            Era::Modern => Standing::Modern(version),
            Era::Legacy => Standing::Legacy(None),
            Era::HttpSse => Standing::HttpSse(None),
        };
        if version.era() != Era::Modern {
            self.origin.offer = version;
        }
    }

    /// F4: reads the list of tools again; calls that are refused meanwhile share it.
    fn list_tools(&mut self, owner: CallId, now: Timestamp) {
        if self.origin.tool_list.is_some() {
            return;
        }
        self.origin.tool_pages = 0;
        self.list_tools_from(None, owner, now);
    }

    /// Reads a page of the list, the first one or the one that begins here.
    fn list_tools_from(&mut self, cursor: Option<&str>, owner: CallId, now: Timestamp) {
        self.origin.tool_pages += 1;
        self.origin.next_tool_page = None;
        let params = cursor.map(|cursor| format!(r#"{{"cursor":{}}}"#, json_string(cursor)));
        let left = self.calls.get(&owner).and_then(|call| Some(call.deadline?.saturating_duration_since(now)));
        let timeout = left.map_or(self.config.handshake_timeout, |left| left.min(self.config.handshake_timeout));
        let options = CallOptions::default().with_timeout(timeout);
        match self.begin(Kind::ToolList, TOOLS_LIST, params.as_deref(), options, now) {
            Ok(list) => {
                self.origin.tool_list = Some(list);
                self.push(owner, Step::Background(owner, list));
            }
            // No id is left.
            Err(_) => self.listing().into_iter().for_each(|id| self.let_first_refusal_stand(id, now)),
        }
    }

    /// A page of the list was read, or could not be: the next one is, or who waited for it goes on.
    pub(super) fn on_tools_listed(&mut self, id: CallId, done: &Done, now: Timestamp) {
        self.origin.tool_list = None;
        let next = self.origin.next_tool_page.take().filter(|_| self.origin.tool_pages < MAX_TOOL_PAGES);
        if let Some(cursor) = next.filter(|_| !self.listing().is_empty()) {
            return self.list_tools_from(Some(&cursor), id, now);
        }
        let is_read =
            matches!(done.outcome, Outcome::Settled(info) | Outcome::Salvaged { answer: info, .. } if !info.is_error);
        for id in self.listing() {
            if is_read {
                self.park(id, Phase::Waiting(now));
                self.wake(id);
            } else {
                self.let_first_refusal_stand(id, now);
            }
        }
    }

    /// The calls that wait for the list.
    fn listing(&self) -> Vec<CallId> {
        self.calls.iter().filter(|(_, call)| call.phase == Phase::Listing).map(|(id, _)| *id).collect()
    }

    pub(super) fn let_first_refusal_stand(&mut self, id: CallId, now: Timestamp) {
        let Some(call) = self.calls.get_mut(&id) else {
            return;
        };
        if let Some((attempt, answer)) = call.first_refusal.take() {
            let done = call.settled(answer.info);
            self.hand_out(id, attempt, answer);
            self.end(id, done, now);
        }
    }
}
