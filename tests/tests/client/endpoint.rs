//! `Endpoint`: which URLs are taken, what they mean for a connection, and where a redirect may lead (E18).

use mcp_sse_core::client::{Endpoint, EndpointError};

fn endpoint(url: &str) -> Endpoint {
    Endpoint::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"))
}

fn error(url: &str) -> EndpointError {
    Endpoint::parse(url).expect_err(url)
}

#[test]
fn host_port_and_target() {
    for (url, tls, host, port, target) in [
        ("http://example.com", false, "example.com", 80, "/"),
        ("https://example.com", true, "example.com", 443, "/"),
        ("http://example.com/mcp", false, "example.com", 80, "/mcp"),
        ("HTTPS://EXAMPLE.com/MCP", true, "example.com", 443, "/MCP"),
        ("https://example.com:443/mcp", true, "example.com", 443, "/mcp"),
        ("http://example.com:443/mcp", false, "example.com", 443, "/mcp"),
        ("http://example.com:8080/a/../b/./c", false, "example.com", 8080, "/b/c"),
        ("http://example.com:65535/", false, "example.com", 65535, "/"),
        ("http://127.0.0.1:3000/mcp", false, "127.0.0.1", 3000, "/mcp"),
        ("http://0x7f.1/mcp", false, "127.0.0.1", 80, "/mcp"),
        ("http://[::1]:3000/mcp", false, "::1", 3000, "/mcp"),
        ("https://[2001:DB8:0:0:0:0:0:1]/", true, "2001:db8::1", 443, "/"),
        ("http://localhost/a%20b/c d", false, "localhost", 80, "/a%20b/c%20d"),
        ("http://example.com/mcp?tenant=7&x=%2F", false, "example.com", 80, "/mcp?tenant=7&x=%2F"),
        ("http://example.com?q", false, "example.com", 80, "/?q"),
        ("http://example.com/mcp?", false, "example.com", 80, "/mcp?"),
        ("http://example.com/é?ü=1", false, "example.com", 80, "/%C3%A9?%C3%BC=1"),
        (" http://example.com/mcp\n", false, "example.com", 80, "/mcp"),
    ] {
        let endpoint = endpoint(url);
        let parts = (endpoint.is_tls(), endpoint.host(), endpoint.port(), endpoint.target());
        assert_eq!(parts, (tls, host, port, target), "{url}");
        assert!(!endpoint.target().contains([' ', '\r', '\n']), "{url}");
    }
}

/// A tunnel's target has its port always, a `Host` header only one that is not the scheme's own.
#[test]
fn host_and_port_are_named_as_a_tunnel_and_as_a_header_wants_them() {
    for (url, tunnel, header) in [
        ("http://example.com/mcp", "example.com:80", "example.com"),
        ("https://example.com/mcp", "example.com:443", "example.com"),
        ("http://example.com:8080/mcp", "example.com:8080", "example.com:8080"),
        ("https://[::1]:8443/mcp", "[::1]:8443", "[::1]:8443"),
    ] {
        assert_eq!((endpoint(url).host_and_port().as_str(), endpoint(url).authority()), (tunnel, header));
    }
}

#[test]
fn names_beyond_ascii_are_resolved_by_idna() {
    for (url, host) in [
        ("http://bücher.example/", "xn--bcher-kva.example"),
        ("http://BÜCHER.example/", "xn--bcher-kva.example"),
        ("http://xn--bcher-kva.example/", "xn--bcher-kva.example"),
        ("https://日本語.example/", "xn--wgv71a119e.example"),
        ("http://ｅｘａｍｐｌｅ.com/", "example.com"),
    ] {
        assert_eq!(endpoint(url).host(), host, "{url}");
    }
    assert!(matches!(error("http://a\u{ad}\u{200d}b.\u{202e}example/"), EndpointError::NotAUrl(_)));
}

#[test]
fn a_fragment_is_dropped_and_a_query_is_kept() {
    let endpoint = endpoint("http://example.com/mcp?a=1#part");
    assert_eq!((endpoint.target(), endpoint.as_str()), ("/mcp?a=1", "http://example.com/mcp?a=1"));
    assert_eq!(endpoint, self::endpoint("http://example.com/mcp?a=1"));
}

