//! Arrays of messages, one raw element at a time (E25).

use mcp_sse_core::jsonrpc::{ArrayCursor, Id, ReadError, read, read_array};

fn elements(text: &str) -> Vec<&str> {
    read_array(text).unwrap_or_else(|error| panic!("{text}: {error}")).collect()
}

#[test]
fn e25_each_element_comes_raw_and_in_order() {
    let text = " [ {\"id\":1,\"result\":[1,{}]} ,{\"method\":\"a\"}\r\n,7, -1e5 ,\"],[\",null,[ ],true ] ";
    assert_eq!(
        elements(text),
        ["{\"id\":1,\"result\":[1,{}]}", "{\"method\":\"a\"}", "7", "-1e5", "\"],[\"", "null", "[ ]", "true"]
    );
    assert_eq!(read(elements(text)[0]).unwrap().id(), Some(&Id::from(1)));
    assert_eq!(read(elements(text)[2]), Err(ReadError::NotAnObject { position: 0 }));
}

#[test]
fn an_empty_array_has_no_elements() {
    for text in ["[]", " [ \n] "] {
        assert_eq!(elements(text), [""; 0]);
    }
}

#[test]
fn the_whole_text_is_checked_before_the_first_element() {
    for (text, position, incomplete) in [
        ("[{},{}", 6, true),
        ("[{},", 4, true),
        ("[1,]", 3, false),
        ("[1 2]", 3, false),
        ("[1]]", 3, false),
        ("[1] x", 4, false),
        ("[,1]", 1, false),
        ("", 0, true),
        ("x", 0, false),
        ("{\"a\":", 5, true),
    ] {
        let expected = ReadError::Syntax { position, incomplete };
        assert_eq!(read_array(text).err(), Some(expected), "{text}");
    }
}

#[test]
fn what_is_no_array_is_told() {
    for (text, position) in [(" {}", 1), ("7", 0), ("\"[]\"", 0), ("null", 0)] {
        let error = read_array(text).unwrap_err();
        assert_eq!(error, ReadError::NotAnArray { position });
        assert_eq!(error.position(), position);
    }
}

#[test]
fn the_iterator_stays_at_its_end() {
    let mut elements = read_array("[1]").unwrap();
    assert_eq!(elements.next(), Some("1"));
    assert_eq!((elements.next(), elements.next()), (None, None));
}

#[test]
fn a_cursor_walks_a_text_that_is_owned_elsewhere() {
    let text = String::from("[1,{\"a\":[2]}]");
    let mut cursor = ArrayCursor::new(&text).unwrap();
    assert_eq!(cursor.next_element(&text), Some("1"));
    let moved = text.clone();
    assert_eq!(cursor.next_element(&moved), Some("{\"a\":[2]}"));
    assert_eq!(cursor.next_element(&moved), None);
}

#[test]
fn a_cursor_on_another_text_does_not_panic_and_ends() {
    for other in ["", "[", "é€😀é€😀", "[[[[[[[[[", "{}}}}}}}}", ",,,,,,,,,,,", "[1,2,3,4,5,6,7]", "\"\"\"\"\"\"\"\""]
    {
        let mut cursor = ArrayCursor::new("[1,2,3]").unwrap();
        cursor.next_element("[1,2,3]");
        let taken = core::iter::from_fn(|| cursor.next_element(other)).take(100).count();
        assert!(taken < 10, "{other}");
    }
}

#[test]
fn many_tiny_elements_are_walked_in_linear_work() {
    let text = format!("[{}0]", "0,".repeat(1_000_000));
    assert_eq!(read_array(&text).unwrap().count(), 1_000_001);
}
