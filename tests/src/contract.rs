//! A decoder that checks the contract of [`nanoembed_core::event`] at every call.

use nanoembed_core::Error;
use nanoembed_core::event::{Decode, Event, Step};

/// The largest number of consecutive state changes without using bytes.
const MAX_SILENT_STEPS: u32 = 12;

/// Wraps a decoder and panics as soon as it breaks the contract.
#[derive(Clone, Debug)]
pub struct Checked<D> {
    decoder: D,
    failed: Option<Error>,
    silent_steps: u32,
}

impl<D> Checked<D> {
    /// A decoder under observation.
    pub const fn new(decoder: D) -> Self {
        Self { decoder, failed: None, silent_steps: 0 }
    }
}

impl<D: Decode> Decode for Checked<D> {
    fn next<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>, Error> {
        let offset = self.decoder.offset();
        let answer = self.decoder.next(input);
        match &answer {
            Ok(step) => {
                assert!(self.failed.is_none(), "went on after {:?}", self.failed);
                assert!(step.used <= input.len(), "used more than there was");
                assert_eq!(self.decoder.offset(), offset + step.used as u64);
                let silent = step.used == 0 && step.event.is_none();
                self.silent_steps = if silent { self.silent_steps + 1 } else { 0 };
                assert!(self.silent_steps <= MAX_SILENT_STEPS, "stands still at {offset}");
                if step.event == Some(Event::End) {
                    assert!(self.decoder.is_complete(), "an end before the content is complete");
                }
                if let Some(Event::NeedMore { at_least }) = step.event {
                    assert_eq!(step.used, 0, "used bytes and wanted more");
                    assert!(at_least > input.len(), "wants no more than it has");
                    let may_end = input.is_empty() && self.decoder.is_complete();
                    assert!(!may_end, "complete, and wants more");
                }
            }
            Err(error) => {
                assert!(self.failed.is_none_or(|first| first == *error), "another error later");
                self.failed = Some(*error);
            }
        }
        answer
    }

    fn offset(&self) -> u64 {
        self.decoder.offset()
    }

    fn skippable(&self) -> u64 {
        self.decoder.skippable()
    }

    fn skip(&mut self, bytes: u64) -> u64 {
        let (offset, skippable) = (self.decoder.offset(), self.decoder.skippable());
        let skipped = self.decoder.skip(bytes);
        assert!(skipped <= bytes && skipped <= skippable);
        assert_eq!(self.decoder.offset(), offset + skipped);
        if skipped > 0 {
            self.silent_steps = 0;
        }
        skipped
    }

    fn is_complete(&self) -> bool {
        self.decoder.is_complete()
    }
}
