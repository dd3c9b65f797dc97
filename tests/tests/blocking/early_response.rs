//! Responses that come while the blocking adapter still writes its request: interim heads, refusals, and what TLS says of its own.
//!
//! The servers here are made by hand, since the scripted peer reads a request before it answers.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mcp_sse_blocking::{CallError, Client, Reply};
use mcp_sse_core::exchange::Exposure;
use mcp_sse_tests::blocking::{BOUND, METHOD, execution, timed, within};
use serde_json::{Value, json};

/// More than the sockets' buffers take in.
const LARGE: usize = 32 << 20;
/// Long enough for the client to be held up in its writing.
const HELD_UP: Duration = Duration::from_millis(300);

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n\
    {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"executions\":1}}";

fn large() -> Value {
    json!({"name": "charge", "arguments": {"text": "x".repeat(LARGE)}})
}

/// A server for one connection.
fn server<T: Send + 'static>(serve: impl FnOnce(TcpStream) -> T + Send + 'static) -> (String, JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    (url, thread::spawn(move || serve(listener.accept().unwrap().0)))
}

fn call(url: &str) -> Result<Reply, CallError> {
    Client::builder(url).options(within(BOUND)).build().unwrap().call(METHOD, &large())
}

/// Reads a whole request, and says how many bytes its body had.
fn read_request(connection: &mut TcpStream) -> usize {
    let mut bytes = vec![0; 1 << 20];
    let mut head = Vec::new();
    let body = loop {
        let read = connection.read(&mut bytes).unwrap();
        assert!(read > 0, "the request ended in its head");
        head.extend_from_slice(&bytes[..read]);
        if let Some(end) = head.windows(4).position(|window| window == b"\r\n\r\n") {
            break head.len() - end - 4;
        }
    };
    let text = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let length = text.split("content-length: ").nth(1).and_then(|rest| rest.split('\r').next()).unwrap();
    let length: usize = length.parse().unwrap();
    let mut taken = body;
    while taken < length {
        let read = connection.read(&mut bytes).unwrap();
        assert!(read > 0, "{taken} of {length} bytes came");
        taken += read;
    }
    taken
}

#[test]
fn an_interim_head_does_not_stop_the_request() {
    for interim in ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLi"] {
        let (url, serving) = server(move |mut connection| {
            connection.write_all(interim.as_bytes()).unwrap();
            thread::sleep(HELD_UP);
            let taken = read_request(&mut connection);
            if interim.ends_with("Li") {
                connection.write_all(b"nk: </a>\r\n\r\n").unwrap();
            }
            connection.write_all(ANSWER.as_bytes()).unwrap();
            taken
        });
        let reply = call(&url).unwrap();
        assert_eq!((reply.attempts, execution(&reply)), (1, 1));
        assert!(serving.join().unwrap() > LARGE);
    }
}

#[test]
fn e18_a_refusal_is_told_although_the_request_is_never_read() {
    let (url, serving) = server(|mut connection| {
        connection.write_all(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 4\r\n\r\nmuch").unwrap();
        connection
    });
    let (result, elapsed) = timed(|| call(&url));
    let connection = serving.join().unwrap();
    let error = result.unwrap_err();
    assert_eq!((error.status(), error.attempts()), (Some(413), 1));
    assert!(error.exposure() >= Exposure::Headed);
    assert!(elapsed < BOUND, "{elapsed:?}");
    drop(connection);
}

#[test]
fn e18_a_refusal_is_told_although_the_connection_is_closed_behind_it() {
    let (url, serving) = server(|mut connection| {
        connection.read_exact(&mut [0; 1000]).unwrap();
        connection.write_all(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 4\r\n\r\nmuch").unwrap();
        connection.shutdown(Shutdown::Write).unwrap();
        thread::sleep(HELD_UP);
    });
    let error = call(&url).unwrap_err();
    assert_eq!((error.status(), error.attempts()), (Some(413), 1));
    serving.join().unwrap();
}

#[test]
fn e2_an_answer_before_the_end_of_the_request_is_an_answer() {
    let (url, serving) = server(|mut connection| {
        connection.write_all(ANSWER.as_bytes()).unwrap();
        connection
    });
    let reply = call(&url).unwrap();
    assert_eq!((reply.attempts, execution(&reply)), (1, 1));
    drop(serving.join().unwrap());
}
