//! A server of some tools over real sockets, in either adapter, so that one test is run over each.
//!
//! Rules: what differs between the adapters is in [`ServerAdapter`] and its two implementations, and nothing else is; what the
//! tools do is written once. Expectations do not belong here.

mod blocking;
mod socket;
mod tokio;

use std::fmt::Debug;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mcp_sse_blocking::{Client, ClientBuilder};
use mcp_sse_core::client::Protocol;
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_core::server::{Change, Delivery, ServerAnswer, ServerConfig, SessionKey};
use serde_json::{Value, json};

pub use self::socket::{Response, Socket, bytes, head, modern, text_of, tool};
use crate::blocking::{BOUND, within};
use crate::server_driver::config;

/// Every revision, and how it is spoken.
pub const ERAS: [ProtocolVersion; 5] = [
    ProtocolVersion::V2024_11_05,
    ProtocolVersion::V2025_03_26,
    ProtocolVersion::V2025_06_18,
    ProtocolVersion::V2025_11_25,
    ProtocolVersion::V2026_07_28,
];

/// A server of one of the adapters. Clones are the same server.
pub trait ServerAdapter: Clone + Debug + Send + Sync + 'static {
    /// How connections are served.
    type Serve: Default + Send + 'static;

    /// A server whose handler has the tools below, and says what it is told.
    fn of_tools(config: ServerConfig, heard: Arc<Heard>) -> Self;

    /// Serves until the server is shut down, all connections included.
    ///
    /// # Panics
    /// If the listener fails.
    fn serve_until_end(&self, listener: TcpListener, serve: Self::Serve);

    /// Shuts the server down, and waits for that.
    fn shut_down_and_wait(&self);

    /// Tells of a change everyone who wants to know.
    fn publish(&self, change: Change<'_>) -> Vec<Delivery>;

    /// Sends a notification to all sessions.
    fn broadcast(&self, method: &str, params: &Value) -> Vec<Delivery>;

    /// The sessions.
    fn sessions(&self) -> Vec<SessionKey>;

    /// Ends a session.
    fn end_session(&self, session: SessionKey);

    /// Settings that speak TLS and allow its handshake so much time.
    fn over_tls(tls: Arc<rustls::ServerConfig>, handshake: Duration) -> Self::Serve;

    /// Settings under which four connections that are held up are nearly all that there may be, if anything bounds them.
    fn of_few() -> Self::Serve;
}

/// What was heard, in order.
#[derive(Default)]
pub struct Heard {
    words: Mutex<Vec<String>>,
    changed: Condvar,
    dreaded: OnceLock<&'static str>,
}

impl Heard {
    /// From now on, whoever says this panics once it is said.
    pub fn dread(&self, word: &'static str) {
        self.dreaded.set(word).expect("one word is dreaded");
    }

