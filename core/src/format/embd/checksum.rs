//! Verification of the footer's two CRC-32, separate from decoding because it reads every byte.

use super::decoder::{DEFAULT_MAX_TENSORS, DecoderOver, EmbdDecoder, TensorRecord};
use crate::crc32::{Running, combine};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Decode, Event, Mode, Step};

/// A [`EmbdDecoder`] that also checks the checksums of the data and of the whole file.
///
/// It yields the same events, but nothing is [`skippable`](Decode::skippable). Before
/// [`Event::End`] it returns [`ErrorKind::DataChecksum`] or [`ErrorKind::FileChecksum`] if the
/// bytes have changed.
pub type EmbdVerifier<const TENSORS: usize = DEFAULT_MAX_TENSORS> =
    VerifierOver<[TensorRecord; TENSORS]>;

/// A verifier with tensor records in `M`: inline ([`EmbdVerifier`]) or in caller-provided memory.
pub struct VerifierOver<M> {
    decoder: DecoderOver<M>,
    /// Of everything before the data.
    head: Running,
    /// Of the data, which is always last.
    data: Running,
    verdict: Option<Result<()>>,
}

impl<const TENSORS: usize> VerifierOver<[TensorRecord; TENSORS]> {
    /// A verifier at the start of a file.
    #[must_use]
    pub fn new(mode: Mode) -> Self {
        Self::over(EmbdDecoder::new(mode))
    }
}

impl<M> VerifierOver<M> {
    /// A verifier over a decoder at the start of a file.
    #[must_use]
    pub fn over(decoder: DecoderOver<M>) -> Self {
        Self { decoder, head: Running::new(), data: Running::new(), verdict: None }
    }

    /// Yields no tokens: see [`EmbdDecoder::without_tokens`].
    #[must_use]
    pub fn without_tokens(mut self) -> Self {
        self.decoder = self.decoder.without_tokens();
        self
    }

    /// Returns true if the file has checksums; known after the header.
    #[must_use]
    pub fn has_checksums(&self) -> bool {
        self.decoder.header().is_some_and(|header| header.flags.has(super::Flags::CHECKSUMS))
    }

    fn cover(&mut self, used: &[u8], offset: u64) {
        let Some(place) = self.decoder.header().map(|header| header.data) else { return };
        // Everything before the footer is covered; the data section's end is the footer's start.
        self.head.update(clip(used, offset, 0, place.offset));
        self.data.update(clip(used, offset, place.offset, place.end()));
    }

    fn check(&self) -> Result<()> {
        let Some(expected) = self.decoder.checksums() else { return Ok(()) };
        if self.data.finish() != expected.data {
            return Err(Error::new(expected.footer_offset, ErrorKind::DataChecksum));
        }
        let data_bytes = self.decoder.header().map_or(0, |header| header.data.bytes);
        // Combining reads the data, which both checksums cover, only once.
        if combine(self.head.finish(), self.data.finish(), data_bytes) != expected.file {
            return Err(Error::new(
                expected.footer_offset.saturating_add(4),
                ErrorKind::FileChecksum,
            ));
        }
        Ok(())
    }
}

/// The part of `bytes`, which start at the absolute `offset`, from `start` to `end`.
fn clip(bytes: &[u8], offset: u64, start: u64, end: u64) -> &[u8] {
    let at = |absolute: u64| {
        let relative = absolute.saturating_sub(offset);
        usize::try_from(relative).unwrap_or(usize::MAX).min(bytes.len())
    };
    bytes.get(at(start)..at(end)).unwrap_or(&[])
}

impl<M: AsRef<[TensorRecord]> + AsMut<[TensorRecord]>> Decode for VerifierOver<M> {
    fn next<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        if let Some(Err(error)) = self.verdict {
            return Err(error);
        }
        let offset = self.decoder.offset();
        let step = self.decoder.next(input)?;
        self.cover(input.get(..step.used).unwrap_or(input), offset);
        if step.event == Some(Event::End) && self.verdict.is_none() {
            let verdict = self.check();
            self.verdict = Some(verdict);
            verdict?;
        }
        Ok(step)
    }

    fn offset(&self) -> u64 {
        self.decoder.offset()
    }

    fn skippable(&self) -> u64 {
        0
    }

    fn skip(&mut self, _: u64) -> u64 {
        0
    }

    fn is_complete(&self) -> bool {
        self.decoder.is_complete()
    }
}
