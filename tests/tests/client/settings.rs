//! What an adapter's builder collects reaches the client that is built, and a mistake is not forgotten.

use std::time::Duration;

use mcp_sse_core::client::{BuildError, CallEvent, CallOptions, ConfigError, Settings};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::channel_driver::{Manner, Reply};
use mcp_sse_tests::loop_driver::{first_request, header};
use mcp_sse_tests::session_server::driver;

/// F15 among it: a method that has a handler is one that the core hands to the embedder.
#[test]
fn settings_reach_the_client_that_is_built() {
    let mut settings = Settings::new("https://example.com/mcp");
    settings.set(|config| config.with_probe(true));
    settings.try_set(|config| config.with_header("x-team", "blue"));
    settings.set_options(CallOptions::default().with_timeout(Duration::from_secs(7)));
    settings.handle("roots/list", "roots");
    settings.handle("sampling/createMessage", "sampling");
    let built = settings.build().expect("no mistake was made");
    assert_eq!(built.endpoint.as_str(), "https://example.com/mcp");
    assert!(built.config.probe);
    let request = first_request(built.config.clone(), "ping", None).expect("a request");
    assert_eq!(header(&request, "x-team"), Some("blue"));
    assert_eq!(built.options.timeout, Some(Duration::from_secs(7)));
    let handlers: Vec<_> = built.handlers.iter().map(|(method, handler)| (method.as_str(), *handler)).collect();
    assert_eq!(handlers, [("roots/list", "roots"), ("sampling/createMessage", "sampling")]);
    let config = built.config.with_probe(false).with_version(ProtocolVersion::V2025_11_25);
    let mut driver = driver(config, Manner::Together, |sent, _| match sent.request.method {
        "GET" => Reply::status(405),
        _ => Reply::stream().event(r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#),
    });
    let call = driver.call("tools/list", None, CallOptions::default());
    driver.run_until(10);
    let asked = driver.events_of(call).into_iter().filter_map(CallEvent::awaiting);
    assert_eq!(asked.map(|(method, _, _)| method).collect::<Vec<_>>(), ["roots/list"]);
}

#[test]
fn the_first_mistake_is_the_one_told() {
    let mut settings = Settings::<()>::new("no URL");
    settings.refuse(BuildError::Certificates);
    settings.try_set(|config| config.with_header("no name", ""));
    settings.set(|config| config.with_probe(true));
    assert!(matches!(settings.build(), Err(BuildError::Certificates)));

    let mut settings = Settings::<()>::new("https://example.com/mcp");
    settings.try_set(|config| config.with_header("no name", ""));
    settings.refuse(BuildError::Certificates);
    assert!(matches!(settings.build(), Err(BuildError::Config(ConfigError::HeaderName))));

    assert!(matches!(Settings::<()>::new("no URL").build(), Err(BuildError::Endpoint(_))));
}

/// A URL may hold a secret, and so may a header's value.
#[test]
fn what_is_shown_of_settings_holds_no_secret() {
    let mut settings = Settings::new("https://example.com/mcp?key=hunter2");
    settings.try_set(|config| config.with_header("authorization", "Bearer hunter2"));
    settings.handle("roots/list", ());
    let collected = format!("{settings:?}");
    assert!(collected.contains("roots/list") && !collected.contains("hunter2"), "{collected}");
    let built = format!("{:?}", settings.build().expect("no mistake was made"));
    assert!(built.contains("example.com") && !built.contains("hunter2"), "{built}");
}
