//! A million levels of nesting, in every place a value may stand: read, or refused, without recursion.

use mcp_sse_core::jsonrpc::{Completeness, Envelope, Message, ReadError, check, read, read_array};

const LEVELS: usize = 1_000_000;

fn arrays() -> String {
    format!("{}{}", "[".repeat(LEVELS), "]".repeat(LEVELS))
}

fn objects() -> String {
    format!("{}0{}", r#"{"a":"#.repeat(LEVELS), "}".repeat(LEVELS))
}

#[test]
fn deep_results_are_handed_over() {
    for deep in [arrays(), objects()] {
        let text = format!(r#"{{"id":1,"result":{deep}}}"#);
        assert_eq!(check(&text), Completeness::Whole);
        let Ok(Envelope::Result { result, .. }) = read(&text) else {
            panic!("a result");
        };
        assert!(result == deep);
    }
}

#[test]
fn deep_params_are_handed_over() {
    let deep = arrays();
    let text = format!(r#"{{"id":1,"method":"m","params":{deep}}}"#);
    let Ok(Envelope::Request { params: Some(params), .. }) = read(&text) else {
        panic!("a request");
    };
    assert!(params == deep);
}

#[test]
fn deep_data_of_an_error_are_handed_over() {
    let deep = objects();
    let text = format!(r#"{{"id":1,"error":{{"code":1,"message":"","data":{deep}}}}}"#);
    let Ok(Envelope::Error { error, .. }) = read(&text) else {
        panic!("an error");
    };
    assert!(error.data == Some(&*deep));
}

#[test]
fn deep_unknown_members_are_passed_over() {
    let text = format!(r#"{{"x":{},"id":1,"result":2,"error ":{}}}"#, arrays(), objects());
    assert!(matches!(read(&text), Ok(Envelope::Result { result: "2", .. })));
}

#[test]
fn deep_values_of_the_wrong_type_are_told() {
    for member in ["id", "method", "jsonrpc", "error"] {
        let text = format!(r#"{{"{member}":{}}}"#, arrays());
        assert!(matches!(read(&text), Err(ReadError::Malformed { .. })), "{member}");
    }
}

#[test]
fn deep_values_that_were_cut_are_prefixes() {
    let opened = "[".repeat(LEVELS);
    for head in [r#"{"id":1,"result":"#, r#"{"method":"m","params":"#, r#"{"error":{"data":"#, r#"{"x":"#, ""] {
        let text = format!("{head}{opened}");
        let expected = ReadError::Syntax { position: text.len(), incomplete: true };
        assert_eq!(read(&text), Err(expected));
    }
}

#[test]
fn deep_values_closed_wrongly_are_told_where() {
    let head = r#"{"id":1,"result":"#;
    let text = format!("{head}{}{}}}", "[".repeat(LEVELS), "]".repeat(LEVELS - 1));
    let position = text.len() - 1;
    assert_eq!(read(&text), Err(ReadError::Syntax { position, incomplete: false }));
}

#[test]
fn deep_elements_of_an_array_are_handed_over() {
    let deep = arrays();
    let text = format!("[{deep},{deep}]");
    let elements: Vec<&str> = read_array(&text).unwrap().collect();
    assert!(elements == [&*deep, &*deep]);
}

#[test]
fn deep_results_are_kept_and_refused_by_types() {
    let text = format!(r#"{{"id":1,"result":{}}}"#, arrays());
    let message = Message::from_text(text).unwrap();
    let error = message.parse_result::<serde_json::Value>().unwrap_err();
    // serde_json stops at 128 levels rather than risk the stack.
    assert!(!error.is_absent());
    assert!(error.position().is_some_and(|position| position < 200));
}

/// Objects and arrays in turn, at depths around those at which what is open is kept in another word.
#[test]
fn each_level_is_closed_by_its_own_bracket() {
    for depth in [1, 2, 62, 63, 64, 65, 126, 127, 128, 129, 200] {
        for seed in [0x5555_5555_5555_5555_u64, 0x0123_4567_89ab_cdef, u64::MAX, 0] {
            let is_object = |level: usize| seed >> (level * 7 % 64) & 1 == 1;
            let opened: String = (0..depth).map(|level| if is_object(level) { "{\"a\":" } else { "[" }).collect();
            let closed = |wrong: usize| -> String {
                let bracket = |level| if is_object(level) == (level != wrong) { '}' } else { ']' };
                (0..depth).rev().map(bracket).collect()
            };
            assert_eq!(check(&format!("{opened}0{}", closed(usize::MAX))), Completeness::Whole);
            // Opened, left and opened again at the deepest place.
            assert_eq!(check(&format!("{opened}[[[{{}}]],{{}}]{}", closed(usize::MAX))), Completeness::Whole);
            for wrong in 0..depth {
                let text = format!("{opened}0{}", closed(wrong));
                let position = text.len() - 1 - wrong;
                assert_eq!(check(&text), Completeness::Invalid { position }, "{depth} {wrong}");
            }
        }
    }
}
