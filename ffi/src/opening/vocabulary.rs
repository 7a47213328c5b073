//! How tokens of `.weights` files are found: by the file's own index, or by one in lent memory.

use nanoembed_core::source::stored::{StoredIds, StoredTokens, TokenIndex, TokenPlaces};
use nanoembed_core::token::{Entries, HashVocabulary, SortedVocabulary};

use crate::memory::{Lent, Sum};
use crate::model_options::{
    NANOEMBED_VOCABULARY_AUTO, NANOEMBED_VOCABULARY_IN_FILE, NANOEMBED_VOCABULARY_INDEXED,
    nanoembed_vocabulary,
};
use crate::source::Bytes;
use crate::status::Outcome;

/// How tokens are found, of an option that is known.
pub(super) fn chosen(option: nanoembed_vocabulary, source: &Bytes) -> nanoembed_vocabulary {
    match option {
        NANOEMBED_VOCABULARY_AUTO if source.memory().is_some() => NANOEMBED_VOCABULARY_INDEXED,
        NANOEMBED_VOCABULARY_AUTO => NANOEMBED_VOCABULARY_IN_FILE,
        option => option,
    }
}

/// By the file's own order of its tokens.
#[inline(always)] // what comes back is large
pub(super) fn in_file(
    source: &Bytes,
    tokens: TokenPlaces,
    index: TokenIndex,
) -> Outcome<SortedVocabulary<'static, StoredTokens<Bytes>, StoredIds<Bytes>>> {
    let strings = StoredTokens::new(*source, tokens, index);
    let ids = StoredIds::new(*source, tokens.count, index);
    Ok(SortedVocabulary::new(strings, ids)?)
}

/// Elements of an index over so many tokens: samples, and slots.
fn sizes(tokens: u32) -> (usize, usize) {
    (Entries::samples_needed(tokens), HashVocabulary::<Entries<'_>>::slots_needed(tokens))
}

/// Adds what [`indexed`] takes.
pub(super) fn add_bytes(tokens: u32, sum: &mut Sum) -> Outcome {
    let (samples, slots) = sizes(tokens);
    sum.add::<u32>(samples)?;
    sum.add::<u32>(slots)
}

/// By an index in lent memory over the tokens, whose entries begin with `bytes`.
#[inline(always)] // what comes back is large
pub(super) fn indexed(
    bytes: &'static [u8],
    tokens: TokenPlaces,
    lent: &mut Lent,
) -> Outcome<HashVocabulary<'static, Entries<'static>>> {
    let (samples, slots) = sizes(tokens.count);
    let (samples, slots) = (lent.filled(samples, 0)?, lent.filled(slots, 0)?);
    let entries = Entries::sample(bytes, tokens.offset, tokens.count, tokens.prefix, samples)?;
    Ok(HashVocabulary::build(entries, slots)?)
}
