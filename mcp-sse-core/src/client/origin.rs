//! What was found out about the server: its era and revision, its session or channel, its tools' headers, and the
//! handshake that is under way. One finding for all calls of a client (F6).
//!
//! Rules: nothing here belongs to a single call, and nothing is sent from here; [`Origin::readiness`] says whether a
//! request can go, and how. Handshakes are made in `opening`, the channel is read in `channel`.

use alloc::boxed::Box;
use alloc::string::String;

use super::call::Kind;
use super::config::{ClientConfig, Protocol};
use super::endpoint::Endpoint;
use super::outcome::CallId;
use crate::http::{Era, ProtocolVersion, ResponseHead};
use crate::time::Timestamp;
use crate::tools::ToolHeaders;

/// What the server is known to speak.
pub(super) enum Standing {
    /// Nothing is known, and nothing was asked for.
    Unknown,
    /// 2026-07-28 or later.
    Modern(ProtocolVersion),
    /// Sessions; `None` if one is to be opened first.
    Legacy(Option<Session>),
    /// The channel of 2024-11-05; `None` if one is to be opened first.
    HttpSse(Option<Box<Channel>>),
}

/// A session that was initialized.
#[derive(Clone)]
pub(super) struct Session {
    /// `None` if the server keeps none.
    pub(super) id: Option<String>,
    /// What was negotiated.
    pub(super) version: ProtocolVersion,
}

/// A channel of 2024-11-05.
pub(super) struct Channel {
    /// The call whose exchange it is.
    pub(super) call: CallId,
    /// Where messages are posted.
    pub(super) endpoint: Endpoint,
    /// Under which its messages arrive.
    pub(super) head: ResponseHead,
    /// Whether any message came on it.
    pub(super) has_spoken: bool,
}

/// The part of a handshake that is under way; other requests wait for its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opening {
    pub(super) part: Part,
    pub(super) call: CallId,
}

/// The parts of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// `server/discover`.
    Probe,
    /// The GET whose first event says where to post.
    Channel,
    /// `initialize`.
    Initialize,
    /// `notifications/initialized`.
    Initialized,
    /// The listening stream of a session, for a client that answers the server's requests (F12, F15).
    Listening,
}

/// How a request goes out.
#[derive(Clone)]
pub(super) struct Route {
    pub(super) endpoint: Endpoint,
    /// The revision that the request names.
    pub(super) version: ProtocolVersion,
    /// The way of speaking that what comes back is judged by. It may differ from the revision: servers negotiate
    /// 2024-11-05 over streams of the next one, and later ones over the channel.
    pub(super) era: Era,
    pub(super) session_id: Option<String>,
    /// Counts sessions and channels: what came of an older one says nothing of this.
    pub(super) generation: u64,
}

impl Route {
    /// The revision by whose rules an exchange judges: the first or the last of the era, if it is not the revision's
    /// own era.
    pub(super) fn exchange_version(&self) -> ProtocolVersion {
        match self.era {
            era if era == self.version.era() => self.version,
            Era::HttpSse => ProtocolVersion::V2024_11_05,
            Era::Legacy => ProtocolVersion::V2025_03_26,
            Era::Modern => ProtocolVersion::LATEST,
        }
    }
}

/// Whether a request can go out.
pub(super) enum Readiness {
    /// In this way.
    Ready(Route),
    /// When the handshake that is under way has ended.
    Blocked,
    /// When this part of a handshake, which is to be begun, and what follows it have ended.
    Begin(Part),
    /// Not before this moment.
    At(Timestamp),
}

/// What is known of the server.
pub(super) struct Origin {
    pub(super) standing: Standing,
    pub(super) opening: Option<Opening>,
    /// Sessions and channels begun so far.
    pub(super) generation: u64,
    /// The revision that the next `initialize` offers.
    pub(super) offer: ProtocolVersion,
    /// The result of the last `initialize`, as raw JSON.
    pub(super) initialize_result: Option<String>,
    pub(super) tools: ToolHeaders,
    /// The call that reads the list of tools again, while one does (F4).
    pub(super) tool_list: Option<CallId>,
    /// Pages of that list read so far, and where the next one begins.
    pub(super) tool_pages: u32,
    pub(super) next_tool_page: Option<String>,
    /// The call that reads the listening stream of a session, for all who listen and for requests that somebody handles
    /// (F12, F15). Servers allow one a session.
    pub(super) listening: Option<CallId>,
    /// Until when calls wait for that stream to open, while they do.
    pub(super) listening_until: Option<Timestamp>,
    /// Channels in a row that brought no message (H5).
    pub(super) barren_channels: u32,
    /// Before this moment no channel is opened anew.
    pub(super) channel_from: Option<Timestamp>,
}

/// The newest revision with sessions.
const NEWEST_LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;

