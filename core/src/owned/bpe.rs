//! A byte-level BPE tokenizer over a file: tokens stay where they lie; the indices over tokens and
//! merges are in memory.

use alloc::borrow::Cow;
use alloc::vec::Vec;

#[cfg(feature = "pipeline")]
use super::pipeline::compose;
use super::tokenizer_room::TokenizerRoom;
use crate::error::{ErrorKind, Result};
#[cfg(feature = "pipeline")]
use crate::limit::write;
use crate::limit::{filled, push};
use crate::model::llama::{BpeIndex, BpeSource, FileBpe};
use crate::token::SpecialTokens;
#[cfg(feature = "pipeline")]
use crate::token::added_parts::Part;
use crate::token::bpe::merge::{Candidate, Symbol};
use crate::token::bpe::{Merge, Scratch};

/// A byte-level BPE tokenizer over a file whose bytes the caller keeps.
#[derive(Clone, Debug)]
pub struct BpeTokenizer {
    index: BpeIndex,
    /// Its `added_ids` are in the order of the file.
    room: TokenizerRoom,
}

/// Room for the words of most texts, in bytes.
const USUAL_WORD: usize = 1024;

impl BpeTokenizer {
    /// Makes the index over the tokenizer that `source` found.
    ///
    /// # Errors
    ///
    /// As [`BpeSource::index`].
    pub fn new(source: &BpeSource<'_>) -> Result<Self> {
        let mut room = TokenizerRoom::new(&source.needs())?;
        let index = source.index(&mut room.lend())?;
        source.each_added(|id| push(&mut room.added_ids, id))?;
        Ok(Self { index, room })
    }

    /// The tokenizer without its memory.
    #[must_use]
    pub const fn index(&self) -> &BpeIndex {
        &self.index
    }

    /// The merges, the first one first.
    #[must_use]
    pub fn merges(&self) -> &[Merge] {
        &self.room.merges
    }

    /// The ids of the added tokens.
    #[must_use]
    pub fn added(&self) -> &[u32] {
        &self.room.added_ids
    }

    /// How token `id` of `file` is spelled.
    ///
    /// # Errors
    ///
    /// [`BadVocabulary`](crate::ErrorKind::BadVocabulary) if there is no such token, or the file
    /// has changed.
    pub fn token<'f>(&'f self, file: &'f [u8], id: u32) -> Result<&'f [u8]> {
        self.index.token(file, &self.room.samples, id)
    }

    /// The ids of `text` by the tokens of `file`, between the tokens that are put around every text
    /// if there are any. `special` says what control tokens become that the text spells.
    ///
    /// # Errors
    ///
    /// [`BadVocabulary`](crate::ErrorKind::BadVocabulary) if the file has changed;
    /// [`UnsupportedTokenizer`](crate::ErrorKind::UnsupportedTokenizer) if the text has to be
    /// brought into the form NFC and the build has no tables for it.
    pub fn encode(&self, file: &[u8], text: &str, special: SpecialTokens) -> Result<Vec<u32>> {
        let TokenizerRoom { samples, slots, merges, merge_slots, added, .. } = &self.room;
        let added = match special {
            SpecialTokens::AsText => &[],
            SpecialTokens::AsTokens => &added[..],
        };
        let (tokens, merges) = ((&samples[..], &slots[..]), (&merges[..], &merge_slots[..]));
        let bpe = FileBpe::resume(file, &self.index, tokens, merges, added)?;
        let text = match bpe.must_compose(text) {
            true => composed(&bpe, text)?,
            false => Cow::Borrowed(text),
        };
        let mut ids = filled(text.len().saturating_add(2), 0)?;
        let mut encode = |word: usize| {
            let mut symbols = filled(word, Symbol::default())?;
            let mut heap = filled(Scratch::heap_needed(word), Candidate::default())?;
            bpe.encode_composed(&text, &mut ids, &mut Scratch::new(&mut symbols, &mut heap))
        };
        let found = match encode(text.len().min(USUAL_WORD)) {
            // A word is never longer than its text.
            Err(error) if error.kind() == ErrorKind::BufferTooSmall => encode(text.len())?,
            found => found?,
        };
        ids.truncate(found.tokens);
        Ok(ids)
    }
}

/// `text` in the form NFC, but for what added tokens spell.
#[cfg(feature = "pipeline")]
fn composed<'t>(bpe: &FileBpe<'_>, text: &'t str) -> Result<Cow<'t, str>> {
    let mut whole = alloc::string::String::new();
    bpe.added().parts(text, &mut |part| match part {
        Part::Plain(place) => compose(text.get(place).unwrap_or_default(), &mut whole),
        Part::Added { place, .. } => write(&mut whole, text.get(place).unwrap_or_default()),
    })?;
    Ok(Cow::Owned(whole))
}

#[cfg(not(feature = "pipeline"))]
fn composed<'t>(_: &FileBpe<'_>, _: &'t str) -> Result<Cow<'t, str>> {
    Err(crate::error::Error::without_offset(ErrorKind::UnsupportedTokenizer))
}
