//! Servers under faults, over sockets: clients that vanish at every byte, a hundred thousand bad requests, an end under load.
//! Everything that was taken is given back, and good clients are served meanwhile. A program of its own, with one test at a
//! time: it counts what the process holds.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mcp_sse_core::client::Protocol;
use mcp_sse_core::server::Sent;
use mcp_sse_tests::blocking::{BOUND, watched};
use mcp_sse_tests::served::{Served, ServerAdapter, bytes, head, modern, text_of, tool, wait_until};
use mcp_sse_tests::server_driver::{HttpMessage, config};
use serde_json::{Value, json};
use socket2::SockRef;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

macro_rules! over_both_servers {
    ($($name:ident),+ $(,)?) => {
        mod blocking {
            $(#[test] fn $name() { crate::alone(crate::$name::<mcp_sse_blocking::Server>) })+
        }
        mod tokio {
            $(#[test] fn $name() { crate::alone(crate::$name::<mcp_sse_tokio::Server>) })+
        }
    };
}

over_both_servers![
    s4_clients_may_vanish_at_any_byte_of_their_request,
    s4_clients_may_vanish_at_any_byte_of_the_response,
    s2_s9_a_hundred_thousand_bad_requests_cost_nothing_and_harm_nobody,
    s10_an_end_under_load_loses_nothing_that_was_queued,
];

fn alone(test: fn()) {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    watched(test);
}

/// What this process holds.
#[derive(Debug)]
struct Held {
    descriptors: usize,
    threads: usize,
    kibibytes: usize,
}

fn held() -> Held {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    };
    let descriptors = fs::read_dir("/proc/self/fd").unwrap().count();
    Held { descriptors, threads: number("Threads:"), kibibytes: number("VmRSS:") }
}

/// Runs what is to cost nothing. Before it, enough is done that what is made once is there; after it, what was taken is given
/// back. Memory that was asked for is not always returned to the system, so a bound must do: 24 MiB, which a thousand bytes a
/// request would pass four times over.
fn costs_nothing<A: ServerAdapter>(served: &Served<A>, work: impl Fn(usize)) {
    work(0);
    within_bound(served, || is_quiet(served));
    let before = held();
    work(1);
    within_bound(served, || {
        let after = held();
        is_quiet(served) && after.descriptors <= before.descriptors && after.threads <= before.threads
    });
    let after = held();
    assert!(after.kibibytes < before.kibibytes + (24 << 10), "{before:?} became {after:?}");
    assert_serves(served);
}

/// Waits until it is so: what is not given back is told.
fn within_bound<A: ServerAdapter>(served: &Served<A>, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < BOUND, "not given back: {:?}, {:?}", served.server, held());
        thread::sleep(Duration::from_millis(5));
    }
}

fn is_quiet<A: ServerAdapter>(served: &Served<A>) -> bool {
    served.server.sessions().is_empty() && served.says("exchanges: 0") && served.says("calls: 0")
}

fn assert_serves<A: ServerAdapter>(served: &Served<A>) {
    let reply = served.client(Protocol::Auto).call("tools/call", &tool("add", &json!({"a": 2, "b": 3}))).unwrap();
    assert_eq!(text_of(reply.result().unwrap()), "5");
}

/// Closes a connection, by FIN or by RST.
fn vanish(socket: TcpStream, resets: bool) {
    if resets {
        SockRef::from(&socket).set_linger(Some(Duration::ZERO)).unwrap();
    }
    drop(socket);
}

fn connect(address: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(address).unwrap();
    socket.set_nodelay(true).unwrap();
    socket.set_read_timeout(Some(BOUND)).unwrap();
    socket.set_write_timeout(Some(BOUND)).unwrap();
    socket
}

fn s4_clients_may_vanish_at_any_byte_of_their_request<A: ServerAdapter>() {
    let served = Served::<A>::new();
    let request = bytes(&modern("progress", &json!({})));
    costs_nothing(&served, |_| {
        for cut in 0..=request.len() {
            let mut socket = connect(served.address);
            socket.write_all(&request[..cut]).unwrap();
            vanish(socket, cut % 2 == 0);
        }
    });
}

fn s4_clients_may_vanish_at_any_byte_of_the_response<A: ServerAdapter>() {
    let served = Served::<A>::new();
    let request = bytes(&modern("progress", &json!({})));
    let mut whole = Vec::new();
    let mut socket = connect(served.address);
    socket.write_all(&request).unwrap();
    while !whole.ends_with(b"\r\n0\r\n\r\n") {
        let mut piece = [0; 1024];
        let read = socket.read(&mut piece).unwrap();
        whole.extend_from_slice(&piece[..read]);
    }
    costs_nothing(&served, |_| {
        for cut in 0..whole.len() {
            let mut socket = connect(served.address);
            socket.write_all(&request).unwrap();
            // What is written is the same but for the date, and that is as long.
            let mut read = vec![0; cut];
            socket.read_exact(&mut read).unwrap();
            vanish(socket, cut % 2 == 0);
        }
    });
}

/// Numbers that only look random.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound).unwrap()).unwrap()
    }

    fn one_of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}

const WORDS: [&str; 12] = [
    "",
    " ",
    "2026-07-28",
    "1999-01-01",
    "application/json",
    "text/event-stream",
    "tools/call",
    "=?base64?!?=",
    "evil.example",
    "null",
    "\u{fffd}",
    "0123456789abcdef0123456789abcdef0123456789abcdef",
];
const NAMES: [&str; 10] = [
    "Host",
    "Origin",
    "Accept",
    "Content-Type",
    "MCP-Protocol-Version",
    "Mcp-Method",
    "Mcp-Name",
    "Mcp-Session-Id",
    "Last-Event-ID",
    "Mcp-Param-X",
];
const BODIES: [&str; 12] = [
    "",
    "{",
    "[]",
    "null",
    "[[[[[[[[[[",
    r#"{"jsonrpc":"2.0"}"#,
    r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
    r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{}]"#,
    r#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
    "\u{0}\u{1}",
];