impl Origin {
    pub(super) fn new(protocol: Protocol) -> Self {
        let (standing, offer) = match protocol {
            Protocol::Auto => (Standing::Unknown, NEWEST_LEGACY),
            Protocol::Fixed(version) => match version.era() {
                Era::Modern => (Standing::Modern(version), NEWEST_LEGACY),
                Era::Legacy => (Standing::Legacy(None), version),
                Era::HttpSse => (Standing::HttpSse(None), version),
            },
        };
        Self {
            standing,
            opening: None,
            generation: 0,
            offer,
            initialize_result: None,
            tools: ToolHeaders::default(),
            tool_list: None,
            tool_pages: 0,
            next_tool_page: None,
            listening: None,
            listening_until: None,
            barren_channels: 0,
            channel_from: None,
        }
    }

    /// The revision that requests name now, as far as it is known.
    pub(super) const fn version(&self) -> Option<ProtocolVersion> {
        match &self.standing {
            Standing::Modern(version) => Some(*version),
            Standing::Legacy(Some(session)) => Some(session.version),
            Standing::HttpSse(Some(_)) => Some(self.offer),
            _ => None,
        }
    }

    /// Whether a message of this kind can go out now, and how. `negotiates`: it is an `initialize` of the caller's.
    pub(super) fn readiness(
        &self,
        kind: Kind,
        negotiates: bool,
        stream: &Endpoint,
        config: &ClientConfig,
        now: Timestamp,
    ) -> Readiness {
        if !kind.waits_for_the_handshake() {
            return Readiness::Ready(self.route(kind, stream));
        }
        // The listening stream is the one request that the last part of a handshake consists of.
        if self.opening.is_some_and(|opening| opening.part != Part::Listening || kind != Kind::Requests) {
            return Readiness::Blocked;
        }
        match &self.standing {
            // Who makes the handshake by itself needs no other, but for the channel to make it on.
            Standing::Unknown | Standing::Legacy(None) if negotiates => {
                Readiness::Ready(self.route(Kind::Initialize, stream))
            }
            // A notification is never sent again, so it cannot be the one that finds out.
            Standing::Unknown if config.probe || kind == Kind::Notification => Readiness::Begin(Part::Probe),
            Standing::Legacy(None) if config.handshake => Readiness::Begin(Part::Initialize),
            Standing::HttpSse(None) => match self.channel_from {
                Some(from) if now < from => Readiness::At(from),
                _ => Readiness::Begin(Part::Channel),
            },
            _ => Readiness::Ready(self.route(kind, stream)),
        }
    }

    /// How a message of this kind goes out, by what is known now.
    pub(super) fn route(&self, kind: Kind, stream: &Endpoint) -> Route {
        let generation = self.generation;
        let (endpoint, version, era, session_id) = match (&self.standing, kind) {
            // The lower rungs of the ladder belong to their era, also while nothing is known yet (F6).
            (_, Kind::Channel) => (stream, self.offer, Era::HttpSse, None),
            (Standing::Unknown, Kind::Initialize) => (stream, self.offer, Era::Legacy, None),
            (Standing::Unknown, _) => (stream, ProtocolVersion::LATEST, Era::Modern, None),
            (Standing::Modern(version), _) => (stream, *version, Era::Modern, None),
            (Standing::Legacy(None), _) => (stream, self.offer, Era::Legacy, None),
            (Standing::Legacy(Some(session)), _) => (stream, session.version, Era::Legacy, session.id.clone()),
            (Standing::HttpSse(channel), _) => {
                let endpoint = channel.as_ref().map(|channel| &channel.endpoint);
                (endpoint.unwrap_or(stream), self.offer, Era::HttpSse, None)
            }
        };
        Route { endpoint: endpoint.clone(), version, era, session_id, generation }
    }

    /// F7: the session or channel of this generation is gone; a later one is not touched.
    pub(super) fn expire(&mut self, generation: u64) {
        if generation == self.generation {
            if let Standing::Legacy(session) = &mut self.standing {
                *session = None;
            }
        }
    }

    /// Whether the session that this route belongs to was given up or replaced. Without handshakes there is none.
    pub(super) fn is_gone(&self, route: &Route) -> bool {
        let is_given_up = self.generation > 0 && matches!(self.standing, Standing::Legacy(None));
        route.era == Era::Legacy && (route.generation != self.generation || is_given_up)
    }

    /// The channel, once there is one.
    pub(super) fn channel_mut(&mut self) -> Option<&mut Channel> {
        match &mut self.standing {
            Standing::HttpSse(channel) => channel.as_deref_mut(),
            _ => None,
        }
    }

    /// F3: what the caller allows to speak, given what was asked for.
    pub(super) fn allowed(protocol: Protocol, version: ProtocolVersion) -> bool {
        match protocol {
            Protocol::Auto => true,
            // Earlier revisions negotiate among themselves, whatever was offered; the modern one has no handshake.
            Protocol::Fixed(fixed) => (fixed.era() == Era::Modern) == (version.era() == Era::Modern),
        }
    }
}
