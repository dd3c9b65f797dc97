//! Lists of tools and arguments from any bytes: what they want mirrored, beside a slow reading of values.
//!
//! The input: the result of `tools/list`; a zero byte; a call's arguments.

use std::collections::{BTreeMap, BTreeSet};

use mcp_sse_core::http::{MCP_PARAM_PREFIX, decode_value, is_field_value, is_token};
use mcp_sse_core::jsonrpc::{object_member, read_array};
use mcp_sse_core::tools::{DroppedTool, ToolHeaders, ToolListReading};
use serde_json::Value;

/// Runs one input.
///
/// # Panics
///
/// If an invariant does not hold.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (list, arguments) = text.split_once('\0').unwrap_or((text, "{}"));
    let reading = ToolHeaders::read(list);
    dropping_is_told(list, &reading);
    rewriting_is_stable(&reading);
    values_can_be_sent(&reading.headers, arguments);
    merging_again_changes_nothing(&reading.headers);
    if let Some(value) = tree(list) {
        list_agrees(list, &value, &reading);
        if let Some(arguments_value) = tree(arguments) {
            values_agree(&value, &reading.headers, arguments, &arguments_value);
        }
    }
}

fn dropping_is_told(list: &str, reading: &ToolListReading) {
    assert_eq!(reading.result.is_some(), !reading.dropped.is_empty());
    assert!(reading.dropped.is_sorted_by(|a, b| a.index < b.index));
    for tool in &reading.dropped {
        assert!(!tool.name.chars().any(char::is_control));
        // The longest escape of one character is `\u{10ffff}`.
        assert!(tool.name.chars().count() <= DroppedTool::MAX_SHOWN_NAME * 10);
    }
    if let Some(result) = &reading.result {
        assert!(result.len() <= list.len(), "tools go, nothing comes");
    }
}

fn rewriting_is_stable(reading: &ToolListReading) {
    let Some(result) = &reading.result else {
        return;
    };
    let again = ToolHeaders::read(result);
    assert_eq!((&again.dropped, &again.result), (&Vec::new(), &None), "nothing is left to drop");
    assert_eq!((&again.headers, &again.next_cursor), (&reading.headers, &reading.next_cursor));
}

fn values_can_be_sent(headers: &ToolHeaders, arguments: &str) {
    assert_eq!(headers.is_empty(), headers.tools().next().is_none());
    for tool in headers.tools() {
        assert_eq!(headers.values(tool, None), []);
        let mut names = BTreeSet::new();
        for (name, value) in headers.values(tool, Some(arguments)) {
            let own = name.strip_prefix(MCP_PARAM_PREFIX).expect("the prefix");
            assert!(is_token(own) && names.insert(own.to_ascii_lowercase()));
            assert!(is_field_value(&value) && decode_value(&value).is_ok());
        }
    }
}

fn merging_again_changes_nothing(headers: &ToolHeaders) {
    let mut merged = headers.clone();
    merged.merge(headers.clone());
    assert!(merged.tools().eq(headers.tools()));
}

/// A text as a tree, unless it has a member twice: of those a tree keeps one.
fn tree(text: &str) -> Option<Value> {
    let value = serde_json::from_str(text).ok()?;
    (members_of(&value) == members_in(text)).then_some(value)
}

fn members_of(value: &Value) -> usize {
    match value {
        Value::Object(members) => members.len() + members.values().map(members_of).sum::<usize>(),
        Value::Array(elements) => elements.iter().map(members_of).sum(),
        _ => 0,
    }
}

/// How many members are written in a JSON text: as many as there are colons outside strings.
fn members_in(text: &str) -> usize {
    let (mut count, mut in_string, mut escaped) = (0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b':' if !in_string => count += 1,
            _ => {}
        }
    }
    count
}

fn list_agrees(list: &str, value: &Value, reading: &ToolListReading) {
    assert_eq!(reading.next_cursor.as_deref(), value.get("nextCursor").and_then(Value::as_str));
    let Some(Value::Array(tools)) = value.get("tools") else {
        assert_eq!((reading.headers.is_empty(), reading.dropped.len()), (true, 0));
        return;
    };
    let invalid: Vec<usize> = (0..tools.len()).filter(|&index| annotations(&tools[index]).is_none()).collect();
    let dropped: Vec<usize> = reading.dropped.iter().map(|tool| tool.index).collect();
    assert_eq!(dropped, invalid);

    let Some(result) = &reading.result else {
        return;
    };
    let is_kept = |index: &usize| !invalid.contains(index);
    let mut expected = value.clone();
    expected["tools"] = (0..tools.len()).filter(is_kept).map(|index| tools[index].clone()).collect();
    assert_eq!(serde_json::from_str::<Value>(result).expect("still JSON"), expected);

    // And the kept ones are what they were byte for byte.
    let raw = |text| read_array(object_member(text, "tools").unwrap()).unwrap().map(str::to_owned);
    let kept = raw(list).enumerate().filter(|(index, _)| is_kept(index)).map(|(_, tool)| tool);
    assert!(raw(result).eq(kept));
}

