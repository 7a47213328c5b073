//! The index over words in memory.

use nanoembed_core::format::finalfusion::Layout;
use nanoembed_core::words::Index;
use nanoembed_core::words::{Duplicates, IndexOptions};

use crate::memory::Lent;
use crate::memory::LentSlice;
use crate::source::Bytes;
use crate::status::Outcome;
use crate::status::TOO_SMALL;
use crate::words::nanoembed_words_options;

/// The memory of an index.
pub(crate) type IndexMemory = LentSlice<u64>;

/// How many elements the index takes that `options` ask for.
pub(crate) fn elements(options: &nanoembed_words_options, layout: &Layout) -> Outcome<usize> {
    match options.indexed {
        0 => Ok(0),
        _ => Index::memory_needed(layout).ok_or(TOO_SMALL),
    }
}

/// The index that `options` ask for, in lent memory.
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
