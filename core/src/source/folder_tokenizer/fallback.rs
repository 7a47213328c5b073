//! Opening a BPE tokenizer over characters with byte fallback, and its texts.

use super::merges::{MergeList, too_long};
use super::vocabulary::Tables;
use super::{BAD, Give, TOO_SMALL};
use crate::error::Result;
use crate::text::character::utf8;
use crate::token::bpe::merge::merge;
use crate::token::bpe::{MergeScratch, MergeTable};
use crate::token::sentencepiece::byte_token;
use crate::token::{Entries, HashVocabulary, Vocabulary as _};

/// The most bytes of a character.
const CHARACTER: usize = 4;

impl<'a> FallbackTokenizer<'a> {
    /// The tokenizer with an index over the merges of a `list`; spaces become `mark`.
    ///
    /// # Errors
    ///
    /// [`BadVocabulary`](crate::ErrorKind::BadVocabulary) if a byte has no token.
    #[inline(never)] // with its stack to itself
    pub(super) fn new(
        mark: char,
        list: &MergeList<'_>,
        merges: MergeTable<'a>,
        tables: Tables<'a>,
    ) -> Result<Self> {
        let tokens = tables.tokens;
        let mut bytes = [0; 256];
        for (byte, id) in (0..=u8::MAX).zip(&mut bytes) {
            // Otherwise something would be unknown.
            *id = tokens.find(&byte_token(byte))?.ok_or(BAD)?;
        }
        let mut room = [0; CHARACTER];
        let spelled: &[u8] = utf8(mark, &mut room).as_bytes();
        let crosses =
            |left: &[u8], right: &[u8]| !left.ends_with(spelled) && right.starts_with(spelled);
        let has_words = tokens.find(spelled)?.is_some() && !list.any(&tokens, crosses)?;
        Ok(Self { tokens, merges, bytes, mark, has_words })
    }
}

/// A BPE tokenizer with byte fallback that is ready.
#[derive(Clone, Debug)]
pub(super) struct FallbackTokenizer<'a> {
    tokens: HashVocabulary<'a, Entries<'a>>,
    merges: MergeTable<'a>,
    /// The tokens of the 256 bytes.
    bytes: [u32; 256],
    /// The character that spaces become.
    mark: char,
    /// True if no token goes on with a mark that follows something else: then each word can be
    /// merged by itself.
    has_words: bool,
}

impl FallbackTokenizer<'_> {
    /// True if texts may be cut before spaces that follow letters.
    pub(super) const fn has_words(&self) -> bool {
        self.has_words
    }

    /// The ids of a part without added tokens, word by word.
    pub(super) fn part(
        &self,
        part: &str,
        scratch: &mut MergeScratch<'_>,
        give: &mut Give<'_>,
    ) -> Result<()> {
        let mut rest = part;
        while !rest.is_empty() {
            let (word, after) = rest.split_at_checked(self.end(rest)).ok_or(TOO_SMALL)?;
            self.word(word, scratch, give)?;
            rest = after;
        }
        give(None);
        Ok(())
    }

    /// Where the first word ends: before a space that follows something else.
    fn end(&self, text: &str) -> usize {
        let mut was_mark = true;
        let mut is_end = |c: char| {
            let is_mark = c == ' ' || c == self.mark;
            let is_first = !core::mem::replace(&mut was_mark, is_mark);
            is_mark && is_first
        };
        let end = text.char_indices().find(|(_, c)| is_end(*c)).filter(|_| self.has_words);
        end.map_or(text.len(), |(at, _)| at)
    }

    fn word(&self, word: &str, scratch: &mut MergeScratch<'_>, give: &mut Give<'_>) -> Result<()> {
        let mut outcome = Ok(());
        let parts = word.chars().flat_map(|c| {
            let parts = self.character(if c == ' ' { self.mark } else { c });
            let (ids, count) = parts.unwrap_or_else(|error| {
                outcome = Err(error);
                ([0; CHARACTER], 0)
            });
            ids.into_iter().take(count)
        });
        let merged = merge(&mut &self.merges, parts, &mut scratch.word).map_err(too_long)?;
        outcome?;
        merged.for_each(|id| give(Some(id)));
        Ok(())
    }

    /// The token of a character, or those of its bytes, and how many these are.
    fn character(&self, c: char) -> Result<([u32; CHARACTER], usize)> {
        let (mut room, mut ids) = ([0; CHARACTER], [0; CHARACTER]);
        let spelled = utf8(c, &mut room).as_bytes();
        if let Some(id) = self.tokens.find(spelled)? {
            return Ok(([id, 0, 0, 0], 1));
        }
        for (id, byte) in ids.iter_mut().zip(spelled) {
            *id = self.bytes.get(usize::from(*byte)).copied().unwrap_or(0);
        }
        Ok((ids, spelled.len()))
    }
}