fn values_agree(list: &Value, headers: &ToolHeaders, arguments: &str, arguments_value: &Value) {
    let tools = list.get("tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut by_name = BTreeMap::new();
    for tool in tools {
        let wanted = annotations(tool).unwrap_or_default();
        if let (Some(name), false) = (tool.get("name").and_then(Value::as_str), wanted.is_empty()) {
            by_name.insert(name, wanted);
        }
    }
    assert!(headers.tools().eq(by_name.keys().copied()));
    for (tool, wanted) in by_name {
        let mut told: BTreeMap<String, String> = headers.values(tool, Some(arguments)).into_iter().collect();
        for (path, name) in wanted {
            let told = told.remove(&format!("{MCP_PARAM_PREFIX}{name}"));
            let value = path.iter().try_fold(arguments_value, |value, step| value.as_object()?.get(step));
            same_value(told.as_deref(), value);
        }
        assert!(told.is_empty(), "more was told: {told:?}");
    }
}

fn same_value(header: Option<&str>, value: Option<&Value>) {
    let header = header.map(|header| decode_value(header).expect("well coded"));
    match (header, value) {
        (None, None | Some(Value::Null | Value::Array(_) | Value::Object(_))) => {}
        (Some(header), Some(Value::String(text))) => assert_eq!(header, *text),
        (Some(header), Some(Value::Bool(value))) => assert_eq!(header, value.to_string()),
        (Some(header), Some(Value::Number(number))) => match (number.as_i64(), number.as_u64()) {
            (Some(integer), _) => assert_eq!(header, integer.to_string()),
            (_, Some(integer)) => assert_eq!(header, integer.to_string()),
            _ => {
                let (told, value): (f64, f64) = (header.parse().unwrap(), number.as_f64().unwrap());
                assert!((told - value).abs() <= value.abs() * 1e-15, "{told} for {value}");
            }
        },
        (header, value) => panic!("told {header:?} for {value:?}"),
    }
}

type Annotations = Vec<(Vec<String>, String)>;

/// The paths and names of a tool's annotations; nothing if one of them is invalid. The page's rules, literally.
fn annotations(tool: &Value) -> Option<Annotations> {
    let mut found = Annotations::new();
    if let Some(schema) = tool.as_object().and_then(|tool| tool.get("inputSchema")) {
        look(schema, Some(&[]), &mut found)?;
    }
    let names: BTreeSet<String> = found.iter().map(|(_, name)| name.to_ascii_lowercase()).collect();
    (names.len() == found.len()).then_some(found)
}

/// `path` is the chain of `properties` that leads here, if one does.
fn look(schema: &Value, path: Option<&[String]>, found: &mut Annotations) -> Option<()> {
    let members = match schema {
        Value::Object(members) => members,
        Value::Array(schemas) => return schemas.iter().try_for_each(|schema| look(schema, None, found)),
        _ => return Some(()),
    };
    for (keyword, value) in members {
        match (&**keyword, value, path) {
            ("x-mcp-header", ..) => {
                let (name, path) = (value.as_str()?, path?);
                let kind = members.get("type")?.as_str()?;
                let is_primitive = ["integer", "string", "boolean"].contains(&kind);
                let is_name = !name.is_empty()
                    && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte));
                if path.is_empty() || !is_primitive || !is_name {
                    return None;
                }
                found.push((path.to_vec(), name.to_owned()));
            }
            ("default" | "const" | "enum" | "examples", ..) => {}
            ("properties", Value::Object(properties), Some(path)) => {
                for (name, property) in properties {
                    let path = [path, std::slice::from_ref(name)].concat();
                    look(property, Some(&path), found)?;
                }
            }
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" | "dependentRequired"
                | "dependencies",
                Value::Object(schemas),
                _,
            ) => schemas.values().try_for_each(|schema| look(schema, None, found))?,
            _ => look(value, None, found)?,
        }
    }
    Some(())
}
