//! The conversation of 2024-11-05: a stream that says where to post, and on which the answers come.

use serde_json::Value;

use super::{response_to, stream};
use crate::peer::{Feed, Kind, Request, Response, Script, Sse, Text};

/// The server's side of a 2024-11-05 channel. Clones speak on the same one.
///
/// Of a lost channel nothing is kept: the next GET begins anew, with `endpoint`.
#[derive(Clone, Default)]
pub struct Channel {
    feed: Feed,
}

impl Channel {
    /// A channel on which nothing was said.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the channel for whoever asks, and lets it post to `{path of the GET}/messages`.
    pub fn opens(&self) -> Script {
        let (feed, framing) = (self.feed.clone(), stream([], &self.feed));
        let endpoint = |request: &Request| format!("{}/messages", request.target);
        framing.for_http("GET").before(move |request| {
            feed.write(format!("event: endpoint\ndata: {}\n\n", endpoint(request)));
        })
    }

    /// Opens the channel with this `endpoint` event, or with none.
    pub fn opens_with(&self, endpoint: Option<&str>) -> Script {
        let block = endpoint.map(|endpoint| Sse::data(endpoint).event("endpoint"));
        stream(block, &self.feed).for_http("GET")
    }

    /// Takes messages of this method; their answers, if they are requests, come on the channel before the 202 is written.
    pub fn answers_early(&self, method: &str) -> Script {
        let channel = self.clone();
        self.accepts(method).before(move |request| channel.answer(request))
    }

    /// Takes messages of this method; their answers come when the 202 is written.
    pub fn answers(&self, method: &str) -> Script {
        let channel = self.clone();
        self.accepts(method).after(move |request| channel.answer(request))
    }

    /// Takes messages of this method, and leaves their answers to the test.
    pub fn accepts(&self, method: &str) -> Script {
        let method = method.to_owned();
        Script::new(Response::empty(202)).when(move |request| {
            !request.messages.is_empty() && request.method() == Some(&method) && !is_posted_in_vain(request)
        })
    }

    /// What a sound server of this revision does: the scripts of `initialize`, `tools/list`, `tools/call` and `ping`. POSTs to
    /// the place of the GET are refused with 405, as they were then.
    pub fn serves(&self) -> Vec<Script> {
        let in_vain = Script::new(Response::empty(405).header("Allow", "GET")).without_executing();
        let mut scripts = vec![in_vain.when(is_posted_in_vain)];
        scripts.push(self.opens());
        scripts.extend(["initialize", "tools/list", "tools/call", "ping"].map(|method| self.answers(method)));
        scripts
    }

    /// Says the standard answer to this request.
    pub fn answer(&self, request: &Request) {
        if request.kind() == Kind::Call {
            let answer = match request.method() {
                Some("initialize") => response_to(request, &super::server_of("2024-11-05")).to_string(),
                _ => Text::standard().fill(request),
            };
            self.feed.write(format!("event: message\ndata: {answer}\n\n"));
        }
    }

    /// Says a message.
    pub fn say(&self, message: &Value) {
        self.feed.message(message);
    }

    /// What is written on it besides messages.
    pub fn feed(&self) -> &Feed {
        &self.feed
    }
}

/// Whether a message is posted to the place of the GET, which is the scenario's own path.
fn is_posted_in_vain(request: &Request) -> bool {
    request.http_method == "POST" && request.target.matches('/').count() == 2
}
