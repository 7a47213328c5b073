//! Tokens added to a WordPiece vocabulary: found in a text before it is cut into words, or in what
//! normalisation makes of it, as Hugging Face `tokenizers` does.
//!
//! | kind | found in | before or after |
//! |---|---|---|
//! | as written | the text as it is, with the special tokens, the leftmost first and of those the longest | first |
//! | normalised | the normalised text between those | second |
//!
//! Both kinds are an [`AddedTable`], whose search takes at most
//! [`Limit::ADDED_TOKEN_BYTES`](crate::limit::Limit::ADDED_TOKEN_BYTES) steps at a place of the
//! text.

use super::added::AddedTable;
use super::normalize::{Mapped, Normalization};

/// The added tokens of a vocabulary. The spellings of the normalised ones are what [`normalized`]
/// makes of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct AddedTokens<'a> {
    /// Found in the text as it is.
    pub written: AddedTable<'a>,
    /// Found in the normalised text.
    pub normalized: AddedTable<'a>,
}

impl AddedTokens<'_> {
    /// No tokens.
    pub const NONE: Self = Self { written: AddedTable::EMPTY, normalized: AddedTable::EMPTY };

    /// Returns true if there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.written.is_empty() && self.normalized.is_empty()
    }
}

/// Calls `take` with the characters that `c` becomes.
pub(super) fn characters(c: char, normalization: Normalization, mut take: impl FnMut(char)) {
    match normalization.map(c) {
        Mapped::Nothing | Mapped::Barrier => {}
        Mapped::Space => take(' '),
        Mapped::Letter(c) | Mapped::Mark(c) | Mapped::Alone(c) => take(c),
        Mapped::Several(parts) => {
            for part in parts.into_iter().filter(|&part| part != '\0') {
                if let Mapped::Letter(c) | Mapped::Mark(c) | Mapped::Alone(c) =
                    normalization.part(part)
                {
                    take(c);
                }
            }
        }
    }
}

/// Calls `take` with the characters of a spelling as normalisation leaves them.
pub fn normalized(spelling: &str, normalization: Normalization, mut take: impl FnMut(char)) {
    spelling.chars().for_each(|c| characters(c, normalization, &mut take));
}