#[test]
fn only_http_and_https_are_taken() {
    for url in [
        "ftp://example.com/",
        "ws://example.com/",
        "wss://example.com/",
        "file:///etc/passwd",
        "unix:/run/mcp.sock",
        "javascript:alert(1)",
        "data:text/plain,x",
        "mcp://example.com/",
        "httpx://example.com/",
        "localhost:3000/mcp",
    ] {
        assert_eq!(error(url), EndpointError::Scheme, "{url}");
    }
}

#[test]
fn credentials_are_refused_and_not_repeated() {
    for url in [
        "http://user@example.com/",
        "http://user:hush@example.com/",
        "https://:hush@example.com/",
        "https://user:@example.com/",
        "http://%75ser@example.com/",
    ] {
        let error = error(url);
        assert_eq!(error, EndpointError::Credentials, "{url}");
        assert!(!format!("{error} {error:?}").contains("hush"));
    }
    // An empty user is none.
    assert_eq!(endpoint("http://@example.com/").as_str(), "http://example.com/");
}

#[test]
fn what_is_no_url_is_told() {
    for url in ["", "/mcp", "example.com", "http://", "http://[::1", "http://:80/", "http://a b/", "http://a:99999/"] {
        assert!(matches!(error(url), EndpointError::NotAUrl(_)), "{url}: {:?}", error(url));
    }
}

#[test]
fn debug_shows_the_origin_only() {
    let shown = format!("{:?}", endpoint("https://example.com:8443/secret/path?token=hush"));
    assert_eq!(shown, "Endpoint(https://example.com:8443)");
    assert_eq!(format!("{:?}", endpoint("http://[::1]/x")), "Endpoint(http://[::1]:80)");
}

#[test]
fn e18_a_place_of_the_same_origin_is_joined() {
    let from = endpoint("https://example.com/a/mcp?tenant=7");
    for (reference, url) in [
        ("/b", "https://example.com/b"),
        ("b", "https://example.com/a/b"),
        ("../b", "https://example.com/b"),
        ("?x=1", "https://example.com/a/mcp?x=1"),
        ("#x", "https://example.com/a/mcp?tenant=7"),
        ("", "https://example.com/a/mcp?tenant=7"),
        ("//example.com/b", "https://example.com/b"),
        ("//EXAMPLE.com:443/b", "https://example.com/b"),
        ("https://example.com/b#c", "https://example.com/b"),
        ("https://example.com:443/b", "https://example.com/b"),
        ("https:/b", "https://example.com/b"),
        ("\\b", "https://example.com/b"),
    ] {
        let joined = from.join_same_origin(reference).unwrap_or_else(|| panic!("{reference}"));
        assert_eq!(joined.as_str(), url, "{reference}");
        assert!(joined.is_tls());
    }
}

#[test]
fn e18_another_origin_is_not() {
    let from = endpoint("https://example.com/mcp");
    for reference in [
        "http://example.com/mcp",
        "//other.example/mcp",
        "\\\\other.example/mcp",
        "https://other.example/mcp",
        "https://example.com.other.example/mcp",
        "https://sub.example.com/mcp",
        "https://example.com./mcp",
        "https://example.com:8443/mcp",
        "https://example.com:80/mcp",
        "https://user@example.com/mcp",
        "https://example.com@other.example/mcp",
        "ftp://example.com/mcp",
        "wss://example.com/mcp",
        "javascript:alert(1)",
        "https://[::1/mcp",
        "https://",
    ] {
        assert!(from.join_same_origin(reference).is_none(), "{reference}");
    }
    assert!(endpoint("http://[::1]/").join_same_origin("http://[::2]/").is_none());
    assert!(endpoint("http://example.com/").join_same_origin("https://example.com/").is_none(), "an upgrade too");
}

#[test]
fn e18_ports_and_addresses_are_compared_by_what_they_mean() {
    let from = endpoint("http://127.0.0.1:8080/mcp");
    assert!(from.join_same_origin("http://0x7f.0.0.1:8080/x").is_some());
    assert!(from.join_same_origin("http://localhost:8080/x").is_none());
    let from = endpoint("http://[0:0:0:0:0:0:0:1]/");
    assert_eq!(from.join_same_origin("http://[::1]:80/x").as_ref().map(Endpoint::host), Some("::1"));
}
