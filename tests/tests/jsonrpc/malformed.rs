//! What is wrong with a message, where, and whose it is (E10, E29).

use mcp_sse_core::jsonrpc::{Id, Member, Problem, ReadError, read};

/// Reads a text in which `^` marks where the error lies; the mark is taken out before.
fn malformed(marked: &str) -> (Option<Id>, Problem, usize) {
    let position = marked.find('^').expect("a mark");
    match read(&marked.replacen('^', "", 1)) {
        Err(ReadError::Malformed { id, problem, .. }) => {
            assert_eq!(problem.position(), position, "{marked}: {problem:?}");
            (id, problem, position)
        }
        other => panic!("{marked}: {other:?}"),
    }
}

fn syntax(marked: &str, is_cut: bool) {
    let position = marked.find('^').expect("a mark");
    let expected = ReadError::Syntax { position, incomplete: is_cut };
    let error = read(&marked.replacen('^', "", 1)).expect_err(marked);
    assert_eq!((error.position(), error.is_incomplete(), error.id()), (position, is_cut, None), "{marked}");
    assert_eq!(error, expected, "{marked}");
}

#[test]
fn duplicates_are_told_with_the_place_of_the_second_value() {
    for (marked, member) in [
        (r#"{"jsonrpc":"2.0","id":1,"jsonrpc":^"2.0","result":1}"#, Member::Jsonrpc),
        (r#"{"id":1,"method":"a","method":^"a"}"#, Member::Method),
        (r#"{"id":1,"method":"a","params":1,"params": ^1}"#, Member::Params),
        (r#"{"id":1,"result":1,"é":"€","result" : ^null}"#, Member::Result),
        (r#"{"id":1,"error":{"code":1,"message":""},"error":^{}}"#, Member::Error),
        (r#"{"id":1,"error":{"code":1,"code":^1,"message":""}}"#, Member::ErrorCode),
        (r#"{"id":1,"error":{"code":1,"message":"","message":^""}}"#, Member::ErrorMessage),
        (r#"{"id":1, "error":{"data":1,"code":1,"data":^[1],"message":""}}"#, Member::ErrorData),
        (r#"{"id":1,"result":1,"r\u0065sult":^2}"#, Member::Result),
    ] {
        let (id, problem, position) = malformed(marked);
        assert_eq!(problem, Problem::Duplicate { member, position });
        assert_eq!(id, Some(Id::from(1)), "{marked}");
    }
}

#[test]
fn the_first_duplicate_is_the_one_told() {
    let (_, problem, position) = malformed(r#"{"id":1,"result":1,"method":"a","result":^2,"method":"b"}"#);
    assert_eq!(problem, Problem::Duplicate { member: Member::Result, position });
}

#[test]
fn e29_a_message_with_two_ids_has_none_to_speak_of() {
    for marked in [
        r#"{"id":1,"result":1,"id":^1}"#,
        r#"{"id":1,"id":^2,"result":1}"#,
        r#"{"result":1,"result":^1,"id":1,"id":1}"#,
    ] {
        let (id, problem, _) = malformed(marked);
        assert!(matches!(problem, Problem::Duplicate { .. }));
        assert_eq!(id, None);
    }
}

#[test]
fn wrong_types_are_told_with_their_place() {
    for (marked, member) in [
        (r#"{"id":1,"jsonrpc": ^2.0,"result":1}"#, Member::Jsonrpc),
        (r#"{"id":1,"jsonrpc":^null,"result":1}"#, Member::Jsonrpc),
        (r#"{"id":1,"method":^null}"#, Member::Method),
        (r#"{"id":1,"method":^["a"]}"#, Member::Method),
        (r#"{"id":1,"error":^null}"#, Member::Error),
        (r#"{"id":1,"error": ^"broken"}"#, Member::Error),
        (r#"{"id":1,"error":^[1,"m"]}"#, Member::Error),
        (r#"{"id":1,"error":{"code":^"1","message":""}}"#, Member::ErrorCode),
        (r#"{"id":1,"error":{"code":^1.5,"message":""}}"#, Member::ErrorCode),
        (r#"{"id":1,"error":{"code":^9223372036854775808,"message":""}}"#, Member::ErrorCode),
        (r#"{"id":1,"error":{"code":^1e400,"message":""}}"#, Member::ErrorCode),
        (r#"{"id":1,"error":{"code":^null,"message":""}}"#, Member::ErrorCode),
        (r#"{"id":1,"error":{"code":1,"message":^null}}"#, Member::ErrorMessage),
        (r#"{"id":1,"error":{"code":1, "message" :^{}}}"#, Member::ErrorMessage),
    ] {
        let (id, problem, position) = malformed(marked);
        assert_eq!(problem, Problem::WrongType { member, position }, "{marked}");
        assert_eq!(id, Some(Id::from(1)), "{marked}");
    }
}

#[test]
fn an_id_of_another_type_is_wrong_and_unreadable() {
    for raw in ["true", "[]", "{}", "[1]"] {
        let (id, problem, position) = malformed(&format!(r#"{{"jsonrpc":"2.0","id":^{raw},"result":1}}"#));
        assert_eq!(problem, Problem::WrongType { member: Member::Id, position });
        assert_eq!(id, None);
    }
}

#[test]
fn a_method_with_half_of_a_surrogate_pair_is_no_text() {
    let (id, problem, position) = malformed(r#"{"id":1,"method":^"a\ud800"}"#);
    assert_eq!(problem, Problem::LoneSurrogate { member: Member::Method, position });
    assert_eq!(id, Some(Id::from(1)));
}

#[test]
fn an_error_without_code_or_message_is_malformed() {
    for (marked, member) in [
        (r#"{"id":1,"error":^{}}"#, Member::ErrorCode),
        (r#"{"id":1,"error":^{"message":""}}"#, Member::ErrorCode),
        (r#"{"id":1,"error": ^{"code":1,"data":""}}"#, Member::ErrorMessage),
    ] {
        let (id, problem, position) = malformed(marked);
        assert_eq!(problem, Problem::Missing { member, position });
        assert_eq!(id, Some(Id::from(1)));
    }
}

/// E29: a malformed message tells whose it is.
#[test]
fn e29_what_stands_together_wrongly_is_told_with_the_id() {
    let both = malformed(r#"{"id":7.0,"result":{},"error":^{"code":1,"message":""}}"#);
    assert_eq!(both, (Some(Id::from(7)), Problem::ResultAndError { position: both.2 }, both.2));
    let both = malformed(r#"{"error":^null,"id":"7","result":{}}"#);
    assert_eq!(both, (Some(Id::from("7")), Problem::ResultAndError { position: both.2 }, both.2));

    let neither = malformed(r#" ^{"id":7,"jsonrpc":"2.0","params":{}}"#);
    assert_eq!(neither, (Some(Id::from(7)), Problem::NeitherResultNorError { position: 1 }, 1));
    let empty = malformed("^{}");
    assert_eq!(empty, (None, Problem::NeitherResultNorError { position: 0 }, 0));
    let null = malformed(r#"^{"id":null}"#);
    assert_eq!(null.0, Some(Id::Null));

    for marked in [
        r#"{"id":7,"method":"a","result":^null}"#,
        r#"{"id":7,"error":^{},"method":"a"}"#,
        r#"{"id":7,"method":"a","error":1,"result":^1}"#,
    ] {
        let (id, problem, position) = malformed(marked);
        assert_eq!((id, problem), (Some(Id::from(7)), Problem::MethodAndOutcome { position }));
    }
}

#[test]
fn e10_what_is_no_json_is_told_with_its_place() {
    for marked in [
        r#"{"id":1,"result":{}}^x"#,
        "{\"id\":1,\n\"result\":{}}\n\n ^{}",
        r#"{"id":1 ^"result":{}}"#,
        r#"{"id":1,^}"#,
        r#"{"id":0^1}"#,
        r#"{"id":1.^,"result":0}"#,
        r#"{"id":-^}"#,
        r#"{"id":1e+^]"#,
        r#"{"id":"\u00^g0"}"#,
        r#"{"id":"\u0^""#,
        r#"{"id":"\^x"}"#,
        "{\"id\":\"a^\n\"}",
        r#"{"id":nul^x}"#,
        r#"{^id:1}"#,
        r#"{"result":[1,2^}}"#,
        r#"{"result":[[],[^,]]}"#,
        r#"{"result":{"a":1,^}"#,
        "^<html>",
        "^\u{feff}{}",
        "^'a'",
    ] {
        syntax(marked, false);
    }
}

#[test]
fn e10_a_text_that_was_cut_is_told_apart() {
    let whole = r#"{"jsonrpc":"2.0","id":-1.5e+7,"result":{"a":[true,null,"\u00e9€"]}}"#;
    for cut in (0..whole.len()).filter(|&cut| whole.is_char_boundary(cut)) {
        let error = read(&whole[..cut]).unwrap_err();
        assert_eq!(error, ReadError::Syntax { position: cut, incomplete: true });
        assert!(error.is_incomplete());
    }
    assert!(read(whole).is_ok());
    for text in ["", " \n", "tru", "-", "\"", "["] {
        syntax(&format!("{text}^"), true);
    }
}

#[test]
fn e29_json_of_another_type_is_no_object() {
    for (text, position) in [("null", 0), (" [{}]", 1), ("\r\n7", 2), ("\"{}\"", 0), ("false ", 0)] {
        assert_eq!(read(text), Err(ReadError::NotAnObject { position }), "{text}");
    }
}

#[test]
fn errors_show_places_and_no_payload() {
    for text in [
        r#"{"id":1,"result":"sesame","result":"sesame"}"#,
        r#"{"sesame":"sesame","method":["sesame"]}"#,
        r#"{"method":"sesame","error":"sesame"}"#,
        r#"{"error":{"message":"sesame","data":"sesame"}}"#,
        r#"{"sesame":"sesame" "sesame"}"#,
        r#""sesame""#,
    ] {
        let error = read(text).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("sesame"), "{error}");
        assert!(error.to_string().contains(&error.position().to_string()), "{error}");
    }
    let duplicate = read(r#"{"id":1,"result":1,"result":2}"#).unwrap_err();
    assert_eq!(duplicate.to_string(), "a malformed message: result comes twice, again at byte 28");
    assert_eq!(duplicate.id(), Some(&Id::from(1)));
    assert_eq!(read("{").unwrap_err().to_string(), "the JSON text was cut at byte 1");
    assert_eq!(read("{x").unwrap_err().to_string(), "not JSON at byte 1");
}
