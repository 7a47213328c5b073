//! A cache of merged words: most words of a text occur more than once.

/// Bytes of the longest word that is remembered, and the most ids.
const MAX_BYTES: usize = 22;
const MAX_IDS: usize = 4;

/// A word and its ids, in memory that the caller lends.
#[derive(Clone, Copy, Debug, Default)]
pub struct CachedWord {
    /// Which model's ids they are.
    model: u64,
    bytes: [u8; MAX_BYTES],
    length: u8,
    count: u8,
    ids: [u32; MAX_IDS],
}

/// The ids of a word that is being merged, as far as they are worth remembering.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recorded {
    ids: [u32; MAX_IDS],
    count: usize,
}

impl Recorded {
    /// Notes an id.
    pub(super) fn push(&mut self, id: u32) {
        if let Some(place) = self.ids.get_mut(self.count) {
            *place = id;
        }
        self.count = self.count.saturating_add(1);
    }

    /// Makes sure that the word is not remembered.
    pub(super) const fn spoil(&mut self) {
        self.count = MAX_IDS + 1;
    }
}

/// The words of one model in lent memory, none or some thousand; each has one place, and the last
/// comer has it.
pub(super) struct Cache<'s> {
    pub(super) words: &'s mut [CachedWord],
    /// Told from other models by it: memory may be lent to several.
    pub(super) model: u64,
}

impl Cache<'_> {
    /// The ids of `word` if they are remembered.
    pub(super) fn find(&self, word: &[u8]) -> Option<&[u32]> {
        let known = self.words.get(self.place(word)?)?;
        let same = known.model == self.model
            && known.bytes.get(..known.length.into()).is_some_and(|bytes| bytes == word);
        if same { known.ids.get(..known.count.into()) } else { None }
    }

    /// Remembers the ids of `word`.
    pub(super) fn keep(&mut self, word: &[u8], recorded: &Recorded) {
        let Some(place) = self.place(word) else { return };
        let (Ok(length), Ok(count)) = (u8::try_from(word.len()), u8::try_from(recorded.count))
        else {
            return;
        };
        if usize::from(count) > MAX_IDS {
            return;
        }
        if let Some(slot) = self.words.get_mut(place) {
            let mut known =
                CachedWord { model: self.model, length, count, ids: recorded.ids, ..*slot };
            known.bytes.iter_mut().zip(word).for_each(|(to, from)| *to = *from);
            *slot = known;
        }
    }

    /// Where a word lies; nowhere if it is too long.
    fn place(&self, word: &[u8]) -> Option<usize> {
        if word.len() > MAX_BYTES || word.is_empty() {
            return None;
        }
        let hash = hash(word);
        let count = self.words.len() as u64;
        usize::try_from((hash >> 32).wrapping_mul(count) >> 32).ok()
    }
}

/// FNV-1a, its low bits spread to the high ones.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    let step = |state: u64, byte: &u8| (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
    let state = bytes.iter().fold(0xCBF2_9CE4_8422_2325, step);
    (state ^ state >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec;

    use super::*;

    #[test]
    fn words_are_remembered_for_their_model_only() {
        let mut words = vec![CachedWord::default(); 7];
        let mut recorded = Recorded::default();
        recorded.push(5);
        recorded.push(6);
        let mut cache = Cache { words: &mut words, model: 1 };
        assert_eq!(cache.find(b"word"), None);
        cache.keep(b"word", &recorded);
        assert_eq!(cache.find(b"word"), Some(&[5, 6][..]));
        assert_eq!(cache.find(b"wor"), None);
        assert_eq!(Cache { words: &mut words, model: 2 }.find(b"word"), None);
        let mut cache = Cache { words: &mut words, model: 1 };
        recorded.spoil();
        cache.keep(b"other", &recorded);
        cache.keep(&[b'x'; MAX_BYTES + 1], &Recorded::default());
        assert_eq!((cache.find(b"other"), cache.find(&[b'x'; MAX_BYTES + 1])), (None, None));
        let empty = Cache { words: &mut [], model: 1 };
        assert_eq!(empty.find(b"word"), None);
    }
}
