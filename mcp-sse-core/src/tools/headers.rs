//! What the tools of an origin want mirrored into `Mcp-Param-*` headers, learnt from lists of tools (F4).
//!
//! Lives here: reading a `tools/list` result, dropping the tools in it that a client must not show, and the headers of a
//! call. Rules: Streamable HTTP, 2026-07-28, "Custom Headers from Tool Parameters"; where an annotation may stand is
//! judged in `schema`. Does not belong here: when a list is asked for, or a call sent again.
//!
//! Everything is told from the text in a bounded number of passes, without recursion and without building values.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::schema::{self, Property};
use crate::http::{MCP_PARAM_PREFIX, encode_value};
use crate::jsonrpc::{self, Id, Token, tokens};

/// The headers that the tools of an origin want, by tool.
///
/// ```
/// use mcp_sse_core::tools::ToolHeaders;
///
/// let list = r#"{"tools":[{"name":"execute_sql","inputSchema":{"type":"object","properties":{
///     "region":{"type":"string","x-mcp-header":"Region"},"query":{"type":"string"}}}}]}"#;
/// let reading = ToolHeaders::read(list);
/// assert_eq!(reading.result, None, "no tool had to be dropped");
///
/// let values = reading.headers.values("execute_sql", Some(r#"{"region":"us-west1","query":"SELECT 1"}"#));
/// assert_eq!(values, [("Mcp-Param-Region".to_owned(), "us-west1".to_owned())]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolHeaders {
    tools: BTreeMap<String, Tool>,
    bytes: usize,
    left_out: usize,
}

/// What one tool wants.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Tool {
    properties: Vec<Property>,
    /// The places of `properties`, sorted by parent and name.
    by_name: Vec<usize>,
}

/// What a list of tools told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolListReading {
    /// The headers that the valid tools of the list want.
    pub headers: ToolHeaders,
    /// The tools that a client must not show, in the list's order.
    pub dropped: Vec<DroppedTool>,
    /// The result without the dropped tools: every other member and tool is the raw text it came as, only white space
    /// between them is lost. Nothing if no tool was dropped, so that the result stands as it came.
    pub result: Option<String>,
    /// Where the next page of the list begins; nothing if this was the last.
    pub next_cursor: Option<String>,
}

/// A tool that was excluded from the list, to be told to people ("clients SHOULD log a warning").
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DroppedTool {
    /// Its place in the list, counted from zero.
    pub index: usize,
    /// Its name, fit for a log: cut at [`MAX_SHOWN_NAME`](Self::MAX_SHOWN_NAME) characters, what does not print written
    /// as an escape. Empty if it has none.
    pub name: String,
    /// Why.
    pub reason: DropReason,
}

impl DroppedTool {
    /// The longest name a tool should have ("Tool Names"); of a longer one no more is shown.
    pub const MAX_SHOWN_NAME: usize = 128;
}

/// What is wrong with a tool's `x-mcp-header`. The server erred in all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum DropReason {
    /// Its value is no JSON string.
    #[error("x-mcp-header is not a string")]
    NotAString,
    /// Its value is the empty string.
    #[error("x-mcp-header is empty")]
    Empty,
    /// Its value is no token (RFC 9110, 5.6.2), so no header can have that name.
    #[error("x-mcp-header is not a token, as a header's name must be")]
    NotAToken,
    /// It stands on a parameter whose type is none of string, integer and boolean; one without a type, or with a list of
    /// types, included.
    #[error("x-mcp-header is on a parameter that is neither string nor integer nor boolean")]
    NotPrimitive,
    /// Another one in the schema has the same value but for case.
    #[error("two x-mcp-header have the same value but for case")]
    NotUnique,
    /// It stands where a chain of `properties` does not lead: at the root, in an array, a composition, a condition or a
    /// definition.
    #[error("x-mcp-header is where a chain of properties does not lead")]
    NotReachable,
    /// A member it depends on comes twice (`x-mcp-header`, `type`, `inputSchema`, a property, the tool's name), and readers
    /// differ in which they take.
    #[error("a member that x-mcp-header depends on comes twice")]
    Ambiguous,
}

impl ToolHeaders {
    /// The most tools whose headers are kept. Large servers list some hundreds; the pages of a list have no end of their
    /// own, so there must be one.
    pub const MAX_TOOLS: usize = 4096;

    /// The most memory that is spent on them, in bytes as counted: 1 MiB is 256 bytes for each of so many tools.
    pub const MAX_BYTES: usize = 1 << 20;

