//! Text to ids and ids to bytes, by an index.

use super::TOO_SMALL;
use super::index::BpeIndex;
use super::source::{BpeSource, TokenEntries};
use crate::error::{Error, ErrorKind, Result};
use crate::source::memory::TokenizerMemory;
use crate::text::character::utf8;
use crate::token::bpe::{Bpe, Merge, MergeScratch, MergeTable, TokenCount, alphabet};
use crate::token::vocabulary::Tokens;
use crate::token::{AddedTable, AddedToken, EndTokens, Entries, HashVocabulary, TextEnds};

/// A tokenizer that is ready.
#[derive(Clone, Debug)]
pub struct FileBpe<'a> {
    tokens: Entries<'a>,
    vocabulary: HashVocabulary<'a, Entries<'a>>,
    bpe: Bpe<'a>,
    ignores_merges: bool,
    composes: bool,
    ends: TextEnds,
}

impl<'a> BpeSource<'a> {
    /// Makes the index in lent memory for as long as the file lives.
    ///
    /// # Errors
    ///
    /// As [`index`](Self::index).
    pub fn open(&self, mut memory: TokenizerMemory<'a>) -> Result<FileBpe<'a>> {
        let index = self.index(&mut memory)?;
        let TokenizerMemory { samples, slots, merges, merge_slots, added, .. } = memory;
        let TokenEntries { bytes, offset, count, prefix } = self.entries;
        let tokens = Entries::resume(bytes, offset, count, prefix, samples);
        let added = AddedTable::resume(bytes, added, index.added);
        FileBpe::over(tokens, &index, (&*slots, &*merges, &*merge_slots), added)
    }
}

impl<'a> FileBpe<'a> {
    /// Takes up again an index that [`BpeSource::index`](super::BpeSource::index) made of the
    /// tokenizer in `file`: its samples, the slots of tokens, and the memory of merges with their
    /// slots. `added` is the memory of the tokens that are found in a text as they are.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if the file is shorter than it was.
    pub fn resume(
        file: &'a [u8],
        index: &BpeIndex,
        (samples, slots): (&'a [u32], &'a [u32]),
        (merges, merge_slots): (&'a [Merge], &'a [u32]),
        added: &'a [AddedToken],
    ) -> Result<Self> {
        let (tokens, added) = (index.tokens(file, samples)?, index.added(file, added)?);
        Self::over(tokens, index, (slots, merges, merge_slots), added)
    }

    pub(super) fn over(
        tokens: Entries<'a>,
        index: &BpeIndex,
        (slots, merges, merge_slots): (&'a [u32], &'a [Merge], &'a [u32]),
        added: AddedTable<'a>,
    ) -> Result<Self> {
        let vocabulary = HashVocabulary::resume(tokens, slots, index.hash);
        let merges = merges.get(..index.merges).unwrap_or_default();
        let table = MergeTable::resume(merges, merge_slots, index.longest_probe);
        let bpe = Bpe::new(&vocabulary, table, index.pattern, added)?;
        let BpeIndex { ignores_merges, composes, ends, .. } = *index;
        Ok(FileBpe { tokens, vocabulary, bpe, ignores_merges, composes, ends })
    }

    /// The number of tokens.
    #[must_use]
    pub fn count(&self) -> u32 {
        Tokens::count(&self.tokens)
    }

    /// The ids of `text`, as many as `ids` holds, between the tokens that are put around every text
    /// if there are any.
    ///
    /// # Errors
    ///
    /// As [`Bpe::encode`]; [`ErrorKind::UnsupportedTokenizer`] if the tokenizer brings texts into
    /// Unicode's form NFC and this text might not have it, which takes tables that are not here.
    pub fn encode(
        &self,
        text: &str,
        ids: &mut [u32],
        scratch: &mut MergeScratch<'_>,
    ) -> Result<TokenCount> {
        if self.must_compose(text) {
            return Err(Error::without_offset(ErrorKind::UnsupportedTokenizer));
        }
        self.encode_composed(text, ids, scratch)
    }

    /// Returns true if a text may have to be brought into Unicode's form NFC first.
    #[must_use]
    pub fn must_compose(&self, text: &str) -> bool {
        self.composes && !is_surely_composed(text)
    }

    /// The tokens that are found in a text as they are.
    #[must_use]
    pub const fn added(&self) -> &AddedTable<'a> {
        self.bpe.added()
    }

    /// The same for a text that has the form that the tokenizer wants.
    ///
    /// # Errors
    ///
    /// As [`Bpe::encode`].
    pub fn encode_composed(
        &self,
        text: &str,
        ids: &mut [u32],
        scratch: &mut MergeScratch<'_>,
    ) -> Result<TokenCount> {
        let whole = self.ignores_merges.then_some(&self.vocabulary);
        self.ends.around(ids, |ids| self.bpe.encode_with(whole, text, ids, scratch))
    }

    /// The same without added tokens: those that a text spells are text like any other.
    #[must_use]
    pub fn without_added(&self) -> Self {
        Self { bpe: self.bpe.without_added(), ..self.clone() }
    }

    /// The tokens that end a text.
    #[must_use]
    pub const fn ends(&self) -> &EndTokens {
        &self.ends.end
    }

    /// The tokens around texts.
    #[must_use]
    pub const fn text_ends(&self) -> &TextEnds {
        &self.ends
    }

    /// Writes the bytes that a token stands for into `out`, and says how many they are; they need
    /// not be whole characters.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TokenOutOfRange`] for an id of no token; [`ErrorKind::BufferTooSmall`];
    /// [`ErrorKind::InvalidUtf8`] if the file's token is no text.
    pub fn bytes(&self, id: u32, out: &mut [u8]) -> Result<usize> {
        if id >= self.count() {
            return Err(Error::without_offset(ErrorKind::TokenOutOfRange));
        }
        let token = self.tokens.get(id)?;
        let invalid = |_| Error::without_offset(ErrorKind::InvalidUtf8);
        let mut length = 0_usize;
        for character in core::str::from_utf8(token).map_err(invalid)?.chars() {
            let mut room = [0; 4];
            let bytes = match alphabet::byte(character) {
                Some(byte) => {
                    room = [byte, 0, 0, 0];
                    room.get(..1).unwrap_or_default()
                }
                None => utf8(character, &mut room).as_bytes(),
            };
            let end = length.saturating_add(bytes.len());
            let place = out.get_mut(length..end).ok_or(TOO_SMALL)?;
            place.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            length = end;
        }
        Ok(length)
    }
}

/// Returns true if a text has no character that composing might change: those before the combining
/// marks stay as they are.
fn is_surely_composed(text: &str) -> bool {
    text.chars().all(|c| c < '\u{300}')
}
