//! The blocking adapter's server.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use mcp_sse_blocking::{Call, Handler, ServeConfig, Server};
use mcp_sse_core::server::{Change, Delivery, IncomingNotification, ServerAnswer, ServerConfig, SessionKey};
use serde_json::{Value, json};

use super::{Heard, ServerAdapter, Tools, tool_answer};
use crate::blocking::BOUND;

impl Tools {
    fn answer(&self, call: &Call) -> Result<ServerAnswer, ServerAnswer> {
        tool_answer!(self.0, call,
            wait: call.wait_for_cancel(BOUND),
            ask: call.ask("sampling/createMessage", &json!({"messages": []})))
    }
}

impl Handler for Tools {
    fn call(&self, call: Call) -> ServerAnswer {
        match call.method() {
            "tools/list" => self.0.tools(),
            "tools/call" => self.answer(&call).into(),
            _ => ServerAnswer::method_not_found(),
        }
    }

    fn notification(&self, notification: IncomingNotification) {
        self.0.say(notification.message.method().unwrap_or_default());
    }

    fn session_opened(&self, _: SessionKey) {
        self.0.say("opened");
    }

    fn session_ended(&self, _: SessionKey) {
        self.0.say("ended");
    }
}

impl ServerAdapter for Server {
    type Serve = ServeConfig;

    fn of_tools(config: ServerConfig, heard: Arc<Heard>) -> Self {
        Self::new(config, Tools(heard))
    }

    fn serve_until_end(&self, listener: TcpListener, serve: ServeConfig) {
        self.serve_with(listener, serve).expect("it serves");
    }

    fn shut_down_and_wait(&self) {
        self.shut_down();
    }

    fn publish(&self, change: Change<'_>) -> Vec<Delivery> {
        Self::publish(self, change)
    }

    fn broadcast(&self, method: &str, params: &Value) -> Vec<Delivery> {
        Self::broadcast(self, method, params)
    }

    fn sessions(&self) -> Vec<SessionKey> {
        Self::sessions(self)
    }

    fn end_session(&self, session: SessionKey) {
        Self::end_session(self, session);
    }

    fn over_tls(tls: Arc<rustls::ServerConfig>, handshake: Duration) -> ServeConfig {
        ServeConfig::default().with_tls(tls).with_head_timeout(handshake)
    }

    fn of_few() -> ServeConfig {
        ServeConfig::default().with_threads(6).with_reserve(4)
    }
}
