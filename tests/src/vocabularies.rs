//! Vocabularies as files store them, for the tokenizer's tests.

use nanoembed_core::Error;
use nanoembed_core::token::vocabulary::{IdWidth, SortedIds};
use nanoembed_core::token::{Entries, HashVocabulary, LengthPrefix, SortedVocabulary};

/// A vocabulary in the layout of EMBD's section variant, with the two tensors of the sorted index.
#[derive(Clone, Debug, Default)]
pub struct StoredVocabulary {
    /// Entries of a u16 length and the string, back to back.
    pub entries: Vec<u8>,
    /// The number of entries.
    pub count: u32,
    /// The bytes of `vocab.offsets`.
    pub offsets: Vec<u8>,
    /// The bytes of `vocab.sorted_ids`, UINT32.
    pub sorted_ids: Vec<u8>,
}

impl StoredVocabulary {
    /// Stores `tokens` in the order of their ids.
    ///
    /// # Panics
    ///
    /// If there are more tokens, or longer ones, than the format can store.
    pub fn new<T: AsRef<[u8]>>(tokens: impl IntoIterator<Item = T>) -> Self {
        let mut stored = Self::default();
        let mut strings: Vec<(Vec<u8>, u32)> = Vec::new();
        for token in tokens {
            let token = token.as_ref();
            stored.push_offset();
            let length = u16::try_from(token.len()).expect("tokens are short");
            stored.entries.extend(length.to_le_bytes());
            stored.entries.extend(token);
            strings.push((token.to_vec(), stored.count));
            stored.count += 1;
        }
        stored.push_offset();
        strings.sort();
        stored.sorted_ids = strings.iter().flat_map(|(_, id)| id.to_le_bytes()).collect();
        stored
    }

    /// Stores the lines of a `vocab.txt`.
    #[must_use]
    pub fn from_lines(vocab_txt: &str) -> Self {
        Self::new(vocab_txt.lines())
    }

    fn push_offset(&mut self) {
        let offset = u32::try_from(self.entries.len()).expect("entries are below 4 GiB");
        self.offsets.extend(offset.to_le_bytes());
    }

    /// The entries, with the offsets listed in the file.
    ///
    /// # Errors
    ///
    /// As [`Entries::listed`].
    pub fn listed(&self) -> Result<Entries<'_>, Error> {
        Entries::listed(&self.entries, 0, self.count, LengthPrefix::U16, &self.offsets)
    }

    /// The vocabulary with its own index.
    ///
    /// # Errors
    ///
    /// As [`SortedVocabulary::new`].
    pub fn sorted(&self) -> Result<SortedVocabulary<'_, Entries<'_>>, Error> {
        let ids = SortedIds { bytes: &self.sorted_ids, width: IdWidth::U32, offset: 0 };
        SortedVocabulary::new(self.listed()?, ids)
    }
}

/// Memory for a hash index.
#[derive(Clone, Debug)]
pub struct HashMemory {
    samples: Vec<u32>,
    slots: Vec<u32>,
}

impl HashMemory {
    /// Memory of exactly the size for `count` tokens, filled with garbage.
    #[must_use]
    pub fn for_tokens(count: u32) -> Self {
        let slots = HashVocabulary::<Entries<'_>>::slots_needed(count);
        Self { samples: vec![0xA5A5_A5A5; Entries::samples_needed(count)], slots: vec![7; slots] }
    }

    /// Indexes `stored` with sampled offsets, using none of its indices.
    ///
    /// # Errors
    ///
    /// As [`Entries::sample`] and [`HashVocabulary::build`].
    pub fn index<'a>(
        &'a mut self,
        stored: &'a StoredVocabulary,
    ) -> Result<HashVocabulary<'a, Entries<'a>>, Error> {
        let (bytes, count) = (&stored.entries, stored.count);
        let entries = Entries::sample(bytes, 0, count, LengthPrefix::U16, &mut self.samples)?;
        HashVocabulary::build(entries, &mut self.slots)
    }
}
