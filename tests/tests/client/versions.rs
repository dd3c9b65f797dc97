//! F3 and F6: which revision both have, and what a result shows of its era.

use mcp_sse_core::client::versions::{
    UNSUPPORTED_PROTOCOL_VERSION, UnsupportedVersions, choose, has_result_type, negotiated,
};
use mcp_sse_core::http::ProtocolVersion;
use mcp_sse_core::jsonrpc::Message;
use serde_json::{Value, json};

const V25: ProtocolVersion = ProtocolVersion::V2025_11_25;
const V26: ProtocolVersion = ProtocolVersion::V2026_07_28;

fn refusal(code: i64, data: Option<Value>) -> Option<UnsupportedVersions> {
    let mut error = json!({"code": code, "message": "Unsupported protocol version"});
    if let Some(data) = data {
        error["data"] = data;
    }
    let message = Message::from_text(json!({"jsonrpc": "2.0", "id": 1, "error": error}).to_string()).unwrap();
    UnsupportedVersions::read(&message.error().unwrap())
}

fn supported(list: &Value) -> Vec<ProtocolVersion> {
    refusal(-32022, Some(json!({ "supported": list }))).unwrap().supported
}

/// F3: the example of "Protocol Version Negotiation".
#[test]
fn f3_the_pages_example_is_read() {
    let data = json!({"supported": ["2026-07-28", "2025-11-25"], "requested": "1900-01-01"});
    let theirs = refusal(UNSUPPORTED_PROTOCOL_VERSION, Some(data)).unwrap();
    assert_eq!((&*theirs.supported, theirs.requested), (&[V25, V26][..], None));
    assert_eq!(choose(&ProtocolVersion::KNOWN, &theirs.supported), Some(V26));
}

/// F3: other codes are other errors; data of no use names no revision, and so none in common.
#[test]
fn f3_only_this_error_is_read_and_bad_data_names_nothing() {
    for code in [-32020, -32021, -32023, -32602, 32022, 0] {
        assert_eq!(refusal(code, Some(json!({"supported": ["2026-07-28"]}))), None, "{code}");
    }
    for data in [
        None,
        Some(json!(null)),
        Some(json!([])),
        Some(json!("2026-07-28")),
        Some(json!({})),
        Some(json!({"supported": "2026-07-28", "requested": 7})),
        Some(json!({"supported": {"0": "2026-07-28"}, "requested": null})),
        Some(
            json!({"supported": [20260728, null, ["2026-07-28"], "", "latest", "2026-7-28", "2025-01-01", "2026-07-28 "]}),
        ),
    ] {
        assert_eq!(refusal(-32022, data.clone()), Some(UnsupportedVersions::default()), "{data:?}");
    }
    assert_eq!(choose(&ProtocolVersion::KNOWN, &[]), None);
}

/// F3: "the newest version both sides have, also when it is the one just refused".
#[test]
fn f3_the_newest_in_common_is_chosen() {
    let later: ProtocolVersion = "2027-01-31".parse().unwrap();
    let table: [(&[ProtocolVersion], Value, Option<ProtocolVersion>); 6] = [
        (&[V25, V26], json!(["2025-11-25", "2026-07-28"]), Some(V26)),
        (&[V26, V25], json!(["2025-11-25"]), Some(V25)),
        (&[V26], json!(["2027-01-31", "2026-07-28", "2026-07-28"]), Some(V26)),
        (&[V26, later], json!(["draft", "2027-01-31", "2026-07-28"]), Some(later)),
        (&[V26], json!(["2025-11-25", "2027-01-31"]), None),
        (&[], json!(["2026-07-28"]), None),
    ];
    for (ours, theirs, expected) in table {
        assert_eq!(choose(ours, &supported(&theirs)), expected, "{theirs}");
    }
    let theirs = refusal(-32022, Some(json!({"supported": ["2026-07-28"], "requested": "2026-07-28"}))).unwrap();
    assert_eq!((choose(&[V26], &theirs.supported), theirs.requested), (Some(V26), Some(V26)));
}

/// F3: a list without end keeps its newest.
#[test]
fn f3_a_long_list_keeps_the_newest() {
    let many: Vec<String> =
        (2030..2040).flat_map(|year| (1..=28).map(move |day| format!("{year}-02-{day:02}"))).collect();
    let kept = supported(&json!(many));
    assert_eq!(kept.len(), UnsupportedVersions::MAX_SUPPORTED);
    assert!(kept.is_sorted());
    assert_eq!(kept.last().unwrap().as_str(), "2039-02-28");
    assert_eq!(supported(&json!(vec!["2026-07-28"; 1000])), [V26]);
}

/// F6: what `initialize` settles on.
#[test]
fn f6_the_negotiated_revision_is_read() {
    let table = [
        (r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#, Some(V25)),
        (r#"{ "protocolVersi\u006fn" : "2025-06-18" }"#, Some(ProtocolVersion::V2025_06_18)),
        (r#"{"protocolVersion":"2024-11-05"}"#, Some(ProtocolVersion::V2024_11_05)),
        (r#"{"protocolVersion":"1.0"}"#, None),
        (r#"{"protocolVersion":20251125}"#, None),
        (r#"{"capabilities":{"protocolVersion":"2025-11-25"}}"#, None),
        ("null", None),
        ("", None),
    ];
    for (result, expected) in table {
        assert_eq!(negotiated(result), expected, "{result}");
    }
}

/// F6: "a result with `resultType` means modern".
#[test]
fn f6_a_result_type_is_seen() {
    for modern in
        [r#"{"resultType":"complete"}"#, r#"{"tools":[],"resultType":"input_required"}"#, r#"{"resultType":""}"#]
    {
        assert!(has_result_type(modern), "{modern}");
    }
    for legacy in
        ["{}", r#"{"tools":[]}"#, r#"{"resultType":null}"#, r#"{"_meta":{"resultType":"complete"}}"#, "[]", "7", ""]
    {
        assert!(!has_result_type(legacy), "{legacy}");
    }
}