    /// What there is to be called.
    pub(crate) fn tools(&self) -> ServerAnswer {
        ServerAnswer::of(&json!({"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}))
    }

    /// Tells it.
    ///
    /// # Panics
    /// If it is dreaded.
    pub fn say(&self, word: impl Into<String>) {
        let word = word.into();
        let is_dreaded = self.dreaded.get().is_some_and(|dreaded| *dreaded == word);
        self.words.lock().unwrap().push(word);
        self.changed.notify_all();
        assert!(!is_dreaded, "a secret");
    }

    /// Waits until this was said, so many times.
    ///
    /// # Panics
    /// If it was not, within a bound.
    pub fn wait_for(&self, word: &str, times: usize) {
        let count = |words: &Vec<String>| words.iter().filter(|said| *said == word).count();
        let words = self.words.lock().unwrap();
        let (words, waited) = self.changed.wait_timeout_while(words, BOUND, |words| count(words) < times).unwrap();
        assert!(!waited.timed_out(), "{word:?} was not said {times} times: {words:?}");
    }

    /// How often this was said.
    pub fn count(&self, word: &str) -> usize {
        self.words.lock().unwrap().iter().filter(|said| *said == word).count()
    }
}

/// What the tools do, once for both adapters: `$wait` is true once the call is cancelled, `$ask` gives what the client answers.
macro_rules! tool_answer {
    ($heard:expr, $call:ident, wait: $wait:expr, ask: $ask:expr) => {{
        let params: serde_json::Value = $call.params_as()?;
        let arguments = &params["arguments"];
        let number = |name: &str| arguments[name].as_u64().unwrap_or_default();
        let text = |text: &str| ServerAnswer::of(&json!({"content": [{"type": "text", "text": text}]}));
        Ok(match params["name"].as_str().unwrap_or_default() {
            "add" => text(&(number("a") + number("b")).to_string()),
            "progress" => {
                for done in 1..=3 {
                    $call.progress(f64::from(done), Some(3.0), None).ok();
                }
                text("done")
            }
            "wait" => {
                $heard.say("waits");
                let is_cancelled = $wait;
                $heard.say(format!("{:?}", $call.is_cancelled()));
                text(if is_cancelled { "cancelled" } else { "waited" })
            }
            "listen" => {
                $call.stream().ok();
                $heard.say("streams");
                let _ = $wait;
                text("listened")
            }
            "ask" => match $ask {
                Ok(message) => text(message.result().unwrap_or("an error")),
                Err(error) => {
                    $heard.say(error.to_string());
                    text(&error.to_string())
                }
            },
            "flood" => {
                let line = "x".repeat(64 << 10);
                let mut sent = 0;
                while $call.notify("notifications/message", &json!({"level": "info", "data": line})).is_ok() {
                    sent += 1;
                }
                $heard.say("full");
                text(&sent.to_string())
            }
            "large" => {
                $heard.say("large");
                text(&"x".repeat(usize::try_from(number("bytes")).unwrap_or_default()))
            }
            "array" => ServerAnswer::result("[]"),
            "header" => text($call.header("X-Test").unwrap_or("none")),
            "peer" => text(&$call.peer().map(|peer| peer.ip().to_string()).unwrap_or_default()),
            "panic" => panic!("a secret"),
            _ => return Err(ServerAnswer::invalid_params("Unknown tool")),
        })
    }};
}
use tool_answer;

/// The tools, and who is told of what they and the server do.
pub(crate) struct Tools(pub(crate) Arc<Heard>);

/// A server that serves, until it is dropped.
pub struct Served<A: ServerAdapter> {
    /// The server.
    pub server: A,
    /// Where it is served.
    pub address: SocketAddr,
    /// What its handler was told.
    pub heard: Arc<Heard>,
    scheme: &'static str,
    serving: Option<JoinHandle<()>>,
}

impl<A: ServerAdapter> Served<A> {
    /// As configured by default.
    pub fn new() -> Self {
        Self::with(config(), A::Serve::default())
    }

    /// With limits of the core's.
    pub fn with_config(config: ServerConfig) -> Self {
        Self::with(config, A::Serve::default())
    }

    /// With settings of the adapter's.
    ///
    /// # Panics
    /// If there is no port.
    pub fn with(config: ServerConfig, serve: A::Serve) -> Self {
        let heard = Arc::<Heard>::default();
        let server = A::of_tools(config.with_path("/mcp"), Arc::clone(&heard));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let serving = thread::spawn({
            let server = server.clone();
            move || server.serve_until_end(listener, serve)
        });
        Self { server, address, heard, scheme: "http", serving: Some(serving) }
    }

    /// Over TLS.
    pub fn with_tls(tls: Arc<rustls::ServerConfig>, handshake: Duration) -> Self {
        let mut served = Self::with(config(), A::over_tls(tls, handshake));
        served.scheme = "https";
        served
    }

    /// The endpoint.
    pub fn url(&self) -> String {
        format!("{}://{}/mcp", self.scheme, self.address)
    }

    /// Settings of a client of the blocking adapter.
    pub fn builder(&self, protocol: Protocol) -> ClientBuilder {
        Client::builder(&self.url()).protocol(protocol).options(within(BOUND))
    }

    /// A client of the blocking adapter.
    ///
    /// # Panics
    /// If it cannot be built.
    pub fn client(&self, protocol: Protocol) -> Client {
        self.builder(protocol).build().expect("a client")
    }

    /// A client that is nothing but a socket.
    pub fn socket(&self) -> Socket {
        Socket::connect(self.address)
    }

    /// Whether its own account of itself says so.
    pub fn says(&self, what: &str) -> bool {
        format!("{:?}", self.server).contains(what)
    }

    /// Shuts the server down, and waits for the thread that serves.
    ///
    /// # Panics
    /// If that has failed.
    pub fn end(&mut self) {
        self.server.shut_down_and_wait();
        if let Some(serving) = self.serving.take() {
            serving.join().expect("it has served");
        }
    }
}

impl<A: ServerAdapter> Default for Served<A> {
    fn default() -> Self {
        Self::new()
    }
}

impl<A: ServerAdapter> Drop for Served<A> {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.end();
        }
    }
}

/// Waits until it is so.
///
/// # Panics
/// If it is not, within a bound.
pub fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < BOUND, "{what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Makes each test a test of each adapter's server, in a thread of its own, so that one that hangs fails and holds up no other.
#[macro_export]
macro_rules! over_both_servers {
    ($($test:ident),+ $(,)?) => {
        mod blocking {
            $(#[test]
            fn $test() {
                $crate::blocking::watched(super::$test::<::mcp_sse_blocking::Server>);
            })+
        }

        mod tokio {
            $(#[test]
            fn $test() {
                $crate::blocking::watched(super::$test::<::mcp_sse_tokio::Server>);
            })+
        }
    };
}
