//! Where the blocking adapter connects to: IPv6, names with several addresses, URLs that are no endpoint.

use mcp_sse_blocking::core::client::EndpointError;
use mcp_sse_blocking::{BuildError, Client};
use mcp_sse_tests::blocking::{BOUND, builder, call, client, execution, within};
use mcp_sse_tests::peer::{Peer, Script};

/// Whether the machine has IPv6 at all.
fn has_ipv6() -> bool {
    std::net::TcpListener::bind("[::1]:0").is_ok()
}

#[test]
fn an_ipv6_address_is_reached_and_named_with_its_brackets() {
    if !has_ipv6() {
        return;
    }
    for builder in [Peer::builder(), Peer::builder().tls()] {
        let peer = builder.ipv6().start();
        let scenario = peer.scenario([Script::whole()]);
        assert_eq!(execution(&call(&client(&peer, &scenario)).unwrap()), 1);
        let host = scenario.requests()[0].header("host").map(str::to_owned);
        assert_eq!(host, Some(format!("[::1]:{}", peer.address().port())));
    }
}

/// A name may have addresses at which nobody listens: `localhost` is `::1` and 127.0.0.1 on most machines.
#[test]
fn a_name_is_reached_by_whichever_of_its_addresses_listens() {
    let peer = Peer::start();
    let scenario = peer.scenario([Script::whole()]);
    let client = Client::builder(&scenario.localhost_url()).options(within(BOUND)).build().unwrap();
    assert_eq!(execution(&call(&client).unwrap()), 1);
    let host = scenario.requests()[0].header("host").map(str::to_owned);
    assert_eq!(host, Some(format!("localhost:{}", peer.address().port())));
    assert_eq!(peer.connections(), 1);
}

#[test]
fn a_query_is_sent_and_a_fragment_is_not() {
    let peer = Peer::start();
    let scenario = peer.scenario([Script::whole()]);
    let client = Client::new(&format!("{}/mcp?tenant=7&x=%20#part", scenario.url())).unwrap();
    assert_eq!(execution(&call(&client).unwrap()), 1);
    assert_eq!(scenario.requests()[0].target, format!("{}/mcp?tenant=7&x=%20", scenario.path()));
}

#[test]
fn urls_that_are_no_endpoint_are_refused_before_anything_is_sent() {
    let peer = Peer::start();
    let address = peer.address();
    let credentials = [format!("http://user:secret@{address}/mcp"), format!("http://user@{address}/mcp")];
    for url in credentials {
        let error = Client::new(&url).unwrap_err();
        assert!(matches!(error, BuildError::Endpoint(EndpointError::Credentials)), "{error}");
        assert!(!error.to_string().contains("secret"));
    }
    for url in ["", "mcp", "ftp://127.0.0.1/", "http://", "file:///mcp", "http://[::1/"] {
        assert!(matches!(Client::new(url).unwrap_err(), BuildError::Endpoint(_)), "{url}");
    }
    assert_eq!(peer.connections(), 0);
}

#[test]
fn headers_that_are_none_or_are_the_clients_own_are_refused() {
    let peer = Peer::start();
    let scenario = peer.scenario([]);
    for (name, value) in
        [("Bad name", "x"), ("X", "a\r\nEvil: 1"), ("X", "naïve"), ("Content-Length", "3"), ("Host", "a")]
    {
        let error = builder(&peer, &scenario).header(name, value).build().unwrap_err();
        assert!(matches!(error, BuildError::Config(_)), "{name}: {error}");
    }
    // The first mistake is the one that is told.
    let error = builder(&peer, &scenario).header("Bad name", "x").trust_pem(b"nonsense").build().unwrap_err();
    assert!(matches!(error, BuildError::Config(_)), "{error}");
}
