//! F4: headers that mirror a tool's arguments: a mismatch leads to the list of tools and one re-send, and a list is handed
//! on without the tools that the specification forbids.

use std::time::Duration;

use mcp_sse_core::client::{CallEvent, CallId, CallOptions, ClientConfig, Outcome, Protocol};
use mcp_sse_core::exchange::FailureKind;
use mcp_sse_tests::channel_driver::{ChannelDriver, MANNERS, Manner, Reply, Sent};
use mcp_sse_tests::loop_driver::ENDPOINT;

const CALL: &str = r#"{"name":"query","arguments":{"region":"eu","limit":7}}"#;
const TOOL: &str = r#"{"name":"query","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"limit":{"type":"integer","x-mcp-header":"Limit"}}}}"#;

fn tools(tools: &str) -> Reply {
    Reply::result(&format!(r#"{{"resultType":"complete","tools":[{tools}]}}"#))
}

fn mismatch() -> Reply {
    Reply::error(400, -32020, r#"{"header":"Mcp-Param-Region"}"#)
}

fn answer() -> Reply {
    Reply::result(r#"{"resultType":"complete","content":[]}"#)
}

fn driver(manner: Manner, server: impl FnMut(&Sent, usize) -> Reply + 'static) -> ChannelDriver {
    ChannelDriver::new(ENDPOINT, ClientConfig::default(), manner, server)
}

fn call(driver: &mut ChannelDriver) -> CallId {
    driver.call("tools/call", Some(CALL), CallOptions::default())
}

/// What a server does that wants the headers: it refuses a call without them.
fn strict(sent: &Sent) -> Reply {
    match (&*sent.what(), sent.header("Mcp-Param-Region"), sent.header("Mcp-Param-Limit")) {
        ("tools/list", _, _) => tools(TOOL),
        ("tools/call", Some("eu"), Some("7")) => answer(),
        _ => mismatch(),
    }
}

/// F4: "-32020 on tools/call → read tools/list again, compute Mcp-Param-* anew, one re-send".
#[test]
fn f4_a_mismatch_leads_to_the_list_and_one_resend() {
    for protocol in [Protocol::Auto, ClientConfig::default().protocol] {
        for manner in MANNERS {
            let config = ClientConfig::default().with_protocol(protocol);
            let mut driver = ChannelDriver::new(ENDPOINT, config, manner, |sent, _| strict(sent));
            let first = call(&mut driver);
            driver.run();
            assert!(!driver.answer_of(first).info.is_error);
            assert_eq!(driver.events_of(first).len(), 1, "the refusal is not told");
            assert_eq!(driver.whats(), ["tools/call", "tools/list", "tools/call"]);
            let [before, _, after] = &driver.sent[..] else { panic!("three") };
            assert_eq!(before.header("Mcp-Param-Region"), None);
            assert_eq!(after.header("Mcp-Param-Region"), Some("eu"));
            assert_eq!(after.header("Mcp-Param-Limit"), Some("7"));
            assert_eq!(before.json()["params"], after.json()["params"]);
            assert_ne!(before.id(), after.id());
            assert_eq!(driver.end_of(first).unwrap().0.attempts, 2);
            // What was learnt holds.
            let second = call(&mut driver);
            driver.run();
            driver.answer_of(second);
            assert_eq!(driver.sent.len(), 4);
        }
    }
}

/// F4: a list that a caller asked for tells of the headers as well.
#[test]
fn f4_a_callers_list_is_learnt_from() {
    for manner in MANNERS {
        let mut driver = driver(manner, |sent, _| strict(sent));
        let list = driver.call("tools/list", None, CallOptions::default());
        driver.run();
        driver.answer_of(list);
        let first = call(&mut driver);
        driver.run();
        driver.answer_of(first);
        assert_eq!(driver.whats(), ["tools/list", "tools/call"]);
    }
}

/// F4: calls that are refused while the list is being read share it.
#[test]
fn f4_concurrent_calls_share_the_list() {
    for manner in MANNERS {
        let mut calls = 0;
        let mut driver = driver(manner, move |sent, _| match &*sent.what() {
            "tools/list" => strict(sent).delayed(100),
            _ => {
                calls += 1;
                strict(sent).delayed(if calls <= 20 { calls } else { 0 })
            }
        });
        let calls: Vec<_> = (0..20).map(|_| call(&mut driver)).collect();
        driver.run();
        for call in calls {
            assert!(!driver.answer_of(call).info.is_error);
        }
        assert_eq!(driver.asked("tools/list").len(), 1);
        assert_eq!(driver.sent.len(), 41);
    }
}

/// F4: the list is read again to its end, whatever pages it comes in; one that never ends is not.
#[test]
fn f4_the_list_is_read_page_by_page() {
    for manner in MANNERS {
        for (last, reads) in [(2, 3), (usize::MAX, 80)] {
            let mut driver = driver(manner, move |sent, _| {
                let cursor = sent.json()["params"]["cursor"].as_str().map_or(Some(0), |cursor| cursor.parse().ok());
                match (&*sent.what(), cursor) {
                    ("tools/list", Some(page)) => {
                        let tool = if page == 2 { TOOL } else { r#"{"name":"another","inputSchema":{}}"# };
                        let next = if page < last { format!(r#","nextCursor":"{}""#, page + 1) } else { String::new() };
                        Reply::result(&format!(r#"{{"resultType":"complete","tools":[{tool}]{next}}}"#))
                    }
                    _ => strict(sent),
                }
            });
            let calls = [(); 2].map(|()| call(&mut driver));
            driver.run();
            for call in calls {
                assert!(!driver.answer_of(call).info.is_error);
            }
            assert_eq!((driver.asked("tools/list").len(), driver.asked("tools/call").len()), (reads, 4));
        }
    }
}

/// F4: a page that cannot be read is a list that cannot be read.
#[test]
fn f4_the_first_error_stands_if_a_later_page_fails() {
    for manner in MANNERS {
        let mut driver = driver(manner, |sent, number| match (&*sent.what(), number) {
            ("tools/list", 1) => Reply::result(r#"{"resultType":"complete","tools":[],"nextCursor":"\"two\""}"#),
            ("tools/list", _) => Reply::status(500),
            _ => mismatch(),
        });
        let call = call(&mut driver);
        driver.run();
        assert_eq!(driver.answer_of(call).message.error().unwrap().code, -32020);
        assert_eq!(driver.sent[2].json()["params"]["cursor"], "\"two\"");
        assert_eq!(driver.whats(), ["tools/call", "tools/list", "tools/list"]);
    }
}

/// F4: "if that fails, the first error stands": as the answer, once, with its own words.
#[test]
fn f4_the_first_error_stands_if_the_list_fails() {
    let failures = [
        Reply::status(500),
        Reply::status(404),
        Reply::error(404, -32601, "null"),
        Reply::error(200, -32603, "null"),
        Reply::refused(),
        Reply::read(),
        Reply::stream().end(),
        mismatch(),
    ];
    for (row, failure) in failures.into_iter().enumerate() {
        for manner in MANNERS {
            let failure = failure.clone();
            let mut driver = driver(manner, move |sent, _| match &*sent.what() {
                "tools/list" => failure.clone(),
                _ => mismatch(),
            });
            let call = call(&mut driver);
            driver.run();
            let answer = driver.answer_of(call);
            assert_eq!(answer.message.error().unwrap().code, -32020, "row {row}");
            assert_eq!(answer.message.id().map(|id| id.to_json()), driver.sent[0].id());
            let (done, _) = driver.end_of(call).unwrap();
            assert!(matches!(done.outcome, Outcome::Settled(info) if info.is_error && info.status == 400), "row {row}");
            assert_eq!(driver.asked("tools/call").len(), 1, "row {row}");
        }
    }
}

/// F4: refused again, the first error stands too: there is no second list.
#[test]
fn f4_the_first_error_stands_if_the_resend_is_refused() {
    for manner in MANNERS {
        let mut driver = driver(manner, |sent, number| match &*sent.what() {
            "tools/list" => tools(TOOL),
            _ => Reply::error(400, -32020, &format!(r#"{{"refusal":{number}}}"#)),
        });
        let call = call(&mut driver);
        driver.run();
        let answer = driver.answer_of(call);
        assert_eq!(answer.message.error().unwrap().data, Some(r#"{"refusal":0}"#));
        assert_eq!(answer.message.id().map(|id| id.to_json()), driver.sent[0].id());
        let [CallEvent::Answer { attempt: 1, .. }] = driver.events_of(call)[..] else { panic!("one answer") };
        let (done, _) = driver.end_of(call).unwrap();
        assert!(matches!(done.outcome, Outcome::Settled(info) if info == answer.info));
        assert_eq!(done.attempts, 2);
        assert_eq!(driver.whats(), ["tools/call", "tools/list", "tools/call"]);
    }
}

/// F4, E12: at the deadline, the answer that is there is given out rather than a time-out; a re-send that is late is late.
#[test]
fn f4_a_list_that_is_late() {
    for manner in MANNERS {
        for late in ["tools/list", "tools/call"] {
            let mut driver = driver(manner, move |sent, number| match &*sent.what() {
                what if number > 0 && what == late => Reply::read(),
                "tools/list" => tools(TOOL),
                _ => mismatch(),
            });
            let options = CallOptions::default().with_timeout(Duration::from_millis(500));
            let call = driver.call("tools/call", Some(CALL), options);
            driver.run();
            assert_eq!(driver.end_of(call).unwrap().1, 500);
            if late == "tools/list" {
                assert_eq!(driver.answer_of(call).message.error().unwrap().code, -32020);
            } else {
                assert!(matches!(driver.failure_kind_of(call), FailureKind::Timeout { .. }));
            }
        }
    }
}

/// F4: the row is for `tools/call`; -32020 for anything else is its answer.
#[test]
fn f4_other_methods_are_answered() {
    for manner in MANNERS {
        let mut driver = driver(manner, |_, _| mismatch());
        let call = driver.call("prompts/get", Some(r#"{"name":"a"}"#), CallOptions::default());
        driver.run();
        assert_eq!(driver.answer_of(call).message.error().unwrap().code, -32020);
        assert_eq!(driver.sent.len(), 1);
    }
}

/// F4: "clients MUST exclude" a tool with an invalid `x-mcp-header`, and tell of it; all else of the list is handed on byte
/// for byte.
#[test]
fn f4_invalid_tools_are_dropped_and_the_others_untouched() {
    let odd = r#"{ "name" : "odd\u0041","inputSchema":{"type":"object"}, "x":1.50e+3 ,"é":"\/"}"#;
    let bad =
        r#"{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"object","x-mcp-header":"A"}}}}"#;
    let worse = r#"{"name":"worse","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"no token"}}}}"#;
    for manner in MANNERS {
        let list = format!("{odd},{bad},{TOOL},{worse}");
        let result =
            format!(r#"{{"resultType":"complete", "tools":[{list}],"_meta":{{"z": [ 1 ]}},"nextCursor":"n"}}"#);
        let mut driver = driver(manner, move |_, _| Reply::result(&result));
        let call = driver.call("tools/list", None, CallOptions::default());
        driver.run();
        let dropped: Vec<_> = driver
            .events_of(call)
            .into_iter()
            .filter_map(|event| match event {
                CallEvent::ToolDropped { attempt: 1, tool } => Some((tool.index, tool.name.clone())),
                _ => None,
            })
            .collect();
        assert_eq!(dropped, [(1, "bad".to_owned()), (3, "worse".to_owned())]);
        assert!(matches!(driver.events_of(call).last(), Some(CallEvent::Answer { .. })), "the answer comes last");
        let answer = driver.answer_of(call);
        let result = answer.message.result().unwrap();
        assert!(result.contains(odd) && result.contains(TOOL), "{result}");
        assert!(!result.contains("bad") && !result.contains("worse"), "{result}");
        assert!(result.contains(r#""_meta":{"z": [ 1 ]}"#) && result.contains(r#""nextCursor":"n""#), "{result}");
        assert_eq!(answer.message.id().map(|id| id.to_json()), driver.sent[0].id());
    }
}

/// F4: a list without invalid tools is handed on as it came.
#[test]
fn f4_a_valid_list_is_untouched() {
    for manner in MANNERS {
        let body =
            format!(r#"{{ "result" : {{"tools":[ {TOOL} ],"resultType":"complete"}}, "id":1,"jsonrpc":"2.0" }}"#);
        let expected = body.clone();
        let mut driver = driver(manner, move |_, _| Reply::json(200, &body));
        let call = driver.call("tools/list", None, CallOptions::default());
        driver.run();
        assert_eq!(driver.answer_of(call).message.as_json(), expected);
        assert_eq!(driver.events_of(call).len(), 1);
    }
}

/// F4: the first page of a list read anew replaces what was known; only a later page adds to it.
#[test]
fn f4_a_list_that_is_read_anew_replaces_the_old_one() {
    for cursor in [None, Some(r#"{"cursor":"2"}"#)] {
        for manner in MANNERS {
            let mut lists = 0;
            let mut driver = ChannelDriver::new(ENDPOINT, ClientConfig::default(), manner, move |sent, _| {
                if sent.what() != "tools/list" {
                    return Reply::result(r#"{"resultType":"complete","content":[]}"#);
                }
                lists += 1;
                let annotated =
                    r#"{"name":"a","inputSchema":{"properties":{"p":{"type":"string","x-mcp-header":"P"}}}}"#;
                let tools = if lists == 1 { annotated } else { r#"{"name":"b","inputSchema":{}}"# };
                Reply::result(&format!(r#"{{"resultType":"complete","tools":[{tools}]}}"#))
            });
            for params in [None, cursor] {
                driver.call("tools/list", params, CallOptions::default());
                driver.run();
            }
            driver.call("tools/call", Some(r#"{"name":"a","arguments":{"p":"v"}}"#), CallOptions::default());
            driver.run();
            let [call] = driver.asked("tools/call")[..] else { panic!("one call") };
            assert_eq!(call.header("Mcp-Param-P"), cursor.map(|_| "v"));
        }
    }
}
