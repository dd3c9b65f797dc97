//! E17 to E20: statuses of failure, responses that carry no answer, and notifications.

use mcp_sse_core::exchange::{BreakKind, Framing, Want};
use mcp_sse_core::http::RetryAfter;
use mcp_sse_core::{Limits, Timestamp};
use mcp_sse_tests::story::{Run, error, event, gzip, note, result};

const JSON: &[(&str, &str)] = &[("Content-Type", "application/json")];
const SSE: &[(&str, &str)] = &[("Content-Type", "text/event-stream")];

/// E17: an error in the body of a failed response settles under that status, whatever its id.
#[test]
fn e17_an_error_under_a_status_of_failure() {
    for run in Run::both() {
        for status in [300, 400, 401, 403, 404, 409, 429, 500, 503, 599] {
            for (id, mark) in
                [("7", ""), ("\"7\"", " coerced"), ("null", " absent"), ("99", " foreign"), ("\"x\"", " foreign")]
            {
                let told = [format!("answer error -32000{mark}"), format!("settled {status}")];
                let text = error(id, -32000);
                let heads =
                    [JSON, &[], &[("Content-Type", "application/problem+json")], &[("Content-Type", "text/plain")]];
                for head in heads {
                    let run = run.clone().head(status, head).body(&text);
                    assert_eq!(run.clone().marked().lines(), told);
                    assert_eq!(run.unmarked().lines(), told);
                }
                let sse = run.clone().head(status, SSE).event(&text);
                assert_eq!(sse.lines(), told[..1], "at once");
                assert_eq!(sse.marked().lines(), told);
                let coded = gzip(&[text.as_bytes()]);
                assert_eq!(run.clone().head(status, JSON).body(coded).marked().lines(), told);
            }
            let no_id = r#"{"jsonrpc":"2.0","error":{"code":1,"message":""}}"#;
            let told = run.clone().head(status, JSON).body(no_id).marked().lines();
            assert_eq!(told, ["answer error 1 absent".to_owned(), format!("settled {status}")]);
        }
        // Strictness is about answers under success: here the response says whose it is.
        let strict = run.clone().config(|config| config.with_strict_ids(true));
        let told = strict.head(400, JSON).body(error("\"7\"", 5)).marked().lines();
        assert_eq!(told, ["answer error 5 foreign", "settled 400"]);
        // Cut after the error: salvaged, under the same status.
        let cut = run.head(400, &[JSON[0], ("Content-Length", "999")]).body(error("7", 5)).marked();
        assert_eq!(cut.lines(), ["answer error 5", "salvaged 400 short"]);
    }
}

/// E17: which status and code together prove a modern server.
#[test]
fn e17_what_proves_a_modern_server() {
    for status in [200, 400, 404, 500] {
        for code in [-32019, -32020, -32021, -32022, -32023, -32600, -32601, -32602] {
            let proof = match (status, code) {
                (400, -32022..=-32020) | (404, -32601) => " modern",
                _ => "",
            };
            for run in Run::both() {
                let told = run.head(status, JSON).body(error("7", code)).marked().lines();
                assert_eq!(told, [format!("answer error {code}{proof}"), format!("settled {status}")]);
            }
        }
    }
}

/// E18: any other failed response, cut or whole.
#[test]
fn e18_other_failed_responses() {
    for run in Run::both() {
        for status in [301, 307, 400, 401, 404, 405, 429, 500, 502, 504] {
            let failed = format!("failed status {status} streaming");
            let run = run.clone().deadline(50);
            for body in ["<html>no</html>", "no", "{\"error\":\"text\"}", &result("7"), "{", "data: x\n\n"] {
                for head in [JSON, SSE, &[("Content-Type", "text/html")], &[]] {
                    let run = run.clone().head(status, head).body(body);
                    for ended in [
                        run.clone().marked(),
                        run.clone().unmarked(),
                        run.clone().short(),
                        run.clone().reset(),
                        run.clone().at(50).timeout(),
                    ] {
                        assert_eq!(ended.lines(), [&*failed], "{head:?} {body}");
                    }
                    assert_eq!(run.cancel().lines(), ["failed cancelled streaming"]);
                }
            }
            assert_eq!(run.head(status, &[]).marked().lines(), [format!("failed status {status} headed")]);
        }
    }
    // A cursor on a failed response resumes nothing.
    assert_eq!(Run::legacy().head(503, SSE).body("id: 1\n\n").reset().lines(), ["failed status 503 streaming"]);
    // An unknown coding or a corrupt one changes nothing.
    let coded = Run::modern().head(502, &[("Content-Encoding", "br")]).body("??").marked();
    assert_eq!(coded.lines(), ["failed status 502 streaming"]);
    let corrupt = Run::modern().head(502, &[("Content-Encoding", "gzip")]).body("??");
    assert_eq!(corrupt.lines(), ["failed status 502 streaming"]);
}

