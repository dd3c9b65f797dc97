//! Random messages whose kind is known from how they were made, and random damage to them.

use mcp_sse_core::jsonrpc::{Envelope, Id, Member, Problem, ReadError, read};
use mcp_sse_tests::fuzz::envelope::{agrees_with_value, run};

/// Marsaglia's xorshift with 64 bits: the same numbers in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    fn space(&mut self) -> &'static str {
        self.one_of(&["", "", "", " ", "\n", "\t ", "\r\n"])
    }

    fn value(&mut self, depth: usize) -> String {
        match self.below(if depth == 0 { 6 } else { 8 }) {
            0 => "null".into(),
            1 => self.one_of(&["true", "false"]).into(),
            2 => self.one_of(&["0", "-0", "7", "7.0", "1e3", "9007199254740993", "-1.5E-2"]).into(),
            3..=5 => self.one_of(&[r#""""#, r#""a""#, r#""\u00e9\n""#, "\"é😀\"", r#""]},{\"""#]).into(),
            6 => {
                let elements: Vec<String> = (0..self.below(4)).map(|_| self.value(depth - 1)).collect();
                format!("[{}{}]", self.space(), elements.join(","))
            }
            _ => {
                let members: Vec<String> = (0..self.below(4))
                    .map(|_| {
                        format!(
                            "\"{}\":{}{}",
                            self.one_of(&["id", "result", "x", ""]),
                            self.space(),
                            self.value(depth - 1)
                        )
                    })
                    .collect();
                format!("{{{}{}}}", members.join(","), self.space())
            }
        }
    }

    /// A key, with some of its letters written as escapes.
    fn key(&mut self, name: &str) -> String {
        name.chars()
            .map(|letter| match self.below(12) {
                0 => format!("\\u{:04x}", u32::from(letter)),
                _ => letter.to_string(),
            })
            .collect()
    }
}

/// A message, and what `read` must say of it.
struct Made {
    text: String,
    members: Vec<(&'static str, String)>,
    /// Where each member's value begins.
    positions: Vec<usize>,
}

const NAMES: [&str; 8] = ["jsonrpc", "id", "method", "params", "result", "error", "x", "Id"];

fn make(numbers: &mut Numbers) -> Made {
    let mut members = Vec::new();
    for _ in 0..numbers.below(6) {
        let name = numbers.one_of(&NAMES);
        let raw = match (name, numbers.below(8)) {
            (_, 0) => numbers.value(2),
            ("jsonrpc", _) => "\"2.0\"".into(),
            ("id", _) => numbers.one_of(&["1", "\"a\"", "null", "7.0", "1e40"]).into(),
            ("method", _) => numbers.one_of(&["\"ping\"", "\"a\\/b\""]).into(),
            ("error", _) => r#"{"code":-32601,"message":"m"}"#.into(),
            _ => numbers.value(3),
        };
        members.push((name, raw));
    }
    let mut text = format!("{}{{", numbers.space());
    let mut positions = Vec::new();
    for (index, (name, raw)) in members.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let (key, before, after) = (numbers.key(name), numbers.space(), numbers.space());
        text.push_str(&format!("{comma}{before}\"{key}\"{after}:{before}"));
        positions.push(text.len());
        text.push_str(&format!("{raw}{after}"));
    }
    text.push('}');
    text.push_str(numbers.space());
    Made { text, members, positions }
}

impl Made {
    fn all(&self, name: &str) -> Vec<usize> {
        (0..self.members.len()).filter(|&index| self.members[index].0 == name).collect()
    }

    fn raw(&self, name: &str) -> Option<&str> {
        self.all(name).first().map(|&index| &*self.members[index].1)
    }

    /// The second value of a known member that comes first in the text.
    fn first_duplicate(&self) -> Option<(Member, usize)> {
        let known = [
            ("jsonrpc", Member::Jsonrpc),
            ("id", Member::Id),
            ("method", Member::Method),
            ("params", Member::Params),
            ("result", Member::Result),
            ("error", Member::Error),
        ];
        known
            .into_iter()
            .filter_map(|(name, member)| Some((member, self.positions[*self.all(name).get(1)?])))
            .min_by_key(|&(_, position)| position)
    }

    fn expected_id(&self) -> Option<Id> {
        if self.all("id").len() > 1 { None } else { Id::parse(self.raw("id")?) }
    }

    fn assert_read(&self) {
        let told = read(&self.text);
        if let Some((member, position)) = self.first_duplicate() {
            let problem = Problem::Duplicate { member, position };
            assert_eq!(told, Err(ReadError::Malformed { id: self.expected_id(), problem }), "{}", self.text);
            return;
        }
        match &told {
            Ok(envelope) => {
                assert_eq!(envelope.id().cloned(), self.expected_id(), "{}", self.text);
                match envelope {
                    Envelope::Request { params, .. } | Envelope::Notification { params, .. } => {
                        assert_eq!(*params, self.raw("params"));
                    }
                    Envelope::Result { result, .. } => {
                        assert_eq!(Some(*result), self.raw("result"))
                    }
                    _ => assert!(self.raw("error").is_some()),
                }
            }
            Err(error) => assert_eq!(error.id().cloned(), self.expected_id(), "{}", self.text),
        }
        let value = serde_json::from_str(&self.text).expect("made well-formed");
        agrees_with_value(&told, &value);
    }
}

#[test]
fn messages_are_read_as_they_were_made() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let (mut taken, mut refused) = (0, 0);
    for _ in 0..30_000 {
        let made = make(&mut numbers);
        made.assert_read();
        if read(&made.text).is_ok() { taken += 1 } else { refused += 1 }
    }
    assert!(taken > 3_000 && refused > 3_000, "both happen: {taken} and {refused}");
}

#[test]
fn damaged_messages_are_judged_alike_by_all() {
    let mut numbers = Numbers(0x2545_f491_4f6c_dd1d);
    for _ in 0..8_000 {
        let mut bytes = make(&mut numbers).text.into_bytes();
        for _ in 0..=numbers.below(3) {
            let at = numbers.below(bytes.len() + 1);
            let byte = numbers.one_of(b"{}[]\",:\\u0123e.-+ntf \n\x00\x7f\x80\xc3\xa9\xff");
            match numbers.below(4) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, byte),
                2 if at < bytes.len() => bytes[at] = byte,
                3 if at < bytes.len() => {
                    bytes.remove(at);
                }
                _ => {}
            }
        }
        run(&bytes);
    }
}

#[test]
fn noise_is_judged_alike_by_all() {
    let mut numbers = Numbers(0xdead_beef_cafe_f00d);
    for _ in 0..20_000 {
        let noise: Vec<u8> =
            (0..numbers.below(12)).map(|_| numbers.one_of(b"{}[]\"\":,\\u0019e.-+truefalsn \xc3\xa9")).collect();
        run(&noise);
    }
}