    /// Reads one page: the result of `tools/list`, as raw JSON.
    ///
    /// A text that is no object, or an object without an array of tools, tells nothing. An element that is no tool is kept
    /// as it is.
    #[must_use]
    pub fn read(result: &str) -> ToolListReading {
        let mut reading = ToolListReading::default();
        let members = jsonrpc::object_members(result).unwrap_or_default();
        let mut index = 0;
        for (raw_key, value) in &members {
            match &*jsonrpc::string(raw_key).unwrap_or_default() {
                TOOLS => {
                    for tool in jsonrpc::read_array(value).into_iter().flatten() {
                        reading.take_tool(index, tool);
                        index += 1;
                    }
                }
                "nextCursor" => reading.next_cursor = jsonrpc::string(value).map(Cow::into_owned),
                _ => {}
            }
        }
        if !reading.dropped.is_empty() {
            reading.result = Some(without(&members, &reading.dropped));
        }
        reading
    }

    /// Adds what another page told. A tool known already is replaced.
    ///
    /// At the first page of a list that is read anew, put its headers in the place of the old ones instead, so that tools
    /// which are gone are forgotten.
    pub fn merge(&mut self, other: Self) {
        self.left_out = self.left_out.saturating_add(other.left_out);
        for (name, tool) in other.tools {
            self.insert(name, tool);
        }
    }

    /// The headers of a call, names and values ready to be written, in the schema's order.
    ///
    /// The value at each annotated property's path is mirrored: a string and a boolean as they are, a number in plain
    /// decimal (`7.0` and `70e-1` become `7`), encoded as [`encode_value`] does. Left out are null and what is absent, as
    /// the specification says, and objects and arrays, for which it has no form. What the schema says of the value is not
    /// asked: "Parameter value provided: client MUST include the header", and it is for the server to say that a value has
    /// the wrong type. Nothing is mirrored for a tool that is not known, or arguments that are no JSON object.
    #[must_use]
    pub fn values(&self, tool: &str, arguments: Option<&str>) -> Vec<(String, String)> {
        match (self.tools.get(tool), arguments) {
            (Some(tool), Some(arguments)) => tool.values(arguments),
            _ => Vec::new(),
        }
    }

    /// The full names of the headers that a tool's parameters may be mirrored in, in the schema's order.
    pub fn names(&self, tool: &str) -> impl Iterator<Item = String> {
        let properties = self.tools.get(tool).into_iter().flat_map(|tool| &tool.properties);
        properties.filter_map(|property| property.header.as_deref()).map(|name| format!("{MCP_PARAM_PREFIX}{name}"))
    }

    /// The tools that want headers, in the order of their names.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    /// Whether no tool wants a header.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// How many tools were left out because [`MAX_TOOLS`](Self::MAX_TOOLS) or [`MAX_BYTES`](Self::MAX_BYTES) was reached.
    /// Their calls bear no `Mcp-Param-*`.
    #[must_use]
    pub const fn left_out(&self) -> usize {
        self.left_out
    }

    fn insert(&mut self, name: String, tool: Tool) {
        if let Some(old) = self.tools.remove(&name) {
            self.bytes = self.bytes.saturating_sub(old.bytes(&name));
        }
        let bytes = self.bytes.saturating_add(tool.bytes(&name));
        if self.tools.len() >= Self::MAX_TOOLS || bytes > Self::MAX_BYTES {
            self.left_out = self.left_out.saturating_add(1);
            return;
        }
        self.bytes = bytes;
        self.tools.insert(name, tool);
    }
}

const TOOLS: &str = "tools";

impl ToolListReading {
    fn take_tool(&mut self, index: usize, raw: &str) {
        let members = jsonrpc::object_members(raw).unwrap_or_default();
        let named = |wanted: &'static str| {
            let members = members.iter();
            members.filter(move |(raw_key, _)| jsonrpc::string(raw_key).is_some_and(|key| key == wanted))
        };
        let mut names = named("name");
        let name = names.next().and_then(|(_, value)| jsonrpc::string(value));
        let is_named_twice = names.next().is_some();
        match read_schemas(named("inputSchema").map(|(_, value)| *value)) {
            Ok(None) => {}
            Ok(Some(_)) if is_named_twice => self.drop_tool(index, name, DropReason::Ambiguous),
            // A tool without a name cannot be called.
            Ok(Some(tool)) => {
                if let Some(name) = name {
                    self.headers.insert(name.into_owned(), tool);
                }
            }
            Err(reason) => self.drop_tool(index, name, reason),
        }
    }

    fn drop_tool(&mut self, index: usize, name: Option<Cow<'_, str>>, reason: DropReason) {
        let name = name.unwrap_or_default();
        let shown = name.chars().take(DroppedTool::MAX_SHOWN_NAME).flat_map(char::escape_debug).collect();
        self.dropped.push(DroppedTool { index, name: shown, reason });
    }
}

