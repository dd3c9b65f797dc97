//! F4: which headers tools want, which tools must go, and what is mirrored of a call.

use mcp_sse_core::http::decode_value;
use mcp_sse_core::tools::{DropReason, DroppedTool, ToolHeaders};
use mcp_sse_tests::fuzz::tools::run;
use serde_json::{Value, json};

/// The list with which the official conformance suite tests that invalid tools are excluded (http-invalid-tool-headers).
const INVALID_TOOLS: &str = include_str!("../../corpus/fuzz/tools/conformance-invalid.json");
/// The list of its http-custom-headers.
const CUSTOM_HEADERS: &str = include_str!("../../corpus/fuzz/tools/conformance-custom.json");

fn read_schema(schema: &Value) -> Result<ToolHeaders, DropReason> {
    let reading = ToolHeaders::read(&json!({"tools": [{"name": "t", "inputSchema": schema}]}).to_string());
    match reading.dropped.first() {
        Some(tool) => Err(tool.reason),
        None => Ok(reading.headers),
    }
}

/// A schema with one parameter, annotated and of this type.
fn one(annotation: &Value, kind: &Value) -> Value {
    json!({"type": "object", "properties": {"p": {"type": kind, "x-mcp-header": annotation}}})
}

fn pairs(values: Vec<(String, String)>) -> Vec<(String, String)> {
    values.into_iter().map(|(name, value)| (name.trim_start_matches("Mcp-Param-").to_owned(), value)).collect()
}

