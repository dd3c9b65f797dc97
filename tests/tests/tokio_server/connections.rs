//! Connections: how many, how large a head, and how long one may be silent.

use std::time::Duration;

use mcp_sse_tests::blocking::timed;
use mcp_sse_tests::served::{bytes, modern};
use mcp_sse_tests::tokio_client::{BOUND, run};
use mcp_sse_tokio::ServeConfig;
use serde_json::json;
use tokio::net::TcpStream;

use crate::support::{Local, wait_until};

#[test]
fn a_head_over_the_bound_is_refused() {
    run(async {
        let local = Local::new(ServeConfig::default().with_max_head_bytes(10_000)).await;
        let add = modern("add", &json!({"a": 1, "b": 1}));
        assert_eq!(local.socket().exchange(&add.clone().with("X", &"x".repeat(5_000))).status, 200);
        // No more of it is sent than is read, so that the refusal is not lost with the connection.
        let mut socket = local.socket();
        socket.send(format!("GET /mcp HTTP/1.1\r\nX: {}", "x".repeat(10_000 - 22)).as_bytes());
        socket.send(b"xx");
        assert_eq!(socket.response().status, 431);
        assert!(socket.is_at_end());
        // Over HTTP/2.
        let (mut sender, connection) =
            h2::client::handshake(TcpStream::connect(local.address).await.unwrap()).await.unwrap();
        let driver = tokio::spawn(connection);
        for (length, status) in [(5_000, 404), (20_000, 431)] {
            let request =
                http::Request::get("http://localhost/other").header("x", "x".repeat(length)).body(()).unwrap();
            let (response, _) = sender.send_request(request, true).unwrap();
            assert_eq!(response.await.unwrap().status(), status, "{length}");
        }
        drop(sender);
        driver.await.unwrap().unwrap();
        local.end().await;
    });
}

#[test]
fn a_connection_that_does_not_come_to_a_request_is_closed() {
    let short = Duration::from_millis(300);
    run(async {
        let local = Local::new(ServeConfig::default().with_head_timeout(short)).await;
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
        for begun in [&b""[..], b"P", b"GET /mcp HT", b"PRI * HTTP/2.0\r\n", preface] {
            let mut socket = local.socket();
            let (said, elapsed) = timed(|| {
                let mut said = Vec::new();
                socket.send(begun);
                std::io::Read::read_to_end(&mut socket.stream, &mut said).map(|_| said).unwrap()
            });
            assert!(elapsed >= short / 2 && elapsed < BOUND, "{begun:?}: {elapsed:?}");
            assert!(!said.starts_with(b"HTTP/1.1 2"), "{begun:?}");
        }
        // Nor is one kept that has had its request.
        let mut socket = local.socket();
        assert_eq!(socket.exchange(&modern("add", &json!({}))).status, 200);
        assert!(socket.is_at_end());
        local.end().await;
    });
}

/// A call may take its time.
#[test]
fn a_call_that_takes_longer_than_a_head_may_is_not_cut() {
    let short = Duration::from_millis(200);
    run(async {
        let local = Local::new(ServeConfig::default().with_head_timeout(short)).await;
        let mut socket = local.socket();
        socket.send(&bytes(&modern("wait", &json!({}))));
        wait_until("it does not wait", || local.heard.count("waits") == 1).await;
        tokio::time::sleep(3 * short).await;
        assert_eq!(local.heard.count("Some(Gone)"), 0);
        drop(socket);
        wait_until("it is not heard", || local.heard.count("Some(Gone)") == 1).await;
        local.end().await;
    });
}

/// Nor is it silent while its last answer is being read.
#[test]
fn a_reader_slower_than_a_head_may_be_gets_all_of_its_answer() {
    let short = Duration::from_secs(1);
    // Far more than the system keeps between the two.
    let (bytes_asked, pieces) = (48 << 20, 48);
    run(async move {
        let local = Local::new(ServeConfig::default().with_head_timeout(short)).await;
        let mut socket = local.socket();
        socket.send(&bytes(&modern("large", &json!({"bytes": bytes_asked}))));
        let mut piece = vec![0; bytes_asked / pieces];
        for _ in 0..pieces {
            std::thread::sleep(short / 20);
            std::io::Read::read_exact(&mut socket.stream, &mut piece).expect("the answer goes on");
        }
        let (mut rest, mut end) = (Vec::new(), [0; 4096]);
        while !rest.ends_with(b"}") {
            let taken = std::io::Read::read(&mut socket.stream, &mut end).expect("the answer goes on to its end");
            assert!(taken > 0, "it was cut");
            rest.extend_from_slice(&end[..taken]);
        }
        // Then it is.
        assert!(socket.is_at_end());
        local.end().await;
    });
}

#[test]
fn a_connection_over_the_bound_waits_for_another_to_end() {
    run(async {
        let local = Local::new(ServeConfig::default().with_max_connections(1)).await;
        let mut first = local.socket();
        assert_eq!(first.exchange(&modern("add", &json!({}))).status, 200);
        let mut second = local.socket();
        second.send(&bytes(&modern("large", &json!({"bytes": 1}))));
        for _ in 0..20 {
            assert_eq!(first.exchange(&modern("add", &json!({}))).status, 200);
        }
        assert_eq!(local.heard.count("large"), 0, "the second is served beside the first");
        drop(first);
        assert_eq!(second.response().status, 200);
        assert_eq!(local.heard.count("large"), 1);
        drop(second);
        local.end().await;
    });
}
