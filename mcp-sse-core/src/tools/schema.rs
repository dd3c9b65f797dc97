//! Where a tool's `inputSchema` has `x-mcp-header`, and whether it may have it there (F4).
//!
//! Rules: Streamable HTTP, 2026-07-28, "Schema Extension". One pass over the text, no recursion, memory in proportion to
//! the text. What the list of tools is, and what becomes of a tool, is not asked here.
//!
//! An object is read as a schema wherever a schema may stand, under unknown keywords too ("an `x-mcp-header` annotation
//! anywhere else makes the annotation invalid"). Two kinds of objects are none: maps from names to schemas, where
//! `x-mcp-header` is a parameter's name, and the instance values of `default`, `const`, `enum` and `examples`.
//!
//! Of members that come twice both count, since readers differ in which they take.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use super::headers::DropReason;
use crate::http;
use crate::jsonrpc::{self, Token, tokens};

const ANNOTATION: &str = "x-mcp-header";

/// A property on the way to an annotated one, or that one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Property {
    /// The place of the property around it; nothing at the top.
    pub(super) parent: Option<usize>,
    pub(super) name: String,
    /// The name part of `Mcp-Param-{name}`.
    pub(super) header: Option<String>,
}

/// The annotated properties of a schema with those around them, each after the one around it.
pub(super) fn read(schema: &str) -> Result<Vec<Property>, DropReason> {
    let mut walk = Walk { open: Vec::new(), schemas: Vec::new(), properties: Vec::new(), taken: BTreeSet::new() };
    let mut value = Value::In(Place::Schema);
    for token in tokens(schema) {
        match token {
            Token::Key(raw) => value = walk.value_of(raw)?,
            Token::Scalar(raw) => walk.scalar(value, raw)?,
            Token::OpenObject => walk.open_object(value)?,
            Token::OpenArray => walk.open_array(value)?,
            Token::Close => walk.close()?,
        }
        if !matches!(token, Token::Key(_)) {
            value = walk.next_element();
        }
    }
    Ok(walk.properties.into_iter().map(Found::into_property).collect())
}

/// What an open object or array is. One byte: a text may open one with each of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A schema that a chain of `properties` leads to.
    Schema,
    /// The value of `properties` in such a schema.
    Properties,
    /// Any other schema.
    OtherSchema,
    /// A map from names to other schemas.
    OtherNames,
    /// An array whose objects are other schemas.
    List,
    /// No schema: a value.
    Data,
}

/// What the next value is.
#[derive(Clone, Copy)]
enum Value<'a> {
    In(Place),
    /// A schema reached by this name in `properties`.
    Property(&'a str),
    /// Of `type` in a reachable schema.
    Type,
    /// Of `x-mcp-header` in a reachable schema.
    Annotation,
}

/// A reachable schema that is open.
struct Schema<'a> {
    /// Its place among the properties; nothing at the root.
    property: Option<usize>,
    annotation: Option<&'a str>,
    /// How often `type` came, and whether it named a primitive type each time.
    types: u8,
    is_primitive: bool,
}

/// A [`Property`] in the making.
struct Found<'a> {
    parent: Option<usize>,
    raw_name: &'a str,
    header: Option<Cow<'a, str>>,
}

impl Found<'_> {
    fn into_property(self) -> Property {
        Property {
            parent: self.parent,
            name: jsonrpc::string(self.raw_name).unwrap_or_default().into_owned(),
            header: self.header.map(Cow::into_owned),
        }
    }
}

struct Walk<'a> {
    open: Vec<Place>,
    /// Those of `open` that are [`Place::Schema`].
    schemas: Vec<Schema<'a>>,
    properties: Vec<Found<'a>>,
    /// Header names in lower case.
    taken: BTreeSet<String>,
}

impl<'a> Walk<'a> {
    /// What the value under this key is.
    fn value_of(&self, raw_key: &'a str) -> Result<Value<'a>, DropReason> {
        let place = self.open.last().copied().unwrap_or(Place::Data);
        let key = || jsonrpc::string(raw_key).unwrap_or_default();
        Ok(match place {
            Place::Properties => Value::Property(raw_key),
            Place::OtherNames => Value::In(Place::OtherSchema),
            Place::Data | Place::List => Value::In(Place::Data),
            Place::Schema => match &*key() {
                ANNOTATION => Value::Annotation,
                "type" => Value::Type,
                "properties" => Value::In(Place::Properties),
                key => Value::In(of_keyword(key)),
            },
            Place::OtherSchema => match &*key() {
                ANNOTATION => return Err(DropReason::NotReachable),
                key => Value::In(of_keyword(key)),
            },
        })
    }

    /// What a value is that no key stands before.
    fn next_element(&self) -> Value<'a> {
        Value::In(match self.open.last() {
            Some(Place::List) => Place::OtherSchema,
            _ => Place::Data,
        })
    }

