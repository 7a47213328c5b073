//! Text to token ids, by both kinds of vocabulary.

use core::hint::black_box;

use nanoembed_core::Error;
use nanoembed_core::event::Mode;
use nanoembed_core::format::embd::{Embd, EmbdDecoder};
use nanoembed_core::token::vocabulary::{IdWidth, SortedIds};
use nanoembed_core::token::{
    Entries, HashVocabulary, LengthPrefix, Normalization, SortedVocabulary, SpecialIds, Vocabulary,
    WordPiece,
};

pub(crate) fn by_tokens(file: &[u8]) -> Result<(), Error> {
    let embd = Embd::parse_with(EmbdDecoder::<64>::new(Mode::Lenient), file)?;
    let Some(found) = embd.token_entries() else { return Ok(()) };
    let (mut samples, mut slots) = ([0; 64], [0; 768]);
    let entries =
        Entries::sample(found.bytes, found.offset, found.count, LengthPrefix::U16, &mut samples)?;
    encode(HashVocabulary::build(entries, &mut slots)?, file)
}

/// The bytes are used as the entries, both tables of the index, and the text.
pub(crate) fn by_sorted_tokens(file: &[u8]) -> Result<(), Error> {
    let entries = Entries::listed(file, 0, 64, LengthPrefix::U32, file)?;
    let ids = SortedIds { bytes: file, width: IdWidth::U16, offset: 0 };
    let vocabulary = SortedVocabulary::new(entries, ids)?;
    vocabulary.check()?;
    encode(vocabulary, file)
}

fn encode<V: Vocabulary>(vocabulary: V, text: &[u8]) -> Result<(), Error> {
    let special = SpecialIds::find(&vocabulary)?;
    let tokenizer = WordPiece::new(vocabulary, special, Normalization::UNCASED)?;
    let mut ids = [0; 32];
    let text = core::str::from_utf8(text).unwrap_or_default();
    black_box(tokenizer.encode(text, &mut ids)?);
    black_box(ids);
    Ok(())
}
