//! An index over a tokenizer, in memory that the caller lends.

use super::source::{BpeSource, TokenEntries};
use super::{BAD, TOO_SMALL};
use crate::error::{Error, ErrorKind, Result};
use crate::source::memory::{TokenizerMemory, TokenizerNeeds};
use crate::token::bpe::{Merge, MergeTable, Pattern};
use crate::token::vocabulary::{HashIndex, MAX_TOKEN_BYTES, Vocabulary};
use crate::token::{
    AddedIndex, AddedRules, AddedTable, AddedToken, Entries, HashVocabulary, LengthPrefix, TextEnds,
};

/// A tokenizer without the memory of its index.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct BpeIndex {
    offset: u64,
    /// The number of tokens.
    pub count: u32,
    prefix: LengthPrefix,
    pub(super) hash: HashIndex,
    pub(super) merges: usize,
    pub(super) longest_probe: usize,
    pub(super) added: AddedIndex,
    /// How texts are cut into words.
    pub pattern: Pattern,
    /// True if a word of the vocabulary is one token, whatever the merges make of it.
    pub ignores_merges: bool,
    /// True if texts are brought into Unicode's form NFC first.
    pub composes: bool,
    /// The tokens around texts.
    pub ends: TextEnds,
}

impl<'a> BpeSource<'a> {
    /// The memory that an index over it takes.
    #[must_use]
    pub fn needs(&self) -> TokenizerNeeds {
        let (mut merges, mut added) = (0_usize, 0_usize);
        // Nothing is refused here: that is for `index` to do.
        let _ = self.each_merge(|_, _| {
            merges = merges.saturating_add(1);
            Ok(())
        });
        let _ = self.each_added(|_| {
            added = added.saturating_add(1);
            Ok(())
        });
        TokenizerNeeds {
            samples: Entries::samples_needed(self.entries.count),
            slots: HashVocabulary::<Entries<'_>>::slots_needed(self.entries.count),
            merges,
            merge_slots: MergeTable::slots_needed(merges),
            added,
            ..TokenizerNeeds::default()
        }
    }

    /// Makes the index in lent memory; [`FileBpe::resume`](super::FileBpe::resume) takes it up.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if merges or added tokens are not of tokens, or an added token
    /// is there twice; [`ErrorKind::OverLimit`] if one is longer than
    /// [`Limit::ADDED_TOKEN_BYTES`](crate::limit::Limit::ADDED_TOKEN_BYTES);
    /// [`ErrorKind::BufferTooSmall`] if the memory is less than [`needs`](Self::needs) says.
    pub fn index(&self, memory: &mut TokenizerMemory<'_>) -> Result<BpeIndex> {
        let TokenEntries { bytes, offset, count, prefix } = self.entries;
        let tokens = Entries::sample(bytes, offset, count, prefix, memory.samples)?;
        let vocabulary = HashVocabulary::build(tokens, memory.slots)?;
        let mut merges = 0_usize;
        let places = &mut *memory.merges;
        self.each_merge(|left, right| {
            let mut room = [0; MAX_TOKEN_BYTES];
            let whole = joined(left.as_bytes(), right.as_bytes(), &mut room).ok_or(BAD)?;
            let id = |token: &[u8]| vocabulary.find(token)?.ok_or(BAD);
            let (left, right) = (id(left.as_bytes())?, id(right.as_bytes())?);
            *places.get_mut(merges).ok_or(TOO_SMALL)? = Merge { left, right, merged: id(whole)? };
            merges = merges.saturating_add(1);
            Ok(())
        })?;
        let used = places.get(..merges).unwrap_or_default();
        let longest_probe = MergeTable::build(used, memory.merge_slots)?.longest_probe();
        let added = self.index_added(&tokens, memory.added)?;
        Ok(BpeIndex {
            offset,
            count,
            prefix,
            hash: vocabulary.index(),
            merges,
            longest_probe,
            added,
            pattern: self.pattern,
            ignores_merges: self.ignores_merges,
            composes: self.composes,
            ends: self.ends,
        })
    }

    /// Sorts the tokens that are found in a text as they are.
    fn index_added(&self, tokens: &Entries<'_>, places: &mut [AddedToken]) -> Result<AddedIndex> {
        let mut used = 0_usize;
        self.each_added(|id| {
            let place = places.get_mut(used).ok_or(TOO_SMALL)?;
            let (bytes, rules) = (self.entries.bytes, AddedRules::default());
            *place = AddedToken::within(bytes, tokens.get(id)?, id, rules)?;
            used = used.saturating_add(1);
            Ok(())
        })?;
        AddedIndex::build(self.entries.bytes, places.get_mut(..used).unwrap_or_default())
    }
}

/// Two tokens, one after the other; `None` if `room` is too small.
pub(in crate::source) fn joined<'r>(
    left: &[u8],
    right: &[u8],
    room: &'r mut [u8],
) -> Option<&'r [u8]> {
    let length = left.len().checked_add(right.len())?;
    let room = room.get_mut(..length)?;
    for (to, from) in room.iter_mut().zip(left.iter().chain(right)) {
        *to = *from;
    }
    Some(room)
}

impl BpeIndex {
    /// The bytes of `file` from its tokens on.
    fn entries<'a>(&self, file: &'a [u8]) -> Result<&'a [u8]> {
        let bytes = usize::try_from(self.offset).ok().and_then(|start| file.get(start..));
        bytes.ok_or(Error::new(self.offset, ErrorKind::BadVocabulary))
    }

    /// The spellings of the tokens in `file`, with the samples of the index.
    pub(super) fn tokens<'a>(&self, file: &'a [u8], samples: &'a [u32]) -> Result<Entries<'a>> {
        let bytes = self.entries(file)?;
        Ok(Entries::resume(bytes, self.offset, self.count, self.prefix, samples))
    }

    /// The tokens that are found in a text as they are, spelled in `file`.
    pub(super) fn added<'a>(
        &self,
        file: &'a [u8],
        added: &'a [AddedToken],
    ) -> Result<AddedTable<'a>> {
        Ok(AddedTable::resume(self.entries(file)?, added, self.added))
    }

    /// How token `id` is spelled in GPT-2's alphabet.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadVocabulary`] if there is no such token, or the file is shorter than it was.
    pub fn token<'a>(&self, file: &'a [u8], samples: &'a [u32], id: u32) -> Result<&'a [u8]> {
        if id < self.count { self.tokens(file, samples)?.get(id) } else { Err(BAD) }
    }
}
