//! What BPE tokenizers of both kinds are opened from: tokens, merges and added tokens.

use super::added::AddedList;
use super::ends::Ends;
use super::merges::MergeList;
use super::vocabulary::{TokenizerParts, check_ids, check_longest, index};
use crate::error::Result;
use crate::model::source::memory::{TokenizerMemory, TokenizerNeeds};
use crate::text::json::Read;
use crate::token::added_words;
use crate::token::bpe::MergeTable;
use crate::token::spec::{AddedToken, AddedTokens};
use crate::token::{Entries, HashVocabulary};

/// What a file says of a BPE tokenizer, whose `settings` are its kind's own.
#[derive(Clone, Debug)]
pub(super) struct MergedParts<'a, S> {
    parts: TokenizerParts<'a, S>,
    pub(super) merges: MergeList<'a>,
    added: AddedList<'a>,
}

/// Its indices in the memory lent.
pub(super) struct MergedTables<'a> {
    pub(super) tokens: HashVocabulary<'a, Entries<'a>>,
    pub(super) merges: MergeTable<'a>,
    pub(super) added: added_words::AddedTokens<'a>,
}

impl<'a, S> MergedParts<'a, S> {
    /// Those of a file that says so many merges, and lists added tokens that normalisation `keeps`.
    pub(super) fn new(
        parts: TokenizerParts<'a, S>,
        (merges, added): (u64, AddedTokens<'a>),
        keeps: impl Fn(&AddedToken<'a>) -> bool,
    ) -> Read<'a, Self> {
        check_longest(&parts.entries, parts.longest)?;
        let merges = MergeList::read(parts.beside, merges, &parts.entries)?;
        let added = AddedList::read(added, keeps)?;
        Ok(Self { merges, added, parts })
    }

    pub(super) const fn settings(&self) -> &S {
        &self.parts.settings
    }

    pub(super) fn needs(&self) -> TokenizerNeeds {
        let count = self.parts.entries.count;
        let mut needs = TokenizerNeeds {
            samples: Entries::samples_needed(count),
            slots: HashVocabulary::<Entries<'_>>::slots_needed(count),
            ..TokenizerNeeds::default()
        };
        self.merges.add_needs(&mut needs);
        self.added.add_needs(&mut needs);
        needs
    }

    /// Makes the indices; `ends` are put around texts.
    pub(super) fn open(&self, ends: Ends, memory: TokenizerMemory<'a>) -> Result<MergedTables<'a>> {
        let TokenizerMemory { text, samples, slots, .. } = memory;
        let TokenizerMemory { merges, merge_slots, added, added_ids, .. } = memory;
        let TokenizerParts { entries, vocabulary: most, .. } = &self.parts;
        check_ids(entries, ends, *most)?;
        let tokens = index(entries, samples, slots)?;
        let tables = self.added.index(&tokens, *most, (&mut *text, &mut *added, added_ids))?;
        let merges = self.merges.index(&tokens, (merges, merge_slots))?;
        Ok(MergedTables { tokens, merges, added: tables.resume(text, added) })
    }
}