/// E18: status, bounded excerpt, `Retry-After`, `WWW-Authenticate`; 401 and 403 are marked.
#[test]
fn e18_what_a_failed_response_says() {
    let head = [("Content-Type", "text/html"), ("Retry-After", "7"), ("WWW-Authenticate", "Bearer realm=\"x\"")];
    for (status, is_unauthorized, is_forbidden) in [(401, true, false), (403, false, true), (503, false, false)] {
        let run = Run::modern()
            .config(|config| config.with_limits(Limits::default().with_max_excerpt_bytes(10)))
            .head(status, &head)
            .body("<p>\x1b[31mred and long</p>")
            .marked();
        let story = run.story();
        let mcp_sse_core::exchange::FailureKind::Status(failure) = &story.failure().kind else { panic!() };
        assert_eq!((failure.status(), failure.excerpt.as_bytes()), (status, &b"<p>\x1b[31mre"[..]));
        assert_eq!(failure.excerpt.to_string(), "<p>\\x1b[31mre");
        assert_eq!(format!("{:?}", failure.excerpt), "Excerpt(10 bytes)", "no payload");
        assert_eq!((failure.is_unauthorized(), failure.is_forbidden()), (is_unauthorized, is_forbidden));
        assert_eq!(failure.retry_after(), Some(RetryAfter::Seconds(7)));
        assert_eq!(failure.head.www_authenticate(), ["Bearer realm=\"x\""]);
    }
    // The excerpt is of the inflated body, and is kept for JSON too.
    for (body, plain) in
        [(gzip(&[b"{\"detail\":1}"]), "{\"detail\":1}"), (b"{\"detail\":1}".to_vec(), "{\"detail\":1}")]
    {
        let story = Run::modern().head(500, JSON).body(body).marked().story();
        let mcp_sse_core::exchange::FailureKind::Status(failure) = &story.failure().kind else { panic!() };
        assert_eq!(failure.excerpt.as_bytes(), plain.as_bytes());
    }
}

/// E18: a body of no use is read no further than its excerpt.
#[test]
fn e18_an_endless_error_page_is_not_read() {
    let run = Run::modern().head(500, &[("Content-Type", "text/html")]).body("<".repeat(5000));
    let story = run.story();
    assert_eq!(story.lines(), ["failed status 500 streaming"]);
    assert_eq!(story.exchange.exchange().want(), Want::Close);
}

/// E18: redirects, only if asked for, and only those that keep the method.
#[test]
fn e18_redirects() {
    let head = [("Location", "/elsewhere")];
    for run in Run::both() {
        for status in [301, 302, 303, 307, 308] {
            let failed = [format!("failed status {status} headed")];
            assert_eq!(run.clone().head(status, &head).marked().lines(), failed);
            let asked = run.clone().config(|config| config.with_follow_redirects(true));
            let story = asked.clone().head(status, &head).marked().story();
            if matches!(status, 307 | 308) {
                assert_eq!(story.lines(), ["redirect /elsewhere"]);
            } else {
                assert_eq!(story.lines(), failed);
            }
            assert_eq!(asked.head(status, &[]).marked().lines(), failed, "without a place to go");
        }
    }
}

