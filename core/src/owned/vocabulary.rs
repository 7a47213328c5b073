//! A vocabulary in memory, whichever file it comes from.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::added_words::{AddedMemory, AddedWord};
use crate::error::{Error, ErrorKind, Result};
use crate::limit::filled;
use crate::model::BertConfig;
use crate::token::vocabulary::HashIndex;
use crate::token::{Entries, HashVocabulary, LengthPrefix, Normalization, SpecialIds, WordPiece};

/// The vocabulary as a file has it.
pub(super) struct FoundVocabulary<'a> {
    pub(super) bytes: Cow<'a, [u8]>,
    pub(super) offset: u64,
    pub(super) count: u32,
    pub(super) prefix: LengthPrefix,
    /// Ids by role, in the order of [`SpecialRole::ALL`]; `None` if the file does not say them.
    pub(super) special: Option<[Option<u32>; 5]>,
    /// Tokens beyond these, or among them but not for words.
    pub(super) added: Vec<AddedWord>,
    /// What stands before every text, or why that cannot be done.
    pub(super) default_prompt: Result<String>,
}

/// Where the tokens lie in the file, and the memory of the index over them.
#[derive(Clone, Debug)]
pub(super) struct VocabularyIndex {
    /// The tokens, where the file spells them otherwise than WordPiece does; else they are used as
    /// they lie there.
    respelled: Option<Vec<u8>>,
    offset: u64,
    count: u32,
    prefix: LengthPrefix,
    samples: Vec<u32>,
    slots: Vec<u32>,
    hash: HashIndex,
    special: SpecialIds,
    normalization: Normalization,
    added: AddedMemory,
}

impl VocabularyIndex {
    pub(super) fn build(found: FoundVocabulary<'_>, config: &BertConfig) -> Result<Self> {
        let FoundVocabulary { bytes, offset, count, prefix, special, added, .. } = found;
        let bad = Error::new(offset, ErrorKind::BadVocabulary);
        if count as usize > config.vocabulary {
            return Err(bad);
        }
        let mut samples = filled(Entries::samples_needed(count), 0)?;
        let mut slots = filled(HashVocabulary::<Entries<'_>>::slots_needed(count), 0)?;
        let tokens = Entries::sample(&bytes, offset, count, prefix, &mut samples)?;
        let vocabulary = HashVocabulary::build(tokens, &mut slots)?;
        let hash = vocabulary.index();
        let special = match special {
            Some([pad, unknown, classify, separate, mask]) => SpecialIds {
                pad: pad.filter(|id| *id < count),
                unknown: unknown.ok_or(bad)?,
                classify: classify.ok_or(bad)?,
                separate: separate.ok_or(bad)?,
                mask: mask.filter(|id| *id < count),
            },
            None => SpecialIds::find(&vocabulary)?,
        };
        let normalization = config.normalization();
        let added = AddedMemory::new(&added, normalization, config.vocabulary)?;
        // Refuses special ids that are not tokens.
        WordPiece::new(vocabulary, special, normalization).map_err(|error| {
            match error.offset() {
                None | Some(0) => bad,
                Some(_) => error,
            }
        })?;
        let respelled = match bytes {
            Cow::Owned(bytes) => Some(bytes),
            Cow::Borrowed(_) => None,
        };
        Ok(Self {
            respelled,
            offset,
            count,
            prefix,
            samples,
            slots,
            hash,
            special,
            normalization,
            added,
        })
    }

    pub(super) fn tokenizer<'a>(
        &'a self,
        file: &'a [u8],
    ) -> Result<WordPiece<HashVocabulary<'a, Entries<'a>>>> {
        let bytes = match &self.respelled {
            Some(bytes) => Some(bytes.as_slice()),
            None => usize::try_from(self.offset).ok().and_then(|start| file.get(start..)),
        };
        let bytes = bytes.ok_or(Error::new(self.offset, ErrorKind::BadVocabulary))?;
        let tokens = Entries::resume(bytes, self.offset, self.count, self.prefix, &self.samples);
        let vocabulary = HashVocabulary::resume(tokens, &self.slots, self.hash);
        let vocabulary = vocabulary.with_added(self.added.tokens());
        WordPiece::new(vocabulary, self.special, self.normalization)
    }
}