/// What a tool's schema wants; nothing if that is nothing.
fn read_schemas<'a>(mut schemas: impl Iterator<Item = &'a str>) -> Result<Option<Tool>, DropReason> {
    let Some(schema) = schemas.next() else {
        return Ok(None);
    };
    let properties = schema::read(schema)?;
    for other in schemas {
        if !(properties.is_empty() && schema::read(other)?.is_empty()) {
            return Err(DropReason::Ambiguous);
        }
    }
    if properties.is_empty() { Ok(None) } else { Tool::new(properties).map(Some) }
}

/// The result's text without the tools that were dropped.
fn without(members: &[(&str, &str)], dropped: &[DroppedTool]) -> String {
    let mut dropped = dropped.iter().map(|tool| tool.index).peekable();
    let mut index = 0;
    let mut text = String::from("{");
    for (raw_key, value) in members {
        separate(&mut text, '{');
        text.push_str(raw_key);
        text.push(':');
        match jsonrpc::read_array(value) {
            Ok(elements) if jsonrpc::string(raw_key).is_some_and(|key| key == TOOLS) => {
                text.push('[');
                for tool in elements {
                    if dropped.next_if_eq(&index).is_none() {
                        separate(&mut text, '[');
                        text.push_str(tool);
                    }
                    index += 1;
                }
                text.push(']');
            }
            _ => text.push_str(value),
        }
    }
    text.push('}');
    text
}

/// Writes a comma unless this is the first of what `opening` opened.
fn separate(text: &mut String, opening: char) {
    if !text.ends_with(opening) {
        text.push(',');
    }
}

impl Tool {
    fn new(properties: Vec<Property>) -> Result<Self, DropReason> {
        let key = |place: &usize| properties.get(*place).map(|property| (property.parent, &*property.name));
        let mut by_name: Vec<usize> = (0..properties.len()).collect();
        by_name.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
        let mut pairs = by_name.iter().zip(by_name.iter().skip(1));
        if pairs.any(|(a, b)| key(a) == key(b)) {
            return Err(DropReason::Ambiguous);
        }
        Ok(Self { properties, by_name })
    }

    /// The memory it takes, by and large.
    fn bytes(&self, name: &str) -> usize {
        let names = self.properties.iter().map(|property| {
            size_of::<Property>() + property.name.len() + property.header.as_ref().map_or(0, String::len)
        });
        names.sum::<usize>() + size_of::<Self>() + name.len()
    }

    fn find(&self, parent: Option<usize>, name: &str) -> Option<usize> {
        let found = self.by_name.binary_search_by(|&place| {
            let key = self.properties.get(place).map(|property| (property.parent, &*property.name));
            key.cmp(&Some((parent, name)))
        });
        self.by_name.get(found.ok()?).copied()
    }

    fn values(&self, arguments: &str) -> Vec<(String, String)> {
        let mut found: Vec<Option<&str>> = vec![None; self.properties.len()];
        // Where each open object stands among the properties: at the top, at one of them, or elsewhere.
        let mut open: Vec<Way> = Vec::new();
        let mut value = Way::Top;
        for token in tokens(arguments) {
            match token {
                Token::Key(raw) => {
                    let parent = open.last().copied().unwrap_or(Way::Elsewhere);
                    value = self.step(parent, raw);
                    continue;
                }
                Token::Scalar(raw) => {
                    let place = if let Way::At(place) = value { found.get_mut(place) } else { None };
                    if let Some(place) = place {
                        *place = Some(raw);
                    }
                }
                Token::OpenObject => open.push(value),
                Token::OpenArray => open.push(Way::Elsewhere),
                Token::Close => {
                    open.pop();
                }
            }
            value = Way::Elsewhere;
        }
        let headers = self.properties.iter().zip(found);
        headers.filter_map(|(property, raw)| header(property.header.as_deref()?, raw?)).collect()
    }

    fn step(&self, from: Way, raw_key: &str) -> Way {
        let parent = match from {
            Way::Top => None,
            Way::At(place) => Some(place),
            Way::Elsewhere => return Way::Elsewhere,
        };
        let name = jsonrpc::string(raw_key).unwrap_or_default();
        self.find(parent, &name).map_or(Way::Elsewhere, Way::At)
    }
}

/// Where a value of the arguments stands among a tool's properties.
#[derive(Clone, Copy)]
enum Way {
    Top,
    At(usize),
    Elsewhere,
}

fn header(name: &str, raw: &str) -> Option<(String, String)> {
    let value = match raw.bytes().next()? {
        b'"' => jsonrpc::string(raw)?,
        b't' | b'f' => Cow::Borrowed(raw),
        b'n' => return None,
        // Ids are read exactly and written in one form, which is what a number here needs as well.
        _ => Cow::Owned(Id::parse(raw)?.to_string()),
    };
    Some((format!("{MCP_PARAM_PREFIX}{name}"), encode_value(&value).into_owned()))
}