/// E19: a request's response that carries no answer by its status.
#[test]
fn e19_accepted_or_empty_is_no_answer() {
    for run in Run::both() {
        for status in [202, 204] {
            let story = run.clone().head(status, JSON).story();
            assert_eq!(story.lines(), [format!("failed no_answer {status} headed")], "at the head");
            assert_eq!(story.exchange.exchange().want(), Want::Drain);
            assert!(story.failure().may_have_run());
        }
        for head in [JSON, &[], &[("Content-Length", "0")], &[JSON[0], ("Content-Length", "0")]] {
            let run = run.clone().head(200, head);
            assert_eq!(run.marked().lines(), ["failed no_answer 200 headed"]);
        }
        // Declared to be empty: that is its framing saying that it is whole.
        let declared = run.clone().head(200, &[JSON[0], ("Content-Length", "0")]).unmarked();
        assert_eq!(declared.lines(), ["failed no_answer 200 headed"]);
    }
    // Not so: an empty event stream, an empty body that nothing says is whole, one that is short.
    assert_eq!(Run::modern().head(200, SSE).marked().lines(), ["reissue ended headed"]);
    assert_eq!(Run::modern().head(200, JSON).unmarked().lines(), ["reissue cut headed"]);
    assert_eq!(Run::legacy().head(200, &[]).unmarked().lines(), ["failed lost cut headed"]);
    assert_eq!(Run::modern().head(200, &[JSON[0], ("Content-Length", "2")]).marked().lines(), ["reissue short headed"]);
}

/// E20: a notification is taken with any 2xx, whatever the body.
#[test]
fn e20_a_notification_is_accepted() {
    for run in Run::both() {
        for status in [200, 201, 202, 204, 299] {
            for head in [JSON, SSE, &[("Content-Type", "text/plain")], &[("Content-Encoding", "br")], &[]] {
                let story = run.clone().notification().head(status, head).body("null").reset().story();
                assert_eq!(story.lines(), [format!("accepted {status}")]);
                assert_eq!(story.exchange.exchange().want(), Want::Drain);
            }
        }
    }
}

/// E20: anything else fails, and nothing is sent again or resumed.
#[test]
fn e20_anything_else_fails_a_notification() {
    for run in Run::both() {
        let run = run.notification();
        for framing in [Framing::Marked, Framing::Unmarked, Framing::Short] {
            assert_eq!(run.clone().end(framing).lines(), ["failed lost Closed sent"]);
        }
        assert_eq!(run.clone().broken(BreakKind::Malformed).lines(), ["failed lost Malformed sent"]);
        assert_eq!(run.clone().deadline(5).at(5).timeout().lines(), ["failed timeout sent"]);
        assert_eq!(run.clone().cancel().lines(), ["failed cancelled sent"]);
        for status in [301, 400, 404, 500] {
            let failed = format!("failed status {status} streaming");
            assert_eq!(run.clone().head(status, &[]).body("no").marked().lines(), [&*failed]);
            assert_eq!(run.clone().head(status, SSE).body("id: 1\n\n").reset().lines(), [&*failed]);
            // The error with which it was refused is told with the refusal; it is nobody's answer.
            for id in ["null", "7", "\"x\""] {
                let refused = [format!("failed status {status} error -32600 streaming")];
                let run = run.clone().head(status, JSON).body(error(id, -32600));
                assert_eq!(run.clone().marked().lines(), refused);
                assert_eq!(run.reset().lines(), refused);
            }
        }
        let sse = run.head(400, SSE).event(&error("null", -32600)).event(&note("a")).marked();
        assert_eq!(sse.lines(), ["note a", "failed status 400 error -32600 streaming"]);
    }
}

/// E17, E18: a late head counts for nothing (E12), an early error does.
#[test]
fn e17_the_time_of_the_error() {
    let story = Run::modern().deadline(100).at(20).head(400, SSE).at(30).body(event(&error("7", 1))).at(90).reset();
    let story = story.story();
    assert_eq!(story.timed(), [(30, "answer error 1"), (90, "salvaged 400 Reset")]);
    assert_eq!(story.answer.unwrap().info.arrived, Timestamp::from_millis(30));
}