fn owned(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// F4: the suite's eleven invalid tools go, each for its reason, and the valid one stays.
#[test]
fn f4_the_conformance_suites_invalid_tools_are_dropped() {
    let reading = ToolHeaders::read(INVALID_TOOLS);
    let told: Vec<(&str, DropReason)> = reading.dropped.iter().map(|tool| (&*tool.name, tool.reason)).collect();
    assert_eq!(
        told,
        [
            ("invalid_empty_header", DropReason::Empty),
            ("invalid_object_header", DropReason::NotPrimitive),
            ("invalid_array_header", DropReason::NotPrimitive),
            ("invalid_null_header", DropReason::NotPrimitive),
            ("invalid_number_header", DropReason::NotPrimitive),
            ("invalid_duplicate_same_case", DropReason::NotUnique),
            ("invalid_duplicate_diff_case", DropReason::NotUnique),
            ("invalid_space_in_name", DropReason::NotAToken),
            ("invalid_colon_in_name", DropReason::NotAToken),
            ("invalid_non_ascii_name", DropReason::NotAToken),
            ("invalid_control_char_name", DropReason::NotAToken),
        ]
    );
    let indices: Vec<usize> = reading.dropped.iter().map(|tool| tool.index).collect();
    assert_eq!(indices, (1..=11).collect::<Vec<_>>());

    let result: Value = serde_json::from_str(&reading.result.unwrap()).unwrap();
    let original: Value = serde_json::from_str(INVALID_TOOLS).unwrap();
    assert_eq!(result["tools"], json!([original["tools"][0]]));
    assert_eq!((&result["ttlMs"], &result["resultType"]), (&json!(0), &json!("complete")));
    assert!(reading.headers.tools().eq(["valid_tool"]));
    assert_eq!(
        reading.headers.values("valid_tool", Some(r#"{"region":"us-west1"}"#)),
        owned(&[("Mcp-Param-Region", "us-west1")])
    );
}

/// F4: the suite's calls bear the headers it looks for, and no others.
#[test]
fn f4_the_conformance_suites_calls_are_mirrored() {
    let reading = ToolHeaders::read(CUSTOM_HEADERS);
    assert_eq!((&reading.dropped, &reading.result), (&Vec::new(), &None));
    let arguments = json!({
        "region": "us-west1", "priority": 42, "verbose": false, "debug": true, "empty_val": "",
        "method_val": "test-method", "float_val": 2.5, "non_ascii_val": "Hello, 世界",
        "whitespace_val": " padded ", "leading_space_val": " us-west1", "trailing_space_val": "us-west1 ",
        "internal_space_val": "us west 1", "control_char_val": "line1\nline2", "crlf_val": "line1\r\nline2",
        "tab_val": "\tindented", "query": "SELECT * FROM users",
    });
    assert_eq!(
        pairs(reading.headers.values("test_custom_headers", Some(&arguments.to_string()))),
        owned(&[
            ("Region", "us-west1"),
            ("Priority", "42"),
            ("Verbose", "false"),
            ("Debug", "true"),
            ("EmptyVal", ""),
            ("Method", "test-method"),
            ("NonAscii", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            ("Whitespace", "=?base64?IHBhZGRlZCA=?="),
            ("LeadingSpace", "=?base64?IHVzLXdlc3Qx?="),
            ("TrailingSpace", "=?base64?dXMtd2VzdDEg?="),
            ("InternalSpace", "us west 1"),
            ("ControlChar", "=?base64?bGluZTEKbGluZTI=?="),
            ("CrLf", "=?base64?bGluZTENCmxpbmUy?="),
            ("Tab", "=?base64?CWluZGVudGVk?="),
        ])
    );
    let arguments = r#"{"region":"us-east1","priority":1,"verbose":null,"query":"SELECT 1"}"#;
    assert_eq!(
        pairs(reading.headers.values("test_custom_headers_null", Some(arguments))),
        owned(&[("Region", "us-east1"), ("Priority", "1")])
    );
}

/// F4: "Constraints on `x-mcp-header` values": the value.
#[test]
fn f4_an_annotation_is_a_token() {
    let string = json!("string");
    for good in ["Region", "a", "!#$%&'*+-.^_`|~09AZaz"] {
        assert!(read_schema(&one(&json!(good), &string)).is_ok(), "{good}");
    }
    let table = [
        (json!(""), DropReason::Empty),
        (json!(" "), DropReason::NotAToken),
        (json!("My Region"), DropReason::NotAToken),
        (json!("a\r\nEvil: 1"), DropReason::NotAToken),
        (json!("a\0"), DropReason::NotAToken),
        (json!("a\u{7f}"), DropReason::NotAToken),
        (json!("a/b"), DropReason::NotAToken),
        (json!("é"), DropReason::NotAToken),
        (json!(null), DropReason::NotAString),
        (json!(true), DropReason::NotAString),
        (json!(7), DropReason::NotAString),
        (json!(["Region"]), DropReason::NotAString),
        (json!({"name": "Region"}), DropReason::NotAString),
    ];
    for (annotation, reason) in table {
        assert_eq!(read_schema(&one(&annotation, &string)), Err(reason), "{annotation}");
    }
}

/// F4: "MUST only be applied to parameters with primitive types (integer, string, boolean)".
#[test]
fn f4_only_three_types_are_mirrored() {
    for good in ["string", "integer", "boolean"] {
        assert!(read_schema(&one(&json!("N"), &json!(good))).is_ok(), "{good}");
    }
    let bad = [
        json!("number"),
        json!("null"),
        json!("object"),
        json!("array"),
        json!("String"),
        json!(["string", "null"]),
        json!(["string"]),
        json!(null),
        json!(true),
        json!({}),
    ];
    for kind in bad {
        assert_eq!(read_schema(&one(&json!("N"), &kind)), Err(DropReason::NotPrimitive), "{kind}");
    }
    let untyped = json!({"properties": {"p": {"x-mcp-header": "N"}}});
    assert_eq!(read_schema(&untyped), Err(DropReason::NotPrimitive));
    let by_reference = json!({"properties": {"p": {"$ref": "#/$defs/s", "x-mcp-header": "N"}},
        "$defs": {"s": {"type": "string"}}});
    assert_eq!(read_schema(&by_reference), Err(DropReason::NotPrimitive), "a reference is not followed");
}

/// F4: "case-insensitively unique among all `x-mcp-header` values in the `inputSchema`", at any depth.
#[test]
fn f4_names_are_unique_but_for_case_within_one_tool() {
    let nested = json!({"properties": {
        "a": {"type": "string", "x-mcp-header": "Name"},
        "o": {"type": "object", "properties": {"b": {"type": "string", "x-mcp-header": "nAME"}}}}});
    assert_eq!(read_schema(&nested), Err(DropReason::NotUnique));

    let tool = |name| json!({"name": name, "inputSchema": one(&json!("Name"), &json!("string"))});
    let reading = ToolHeaders::read(&json!({"tools": [tool("a"), tool("b")]}).to_string());
    assert_eq!(reading.dropped, []);
    assert!(reading.headers.tools().eq(["a", "b"]), "two tools may share a name");
}

/// F4: "reachable via a chain consisting solely of `properties` keys".
#[test]
fn f4_an_annotation_elsewhere_makes_the_tool_invalid() {
    let s = || json!({"type": "string", "x-mcp-header": "N"});
    let around = |keyword: &str, value: Value| json!({"type": "object", keyword: value});
    let mut table = vec![("the root", json!({"type": "string", "x-mcp-header": "N"}))];
    for keyword in [
        "items",
        "contains",
        "additionalItems",
        "unevaluatedItems",
        "additionalProperties",
        "unevaluatedProperties",
        "propertyNames",
        "not",
        "if",
        "then",
        "else",
        "contentSchema",
        "x-unknown",
    ] {
        table.push((keyword, around(keyword, s())));
    }
    for keyword in ["oneOf", "anyOf", "allOf", "prefixItems", "items", "x-unknown", "properties", "type"] {
        table.push((keyword, around(keyword, json!([true, s()]))));
    }
    for keyword in ["$defs", "definitions", "patternProperties", "dependentSchemas", "dependencies"] {
        table.push((keyword, around(keyword, json!({"x-mcp-header": true, "n": s()}))));
    }
    table.push(("an array of schemas", json!([{"properties": {"p": s()}}])));
    for (place, schema) in &table {
        assert_eq!(read_schema(schema), Err(DropReason::NotReachable), "{place}");
        // One step down the chain it is no better, and `properties` below does not mend it.
        let deeper = json!({"properties": {"a": schema}});
        if *place != "the root" {
            assert_eq!(read_schema(&deeper), Err(DropReason::NotReachable), "{place}, one step down");
        }
    }
    let through_items = json!({"properties": {"a": {"type": "array",
        "items": {"type": "object", "properties": {"b": s()}}}}});
    assert_eq!(read_schema(&through_items), Err(DropReason::NotReachable));
    let through_condition = json!({"if": {"properties": {"b": s()}}});
    assert_eq!(read_schema(&through_condition), Err(DropReason::NotReachable));
}

/// F4: a parameter may be called `x-mcp-header`, or `items`, and a value may hold such a member.
#[test]
fn f4_names_and_values_are_no_annotations() {
    let s = json!({"type": "string"});
    for schema in [
        json!({"properties": {"x-mcp-header": s}}),
        json!({"$defs": {"x-mcp-header": s}, "patternProperties": {"x-mcp-header": s}}),
        json!({"dependentRequired": {"x-mcp-header": ["b"]}, "required": ["x-mcp-header"]}),
        json!({"properties": {"p": {"type": "object", "default": {"x-mcp-header": ""}}}}),
        json!({"properties": {"p": {"const": {"x-mcp-header": 1}, "enum": [{"x-mcp-header": 1}]}}}),
        json!({"examples": [[{"x-mcp-header": 1, "properties": {"a": {"x-mcp-header": ""}}}]]}),
        json!(true),
        json!(null),
        json!("x-mcp-header"),
    ] {
        assert_eq!(read_schema(&schema), Ok(ToolHeaders::default()), "{schema}");
    }
    let schema = json!({"properties": {
        "items": {"type": "string", "x-mcp-header": "Items"},
        "x-mcp-header": {"type": "string", "x-mcp-header": "Own"},
        "properties": {"properties": {"properties": {"type": "integer", "x-mcp-header": "Deep"}}}}});
    let headers = read_schema(&schema).unwrap();
    let arguments = r#"{"items":"i","x-mcp-header":"x","properties":{"properties":3}}"#;
    let mut values = pairs(headers.values("t", Some(arguments)));
    values.sort();
    assert_eq!(values, owned(&[("Deep", "3"), ("Items", "i"), ("Own", "x")]));
}

/// F4: only `inputSchema` is looked through.
#[test]
fn f4_other_members_of_a_tool_are_not_schemas_of_its_input() {
    let list = json!({"tools": [{"name": "t", "outputSchema": one(&json!(""), &json!("null")),
        "annotations": {"x-mcp-header": 1}, "_meta": {"inputSchema": {"x-mcp-header": 1}}}]});
    assert_eq!(ToolHeaders::read(&list.to_string()).dropped, []);
}

/// F4: "reading the instance value at the exact property path".
#[test]
fn f4_values_are_read_at_the_exact_path() {
    let schema = json!({"properties": {
        "a": {"type": "object", "properties": {
            "b": {"type": "object", "properties": {"c": {"type": "string", "x-mcp-header": "Deep"}}},
            "c": {"type": "integer", "x-mcp-header": "Mid"}}},
        "a.b.c": {"type": "string", "x-mcp-header": "Dotted"}}});
    let headers = read_schema(&schema).unwrap();
    let table: [(&str, &[(&str, &str)]); 9] = [
        (r#"{"a":{"b":{"c":"x"},"c":5}}"#, &[("Deep", "x"), ("Mid", "5")]),
        (r#"{ "\u0061" : { "c":5 , "b" : {"c":"x"} } }"#, &[("Deep", "x"), ("Mid", "5")]),
        (r#"{"a.b.c":"d"}"#, &[("Dotted", "d")]),
        (r#"{"b":{"c":"x"},"c":"y"}"#, &[]),
        (r#"{"a":[{"b":{"c":"x"}}]}"#, &[]),
        (r#"{"a":{"b":[{"c":"x"}],"c":{"c":1}}}"#, &[]),
        (r#"{"x":{"a":{"c":5}}}"#, &[]),
        (r#"{"a":null}"#, &[]),
        ("{}", &[]),
    ];
    for (arguments, expected) in table {
        let mut values = pairs(headers.values("t", Some(arguments)));
        values.sort();
        assert_eq!(values, owned(expected), "{arguments}");
    }
    for none in [None, Some(""), Some("[]"), Some("null"), Some("7"), Some(r#"{"a.b.c":"d""#), Some(r#"["a.b.c","d"]"#)]
    {
        assert_eq!(headers.values("t", none), [], "{none:?}");
    }
    assert_eq!(headers.values("T", Some(r#"{"a.b.c":"d"}"#)), [], "tools' names have case");
}

/// F4: "Type conversion", and "Parameter value provided: client MUST include the header", whatever the schema says of it.
#[test]
fn f4_values_are_converted_by_what_they_are() {
    let table = [
        ("42", Some("42")),
        ("-7", Some("-7")),
        ("0", Some("0")),
        ("-0", Some("0")),
        ("7.0", Some("7")),
        ("70e-1", Some("7")),
        ("1e2", Some("100")),
        ("1E+3", Some("1000")),
        ("9007199254740991", Some("9007199254740991")),
        ("-9007199254740991", Some("-9007199254740991")),
        // Beyond the range an integer may be in: the server is told what the body says, and can refuse it for that.
        ("9007199254740993", Some("9007199254740993")),
        ("123456789012345678901234567890", Some("123456789012345678901234567890")),
        ("7.5", Some("7.5")),
        ("1e-7", Some("0.0000001")),
        ("true", Some("true")),
        ("false", Some("false")),
        ("null", None),
        ("[1]", None),
        ("{\"p\":1}", None),
        ("{}", None),
        ("\"\"", Some("")),
        ("\"null\"", Some("null")),
        (r#""a\u00e9""#, Some("=?base64?YcOp?=")),
        (r#""=?base64?literal?=""#, Some("=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=")),
        (r#""a\r\nEvil: 1""#, Some("=?base64?YQ0KRXZpbDogMQ==?=")),
    ];
    for kind in ["string", "integer", "boolean"] {
        let headers = read_schema(&one(&json!("P"), &json!(kind))).unwrap();
        for (raw, expected) in table {
            let values = headers.values("t", Some(&format!("{{\"p\":{raw}}}")));
            let expected: Vec<_> =
                expected.into_iter().map(|value| ("Mcp-Param-P".to_owned(), value.to_owned())).collect();
            assert_eq!(values, expected, "{raw} for {kind}");
        }
    }
}

/// F4: readers differ in which of two members they take, so neither may be wrong.
#[test]
fn f4_members_that_come_twice_are_not_trusted() {
    let table = [
        (r#"{"properties":{"p":{"type":"string","x-mcp-header":"A","x-mcp-header":"B"}}}"#, DropReason::Ambiguous),
        (r#"{"properties":{"p":{"type":"string","type":"string","x-mcp-header":"A"}}}"#, DropReason::Ambiguous),
        (
            r#"{"properties":{"p":{"type":"string","x-mcp-header":"A"},"\u0070":{"type":"string","x-mcp-header":"B"}}}"#,
            DropReason::Ambiguous,
        ),
        (r#"{"properties":{"p":{"x-mcp-header":""}},"properties":{}}"#, DropReason::Empty),
        (r#"{"properties":{"p":{"type":"string","x-mcp-heade\u0072":""}}}"#, DropReason::Empty),
    ];
    for (schema, reason) in table {
        let reading = ToolHeaders::read(&format!(r#"{{"tools":[{{"name":"t","inputSchema":{schema}}}]}}"#));
        assert_eq!(reading.dropped.first().map(|tool| tool.reason), Some(reason), "{schema}");
    }
    let good = r#""inputSchema":{"properties":{"p":{"type":"string","x-mcp-header":"A"}}}"#;
    let bad = r#""inputSchema":{"x-mcp-header":"A"}"#;
    for (tool, reason) in [
        (format!(r#"{{"name":"a","name":"b",{good}}}"#), Some(DropReason::Ambiguous)),
        (format!(r#"{{"name":"a",{good},{good}}}"#), Some(DropReason::Ambiguous)),
        (format!(r#"{{"name":"a",{good},{bad}}}"#), Some(DropReason::Ambiguous)),
        (format!(r#"{{"name":"a","inputSchema":{{}},{bad}}}"#), Some(DropReason::NotReachable)),
        (r#"{"name":"a","name":"b","inputSchema":{},"inputSchema":{}}"#.to_owned(), None),
    ] {
        let reading = ToolHeaders::read(&format!(r#"{{"tools":[{tool}]}}"#));
        assert_eq!(reading.dropped.first().map(|tool| tool.reason), reason, "{tool}");
    }
    let reading = ToolHeaders::read(&format!(r#"{{"tools":[],"t\u006fols":[{{"name":"a",{bad}}},1]}}"#));
    assert_eq!(reading.result.as_deref(), Some(r#"{"tools":[],"t\u006fols":[1]}"#), "whichever is taken, it is gone");
}

/// F4: what is kept is kept byte for byte, in its order, with what is unknown.
#[test]
fn f4_the_rewritten_result_is_raw_text() {
    let bad = r#"{"name":"x","inputSchema":{"x-mcp-header":"R"}}"#;
    let keep = [r#"{ "name" : "\u0061", "n": 1.0e2, "n": -0 }"#, "null", r#"{"inputSchema" : {"a":[ ]}}"#];
    let [a, b, c] = keep;
    let list = format!(
        " {{ \"_meta\" : {{ \"k\" : [1,  2] }} , \"tools\" :\n[{bad}, {a},{bad} ,{b},\t{c} , {bad}], \"nextCursor\" : \"c\\n\", \"x\":1,\"x\":2}} "
    );
    let reading = ToolHeaders::read(&list);
    assert_eq!(
        reading.result,
        Some(format!(r#"{{"_meta":{{ "k" : [1,  2] }},"tools":[{a},{b},{c}],"nextCursor":"c\n","x":1,"x":2}}"#))
    );
    assert_eq!(reading.next_cursor.as_deref(), Some("c\n"));
    assert_eq!(reading.dropped.iter().map(|tool| tool.index).collect::<Vec<_>>(), [0, 2, 5]);

    let only = format!(r#"{{"tools":[{bad}]}}"#);
    assert_eq!(ToolHeaders::read(&only).result.as_deref(), Some(r#"{"tools":[]}"#));
}

/// F4: what is no list of tools tells nothing, and stays as it is.
#[test]
fn f4_other_texts_tell_nothing() {
    for text in [
        "",
        "{",
        "null",
        "[]",
        "{}",
        r#"{"tools":{}}"#,
        r#"{"tools":null}"#,
        r#"{"tools":"x-mcp-header"}"#,
        r#"{"tools":[1,[{"inputSchema":{"x-mcp-header":1}}],"a",null,{}]}"#,
        r#"{"tools":[{"inputSchema":{"x-mcp-header":1}}]"#,
        r#"{"nextCursor":7}"#,
    ] {
        assert_eq!(ToolHeaders::read(text), Default::default(), "{text}");
    }
    let nameless = r#"{"tools":[{"inputSchema":{"properties":{"p":{"type":"string","x-mcp-header":"P"}}}}]}"#;
    assert_eq!(ToolHeaders::read(nameless), Default::default(), "what has no name cannot be called");
    assert_eq!(ToolHeaders::read(r#"{"tools":[],"nextCursor":""}"#).next_cursor.as_deref(), Some(""));
}

/// F4: a dropped tool is told by a name fit for a log.
#[test]
fn f4_a_dropped_tools_name_is_cut_and_escaped() {
    let shown = |name: &str| {
        let list = json!({"tools": [{"name": name, "inputSchema": {"x-mcp-header": "R"}}]});
        ToolHeaders::read(&list.to_string()).dropped.remove(0).name
    };
    assert_eq!(shown("plain-tool.v2"), "plain-tool.v2");
    assert_eq!(shown("a\r\nb\u{1b}[31m\u{202e}"), r"a\r\nb\u{1b}[31m\u{202e}");
    assert_eq!(shown(&"x".repeat(5000)), "x".repeat(DroppedTool::MAX_SHOWN_NAME));
    let nameless = ToolHeaders::read(r#"{"tools":[{"name":7,"inputSchema":{"x-mcp-header":"R"}}]}"#);
    assert_eq!((nameless.dropped[0].index, &*nameless.dropped[0].name), (0, ""));
    for tool in &ToolHeaders::read(INVALID_TOOLS).dropped {
        let reason = tool.reason.to_string();
        assert!(reason.contains("x-mcp-header") && !reason.contains("Region"), "{reason}");
    }
}

fn page(tools: std::ops::Range<usize>, header: &str) -> ToolHeaders {
    let tools: Vec<Value> = tools
        .map(|number| json!({"name": format!("t{number:05}"), "inputSchema": one(&json!(header), &json!("string"))}))
        .collect();
    ToolHeaders::read(&json!({ "tools": tools }).to_string()).headers
}

/// F4: pages add up, later ones win, and there is an end to what is kept.
#[test]
fn f4_pages_are_merged_within_bounds() {
    let mut headers = page(0..3, "Old");
    headers.merge(page(2..5, "New"));
    assert!(headers.tools().eq(["t00000", "t00001", "t00002", "t00003", "t00004"]));
    let arguments = Some(r#"{"p":"v"}"#);
    assert_eq!(headers.values("t00001", arguments), owned(&[("Mcp-Param-Old", "v")]));
    assert_eq!(headers.values("t00002", arguments), owned(&[("Mcp-Param-New", "v")]));
    assert_eq!(headers.left_out(), 0);

    let mut headers = page(0..3000, "H");
    headers.merge(page(3000..6000, "H"));
    let kept = headers.tools().count();
    assert!(kept <= ToolHeaders::MAX_TOOLS && kept > 3000);
    assert_eq!(kept + headers.left_out(), 6000);
    headers.merge(page(0..1, "Changed"));
    assert_eq!(headers.values("t00000", arguments), owned(&[("Mcp-Param-Changed", "v")]), "a known tool has its place");

    let huge = "n".repeat(ToolHeaders::MAX_BYTES);
    let schema = json!({"properties": {huge: {"type": "string", "x-mcp-header": "H"}}});
    let reading = ToolHeaders::read(&json!({"tools": [{"name": "t", "inputSchema": schema}]}).to_string());
    assert_eq!((reading.headers.is_empty(), reading.headers.left_out(), reading.dropped.len()), (true, 1, 0));
}

/// F4: nesting costs no stack, and a chain of annotations as long as the text no more memory than the text.
#[test]
fn f4_a_deep_schema_is_read_to_its_end() {
    const DEPTH: usize = 100_000;
    let list = |open: &str, inner: &str, close: &str| {
        let schema = format!("{}{inner}{}", open.repeat(DEPTH), close.repeat(DEPTH));
        format!(r#"{{"tools":[{{"name":"t","inputSchema":{schema}}}]}}"#)
    };
    for (open, close) in [("[", "]"), (r#"{"not":"#, "}"), (r#"{"properties":{"a":"#, "}}"), (r#"{"a":["#, "]}")] {
        let reading = ToolHeaders::read(&list(open, r#"{"x-mcp-header":"A"}"#, close));
        let reason = if open.contains("properties") { DropReason::NotPrimitive } else { DropReason::NotReachable };
        assert_eq!(reading.dropped.first().map(|tool| tool.reason), Some(reason), "{open}");
        assert_eq!(ToolHeaders::read(&list(open, "true", close)).dropped, []);
    }

    let annotated: String =
        (0..5_000).map(|level| format!(r#"{{"type":"string","x-mcp-header":"H{level}","properties":{{"a":"#)).collect();
    let schema = format!(r#"{{"properties":{{"a":{annotated}true{}}}}}"#, "}}".repeat(5_000));
    let headers = ToolHeaders::read(&format!(r#"{{"tools":[{{"name":"t","inputSchema":{schema}}}]}}"#)).headers;
    let arguments = format!("{}7{}", r#"{"a":"#.repeat(5_000), "}".repeat(5_000));
    assert_eq!(headers.values("t", Some(&arguments)), owned(&[("Mcp-Param-H4999", "7")]));
    assert_eq!(headers.values("t", Some(&"[".repeat(DEPTH))), []);
}

/// Marsaglia's xorshift with 64 bits: the same numbers in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }

    fn schema(&mut self, depth: usize) -> Value {
        if depth == 0 || self.below(12) == 0 {
            return [json!(true), json!({}), json!(["x-mcp-header"]), json!(null)][self.below(4)].clone();
        }
        let mut schema = json!({"type": self.one_of(&["string", "integer", "boolean", "object"])});
        if self.below(4) == 0 {
            let name = format!("{}{}", self.one_of(&["H", "h", "Name"]), self.below(30));
            schema["x-mcp-header"] = if self.below(15) == 0 { json!("not one") } else { json!(name) };
        }
        for _ in 0..self.below(3) {
            let name = self.one_of(&["a", "b", "items", "x-mcp-header", "é\u{1}\"", "properties"]);
            schema["properties"][name] = self.schema(depth - 1);
        }
        if self.below(12) == 0 {
            let keyword = self.one_of(&["items", "oneOf", "default", "$defs", "not", "x-more", "patternProperties"]);
            schema[keyword] = match self.below(3) {
                0 => self.schema(depth - 1),
                1 => json!([self.schema(depth - 1)]),
                _ => json!({"n": self.schema(depth - 1)}),
            };
        }
        schema
    }

    fn instance(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 7 } else { 12 }) {
            0 => json!(null),
            1 => json!(self.below(2) == 0),
            2 => json!(self.below(1 << 50)),
            3 => json!(-7.25),
            4..=6 => json!(self.one_of(&["", "plain", " padded", "世界", "=?base64?x?=", "a\nb"])),
            7 => json!([self.instance(depth - 1)]),
            _ => {
                let mut object = json!({});
                for name in ["a", "b", "items", "x-mcp-header", "properties"] {
                    if self.below(3) > 0 {
                        object[name] = self.instance(depth - 1);
                    }
                }
                object
            }
        }
    }
}

/// F4: the rewritten list is the original minus the dropped tools, and values are those of a slow reading of trees.
#[test]
fn f4_random_lists_agree_with_trees() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let (mut dropped, mut headers) = (0, 0);
    for _ in 0..3_000 {
        let tools: Vec<Value> = (0..numbers.below(5))
            .map(|number| {
                let schema = json!({"type": "object", "properties": {"a": numbers.schema(3), "b": numbers.schema(3)}});
                let schema = if numbers.below(20) == 0 { numbers.schema(3) } else { schema };
                json!({"name": format!("t{number}"), "inputSchema": schema, "more": numbers.instance(2)})
            })
            .collect();
        let list = json!({"tools": tools, "nextCursor": numbers.one_of(&["", "c"]), "_meta": numbers.instance(1)});
        let list = if numbers.below(2) == 0 { list.to_string() } else { format!("{list:#}") };
        let mut arguments = json!({});
        while arguments.as_object().is_none_or(serde_json::Map::is_empty) {
            arguments = numbers.instance(4);
        }
        run(format!("{list}\0{arguments}").as_bytes());
        let reading = ToolHeaders::read(&list);
        dropped += reading.dropped.len();
        for tool in reading.headers.tools() {
            let values = reading.headers.values(tool, Some(&arguments.to_string()));
            assert!(values.iter().all(|(_, value)| decode_value(value).is_ok()));
            headers += values.len();
        }
    }
    assert!(dropped > 300 && headers > 300, "both happen: {dropped} and {headers}");
}
