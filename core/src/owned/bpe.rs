//! A byte-level BPE tokenizer over a file: tokens stay where they lie, indices over them and over merges are kept.

use alloc::vec;
use alloc::vec::Vec;

use crate::error::Result;
use crate::model::llama::{BpeIndex, BpeMemory, BpeNeeds, BpeSource, FileBpe};
use crate::token::TextEnds;
use crate::token::bpe::merge::{Candidate, Symbol};
use crate::token::bpe::{Added, Merge, Pattern, Scratch};

/// A tokenizer over a file whose bytes its caller keeps: the memory of an index, and what is known beside it.
#[derive(Clone, Debug)]
pub struct BpeTokenizer {
    index: BpeIndex,
    samples: Vec<u32>,
    slots: Vec<u32>,
    merges: Vec<Merge>,
    merge_slots: Vec<u32>,
    /// Ids of the tokens that are found in a text as they are.
    added: Vec<u32>,
}

impl BpeTokenizer {
    /// Makes the index over the tokenizer that `source` found.
    ///
    /// # Errors
    ///
    /// As [`BpeSource::index`].
    pub fn new(source: &BpeSource<'_>) -> Result<Self> {
        let BpeNeeds { samples, slots, merges, merge_slots, added } = source.needs();
        let (mut samples, mut slots) = (vec![0; samples], vec![0; slots]);
        let (mut merges, mut merge_slots) = (vec![Merge::default(); merges], vec![0; merge_slots]);
        let index = source.index(&mut BpeMemory {
            samples: &mut samples,
            slots: &mut slots,
            merges: &mut merges,
            merge_slots: &mut merge_slots,
        })?;
        let mut ids = Vec::with_capacity(added);
        source.each_added(|id| ids.push(id));
        Ok(Self { index, samples, slots, merges, merge_slots, added: ids })
    }

    /// The number of tokens.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.index.count()
    }

    /// How texts are cut into words.
    #[must_use]
    pub const fn pattern(&self) -> Pattern {
        self.index.pattern()
    }

    /// The merges, the first one first.
    #[must_use]
    pub fn merges(&self) -> &[Merge] {
        &self.merges
    }

    /// The ids of the tokens that are found in a text as they are.
    #[must_use]
    pub fn added(&self) -> &[u32] {
        &self.added
    }

    /// Whether a word that is in the vocabulary is one token, whatever the merges make of it.
    #[must_use]
    pub const fn ignores_merges(&self) -> bool {
        self.index.ignores_merges()
    }

    /// The tokens around texts.
    #[must_use]
    pub const fn ends(&self) -> &TextEnds {
        self.index.ends()
    }

    /// How token `id` of `file` is spelled.
    ///
    /// # Errors
    ///
    /// [`BadVocabulary`](crate::ErrorKind::BadVocabulary) if there is no such token, or the file has changed.
    pub fn token<'f>(&'f self, file: &'f [u8], id: u32) -> Result<&'f [u8]> {
        self.index.token(file, &self.samples, id)
    }

    /// The ids of `text` by the tokens of `file`, between the tokens that are put around every text if there are any.
    ///
    /// # Errors
    ///
    /// [`BadVocabulary`](crate::ErrorKind::BadVocabulary) if the file has changed.
    pub fn encode(&self, file: &[u8], text: &str) -> Result<Vec<u32>> {
        let added = self.added.iter().filter_map(|&id| {
            let text = core::str::from_utf8(self.token(file, id).ok()?).ok()?;
            Some(Added { text, id })
        });
        let added: Vec<Added<'_>> = added.collect();
        let tokens = (&*self.samples, &*self.slots);
        let merges = (&*self.merges, &*self.merge_slots);
        let bpe = FileBpe::resume(file, &self.index, tokens, merges, &added)?;
        let mut ids = vec![0; text.len().saturating_add(2)];
        let mut symbols = vec![Symbol::default(); text.len()];
        let mut heap = vec![Candidate::default(); Scratch::heap_needed(text.len())];
        let found = bpe.encode(text, &mut ids, &mut Scratch::new(&mut symbols, &mut heap))?;
        ids.truncate(found.tokens);
        Ok(ids)
    }
}
