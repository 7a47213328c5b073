//! The vocabulary's chunk: parameters, words, n-grams.

use super::super::grammar::{self, Order, id};
use super::super::layout::FinalfusionPlace;
use super::{BrokenUtf8, FinalfusionDecoder, State};
use crate::bytes::parse;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Event, Step};
use crate::subword::Subwords;

/// The extents of the entries, and the numbering of the n-grams' indices.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entries {
    pub(super) words: FinalfusionPlace,
    pub(super) ngrams: FinalfusionPlace,
    /// The number of different indices, as long as each new one is the next number.
    next_index: u64,
    in_order: bool,
    pub(super) ngram_count: u32,
}

impl Entries {
    pub(super) const fn new() -> Self {
        let nothing = FinalfusionPlace { offset: 0, bytes: 0 };
        Self { words: nothing, ngrams: nothing, next_index: 0, in_order: true, ngram_count: 0 }
    }

    pub(super) fn distinct_indices(&self) -> Option<u64> {
        self.in_order.then_some(self.next_index)
    }

    fn note_index(&mut self, index: u64) {
        self.ngram_count = self.ngram_count.saturating_add(1);
        if index == self.next_index {
            self.next_index = self.next_index.saturating_add(1);
        } else if index > self.next_index {
            self.in_order = false;
        }
    }
}

impl FinalfusionDecoder {
    pub(super) fn vocabulary_header<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        let chunk = self.chunks.iter().rev().flatten().next();
        let id = chunk.map_or(id::SIMPLE_VOCABULARY, |chunk| chunk.id);
        let ((vocabulary, order), used) =
            parsed!(parse(grammar::vocabulary(id), input, self.offset)?);
        if order == Order::Printed {
            self.deviate(self.offset, ErrorKind::BadVersion)?;
        }
        self.vocabulary = Some(vocabulary);
        self.entries.words.offset = self.offset.saturating_add(used as u64);
        self.state = State::Words { next: 0 };
        Ok(Step::new(used, Event::Vocabulary(vocabulary)))
    }

    pub(super) fn word<'a>(&mut self, input: &'a [u8], next: u32) -> Result<Step<'a>> {
        let words = self.vocabulary.map_or(0, |vocabulary| vocabulary.words);
        if next == words {
            let end = self.offset;
            self.entries.words.bytes = end.saturating_sub(self.entries.words.offset);
            self.entries.ngrams.offset = end;
            self.state = State::Ngrams { next: 0 };
            return Ok(Step::silent(0));
        }
        let (bytes, used) = parsed!(parse(grammar::word, input, self.offset)?);
        self.check_utf8(bytes)?;
        self.state = State::Words { next: next.saturating_add(1) };
        Ok(Step::new(used, Event::Token { id: next, bytes }))
    }

    pub(super) fn ngram<'a>(&mut self, input: &'a [u8], next: u32) -> Result<Step<'a>> {
        let ngrams = match self.vocabulary.map(|vocabulary| vocabulary.subwords) {
            Some(Subwords::Explicit { ngrams }) => ngrams,
            _ => 0,
        };
        if next == ngrams {
            let end = self.offset;
            self.entries.ngrams.bytes = end.saturating_sub(self.entries.ngrams.offset);
            self.leave_chunk(end)?;
            self.state = State::ChunkHeader;
            return Ok(Step::silent(0));
        }
        let ((bytes, index), used) = parsed!(parse(grammar::ngram, input, self.offset)?);
        self.check_utf8(bytes)?;
        self.entries.note_index(index);
        self.state = State::Ngrams { next: next.saturating_add(1) };
        Ok(Step::new(used, Event::Ngram { bytes, index }))
    }

    /// Checks `bytes`, which follow their length of four bytes at the current offset.
    fn check_utf8(&self, bytes: &[u8]) -> Result<()> {
        match core::str::from_utf8(bytes) {
            Err(error) if self.broken_utf8 == BrokenUtf8::Error => {
                let before = (error.valid_up_to() as u64).saturating_add(4);
                Err(Error::new(self.offset.saturating_add(before), ErrorKind::InvalidUtf8))
            }
            _ => Ok(()),
        }
    }
}
