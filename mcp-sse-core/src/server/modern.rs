//! Requests of 2026-07-28: each stands alone, and its response is its own stream.
//!
//! Rules: Streamable HTTP and discovery, 2026-07-28. Notifications are taken and told; answers to requests are refused, for
//! there are none to answer.

use alloc::format;
use alloc::string::String;
use alloc::vec;

use super::calling::Begun;
use super::output::{IncomingNotification, ServerEvent};
use super::params::CallParams;
use super::refusal::{INVALID_REQUEST, Refusal};
use super::stream::{Purpose, Stream};
use super::{ExchangeId, Server, Then, json_head, text};
use crate::http::{ProtocolVersion, RequestHead};
use crate::jsonrpc::{Id, Message, MessageKind};
use crate::time::Timestamp;

/// How long a client may keep what `server/discover` tells: it changes when the server is replaced.
const DISCOVERY_TTL_MS: u32 = 300_000;

impl Server {
    /// A notification. What would answer a request is refused.
    pub(super) fn take_modern_one_way(
        &mut self,
        id: ExchangeId,
        head: &RequestHead,
        message: Message,
    ) -> Result<(), Refusal> {
        if message.kind() != MessageKind::Notification {
            return Err(Refusal::new(400, INVALID_REQUEST, "There is no request that this could answer"));
        }
        let version = head.revision().unwrap_or(ProtocolVersion::LATEST);
        let told = IncomingNotification { exchange: id, session: None, version, message };
        self.accept(id, vec![Then::Tell(ServerEvent::Notification(told.into()))]);
        Ok(())
    }

    /// A request that was admitted.
    pub(super) fn take_modern_request(
        &mut self,
        id: ExchangeId,
        version: ProtocolVersion,
        message: Message,
        params: CallParams,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        match message.method().unwrap_or_default() {
            "server/discover" => {
                let result = text::result(message.id().unwrap_or(&Id::Null), &self.discovery());
                self.reply(id, json_head(200, result.into_bytes()));
                Ok(())
            }
            "subscriptions/listen" => self.subscribe(id, version, message, params, now),
            _ => {
                let stream = self.add_stream(Stream::new(Purpose::Response, id, None), now);
                let begun = Begun { exchange: id, stream, session: None, version };
                let request = self.begin_call(begun, message, params, now);
                self.tell(request);
                Ok(())
            }
        }
    }

    fn discovery(&self) -> String {
        let mut versions = String::new();
        for version in self.config.modern_versions() {
            if !versions.is_empty() {
                versions.push(',');
            }
            versions.push_str(&text::json_string(version.as_str()));
        }
        let instructions = self.instructions();
        let result = format!(
            r#"{{"supportedVersions":[{versions}],"capabilities":{}{instructions},"ttlMs":{DISCOVERY_TTL_MS},"cacheScope":"public"}}"#,
            self.config.capabilities
        );
        text::modern_result(&result, &self.config.server_info).unwrap_or(result)
    }

    /// The member that says how the server is used, with its comma; empty if there is none.
    pub(super) fn instructions(&self) -> String {
        let instructions = self.config.instructions.as_deref();
        instructions.map_or_else(String::new, |said| format!(r#","instructions":{}"#, text::json_string(said)))
    }
}
