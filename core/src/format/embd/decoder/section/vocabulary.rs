//! Tokens in the order of their ids, preceded or followed by the ids of the special tokens.

use super::{Section, State};
use crate::bytes::{bounded, le_u32, pass};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Event, SpecialRole, Step};
use crate::format::embd::grammar::{self, SPECIAL_BYTES, VOCABULARY_HEADER_BYTES};

impl Section {
    pub(super) fn vocabulary_header<'a>(
        &mut self,
        input: &'a [u8],
        offset: u64,
    ) -> Result<Step<'a>> {
        let section = self.header.vocabulary;
        let end = section.end();
        let (head, used) = parsed!(bounded(grammar::vocabulary_header, input, offset, end)?);
        let token_bytes =
            section.bytes.saturating_sub(VOCABULARY_HEADER_BYTES.saturating_add(SPECIAL_BYTES));
        if u64::from(head.tokens) > token_bytes / 2 {
            return Err(Error::new(offset, ErrorKind::BadCount));
        }
        // The specification does not define what `total_size` counts; all four readings are
        // accepted.
        let counted =
            [0, SPECIAL_BYTES, VOCABULARY_HEADER_BYTES, VOCABULARY_HEADER_BYTES + SPECIAL_BYTES];
        if !counted
            .iter()
            .any(|extra| token_bytes.checked_add(*extra) == Some(head.token_bytes.into()))
        {
            return Err(Error::new(offset.saturating_add(4), ErrorKind::SizeMismatch));
        }
        let special_first = grammar::special_is_first(section, head.special_offset)
            .ok_or(Error::new(offset.saturating_add(8), ErrorKind::OutOfBounds))?;
        self.state = if special_first {
            State::Special { next: 0, tokens_follow: Some(head.tokens), end }
        } else {
            State::Tokens { next: 0, count: head.tokens, special_follows: true, end }
        };
        Ok(Step::silent(used))
    }

    pub(super) fn special<'a>(
        &mut self,
        input: &'a [u8],
        offset: u64,
        next: u8,
        tokens_follow: Option<u32>,
        end: u64,
    ) -> Result<Step<'a>> {
        let Some(&role) = SpecialRole::ALL.get(usize::from(next)) else {
            return match tokens_follow {
                None => self.finish_part(offset, end),
                Some(count) => {
                    self.state = State::Tokens { next: 0, count, special_follows: false, end };
                    Ok(Step::silent(0))
                }
            };
        };
        let (id, used) = parsed!(bounded(le_u32, input, offset, end)?);
        self.state = State::Special { next: next.saturating_add(1), tokens_follow, end };
        Ok(Step::new(used, Event::SpecialToken { role, id }))
    }

    pub(super) fn token<'a>(
        &mut self,
        input: &'a [u8],
        offset: u64,
        next: u32,
        count: u32,
        special_follows: bool,
        end: u64,
    ) -> Result<Step<'a>> {
        let tokens_end = if special_follows { end.saturating_sub(SPECIAL_BYTES) } else { end };
        if next == count {
            if !special_follows {
                return self.finish_part(offset, end);
            }
            if offset != tokens_end {
                return Err(Error::new(offset, ErrorKind::SizeMismatch));
            }
            self.state = State::Special { next: 0, tokens_follow: None, end };
            return Ok(Step::silent(0));
        }
        if self.passes_tokens {
            let left = count.saturating_sub(next);
            let (passed, used) = pass(grammar::token, input, offset, tokens_end, left);
            if passed > 0 {
                let next = next.saturating_add(passed);
                self.state = State::Tokens { next, count, special_follows, end };
                return Ok(Step::silent(used));
            }
        }
        let (bytes, used) = parsed!(bounded(grammar::token, input, offset, tokens_end)?);
        let id = next;
        self.state = State::Tokens { next: next.saturating_add(1), count, special_follows, end };
        Ok(Step::new(used, Event::Token { id, bytes }))
    }
}
