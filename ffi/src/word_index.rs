//! The index over words in memory, or that there is none.

use nanoembed_core::format::finalfusion::Layout;
use nanoembed_core::words::Index;
#[cfg(feature = "word-index")]
use nanoembed_core::words::{Duplicates, IndexOptions};

use crate::memory::Lent;
#[cfg(feature = "word-index")]
use crate::memory::LentSlice;
use crate::source::Bytes;
#[cfg(not(feature = "word-index"))]
use crate::status::INVALID;
use crate::status::Outcome;
#[cfg(feature = "word-index")]
use crate::status::TOO_SMALL;
use crate::words::nanoembed_words_options;

/// The memory of an index.
#[cfg(feature = "word-index")]
pub(crate) type IndexMemory = LentSlice<u64>;

/// Memory that there is never any of, so that nothing of an index is linked.
#[cfg(not(feature = "word-index"))]
#[derive(Debug)]
pub(crate) enum IndexMemory {}

#[cfg(not(feature = "word-index"))]
impl AsRef<[u64]> for IndexMemory {
    fn as_ref(&self) -> &[u64] {
        match *self {}
    }
}

/// How many elements the index takes that `options` ask for.
#[cfg(feature = "word-index")]
pub(crate) fn elements(options: &nanoembed_words_options, layout: &Layout) -> Outcome<usize> {
    match options.indexed {
        0 => Ok(0),
        _ => Index::memory_needed(layout).ok_or(TOO_SMALL),
    }
}

/// None: there is no index to be had.
#[cfg(not(feature = "word-index"))]
pub(crate) fn elements(options: &nanoembed_words_options, _: &Layout) -> Outcome<usize> {
    if options.indexed == 0 { Ok(0) } else { Err(INVALID) }
}

/// The index that `options` ask for, in lent memory.
#[cfg(feature = "word-index")]
pub(crate) fn build(
    source: &Bytes,
    layout: &Layout,
    options: &nanoembed_words_options,
    lent: &mut Lent,
    scratch: &mut [u8],
) -> Outcome<Option<Index<IndexMemory>>> {
    if options.indexed == 0 {
        return Ok(None);
    }
    let memory = LentSlice(lent.filled(elements(options, layout)?, 0_u64)?);
    let duplicates =
        if options.first_of_duplicates == 0 { Duplicates::Error } else { Duplicates::First };
    let index_options = IndexOptions { seed: options.seed, duplicates };
    Ok(Some(Index::build(source, layout, index_options, memory, scratch)?))
}

/// None, or that there is none to be had.
#[cfg(not(feature = "word-index"))]
pub(crate) fn build(
    _: &Bytes,
    layout: &Layout,
    options: &nanoembed_words_options,
    _: &mut Lent,
    _: &mut [u8],
) -> Outcome<Option<Index<IndexMemory>>> {
    elements(options, layout).map(|_| None)
}
