//! Faults that people met in the field with the legacy eras' streams: more cases of `corpus/cases/exchange.json`.
//!
//! Rule: what one exchange is worth is checked here; how many there are and what is waited between them is the client's.

use mcp_sse_core::exchange::{Carries, Cursor, Verdict};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_tests::story::{Run, Story};
use serde_json::Value;

use super::public_faults::{case, expect, start, with_steps};

/// PF-E04, E2, E21, E22: what comes before the answer is given out at once, the server's request too.
#[test]
fn pf_e04_a_server_request_before_the_answer() {
    let case = case("PF-E04");
    let mut expected = case["expected"].clone();
    let members = expected.as_object_mut().unwrap();
    let delivered = members.remove("delivered_in_order").unwrap();
    // The request is given out when it came, so that it can be answered by a POST of its own.
    let actions = members.remove("actions").unwrap();
    assert_eq!(actions[0]["post"]["id"], "srv-1");
    let asked_at = actions[0]["at_ms"].as_u64().unwrap();
    for &version in &ProtocolVersion::KNOWN[1..4] {
        let story = with_steps(start(version, &case["input"]["request"]), &case["input"]["steps"]).story();
        expect(&story, &expected);
        let notes: Vec<Value> =
            story.lines().iter().filter_map(|line| line.strip_prefix("note ")).map(Value::from).collect();
        assert_eq!(Value::from(notes), delivered);
        assert!(story.timed().contains(&(asked_at, "request ping")), "{:?}", story.told);
        assert_eq!(story.verdict(), "settled 200");
    }
}

/// The cursor that the next GET begins at, and whether this one brought anything.
fn next(story: &Story) -> (Option<Cursor>, bool) {
    match story.verdict.clone() {
        Some(Verdict::Resume { last_event_id, retry, progressed, .. }) => {
            let cursor = Cursor::new(last_event_id);
            (Some(retry.map_or(cursor.clone(), |retry| cursor.with_retry(retry))), progressed)
        }
        Some(Verdict::Reopen { cursor, progressed, .. }) => (cursor, progressed),
        other => panic!("{other:?}"),
    }
}

/// PF-E08, E6, E26, F11: GETs that bring nothing new: each says so, and none loses the cursor.
#[test]
fn pf_e08_resumptions_that_bring_nothing_new() {
    let case = case("PF-E08");
    let (input, expected) = (&case["input"], &case["expected"]["all_variants"]);
    let id = expected["each_get_has"]["last-event-id"].as_str().unwrap();
    for variant in input["variants"].as_array().unwrap() {
        let mut steps = input["post"].clone();
        if let Some(body) = variant.get("post_body") {
            steps[1]["body"] = body.clone();
        }
        let request = start(ProtocolVersion::V2025_11_25, &input["request"]);
        let (mut cursor, mut has_progress) = next(&with_steps(request.clone(), &steps).story());
        let waits_least = if variant.get("post_body").is_some() { 10 } else { 1000 };
        let gets = input["each_get"].as_array().unwrap();
        assert_eq!(expected["gets"], gets.len());
        for get in gets {
            let given = cursor.take().unwrap();
            assert_eq!((given.last_event_id.as_str(), has_progress), (id, false), "{variant}");
            let story = with_steps(request.clone().carries(Carries::Resumption(given)), &get["steps"]).story();
            let Some(Verdict::Resume { after, exposure, .. }) = &story.verdict else { panic!("{:?}", story.told) };
            assert_eq!(after.as_millis(), waits_least, "never shrinking");
            assert!(exposure.may_have_run() && expected["maybe_executed"] == true);
            (cursor, has_progress) = next(&story);
        }
        assert_eq!((cursor.unwrap().last_event_id.as_str(), has_progress), (id, false));
    }
}

/// PF-E19, F12: openings that bring no message, and openings that bring one each.
#[test]
fn pf_e19_listening_streams_that_close_at_once() {
    let case = case("PF-E19");
    for row in case["input"]["rows"].as_array().unwrap() {
        let name = row["name"].as_str().unwrap();
        let mut cursor = None;
        for number in 1..=6 {
            let mut steps = row["each_get"].clone();
            let mut body = String::new();
            for step in steps.as_array_mut().unwrap() {
                if let Some(text) = step.get("body").and_then(Value::as_str) {
                    body = text.replace("{n}", &number.to_string());
                    step["body"] = Value::from(body.clone());
                }
            }
            let run = Run::listening().carries(Carries::Listening(cursor.clone()));
            let story = with_steps(run, &steps).story();
            let has_message = name == "a-message-each-time";
            let told = if has_message { vec!["note notifications/tools/list_changed"] } else { vec![] };
            assert_eq!(story.lines()[..story.told.len() - 1], told, "{name}");
            let progressed;
            (cursor, progressed) = next(&story);
            assert_eq!(progressed, has_message, "{name}");
            let newest = body.starts_with("id: ").then(|| format!("g{number}"));
            assert_eq!(cursor.as_ref().map(|cursor| cursor.last_event_id.clone()), newest, "{name}");
        }
    }
}
