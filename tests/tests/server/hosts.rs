//! Who may be asked for, and from where (S2, first).

use mcp_sse_core::server::AllowedHosts;
use mcp_sse_tests::server_driver::{HttpMessage, ServerDriver, config};
use serde_json::json;

fn list() -> HttpMessage {
    HttpMessage::modern(1, "tools/list", json!({}))
}

/// S2: nothing of a foreign request is looked at, whatever else is wrong with it.
#[test]
fn s2_foreign_origins_and_hosts_are_refused_before_anything_else() {
    let foreign = [
        list().with("Origin", "https://evil.example"),
        list().with("Origin", "null"),
        list().with("Origin", "http://localhost.evil.example"),
        list().with("Origin", "http://evil.example:8000@localhost"),
        list().with("Host", "evil.example"),
        list().with("Host", "127.0.0.1.evil.example:8000"),
        list().without("Host"),
        HttpMessage::new("BREW", "/nowhere").with("Host", "evil.example"),
        HttpMessage::new("GET", "/mcp").with("Origin", "http://evil.example").with("Accept", "text/html"),
    ];
    for request in foreign {
        let mut driver = ServerDriver::default();
        let id = driver.server.on_request(request.head(), driver.time());
        assert!(!driver.server.wants_body(id), "{request:?}");
        let reply = driver.pull(id);
        assert_eq!(reply.status(), 403, "{request:?}");
        assert!(reply.json().get("id").is_none(), "the error bears no id");
        assert!(driver.event().is_none());
    }
}

/// S2: the names under which a machine reaches itself, with any port and none.
#[test]
fn s2_loopback_names_are_allowed_by_default() {
    for (host, origin) in [
        ("localhost", "http://localhost"),
        ("LOCALHOST:1", "http://127.0.0.1:65535"),
        ("[::1]:8000", "https://[::1]:3000"),
        ("127.0.0.1:8000", "http://localhost:5173"),
    ] {
        let mut driver = ServerDriver::default();
        driver.give(&list().with("Host", host).with("Origin", origin));
        driver.request();
    }
}

/// S2.
#[test]
fn s2_an_allow_list_is_exact_about_what_it_names() {
    let allowed = AllowedHosts::none()
        .with_host("mcp.example.com:8443")
        .with_origin("https://app.example.com")
        .with_host("[::1]");
    let allow = |host: &str, origin: Option<&str>| {
        let request = list().with("Host", host);
        let request = origin.map_or(request.clone(), |origin| request.with("Origin", origin));
        allowed.allow(&request.head())
    };
    assert!(allow("mcp.example.com:8443", None));
    assert!(allow("MCP.example.com:8443", Some("https://app.example.com")));
    assert!(allow("[::1]:9", None));
    assert!(!allow("mcp.example.com", None), "another port");
    assert!(!allow("localhost", None));
    assert!(!allow("::1", None));
    assert!(!allow("mcp.example.com:8443", Some("https://app.example.com:444")));
    assert!(!allow("mcp.example.com:8443", Some("http://localhost")));

    let mut driver = ServerDriver::new(config().with_allowed_hosts(AllowedHosts::none().with_any_host()));
    assert_ne!(driver.exchange(&HttpMessage::new("PUT", "/").with("Host", "any.example")).status(), 403);
    assert_eq!(driver.exchange(&list().with("Origin", "http://localhost")).status(), 403);
}