/// A request with something wrong with it.
fn bad_request(chance: &mut Chance) -> HttpMessage {
    let number = chance.below(1000);
    let mut message = match chance.below(3) {
        0 => modern("add", &json!({"a": 1, "b": number})),
        1 => HttpMessage::modern(number, "tools/list", json!({})),
        _ => HttpMessage::in_session(
            chance.one_of(&WORDS[1..]),
            &json!({"jsonrpc": "2.0", "id": number, "method": "ping"}),
        ),
    };
    for _ in 0..=chance.below(2) {
        let name = chance.one_of(&NAMES);
        message = match chance.below(6) {
            0 => message.without(name),
            1 => message.with(name, chance.one_of(&WORDS)),
            2 => message.with_body(chance.one_of(&BODIES)),
            3 => {
                let mut body = message.body.clone();
                let at = chance.below(body.len().max(1));
                match body.get_mut(at) {
                    Some(byte) => *byte = (chance.next() & 0xFF) as u8,
                    None => body.push(b'{'),
                }
                message.with_body(body)
            }
            4 => {
                let kept = chance.below(message.body.len().max(1));
                let body = message.body[..kept.min(message.body.len())].to_vec();
                message.with_body(body)
            }
            _ => {
                message.method = ["GET", "DELETE", "PUT", "POST"][chance.below(4)];
                message.target = chance.one_of(&["/mcp", "/mcp?session_id=1", "/", "/mcp/..", "/mcp?"]).to_owned();
                message
            }
        };
    }
    message
}

/// Reads one response; nothing if the connection is not to be used again.
fn read_response(socket: &mut TcpStream) -> Option<()> {
    let mut unread = Vec::new();
    loop {
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut response = httparse::Response::new(&mut headers);
        if let httparse::Status::Complete(head) = response.parse(&unread).unwrap() {
            let value = |name: &str| {
                let header = response.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
                header.map(|header| std::str::from_utf8(header.value).unwrap().to_ascii_lowercase())
            };
            assert!((200..600).contains(&response.code.unwrap()));
            // A stream that may never end is left.
            let length: usize = value("content-length")?.parse().unwrap();
            let closes = value("connection").is_some_and(|value| value.contains("close"));
            let mut rest = vec![0; (head + length).saturating_sub(unread.len())];
            socket.read_exact(&mut rest).ok()?;
            return (!closes).then_some(());
        }
        let mut piece = [0; 2048];
        match socket.read(&mut piece) {
            Ok(read @ 1..) => unread.extend_from_slice(&piece[..read]),
            _ => return None,
        }
    }
}

fn s2_s9_a_hundred_thousand_bad_requests_cost_nothing_and_harm_nobody<A: ServerAdapter>() {
    const THREADS: usize = 4;
    // Who sent more than its request, and nobody reads that, is seen to be gone when the next comment is written.
    let served = Served::<A>::with_config(config().with_keep_alive(Some(Duration::from_millis(200))));
    let address = served.address;
    costs_nothing(&served, |round| {
        let requests = if round == 0 { 1_000 } else { 100_000 / THREADS };
        thread::scope(|scope| {
            for thread in 0..THREADS {
                scope.spawn(move || {
                    let mut chance = Chance(0x9E37_79B9_7F4A_7C15 ^ (thread as u64 + 1) << 32 ^ round as u64);
                    let mut kept = None;
                    for number in 0..requests {
                        let mut socket = kept.take().unwrap_or_else(|| connect(address));
                        let message = bad_request(&mut chance);
                        let mut sent = if number % 64 == 63 { head(&message) } else { bytes(&message) };
                        if number % 97 == 96 {
                            // No HTTP at all, or not for long.
                            let at = chance.below(sent.len());
                            sent[at] = 0;
                        }
                        let is_whole = number % 64 != 63 && number % 97 != 96;
                        // The server may have closed what was kept.
                        if socket.write_all(&sent).is_ok() && is_whole && read_response(&mut socket).is_some() {
                            kept = Some(socket);
                        }
                    }
                });
            }
            // Good clients are served meanwhile.
            for _ in 0..20 {
                assert_serves(&served);
                thread::sleep(Duration::from_millis(5));
            }
        });
    });
}

fn s10_an_end_under_load_loses_nothing_that_was_queued<A: ServerAdapter>() {
    const READERS: usize = 20;
    let mut served = Served::<A>::new();
    let listening = HttpMessage::new("GET", "/mcp").with("Accept", "text/event-stream");
    let readers: Vec<_> = (0..READERS)
        .map(|_| {
            let mut socket = connect(served.address);
            socket.write_all(&bytes(&listening)).unwrap();
            thread::spawn(move || {
                let mut read = Vec::new();
                socket.read_to_end(&mut read).unwrap();
                let read = String::from_utf8(read).unwrap();
                assert!(read.ends_with("0\r\n\r\n"), "the stream has its end");
                read.matches("notifications/message").count()
            })
        })
        .collect();
    wait_until("all listen", || served.server.sessions().len() == READERS);
    let mut queued = 0;
    for number in 0..200 {
        let params: Value = json!({"level": "info", "data": number});
        let deliveries = served.server.broadcast("notifications/message", &params);
        queued += deliveries.iter().filter(|delivery| delivery.outcome == Ok(Sent::Queued)).count();
    }
    served.end();
    let read: usize = readers.into_iter().map(|reader| reader.join().unwrap()).sum();
    assert_eq!((read, queued), (queued, 200 * READERS));
}