    fn scalar(&mut self, value: Value<'a>, raw: &'a str) -> Result<(), DropReason> {
        match value {
            Value::Type => self.take_type(is_primitive(raw)),
            Value::Annotation => return self.take_annotation(raw),
            // Schemas that are `true` or `false`, and values.
            Value::In(_) | Value::Property(_) => {}
        }
        Ok(())
    }

    fn open_object(&mut self, value: Value<'a>) -> Result<(), DropReason> {
        let place = match value {
            Value::In(Place::Schema) => {
                self.open_schema(None);
                Place::Schema
            }
            Value::In(place) => place,
            Value::Property(raw_name) => {
                let parent = self.schemas.last().and_then(|schema| schema.property);
                self.properties.push(Found { parent, raw_name, header: None });
                self.open_schema(self.properties.len().checked_sub(1));
                Place::Schema
            }
            Value::Type => {
                self.take_type(false);
                Place::OtherSchema
            }
            Value::Annotation => return Err(DropReason::NotAString),
        };
        self.open.push(place);
        Ok(())
    }

    fn open_array(&mut self, value: Value<'a>) -> Result<(), DropReason> {
        let place = match value {
            Value::In(Place::Data) => Place::Data,
            Value::In(_) | Value::Property(_) => Place::List,
            Value::Type => {
                self.take_type(false);
                Place::List
            }
            Value::Annotation => return Err(DropReason::NotAString),
        };
        self.open.push(place);
        Ok(())
    }

    fn open_schema(&mut self, property: Option<usize>) {
        self.schemas.push(Schema { property, annotation: None, types: 0, is_primitive: true });
    }

    fn take_type(&mut self, is_primitive: bool) {
        if let Some(schema) = self.schemas.last_mut() {
            schema.types = schema.types.saturating_add(1);
            schema.is_primitive &= is_primitive;
        }
    }

    fn take_annotation(&mut self, raw: &'a str) -> Result<(), DropReason> {
        match self.schemas.last_mut() {
            Some(Schema { property: None, .. }) | None => Err(DropReason::NotReachable),
            Some(Schema { annotation: Some(_), .. }) => Err(DropReason::Ambiguous),
            Some(schema) => {
                schema.annotation = Some(raw);
                Ok(())
            }
        }
    }

    fn close(&mut self) -> Result<(), DropReason> {
        if self.open.pop() != Some(Place::Schema) {
            return Ok(());
        }
        let Some(schema) = self.schemas.pop() else {
            return Ok(());
        };
        let Some(property) = schema.property else {
            return Ok(());
        };
        match schema.annotation {
            Some(raw) => {
                let header = self.header(&schema, raw)?;
                if let Some(found) = self.properties.get_mut(property) {
                    found.header = Some(header);
                }
            }
            // It leads to no annotation, so it is not kept.
            None if property + 1 == self.properties.len() => self.properties.truncate(property),
            None => {}
        }
        Ok(())
    }

    fn header(&mut self, schema: &Schema<'a>, raw: &'a str) -> Result<Cow<'a, str>, DropReason> {
        let header = jsonrpc::string(raw).ok_or(DropReason::NotAString)?;
        if header.is_empty() {
            return Err(DropReason::Empty);
        }
        if !http::is_token(&header) {
            return Err(DropReason::NotAToken);
        }
        match schema.types {
            1 if schema.is_primitive => {}
            0 | 1 => return Err(DropReason::NotPrimitive),
            _ => return Err(DropReason::Ambiguous),
        }
        if !self.taken.insert(header.to_ascii_lowercase()) {
            return Err(DropReason::NotUnique);
        }
        Ok(header)
    }
}

/// What stands under a keyword that no chain of `properties` passes through.
fn of_keyword(key: &str) -> Place {
    match key {
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" | "dependentRequired"
        | "dependencies" => Place::OtherNames,
        "default" | "const" | "enum" | "examples" => Place::Data,
        _ => Place::OtherSchema,
    }
}

/// Whether a raw `type` is one that may be mirrored. A list of types is none of them, and neither is `number`.
fn is_primitive(raw: &str) -> bool {
    jsonrpc::string(raw).is_some_and(|name| matches!(&*name, "string" | "integer" | "boolean"))
}
