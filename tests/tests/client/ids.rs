//! F8: ids are integers of at most 53 bits, unique over a client's life, whatever becomes of the calls.

use std::collections::BTreeSet;

use mcp_sse_core::client::{CallOptions, Client, ClientConfig, Endpoint, Step};
use mcp_sse_core::jsonrpc::{Id, MessageKind};
use mcp_sse_tests::loop_driver::{ENDPOINT, LoopDriver, Script, within};

fn integer(id: &Id) -> i64 {
    match id {
        Id::Integer(value) => *value,
        other => panic!("{other} is no integer"),
    }
}

/// T98, F8: thousands of calls, with losses, redirects, refusals and notifications between them.
#[test]
fn f8_ids_are_never_used_again() {
    let redirect = || Script::sent().head(307, &[("Location", "/elsewhere")]);
    let endings = [
        Script::answered(),
        Script::lost_sent(),
        redirect(),
        Script::refused(),
        Script::lost_streaming(),
        Script::answered(),
        redirect(),
        Script::lost_headed(),
    ];
    let mut driver = LoopDriver::new(ClientConfig::default().with_follow_redirects(true));
    for number in 0..3000 {
        driver.script(endings[number % endings.len()].clone());
        if number % 7 == 3 {
            driver.notify("notifications/other", None, CallOptions::default());
        } else {
            driver.call("tools/list", None, within(50));
        }
        if number % 5 == 0 {
            driver.run_until(driver.now + 1);
        }
    }
    driver.run();
    // A redirect is the same request at another place; it alone may repeat an id, and only right away.
    let mut seen = BTreeSet::new();
    let mut at_first = 0;
    for post in &driver.posts {
        let Some(id) = post.id() else { continue };
        let id = integer(&id);
        assert!((1..1 << 53).contains(&id));
        if post.request.endpoint.target() == "/mcp" {
            at_first += 1;
            assert!(seen.insert(id), "{id} was used before");
        } else {
            assert!(seen.contains(&id), "a redirect keeps its id");
        }
    }
    assert!(at_first > 3000, "{at_first}");
    assert_eq!(driver.done.len(), 3000);
}

#[test]
fn f8_calls_that_run_at_once_have_ids_of_their_own() {
    let mut client = Client::new(Endpoint::parse(ENDPOINT).expect("a URL"), ClientConfig::default());
    let now = mcp_sse_core::Timestamp::ZERO;
    let calls: Vec<_> = (0..2000)
        .map(|_| client.call("ping", None, CallOptions::default().with_timeout(None), now).expect("a call"))
        .collect();
    assert_eq!(calls.iter().collect::<BTreeSet<_>>().len(), 2000, "names of calls differ too");
    let mut ids = BTreeSet::new();
    let mut exchanges = BTreeSet::new();
    while let Some(step) = client.poll_step(now) {
        let Step::Send(exchange, request) = step else { panic!("{step:?}") };
        let message = mcp_sse_core::jsonrpc::Message::from_text(String::from_utf8(request.body).expect("UTF-8"));
        let message = message.expect("a message");
        assert_eq!(message.kind(), MessageKind::Request);
        ids.insert(integer(message.id().expect("an id")));
        exchanges.insert(exchange);
    }
    assert_eq!((ids.len(), exchanges.len()), (2000, 2000));
}

#[test]
fn f8_a_call_that_was_never_sent_does_not_give_its_id_to_another() {
    let mut driver = LoopDriver::with_scripts(ClientConfig::default(), vec![Script::refused(); 3]);
    for _ in 0..3 {
        driver.call("ping", None, CallOptions::default());
        driver.run();
    }
    assert_eq!(driver.ids(), [1, 2, 3].map(Id::from));
}

#[test]
fn f8_a_notification_has_no_id() {
    let mut driver = LoopDriver::new(ClientConfig::default());
    driver.notify("notifications/initialized", None, CallOptions::default());
    driver.carry_out();
    assert_eq!(driver.posts[0].message().kind(), MessageKind::Notification);
    assert_eq!(driver.posts[0].message().id(), None);
    assert!(!driver.posts[0].body().contains("\"id\""));
}
