//! A decoder that also checks the codes, which a [`FinalfusionDecoder`] skips.

use super::CODES;
use super::decoder::FinalfusionDecoder;
use super::layout::Storage;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Decode, Event, Step};

/// Decodes like [`FinalfusionDecoder`], and rejects codes without a centroid, with their offset.
#[derive(Clone, Debug)]
pub struct FinalfusionVerifier {
    decoder: FinalfusionDecoder,
    /// True while the current tensor is the codes.
    in_codes: bool,
    failed: Option<Error>,
}

impl FinalfusionVerifier {
    /// A verifier at the start of a file, with a new decoder.
    #[must_use]
    pub const fn new(decoder: FinalfusionDecoder) -> Self {
        Self { decoder, in_codes: false, failed: None }
    }

    /// The decoder, for its state beyond the events.
    #[must_use]
    pub const fn decoder(&self) -> &FinalfusionDecoder {
        &self.decoder
    }

    fn check(&mut self, event: &Event<'_>) -> Result<()> {
        match *event {
            Event::Tensor(tensor) => {
                self.in_codes = tensor.name == CODES;
                Ok(())
            }
            Event::Data { offset, bytes } if self.in_codes => {
                let centroids = match self.decoder.layout().map(|layout| layout.storage) {
                    Some(Storage::Quantized(quantized)) => quantized.centroids,
                    _ => return Ok(()),
                };
                match bytes.iter().position(|&code| u32::from(code) >= centroids) {
                    Some(at) => {
                        Err(Error::new(offset.saturating_add(at as u64), ErrorKind::CodeOutOfRange))
                    }
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

impl Decode for FinalfusionVerifier {
    fn next<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let step = self.decoder.next(input)?;
        if let Some(event) = &step.event
            && let Err(error) = self.check(event)
        {
            self.failed = Some(error);
            return Err(error);
        }
        Ok(step)
    }

    fn offset(&self) -> u64 {
        self.decoder.offset()
    }

    /// Always 0: every byte is read.
    fn skippable(&self) -> u64 {
        0
    }

    fn skip(&mut self, _: u64) -> u64 {
        0
    }

    fn is_complete(&self) -> bool {
        self.failed.is_none() && self.decoder.is_complete()
    }
}
