//! The tokenizer section.

use super::{Machine, State};
use crate::bytes::{Item, Parse, bounded, le_u32, pass};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Event, SpecialRole, Step, Value};
use crate::format::amb::grammar::{self, AmbTokenizerKind, NO_TOKEN};

/// The roles of the special tokens in the tokenizer's head, in order.
pub(in super::super) const ROLES: [SpecialRole; 5] = [
    SpecialRole::Classify,
    SpecialRole::Separate,
    SpecialRole::Pad,
    SpecialRole::Unknown,
    SpecialRole::Mask,
];

impl Machine {
    pub(super) fn tokenizer_head<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        let (head, used) = parsed!(self.in_tokenizer(grammar::tokenizer_head, input)?);
        self.state = State::Special { special: head.special, next: 0, kind: head.kind };
        let value = Value::Text(head.kind.name());
        Ok(Step::new(used, Event::Value { key: "tokenizer", value }))
    }

    /// Parses an item that must be within the tokenizer section.
    fn in_tokenizer<'a, T>(
        &self,
        grammar: impl FnOnce(&'a [u8]) -> Parse<'a, T>,
        input: &'a [u8],
    ) -> Result<Item<T>> {
        bounded(grammar, input, self.offset, self.layout.tokenizer.end())
    }

    pub(super) fn special<'a>(
        &mut self,
        special: [u16; 5],
        next: usize,
        kind: AmbTokenizerKind,
    ) -> Step<'a> {
        let Some(&id) = special.get(next) else {
            self.state = match kind {
                AmbTokenizerKind::Bpe => State::MergeCount,
                AmbTokenizerKind::WordPiece => State::TokenCount,
                AmbTokenizerKind::SentencePiece | AmbTokenizerKind::Custom => State::Opaque,
            };
            // A tokenizer without a payload.
            if self.offset >= self.layout.tokenizer.end() {
                self.state = State::Records;
            }
            return Step::silent(0);
        };
        self.state = State::Special { special, next: next.saturating_add(1), kind };
        match ROLES.get(next) {
            Some(&role) if id != NO_TOKEN => {
                Step::new(0, Event::SpecialToken { role, id: id.into() })
            }
            _ => Step::silent(0),
        }
    }

    pub(super) fn merge_count<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        let (count, used) = parsed!(self.in_tokenizer(le_u32, input)?);
        let parts = u64::from(count).saturating_mul(2);
        self.check_count(parts, used)?;
        self.state = State::Merges { next: 0, parts };
        let value = Value::Array { count: parts };
        Ok(Step::new(used, Event::Value { key: "merges", value }))
    }

    /// Checks a number of strings against the remaining bytes: each has a length of two bytes.
    fn check_count(&self, strings: u64, used: usize) -> Result<()> {
        let after = self.offset.saturating_add(used as u64);
        let room = self.layout.tokenizer.end().saturating_sub(after);
        match strings.checked_mul(2) {
            Some(least) if least <= room => Ok(()),
            _ => Err(Error::new(self.offset, ErrorKind::BadCount)),
        }
    }

    pub(super) fn merge<'a>(&mut self, input: &'a [u8], next: u64, parts: u64) -> Result<Step<'a>> {
        if next >= parts {
            self.state = State::TokenCount;
            return Ok(Step::silent(0));
        }
        let (text, used) = parsed!(self.in_tokenizer(grammar::text, input)?);
        self.state = State::Merges { next: next.saturating_add(1), parts };
        Ok(Step::new(used, Event::Element { index: next, value: Value::Text(text) }))
    }

    pub(super) fn token_count<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        let (count, used) = parsed!(self.in_tokenizer(le_u32, input)?);
        self.check_count(count.into(), used)?;
        self.state = State::Tokens { next: 0, count };
        Ok(Step::silent(used))
    }

    pub(super) fn token<'a>(&mut self, input: &'a [u8], next: u32, count: u32) -> Result<Step<'a>> {
        if next >= count {
            if self.offset != self.layout.tokenizer.end() {
                return Err(Error::new(self.offset, ErrorKind::SizeMismatch));
            }
            self.state = State::Records;
            return Ok(Step::silent(0));
        }
        if self.passes_tokens {
            let (left, end) = (count.saturating_sub(next), self.layout.tokenizer.end());
            let (passed, used) = pass(grammar::string, input, self.offset, end, left);
            if passed > 0 {
                self.state = State::Tokens { next: next.saturating_add(passed), count };
                return Ok(Step::silent(used));
            }
        }
        let (bytes, used) = parsed!(self.in_tokenizer(grammar::string, input)?);
        self.state = State::Tokens { next: next.saturating_add(1), count };
        Ok(Step::new(used, Event::Token { id: next, bytes }))
    }
}
