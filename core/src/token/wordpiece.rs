//! WordPiece: each word becomes the longest token that it starts with, then the longest that its
//! rest starts with, written with `##` before it, and so on. A word that cannot be
//! spelled completely becomes the unknown token, as does one of more than [`MAX_WORD_CHARACTERS`].
//!
//! Y. Wu et al., "Google's Neural Machine Translation System", 2016, section 4.1, and
//! `models/wordpiece` of Hugging Face `tokenizers`, whose ids these are.

use super::normalize::Normalization;
use super::special::{SpecialIds, Spellings};
use super::vocabulary::Vocabulary;
use super::word::{MAX_WORD_CHARACTERS, PREFIX_BYTES, Word};
use super::words::{Found, Scanner};
use crate::error::{Error, ErrorKind, Result};

/// A BERT tokenizer over a vocabulary.
#[derive(Clone, Debug)]
pub struct WordPiece<V> {
    vocabulary: V,
    special: SpecialIds,
    spellings: Spellings,
    normalization: Normalization,
}

/// The result for a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Encoded {
    /// How many ids were written, with the two special tokens around the text.
    pub tokens: usize,
    /// How many the whole text has, with the two special tokens.
    /// [`encode_start`](WordPiece::encode_start) counts only to where it stops.
    pub total: usize,
    /// True if the text has more tokens than were written.
    pub truncated: bool,
}

impl Encoded {
    /// The result for a text.
    #[must_use]
    pub const fn new(tokens: usize, total: usize, truncated: bool) -> Self {
        Self { tokens, total, truncated }
    }
}

#[cfg(feature = "alloc")]
impl<V> WordPiece<V> {
    /// The same tokenizer over the same vocabulary, which was taken up again.
    pub(crate) fn with_vocabulary<U>(&self, vocabulary: U) -> WordPiece<U> {
        let Self { special, normalization, .. } = *self;
        WordPiece { vocabulary, special, spellings: self.spellings.clone(), normalization }
    }
}

impl<V: Vocabulary> WordPiece<V> {
    /// A tokenizer with the `special` tokens of a model. Reads their spellings from the vocabulary.
    ///
    /// # Errors
    ///
    /// `bad_vocabulary` if a special id is not in the vocabulary or its entry is damaged; what
    /// reading it answers.
    pub fn new(vocabulary: V, special: SpecialIds, normalization: Normalization) -> Result<Self> {
        let spellings = Spellings::read(&vocabulary, &special)?;
        Ok(Self { vocabulary, special, spellings, normalization })
    }

    /// A tokenizer that finds the tokens that were added to the vocabulary and no others.
    #[must_use]
    pub(crate) fn unspelled(
        vocabulary: V,
        special: SpecialIds,
        normalization: Normalization,
    ) -> Self {
        Self { vocabulary, special, spellings: Spellings::default(), normalization }
    }

    /// The same over `vocabulary`, and special tokens that a text spells are text like any other.
    #[must_use]
    pub fn without_spellings<U: Vocabulary>(&self, vocabulary: U) -> WordPiece<U> {
        let Self { special, normalization, .. } = *self;
        WordPiece::unspelled(vocabulary, special, normalization)
    }

    /// The vocabulary.
    pub const fn vocabulary(&self) -> &V {
        &self.vocabulary
    }

    /// The ids of the special tokens.
    pub const fn special(&self) -> &SpecialIds {
        &self.special
    }

    /// The tokens of `text` word by word, without special tokens around them and without limit.
    pub fn pieces<'a>(&'a self, text: &'a str) -> Pieces<'a, V> {
        let (spellings, added) = (Some(&self.spellings), self.vocabulary.added());
        let scanner = Scanner::new(text, self.normalization, spellings, added);
        Pieces { tokenizer: self, scanner, ids: [0; MAX_WORD_CHARACTERS] }
    }

    /// Writes `[CLS]`, the tokens of `text` as far as there is room, and `[SEP]` into `ids`. Reads
    /// the whole text, so that `total` is exact.
    ///
    /// # Errors
    ///
    /// `buffer_too_small` if `ids` has no room for the two special tokens; what the vocabulary
    /// answers.
    pub fn encode(&self, text: &str, ids: &mut [u32]) -> Result<Encoded> {
        self.write(text, ids, false)
    }

