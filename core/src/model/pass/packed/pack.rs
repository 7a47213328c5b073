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
    pub(super) shared: Shared,
}

/// The number of first tokens that all texts have in common: see
/// [`Batch::shared`](super::Batch::shared). Zero-sized in builds for BERT alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shared([usize; FAMILIES as usize]);

impl Pack {
    /// The first of the texts of these lengths, as many as fit `room` tokens. Shared tokens count
    /// once; those of a text after the first one are copied, for which it may have up to
    /// [`longest_copied`] tokens.
    pub(super) fn new(lengths: &[usize], room: usize, shared: usize) -> Self {
        let shared = Shared([shared; FAMILIES as usize]);
        let mut pack = Self { texts: 0, ids: 0, shared };
        for &length in lengths {
            let next = Self { texts: pack.texts + 1, ids: pack.ids + length, shared };
            let copies = shared.count() > 0 && length > longest_copied(room);
            if pack.texts > 0 && (copies || next.tokens() > room) {
                break;
            }
            pack = next;
        }
        pack
    }

    /// The number of tokens that are computed.
    pub(super) const fn tokens(&self) -> usize {
        self.ids - self.shared.count() * self.texts.saturating_sub(1)
    }
}

impl Shared {
    /// The number of tokens.
    pub(super) const fn count(self) -> usize {
        match self.0.as_slice() {
            [count, ..] => *count,
            [] => 0,
        }
    }

    /// The rows of the shared tokens, the first ones, if there are any.
    pub(super) const fn own_rows(self) -> Option<TextRows> {
        match self.count() {
            0 => None,
            count => Some(TextRows::new(0, count, 0)),
        }
    }

    /// The rows of texts of these lengths.
    pub(super) fn rows(self, lengths: &[usize]) -> impl Iterator<Item = TextRows> {
        let count = self.count();
        let mut end = count;
        lengths.iter().map(move |&tokens| {
            let start = end - count;
            end = start + tokens;
            TextRows::new(start, tokens, count)
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
        let pack = |lengths, room| {
            let Pack { texts, ids, .. } = Pack::new(lengths, room, 0);
            (texts, ids)
        };
        assert_eq!([12, 11, 1].map(|room| pack(&LENGTHS, room)), [(3, 12), (2, 9), (1, 4)]);
        assert_eq!(pack(&[], 9), (0, 0));
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
        let rows: Vec<TextRows> = pack(10).shared.rows(&LENGTHS).collect();
        assert_eq!(rows, [TextRows::new(0, 4, 2), TextRows::new(2, 5, 2), TextRows::new(5, 3, 2)]);
        assert_eq!([0, 1, 2].map(|text| rows[text].own_rows()), [2..4, 4..7, 7..8]);
        assert_eq!(pack(10).shared.own_rows(), Some(TextRows::new(0, 2, 0)));
    }
}
