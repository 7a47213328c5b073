//! A source that is entirely in memory.

use crate::error::Result;
use crate::event::{Decode, Event};

/// Drives a decoder over a whole file in memory; events borrow from it.
#[derive(Clone, Debug)]
pub struct Slice<'a, D> {
    decoder: D,
    rest: &'a [u8],
    skips_data: bool,
}

impl<'a, D: Decode> Slice<'a, D> {
    /// A source over `bytes`, the whole file; `decoder` is at its start.
    pub const fn new(decoder: D, bytes: &'a [u8]) -> Self {
        Self { decoder, rest: bytes, skips_data: false }
    }

    /// Skips tensor data: no [`Event::Data`] comes.
    #[must_use]
    pub const fn without_data(mut self) -> Self {
        self.skips_data = true;
        self
    }

    /// The next event, never [`Event::NeedMore`]; repeats [`Event::End`] at the end.
    ///
    /// # Errors
    ///
    /// The first fault of the file, then always the same.
    pub fn next_event(&mut self) -> Result<Event<'a>> {
        loop {
            if self.skips_data {
                self.skip_data();
            }
            let step = self.decoder.next(self.rest)?;
            self.rest = self.rest.get(step.used..).unwrap_or(&[]);
            match step.event {
                None => {}
                Some(Event::NeedMore { .. }) => return Err(super::unexpected_end(&self.decoder)),
                Some(event) => return Ok(event),
            }
        }
    }

    /// The decoder, for its state beyond the events.
    pub const fn decoder(&self) -> &D {
        &self.decoder
    }

    fn skip_data(&mut self) {
        let there = self.decoder.skippable().min(self.rest.len() as u64);
        let skipped = usize::try_from(self.decoder.skip(there)).unwrap_or(usize::MAX);
        self.rest = self.rest.get(skipped..).unwrap_or(&[]);
    }
}
