//! Text to ids.

use super::alphabet::character;
use super::merge::{Candidate, MergeTable, Symbol, Word, merge};
use super::split::{Pattern, first_word};
use crate::error::{Error, ErrorKind, Result};
use crate::text::character::{push, utf8};
use crate::token::AddedTable;
use crate::token::added_parts::Part;
use crate::token::ids::{Ids, TokenCount};
use crate::token::vocabulary::{Entries, HashVocabulary, MAX_TOKEN_BYTES, Vocabulary};

/// Memory for the longest word of a text.
#[derive(Debug)]
pub struct MergeScratch<'s> {
    /// Memory to merge a word in.
    pub word: Word<'s>,
}

impl<'s> MergeScratch<'s> {
    /// Candidates that a word of so many bytes may need at a time; of symbols it needs one a byte.
    #[must_use]
    pub const fn heap_needed(word_bytes: usize) -> usize {
        word_bytes.saturating_mul(3)
    }

    /// Memory in two lent slices.
    pub const fn new(symbols: &'s mut [Symbol], heap: &'s mut [Candidate]) -> Self {
        Self { word: Word { symbols, heap } }
    }
}

/// A byte-level BPE tokenizer over a vocabulary, its merges, and tokens that are found as they are.
#[derive(Clone, Debug)]
pub struct Bpe<'a> {
    merges: MergeTable<'a>,
    pattern: Pattern,
    added: AddedTable<'a>,
    /// The tokens of the 256 bytes.
    bytes: [u32; 256],
}

/// Stands for a byte that has no token.
const NO_TOKEN: u32 = u32::MAX;

impl<'a> Bpe<'a> {
    /// A tokenizer that cuts by `pattern` what the `added` tokens of a text leave.
    ///
    /// # Errors
    ///
    /// The error of the vocabulary. A vocabulary need not have tokens for all bytes: those
    /// it does not have are left out of texts, as in Hugging Face `tokenizers` without an unknown
    /// token.
    pub fn new(
        vocabulary: &(impl Vocabulary + ?Sized),
        merges: MergeTable<'a>,
        pattern: Pattern,
        added: AddedTable<'a>,
    ) -> Result<Self> {
        let mut bytes = [NO_TOKEN; 256];
        for (byte, id) in (0..=u8::MAX).zip(&mut bytes) {
            let mut room = [0; 4];
            let spelled = utf8(character(byte), &mut room);
            if let Some(found) = vocabulary.find(spelled.as_bytes())? {
                *id = found;
            }
        }
        Ok(Self { merges, pattern, added, bytes })
    }

    /// Returns true if every byte has a token.
    #[must_use]
    pub fn has_all_bytes(&self) -> bool {
        !self.bytes.contains(&NO_TOKEN)
    }

    /// The added tokens, which a text spells literally.
    #[must_use]
    pub const fn added(&self) -> &AddedTable<'a> {
        &self.added
    }

    /// The same without added tokens: those that a text spells are text like any other.
    #[must_use]
    pub fn without_added(&self) -> Self {
        Self { added: AddedTable::EMPTY, ..self.clone() }
    }

    /// The ids of `text`, as many as `ids` holds; no tokens are put around it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if a word is longer than `scratch` has room for; a text's
    /// length always suffices.
    pub fn encode(
        &self,
        text: &str,
        ids: &mut [u32],
        scratch: &mut MergeScratch<'_>,
    ) -> Result<TokenCount> {
        self.encode_with(None::<&HashVocabulary<'_, Entries<'_>>>, text, ids, scratch)
    }

    /// As [`encode`](Self::encode), but a word that the vocabulary `whole` has is one token, whether
    /// merges make it or not (`ignore_merges`).
    ///
    /// # Errors
    ///
    /// As [`encode`](Self::encode), and what reading the vocabulary returns.
    pub fn encode_with<V: Vocabulary + ?Sized>(
        &self,
        whole: Option<&V>,
        text: &str,
        ids: &mut [u32],
        scratch: &mut MergeScratch<'_>,
    ) -> Result<TokenCount> {
        let mut ids = Ids::new(ids);
        self.added.parts(text, &mut |part| match part {
            Part::Plain(place) => {
                let plain = text.get(place).unwrap_or_default();
                self.each_word(plain, &mut |word| {
                    self.word(whole, word, scratch, &mut |id| ids.push(id))
                })
            }
            Part::Added { id, .. } => {
                ids.push(id);
                Ok(())
            }
        })?;
        Ok(ids.found())
    }

    /// Calls `give` with the ids of `text`, in which no added tokens are looked for, and with `None`
    /// after those of every word: see [`encode_with`](Self::encode_with).
    ///
    /// # Errors
    ///
    /// As [`encode_with`](Self::encode_with).
    pub(crate) fn each(
        &self,
        whole: Option<&impl Vocabulary>,
        text: &str,
        scratch: &mut MergeScratch<'_>,
        give: &mut dyn FnMut(Option<u32>),
    ) -> Result<()> {
        self.each_word(text, &mut |word| {
            self.word(whole, word, scratch, &mut |id| give(Some(id)))?;
            give(None);
            Ok(())
        })
    }

    fn each_word(&self, text: &str, take: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        let mut rest = text;
        while !rest.is_empty() {
            let length = first_word(self.pattern, rest).max(1);
            let stuck = Error::without_offset(ErrorKind::InvalidArgument);
            let (first, after) = rest.split_at_checked(length).ok_or(stuck)?;
            take(first)?;
            rest = after;
        }
        Ok(())
    }

    /// Calls `give` with the ids of a word.
    fn word<V: Vocabulary + ?Sized>(
        &self,
        whole: Option<&V>,
        word: &str,
        scratch: &mut MergeScratch<'_>,
        give: &mut dyn FnMut(u32),
    ) -> Result<()> {
        if let Some(vocabulary) = whole
            && let Some(id) = find_whole(vocabulary, word)?
        {
            give(id);
            return Ok(());
        }
        let ids = word.bytes().filter_map(|byte| self.bytes.get(usize::from(byte)).copied());
        let known = ids.filter(|id| *id != NO_TOKEN);
        merge(&mut &self.merges, known, &mut scratch.word)?.for_each(give);
        Ok(())
    }
}

/// The token that a word is as a whole.
fn find_whole(vocabulary: &(impl Vocabulary + ?Sized), word: &str) -> Result<Option<u32>> {
    let mut room = [0; MAX_TOKEN_BYTES];
    let spelled = spelling(word, &mut room).map(|token| vocabulary.find(token));
    Ok(spelled.transpose()?.flatten())
}

/// A word in GPT-2's alphabet; `None` if it is longer than any token.
fn spelling<'r>(word: &str, room: &'r mut [u8; MAX_TOKEN_BYTES]) -> Option<&'r [u8]> {
    let mut length = 0_usize;
    for byte in word.bytes() {
        length = push(character(byte), room, length)?;
    }
    room.get(..length)
}
