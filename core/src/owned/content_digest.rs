//! A digest of a model's files, which tells models apart without reading all of their weights.
//!
//! | bytes | covered |
//! |---|---|
//! | headers, metadata, vocabularies: all that is no tensor's | all |
//! | a tensor of up to 16 KiB | all |
//! | a larger tensor | four pieces of 4 KiB, at even distances from its first byte to its last |
//!
//! Training changes nearly every value of a tensor, and requantising all of them: pieces show it. A
//! model whose weights were changed by hand elsewhere has the same digest. Reading whole weights would
//! take longer than a search.

use alloc::vec::Vec;
use core::ops::Range;

use crate::digest::digest;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Format, Mode};
use crate::format::amb::Amb;
use crate::format::embd::Embd;
use crate::format::gguf::Gguf;
use crate::format::sniff;
use crate::limit::{append, collected};
use crate::tensor::TensorView;

/// The pieces of a tensor, and the bytes of a piece.
const PIECES: usize = 4;
const PIECE_BYTES: usize = 4 << 10;

/// Digests of parts of a model, one after the other.
#[derive(Clone, Debug, Default)]
pub struct ContentDigest(Vec<u8>);

impl ContentDigest {
    /// The digest of a model that is one file: `.weights`, `.amb` or GGUF.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnknownFormat`] for files of other formats; what is wrong with the file.
    pub fn of_file(file: &[u8]) -> Result<u128> {
        let mut tensors = match sniff(file) {
            Some(Format::Embd) => ranges(file, Embd::parse(file, Mode::Lenient)?.tensors()),
            Some(Format::Amb) => ranges(file, Amb::parse(file, Mode::Lenient)?.tensors()),
            Some(Format::Gguf) => ranges(file, Gguf::parse(file, Mode::Lenient)?.tensors()),
            _ => return Err(Error::new(0, ErrorKind::UnknownFormat)),
        }?;
        let mut digest = Self::default();
        digest.add_file(file, &mut tensors)?;
        Ok(digest.finish())
    }

    /// Adds a part, all of whose bytes count.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub fn add(&mut self, part: &[u8]) -> Result<()> {
        append(&mut self.0, &digest(part).to_le_bytes())
    }

    /// Adds a file with the places of its tensors, which are sorted.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub fn add_file(&mut self, file: &[u8], tensors: &mut [Range<usize>]) -> Result<()> {
        tensors.sort_unstable_by_key(|range| (range.start, range.end));
        let mut end = 0;
        for range in tensors {
            self.add(file.get(end..range.start).unwrap_or_default())?;
            self.add_tensor(file.get(range.clone()).unwrap_or_default())?;
            end = end.max(range.end);
        }
        self.add(file.get(end..).unwrap_or_default())?;
        append(&mut self.0, &(file.len() as u64).to_le_bytes())
    }

    fn add_tensor(&mut self, bytes: &[u8]) -> Result<()> {
        let Some(last) = bytes.len().checked_sub(PIECES * PIECE_BYTES) else {
            return self.add(bytes);
        };
        let last = last + (PIECES - 1) * PIECE_BYTES;
        for piece in 0..PIECES {
            let start = last / (PIECES - 1) * piece;
            let start = if piece + 1 == PIECES { last } else { start };
            self.add(bytes.get(start..start + PIECE_BYTES).unwrap_or_default())?;
        }
        Ok(())
    }

    /// The digest of all parts.
    #[must_use]
    pub fn finish(&self) -> u128 {
        digest(&self.0)
    }
}

/// The places of tensors in a file.
fn ranges<'f>(
    file: &[u8],
    tensors: impl Iterator<Item = TensorView<'f>>,
) -> Result<Vec<Range<usize>>> {
    let range = |tensor: TensorView<'f>| range_in(file, tensor.data());
    collected(tensors.filter_map(range))
}

/// The place of `array` in a file, if it is there.
#[must_use]
pub fn range_in(file: &[u8], array: &[u8]) -> Option<Range<usize>> {
    let start = array.as_ptr().addr().checked_sub(file.as_ptr().addr())?;
    let range = start..start.checked_add(array.len())?;
    (range.end <= file.len()).then_some(range)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::collections::HashSet;
    use std::vec;

    use super::*;

    fn of(file: &[u8], tensors: &[Range<usize>]) -> Vec<u8> {
        let mut digest = ContentDigest::default();
        digest.add_file(file, &mut tensors.to_vec()).unwrap();
        digest.0
    }

    #[test]
    fn all_bytes_count_but_those_between_the_pieces_of_a_large_tensor() {
        let large = 100..100 + PIECES * PIECE_BYTES * 2;
        let small = large.end + 8..large.end + 72;
        let file = vec![7; small.end + 9];
        let tensors = [small, large.clone()];
        let whole = of(&file, &tensors);
        let counts = |at: usize| {
            let mut changed = file.clone();
            changed[at] ^= 1;
            of(&changed, &tensors) != whole
        };
        let ignored: Vec<usize> = (0..file.len()).filter(|at| !counts(*at)).collect();
        assert_eq!(ignored.len(), PIECES * PIECE_BYTES);
        assert!(ignored.iter().all(|at| large.contains(at)));
        assert!(counts(large.start) && counts(large.end - 1));
    }

    #[test]
    fn lengths_and_borders_count() {
        let mut seen = HashSet::new();
        for length in 0..40 {
            assert!(seen.insert(of(&vec![0; length], &[])));
        }
        let tensors = [0..8, 8..16];
        assert_ne!(of(&[0; 16], &tensors), of(&[0; 16], &tensors[..1]));
        let whole = 0..PIECES * PIECE_BYTES;
        assert_eq!(of(&[0; PIECES * PIECE_BYTES], core::slice::from_ref(&whole)).len() / 16, 6);
    }
}