    /// As [`encode`](WordPiece::encode), but stops after the first word for which there is no room:
    /// for those who need to know that a long text was truncated, not by how much. `total` is then
    /// only what it was found to exceed.
    ///
    /// # Errors
    ///
    /// As [`encode`](WordPiece::encode).
    pub fn encode_start(&self, text: &str, ids: &mut [u32]) -> Result<Encoded> {
        self.write(text, ids, true)
    }

    fn write(&self, text: &str, ids: &mut [u32], stop_when_full: bool) -> Result<Encoded> {
        let too_small = Error::without_offset(ErrorKind::BufferTooSmall);
        let (first, rest) = ids.split_first_mut().ok_or(too_small)?;
        let (end, mut room) = rest.split_last_mut().ok_or(too_small)?;
        *first = self.special.classify;
        let mut pieces = self.pieces(text);
        let (mut tokens, mut total) = (2_usize, 2_usize);
        while let Some(word) = pieces.next_word()? {
            total = total.saturating_add(word.len());
            let fitting = word.len().min(room.len());
            let (places, left) = room.split_at_mut_checked(fitting).unwrap_or_default();
            for (place, id) in places.iter_mut().zip(word) {
                *place = *id;
            }
            tokens = tokens.saturating_add(fitting);
            room = left;
            if stop_when_full && total > tokens {
                break;
            }
        }
        // What is left of the room lies before the last place.
        match room.first_mut() {
            Some(place) => *place = self.special.separate,
            None => *end = self.special.separate,
        }
        Ok(Encoded { tokens, total, truncated: total > tokens })
    }
}

/// The tokens of a text, word by word.
#[derive(Clone)]
pub struct Pieces<'a, V> {
    tokenizer: &'a WordPiece<V>,
    scanner: Scanner<'a, 'a>,
    ids: [u32; MAX_WORD_CHARACTERS],
}

impl<V: Vocabulary> Pieces<'_, V> {
    /// The ids of the next word or special token, at least one; `None` at the end of the text.
    ///
    /// # Errors
    ///
    /// The error of the vocabulary.
    pub fn next_word(&mut self) -> Result<Option<&[u32]>> {
        let count = match self.scanner.next(self.tokenizer.vocabulary.may_add()) {
            None => return Ok(None),
            Some(Found::Word) => self.tokenizer.spell(&mut self.scanner.word, &mut self.ids)?,
            Some(Found::Special(id)) => write_one(id, &mut self.ids),
        };
        Ok(self.ids.get(..count))
    }

    /// As [`next_word`](Self::next_word), and whether it is a word.
    pub(crate) fn next_piece(&mut self) -> Result<Option<(&[u32], bool)>> {
        let (count, is_word) = match self.scanner.next(self.tokenizer.vocabulary.may_add()) {
            None => return Ok(None),
            Some(Found::Word) => {
                (self.tokenizer.spell(&mut self.scanner.word, &mut self.ids)?, true)
            }
            Some(Found::Special(id)) => (write_one(id, &mut self.ids), false),
        };
        Ok(self.ids.get(..count).map(|ids| (ids, is_word)))
    }
}

impl<V: Vocabulary> WordPiece<V> {
    /// Writes the pieces of `word` into `ids` and returns how many there are.
    fn spell(&self, word: &mut Word, ids: &mut [u32; MAX_WORD_CHARACTERS]) -> Result<usize> {
        if word.characters() > MAX_WORD_CHARACTERS {
            return Ok(write_one(self.special.unknown, ids));
        }
        let buffer = word.with_room();
        let mut count = 0_usize;
        // Where the next piece starts, and how many bytes of it are the prefix.
        let (mut start, mut prefix) = (PREFIX_BYTES, 0);
        while start.saturating_add(prefix) < buffer.len() {
            let rest = buffer.get(start..).unwrap_or_default();
            let found = self.vocabulary.longest_prefix(rest, prefix.saturating_add(1))?;
            let (Some(found), Some(place)) = (found, ids.get_mut(count)) else {
                return Ok(write_one(self.special.unknown, ids));
            };
            *place = found.id;
            count = count.saturating_add(1);
            // The bytes before the rest have been spelt: their room is the prefix's.
            start = start.saturating_add(found.bytes).saturating_sub(PREFIX_BYTES);
            prefix = PREFIX_BYTES;
            if let Some(room) = buffer.get_mut(start..).and_then(|room| room.first_chunk_mut()) {
                *room = *b"##";
            }
        }
        Ok(count)
    }
}

fn write_one(id: u32, ids: &mut [u32; MAX_WORD_CHARACTERS]) -> usize {
    let [first, ..] = ids;
    *first = id;
    1
}
