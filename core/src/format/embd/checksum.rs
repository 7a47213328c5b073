//! Checking the two CRC-32 of the footer: a call of its own, since it has to see every byte.

use super::decoder::{DEFAULT_MAX_TENSORS, Decoder};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Decode, Event, Mode, Step};

/// Sixteen tables are eight times as fast as one on a desktop CPU, and cost 16 KB of read-only data: too much for flash,
/// and for a WASM file, where they would be a download that does not compress. Making them when a file is checked would
/// leave the compiler without the polynomial, and with panics that it cannot rule out.
#[cfg(not(any(target_os = "none", target_family = "wasm")))]
type Tables = crc::Table<16>;
#[cfg(any(target_os = "none", target_family = "wasm"))]
type Tables = crc::Table<1>;

static CRC32: crc::Crc<u32, Tables> = crc::Crc::<u32, Tables>::new(&crc::CRC_32_ISO_HDLC);

pub(super) fn crc32(bytes: &[u8]) -> u32 {
    CRC32.checksum(bytes)
}

/// A running CRC-32.
#[derive(Clone)]
pub(super) struct Running {
    crc: u32,
}

impl Running {
    pub(super) const fn new() -> Self {
        Self { crc: 0 }
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        // What a digest begins with is given in the other order of bits, and before the final complement.
        let mut digest = CRC32.digest_with_initial((!self.crc).reverse_bits());
        digest.update(bytes);
        self.crc = digest.finalize();
    }

    pub(super) const fn finish(&self) -> u32 {
        self.crc
    }
}

/// The reflected polynomial of CRC-32.
const POLYNOMIAL: u32 = 0xedb8_8320;

/// `a · b` modulo the polynomial; the highest bit is the coefficient of x⁰.
fn multiply(mut a: u32, mut b: u32) -> u32 {
    let mut product = 0;
    while a != 0 {
        if a & (1 << 31) != 0 {
            product ^= b;
        }
        a <<= 1;
        b = if b & 1 == 0 { b >> 1 } else { (b >> 1) ^ POLYNOMIAL };
    }
    product
}

/// The CRC-32 of two stretches one after the other from their own: `before · x^(8 · bytes) + after`.
///
/// So the data, which both checksums cover, is read once. M. Adler, zlib's `crc32_combine`.
fn combine(before: u32, after: u32, mut bytes: u64) -> u32 {
    let mut shifted = before;
    // x⁸, x¹⁶, x³² …
    let mut power = 1 << 23;
    while bytes > 0 {
        if bytes & 1 != 0 {
            shifted = multiply(power, shifted);
        }
        power = multiply(power, power);
        bytes >>= 1;
    }
    shifted ^ after
}

/// A [`Decoder`] that also checks the checksums of the data and of the whole file.
///
/// It gives the same events, but nothing is [`skippable`](Decode::skippable), and before [`Event::End`] comes
/// [`ErrorKind::DataChecksum`] or [`ErrorKind::FileChecksum`] if the bytes are not those that were written.
pub struct Verifier<const TENSORS: usize = DEFAULT_MAX_TENSORS> {
    decoder: Decoder<TENSORS>,
    /// Of all before the data.
    head: Running,
    /// Of the data, which is always last.
    data: Running,
    verdict: Option<Result<()>>,
}

impl<const TENSORS: usize> Verifier<TENSORS> {
    /// A verifier at the start of a file.
    #[must_use]
    pub fn new(mode: Mode) -> Self {
        Self {
            decoder: Decoder::new(mode),
            head: Running::new(),
            data: Running::new(),
            verdict: None,
        }
    }

    /// Whether the file carries checksums; known after the header.
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
        if combine(self.head.finish(), self.data.finish(), data_bytes) != expected.file {
            return Err(Error::new(
                expected.footer_offset.saturating_add(4),
                ErrorKind::FileChecksum,
            ));
        }
        Ok(())
    }
}

/// The part of `bytes`, which lie at the absolute `offset`, from `start` to `end`.
fn clip(bytes: &[u8], offset: u64, start: u64, end: u64) -> &[u8] {
    let at = |absolute: u64| {
        let relative = absolute.saturating_sub(offset);
        usize::try_from(relative).unwrap_or(usize::MAX).min(bytes.len())
    };
    bytes.get(at(start)..at(end)).unwrap_or(&[])
}

impl<const TENSORS: usize> Decode for Verifier<TENSORS> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_give_the_checksum_of_the_whole() {
        let bytes: [u8; 300] = core::array::from_fn(|at| (at * 7 % 251) as u8);
        let running = |parts: [&[u8]; 2]| {
            let mut running = Running::new();
            parts.iter().for_each(|part| running.update(part));
            running.finish()
        };
        for cut in 0..=bytes.len() {
            let (before, after) = bytes.split_at(cut);
            assert_eq!(running([before, after]), crc32(&bytes));
            let (first, second) = (running([before, &[]]), running([&[], after]));
            assert_eq!(combine(first, second, after.len() as u64), crc32(&bytes));
        }
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }
}
