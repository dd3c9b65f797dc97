//! What lines do: field by field (HTML 9.2.6, "process the field").
//!
//! Rules of this file:
//! * `whole_line` reads a line in place. One that the chunk's edge cut comes in pieces (`pieces.rs`), and a block of the
//!   usual shape goes past here if it can be taken as it stands (`usual.rs`).
//! * All of them end in `begin_value`, `value_piece`, `end_value`, so there is one account of what a field does;
//!   `whole_line` only goes around them where the value can be taken as it stands.
//! * What is kept is checked against its limit before it is kept. A fault skips the block.
//!
//! Not here: where lines and blocks end (`decoder.rs`), UTF-8 and buffers (`text.rs`).

use alloc::string::String;
use core::mem;
use core::time::Duration;

use super::decoder::{LentOut, SseDecoder, Step};
use super::error::DecodeError;
use super::event::DEFAULT_KIND;
use super::line::{Digits, Field, Line};
use super::text::{self, Fault, Rules, well_formed};

impl SseDecoder {
    /// Reads a line that lies whole in the chunk.
    #[inline]
    pub(super) fn whole_line<'i>(
        &mut self,
        line: &'i [u8],
        position: u64,
        lent: &mut Option<&'i str>,
    ) -> Result<Option<Step<'i>>, DecodeError> {
        self.open_block(position);
        let (field, value) = Field::split(line);
        match field {
            Field::Ignored => return Ok(None),
            Field::Data | Field::Kind | Field::Id if self.block.is_skipped => return Ok(None),
            Field::Data if !self.block.has_data => {
                if let Some(text) = well_formed(value, self.config.max_event_bytes) {
                    *lent = Some(text);
                    self.block.has_data = true;
                    return Ok(None);
                }
            }
            Field::Data => self.hold(lent.take()),
            // The default and the last name are common, and need neither a check nor a copy.
            Field::Kind if value == DEFAULT_KIND.as_bytes() && value.len() <= self.config.max_kind_bytes => {
                self.block.has_kind = false;
                self.block.kind_is_cut = false;
                return Ok(None);
            }
            Field::Kind if value == self.kind.as_bytes() && !self.block.kind_is_cut => {
                self.block.has_kind = !value.is_empty();
                return Ok(None);
            }
            Field::Id => {
                if let Some(text) = well_formed(value, self.config.max_id_bytes) {
                    self.block.has_id |= set_id(&mut self.id, text, self.config.max_id_bytes);
                    return Ok(None);
                }
            }
            Field::Comment => {
                if let Some(text) = well_formed(value, self.config.max_comment_bytes) {
                    self.lent_out = LentOut::Comment;
                    return Ok(Some(Step::Comment(Some(text))));
                }
            }
            Field::Kind | Field::Retry => {}
        }
        let step = self.whole_value(field, value, position + (line.len() - value.len()) as u64);
        self.line = Line::Start;
        step
    }

    /// Reads a value that lies whole in the chunk, at `position`.
    pub(super) fn whole_value<'i>(
        &mut self,
        field: Field,
        value: &[u8],
        position: u64,
    ) -> Result<Option<Step<'i>>, DecodeError> {
        self.begin_value(field)?;
        self.value_piece(field, value, position)?;
        self.end_value(field, position + value.len() as u64)
    }

    /// The unfinished line ends at `position`.
    pub(super) fn end_line<'i>(&mut self, position: u64) -> Result<Option<Step<'i>>, DecodeError> {
        let field = match self.line {
            Line::Start => return Ok(None),
            Line::Name(name) => {
                self.begin_value(name.field())?;
                name.field()
            }
            Line::Value { field, .. } => field,
        };
        self.end_value(field, position)
    }

    pub(super) fn begin_value(&mut self, field: Field) -> Result<(), DecodeError> {
        match field {
            Field::Data if !self.block.is_skipped => {
                let joins = mem::replace(&mut self.block.has_data, true);
                if joins {
                    let outcome = self.data.push_line_feed(self.data_rules());
                    outcome.map_err(|fault| self.fail(fault))?;
                }
            }
            Field::Kind | Field::Id | Field::Comment => {
                self.value.clear();
                self.value_is_cut = false;
            }
            Field::Retry => self.digits = Digits::default(),
            Field::Data | Field::Ignored => {}
        }
        Ok(())
    }

    pub(super) fn value_piece(&mut self, field: Field, piece: &[u8], position: u64) -> Result<(), DecodeError> {
        match field {
            Field::Data if !self.block.is_skipped => self.push_data(piece, position),
            Field::Retry => {
                self.digits.take(piece);
                Ok(())
            }
            _ => match self.value_rules(field) {
                Some(rules) if !self.value_is_cut => {
                    let outcome = self.value.push(piece, position, rules);
                    self.judge_value(outcome)
                }
                _ => Ok(()),
            },
        }
    }

    /// The line's field takes effect. HTML 9.2.6, "process the field".
    fn end_value<'i>(&mut self, field: Field, position: u64) -> Result<Option<Step<'i>>, DecodeError> {
        match field {
            Field::Data if !self.block.is_skipped => {
                let outcome = self.data.end(position, self.data_rules());
                return outcome.map(|()| None).map_err(|fault| self.fail(fault));
            }
            Field::Retry => {
                if let Some(milliseconds) = self.digits.milliseconds() {
                    self.retry = Some(Duration::from_millis(milliseconds));
                }
                return Ok(None);
            }
            _ => {}
        }
        let Some(rules) = self.value_rules(field) else {
            return Ok(None);
        };
        let outcome = self.value.end(position, rules);
        self.judge_value(outcome)?;
        match field {
            Field::Comment => {
                self.lent_out = LentOut::Comment;
                return Ok(Some(Step::Comment(None)));
            }
            Field::Kind => self.take_kind(),
            _ if self.value_is_cut => {}
            _ => self.block.has_id |= set_id(&mut self.id, &self.value.text, self.config.max_id_bytes),
        }
        self.value.clear();
        Ok(None)
    }

    /// The collected value is the event's name; an empty one is the default, and a cut one must not read as it.
    fn take_kind(&mut self) {
        text::assign(&mut self.kind, &self.value.text, self.config.max_kind_bytes);
        let is_default = self.kind == DEFAULT_KIND;
        if is_default && self.value_is_cut {
            self.kind.pop();
        }
        self.block.kind_is_cut = self.value_is_cut;
        self.block.has_kind = self.value_is_cut || !(is_default || self.kind.is_empty());
    }

    #[inline]
    pub(super) fn push_data(&mut self, bytes: &[u8], position: u64) -> Result<(), DecodeError> {
        let outcome = self.data.push(bytes, position, self.data_rules());
        outcome.map_err(|fault| self.fail(fault))
    }

    pub(super) const fn data_rules(&self) -> Rules {
        Rules { limit: self.config.max_event_bytes, cut: false, reject: self.config.reject_invalid_utf8 }
    }

    /// How a value other than data is kept, if it is.
    const fn value_rules(&self, field: Field) -> Option<Rules> {
        let reject = self.config.reject_invalid_utf8;
        match field {
            Field::Kind if !self.block.is_skipped => {
                Some(Rules { limit: self.config.max_kind_bytes, cut: true, reject })
            }
            Field::Id if !self.block.is_skipped => Some(Rules { limit: self.config.max_id_bytes, cut: false, reject }),
            Field::Comment if self.config.comments => {
                Some(Rules { limit: self.config.max_comment_bytes, cut: true, reject })
            }
            _ => None,
        }
    }

    /// A value that is too long is no fault of the block: it is cut, or ignored at the line's end.
    fn judge_value(&mut self, outcome: Result<(), Fault>) -> Result<(), DecodeError> {
        match outcome {
            Ok(()) => Ok(()),
            Err(Fault::TooLong) => {
                self.value_is_cut = true;
                Ok(())
            }
            Err(fault) => Err(self.fail(fault)),
        }
    }

    /// The block gives no event: what it set is dropped, and the rest of it skipped.
    #[cold]
    pub(super) fn fail(&mut self, fault: Fault) -> DecodeError {
        let error = match fault {
            Fault::TooLong => {
                DecodeError::EventTooLarge { limit: self.config.max_event_bytes, position: self.block.position }
            }
            Fault::Invalid { position } => DecodeError::InvalidUtf8 { position },
        };
        self.skip_block();
        error
    }
}

/// An id holding NUL is ignored (HTML 9.2.6). Says whether it was taken.
#[inline]
fn set_id(id: &mut String, value: &str, limit: usize) -> bool {
    let takes = !value.as_bytes().contains(&0);
    if takes {
        text::assign(id, value, limit);
    }
    takes
}
