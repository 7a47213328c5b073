//! The texts that are computed together.

use crate::model::block::attention::TextRows;
use crate::model::config::FAMILIES;

/// The leading ones of a list of texts, as many as are computed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pack {
    /// The number of texts, at least one if there are any.
    pub(super) texts: usize,
    /// The number of their ids.
    pub(super) ids: usize,
    /// See [`Batch::shared`](super::Batch::shared).
    shared: usize,
}

impl Pack {
    /// The first of the texts of these lengths, as many as fit `room` tokens. Shared tokens count
    /// once; those of a text after the first one are copied, for which it may have up to
    /// [`longest_copied`] tokens.
    pub(super) fn new(lengths: &[usize], room: usize, shared: usize) -> Self {
        let mut pack = Self { texts: 0, ids: 0, shared };
        for &length in lengths {
            let next = Self { texts: pack.texts + 1, ids: pack.ids + length, shared };
            let copies = FAMILIES && shared > 0 && length > longest_copied(room);
            if pack.texts > 0 && (copies || next.tokens() > room) {
                break;
            }
            pack = next;
        }
        pack
    }

    /// The number of tokens that are computed.
    pub(super) const fn tokens(&self) -> usize {
        self.ids - self.shared() * self.texts.saturating_sub(1)
    }

    /// The number of shared tokens: none in builds for BERT alone.
    pub(super) const fn shared(&self) -> usize {
        if FAMILIES { self.shared } else { 0 }
    }

    /// The rows of the shared tokens, the first ones, if there are any.
    pub(super) const fn shared_rows(&self) -> Option<TextRows> {
        match self.shared() {
            0 => None,
            shared => Some(TextRows::new(0, shared, 0)),
        }
    }

    /// The rows of each text.
    pub(super) fn rows(self, lengths: &[usize]) -> impl Iterator<Item = TextRows> {
        let shared = self.shared();
        let mut end = shared;
        lengths.iter().map(move |&tokens| {
            let start = end - shared;
            end = start + tokens;
            TextRows::new(start, tokens, shared)
        })
    }
}

/// The most tokens of a text whose keys and values are copied, in a workspace for `room` tokens.
pub(super) const fn longest_copied(room: usize) -> usize {
    room / 2
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    const LENGTHS: [usize; 3] = [4, 5, 3];

    #[test]
    fn texts_are_packed_as_far_as_there_is_room() {
        let pack = |room| Pack::new(&LENGTHS, room, 0);
        assert_eq!(pack(12), Pack { texts: 3, ids: 12, shared: 0 });
        assert_eq!(pack(11), Pack { texts: 2, ids: 9, shared: 0 });
        assert_eq!(pack(1), Pack { texts: 1, ids: 4, shared: 0 });
        assert_eq!(Pack::new(&[], 9, 0), Pack { texts: 0, ids: 0, shared: 0 });
    }

    #[test]
    fn shared_tokens_count_once() {
        if !FAMILIES {
            return;
        }
        let pack = |room| Pack::new(&LENGTHS, room, 2);
        // 4 + 3 + 1.
        assert_eq!((pack(10).texts, pack(10).tokens()), (3, 8));
        // The second text has more than half of the room.
        assert_eq!((pack(9).texts, pack(9).tokens()), (1, 4));
        let rows: Vec<TextRows> = pack(10).rows(&LENGTHS).collect();
        assert_eq!(rows, [TextRows::new(0, 4, 2), TextRows::new(2, 5, 2), TextRows::new(5, 3, 2)]);
        assert_eq!([0, 1, 2].map(|text| rows[text].own_rows()), [2..4, 4..7, 7..8]);
        assert_eq!(pack(10).shared_rows(), Some(TextRows::new(0, 2, 0)));
    }
}
