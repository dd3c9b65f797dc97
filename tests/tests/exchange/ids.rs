//! E15: whose answer it is.

use mcp_sse_core::exchange::FailureKind;
use mcp_sse_core::jsonrpc::Id;
use mcp_sse_tests::story::{Run, error, event, result};

fn strict(run: Run) -> Run {
    run.config(|config| config.with_strict_ids(true))
}

/// E15: equal in type and value; 7 and 7.0 are equal.
#[test]
fn e15_equal_ids() {
    let big = "123456789012345678901234567890";
    let ids: [(Id, &[&str]); 6] = [
        (7.into(), &["7", "7.0", "7e0", "70e-1", "0.7E+1"]),
        (0.into(), &["0", "-0", "0.0"]),
        ((-3).into(), &["-3", "-3.0"]),
        ("abc".into(), &["\"abc\"", "\"a\\u0062c\""]),
        ("".into(), &["\"\""]),
        (Id::parse(big).unwrap(), &[big, "123456789012345678901234567890.0"]),
    ];
    for (id, spellings) in ids {
        for spelling in spellings {
            for run in Run::both() {
                let run = run.id(id.clone());
                for run in [run.clone(), strict(run)] {
                    let sse = run.clone().sse().event(&result(spelling)).marked();
                    assert_eq!(sse.lines(), ["answer {\"ok\":true}", "settled 200"], "{spelling}");
                    let json = run.json().body(error(spelling, -1)).marked();
                    assert_eq!(json.lines(), ["answer error -1", "settled 200"], "{spelling}");
                }
            }
        }
    }
}

/// E15: an integer echoed as the string that spells it, or the reverse, is taken and marked; strictness forbids it.
#[test]
fn e15_a_coerced_id_is_taken_and_marked() {
    let pairs: [(Id, &str); 5] = [
        (7.into(), "\"7\""),
        (7.into(), "\"\\u0037\""),
        ("7".into(), "7"),
        ("7".into(), "7.0"),
        (9_007_199_254_740_993_i64.into(), "\"9007199254740993\""),
    ];
    for (id, echoed) in pairs {
        for run in Run::both() {
            let run = run.id(id.clone());
            for told in [run.clone().sse().event(&result(echoed)), run.clone().json().body(result(echoed))] {
                assert_eq!(told.marked().lines(), ["answer {\"ok\":true} coerced", "settled 200"]);
            }
            let told = strict(run).sse().event(&result(echoed)).marked().lines();
            assert!(told[0].starts_with("stray ") && told[1].starts_with("failed id_mismatch "), "{told:?}");
        }
    }
}

/// E16: an id is a peer's text, so only a short one is told.
#[test]
fn e16_a_long_id_is_not_told_in_the_failure() {
    for (digits, is_told) in [(20, true), (64, true), (65, false), (400, false)] {
        let number = "1".repeat(digits);
        for id in [number.clone(), format!("\"{number}\"")] {
            let story = Run::modern().sse().event(&result(&id)).marked().story();
            let FailureKind::IdMismatch { got } = &story.failure().kind else { panic!("{:?}", story.failure()) };
            assert_eq!(got.is_some(), is_told, "{id}");
        }
    }
}

/// E15: nothing else is ours.
#[test]
fn e15_other_ids_are_strays() {
    let pairs: [(Id, &str); 9] = [
        (7.into(), "8"),
        (7.into(), "\"07\""),
        (7.into(), "\"7.0\""),
        (7.into(), "\" 7\""),
        (7.into(), "7.5"),
        (7.into(), "null"),
        ("".into(), "null"),
        ("a".into(), "\"A\""),
        ("null".into(), "null"),
    ];
    for (id, other) in pairs {
        for run in Run::both() {
            let told = run.id(id.clone()).sse().event(&result(other)).marked().lines();
            assert!(told[0].starts_with("stray ") && told[1].starts_with("failed id_mismatch "), "{other} {told:?}");
        }
    }
    let without = r#"{"jsonrpc":"2.0","result":{}}"#;
    let told = Run::modern().sse().event(without).event(&result("7")).marked().lines();
    assert_eq!(told, ["stray none", "answer {\"ok\":true}", "settled 200"]);
}

/// E15: an error with a null or no id is ours, marked.
#[test]
fn e15_an_error_without_an_id_is_ours() {
    for run in Run::both() {
        for text in [error("null", -32700), r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":""}}"#.to_owned()] {
            for run in [run.clone(), strict(run.clone())] {
                let told = ["answer error -32700 absent", "settled 200"];
                assert_eq!(run.clone().sse().event(&text).marked().lines(), told);
                assert_eq!(run.json().body(&text).marked().lines(), told);
            }
        }
    }
}

/// E15: the first that is ours is the answer, exact or not.
#[test]
fn e15_the_first_answer_counts() {
    let body = format!("{}{}", event(&result("\"7\"")), event(&error("7", 1)));
    let told = Run::modern().sse().body(&body).marked().lines();
    assert_eq!(told, ["answer {\"ok\":true} coerced", "settled 200"]);
    let told = strict(Run::modern()).sse().body(&body).marked().lines();
    assert_eq!(told, ["stray \"7\"", "answer error 1", "settled 200"]);
}
