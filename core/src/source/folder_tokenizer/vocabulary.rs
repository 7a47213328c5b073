//! The tokens of a file, those that were added to them, and indices over both.

use super::added::AddedList;
use super::ends::Ends;
use crate::error::{Error, ErrorKind, Result};
use crate::format::embd::EmbdTokenEntries;
use crate::source::memory::{TokenizerMemory, TokenizerNeeds};
use crate::text::json::{Fault, Read};
use crate::token::added_words::AddedTokens;
use crate::token::vocabulary::MAX_TOKEN_BYTES;
use crate::token::{Entries, HashVocabulary, LengthPrefix};

/// The tokens of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenList<'a> {
    pub(super) entries: EmbdTokenEntries<'a>,
    /// Bytes of the longest token.
    pub(super) longest: usize,
    /// All ids are below.
    pub(super) vocabulary: usize,
}

/// Indices in the memory lent.
pub(super) struct Tables<'a> {
    pub(super) tokens: HashVocabulary<'a, Entries<'a>>,
    pub(super) added: AddedTokens<'a>,
}

impl<'a> TokenList<'a> {
    /// Refuses a vocabulary whose longest token would not be found.
    pub(super) fn check(&self) -> Read<'static, ()> {
        if self.longest <= MAX_TOKEN_BYTES {
            return Ok(());
        }
        let error = Error::new(self.entries.offset, ErrorKind::UnsupportedSetting);
        let only = "tokens of so many bytes are found only with a heap";
        Err(Fault { error, key: "vocab", only })
    }

    /// The memory of indices over these and the `added` tokens.
    pub(super) fn needs(&self, added: &AddedList<'_>) -> TokenizerNeeds {
        let count = self.entries.count;
        let mut needs = TokenizerNeeds {
            samples: Entries::samples_needed(count),
            slots: HashVocabulary::<Entries<'_>>::slots_needed(count),
            ..TokenizerNeeds::default()
        };
        added.add_needs(&mut needs);
        needs
    }

    /// Makes the indices in what they take of `memory`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] for ids that are not below those of the model; as
    /// [`AddedList::index`].
    pub(super) fn index(
        &self,
        (added, ends): (&AddedList<'_>, Ends),
        memory: &mut TokenizerMemory<'a>,
    ) -> Result<Tables<'a>> {
        self.check_ids(ends)?;
        let EmbdTokenEntries { bytes, offset, count, length_bytes } = self.entries;
        let prefix = if length_bytes == 2 { LengthPrefix::U16 } else { LengthPrefix::U32 };
        let samples = core::mem::take(&mut memory.samples);
        let tokens = Entries::sample(bytes, offset, count, prefix, samples)?;
        let tokens = HashVocabulary::build(tokens, core::mem::take(&mut memory.slots))?;
        let text = core::mem::take(&mut memory.text);
        let places = core::mem::take(&mut memory.added);
        let lent = (&mut *text, &mut *places, &mut *memory.added_ids);
        let tables = added.index(&tokens, self.vocabulary, lent)?;
        Ok(Tables { tokens, added: tables.resume(text, places) })
    }

    /// Refuses tokens, and tokens around texts, whose ids are too high.
    fn check_ids(&self, ends: Ends) -> Result<()> {
        let most = self.vocabulary;
        let mut ends = ends.before.into_iter().chain(ends.after);
        let is_within = self.entries.count as usize <= most && ends.all(|id| (id as usize) < most);
        let bad = Error::new(self.entries.offset, ErrorKind::BadVocabulary);
        if is_within { Ok(()) } else { Err(bad) }
    }
}
