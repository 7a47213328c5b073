//! The index over words in memory.

use nanoembed_core::format::finalfusion::FinalfusionLayout;
use nanoembed_core::words::Index;
use nanoembed_core::words::{Duplicates, IndexOptions};

use crate::leaf::{self, Part};
use crate::memory::{Lent, LentSlice};
use crate::source::Bytes;
use crate::status::{INVALID, Outcome, TOO_SMALL};
use crate::words_options::nanoembed_words_options;

/// The memory of an index.
#[derive(Debug)]
pub(crate) struct IndexMemory(Part<leaf::WordIndex, LentSlice<u64>>);

impl AsRef<[u64]> for IndexMemory {
    fn as_ref(&self) -> &[u64] {
        self.0.as_ref()
    }
}

impl AsMut<[u64]> for IndexMemory {
    fn as_mut(&mut self) -> &mut [u64] {
        self.0.as_mut()
    }
}

// As a constant, this is less code than the error of the leaf.
fn built_in() -> Outcome<leaf::WordIndex> {
    leaf::WordIndex::built_in().map_err(|_| INVALID)
}

/// The number of elements of the index that `options` ask for.
pub(crate) fn elements(
    options: &nanoembed_words_options,
    layout: &FinalfusionLayout,
) -> Outcome<usize> {
    if options.indexed == 0 {
        return Ok(0);
    }
    built_in()?;
    Index::memory_needed(layout).ok_or(TOO_SMALL)
}

/// The index that `options` ask for, in lent memory.
pub(crate) fn build(
    source: &Bytes,
    layout: &FinalfusionLayout,
    options: &nanoembed_words_options,
    lent: &mut Lent,
    scratch: &mut [u8],
) -> Outcome<Option<Index<IndexMemory>>> {
    if options.indexed == 0 {
        return Ok(None);
    }
    let leaf = built_in()?;
    let memory = LentSlice(lent.filled(elements(options, layout)?, 0_u64)?);
    let memory = IndexMemory(Part::new(leaf, memory));
    let duplicates =
        if options.first_of_duplicates == 0 { Duplicates::Error } else { Duplicates::First };
    let index_options = IndexOptions { seed: options.seed, duplicates };
    Ok(Some(Index::build(source, layout, index_options, memory, scratch)?))
}
