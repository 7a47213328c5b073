//! Embeds texts with a table.

use crate::describe::folder::TableSettings;
use crate::error::Result;
use crate::kernel::Kernels;
use crate::model::weights::Weights;
use crate::model::{TokenTable, cut};
use crate::source::folder_tokenizer::{FolderTokenizer, TokenizingMemory};
use crate::token::wordpiece::Encoded;
use crate::token::{Vocabulary, WordPiece};

/// A tokenizer of static models.
pub trait TableTokenizer {
    /// The token for unknown ones, if there are any.
    fn unknown(&self) -> Option<u32>;

    /// Calls `give` with the tokens of `text`, without those around it.
    ///
    /// # Errors
    ///
    /// Any error from the vocabulary; [`ErrorKind::OverLimit`](crate::ErrorKind::OverLimit) if a
    /// part of the text does not fit into `memory`.
    fn each(
        &self,
        text: &str,
        memory: TokenizingMemory<'_>,
        give: &mut dyn FnMut(u32),
    ) -> Result<()>;
}

impl TableTokenizer for FolderTokenizer<'_> {
    fn unknown(&self) -> Option<u32> {
        Self::unknown(self)
    }

    fn each(
        &self,
        text: &str,
        memory: TokenizingMemory<'_>,
        give: &mut dyn FnMut(u32),
    ) -> Result<()> {
        self.encode_alone(text, memory, give)
    }
}

/// BERT's tokenizer, which takes no memory.
impl<V: Vocabulary> TableTokenizer for WordPiece<V> {
    fn unknown(&self) -> Option<u32> {
        Some(self.special().unknown)
    }

    fn each(&self, text: &str, _: TokenizingMemory<'_>, give: &mut dyn FnMut(u32)) -> Result<()> {
        let mut words = self.pieces(text);
        while let Some(word) = words.next_word()? {
            word.iter().for_each(|id| give(*id));
        }
        Ok(())
    }
}

/// A table with a vector for each token, and the limits on a text's tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StaticModel {
    table: TokenTable,
    normalize: bool,
    /// The number of tokens of a text that are used; `None` for all.
    max_tokens: Option<usize>,
    /// The median number of characters of a token, if texts are cut before they are tokenised and
    /// unknown tokens are dropped.
    median_characters: Option<usize>,
}

impl StaticModel {
    pub(super) fn new(table: TokenTable, settings: &TableSettings, median: Option<usize>) -> Self {
        let max_tokens = settings.max_tokens.map(|it| usize::try_from(it).unwrap_or(usize::MAX));
        Self { table, normalize: settings.normalize, max_tokens, median_characters: median }
    }

    /// The table.
    #[must_use]
    pub const fn table(&self) -> &TokenTable {
        &self.table
    }

    /// The number of tokens of a text that are used; `None` for all.
    #[must_use]
    pub const fn max_tokens(&self) -> Option<usize> {
        self.max_tokens
    }

    /// Calls `take` with each token of `text` that counts, up to `limit`.
    ///
    /// # Errors
    ///
    /// Any error from the tokenizer or from `take`.
    pub fn tokens(
        &self,
        (tokenizer, text, limit): (&impl TableTokenizer, &str, usize),
        memory: TokenizingMemory<'_>,
        take: &mut dyn FnMut(u32) -> Result<()>,
    ) -> Result<Encoded> {
        let (text, is_cut) = cut(text, limit, self.median_characters);
        let unknown = tokenizer.unknown().filter(|_| self.median_characters.is_some());
        let (mut tokens, mut total, mut outcome) = (0_usize, 0_usize, Ok(()));
        tokenizer.each(text, memory, &mut |id| {
            if total < limit && outcome.is_ok() && Some(id) != unknown {
                tokens = tokens.saturating_add(1);
                outcome = take(id);
            }
            total = total.saturating_add(1);
        })?;
        outcome?;
        Ok(Encoded { tokens, total, truncated: is_cut || total > limit })
    }

    /// Writes the embedding of a text to `out`. `memory` is for [`tokens`](Self::tokens), `row` has
    /// room for one vector, `tile` for [`TokenTable::tile_bytes`].
    ///
    /// # Errors
    ///
    /// As [`tokens`](Self::tokens) and [`TokenTable::embed`].
    pub fn embed<W: Weights + ?Sized>(
        &self,
        text: (&impl TableTokenizer, &str, usize),
        memory: TokenizingMemory<'_>,
        (weights, kernels): (&W, &Kernels),
        (row, tile): (&mut [f32], &mut [u8]),
        out: &mut [f32],
    ) -> Result<Encoded> {
        self.table.begin(row, out)?;
        let encoded = self.tokens(text, memory, &mut |id| {
            self.table.add(weights, kernels, &[id], (&mut *row, &mut *tile), out)
        })?;
        TokenTable::finish(encoded.tokens, self.normalize, out)?;
        Ok(encoded)
    }

    /// Writes the embeddings of texts with these numbers of tokens, as [`TokenTable::embed_texts`].
    ///
    /// # Errors
    ///
    /// As [`TokenTable::embed_texts`].
    pub fn embed_texts<W: Weights + ?Sized>(
        &self,
        weights: &W,
        kernels: &Kernels,
        texts: (&[u32], &[usize]),
        room: (&mut [f32], &mut [u8]),
        out: &mut [f32],
    ) -> Result<()> {
        self.table.embed_texts(weights, kernels, texts, self.normalize, room, out)
    }

    /// Writes the embedding of the given tokens, as [`embed`](Self::embed).
    ///
    /// # Errors
    ///
    /// As [`TokenTable::embed`].
    pub fn embed_ids<W: Weights + ?Sized>(
        &self,
        weights: &W,
        kernels: &Kernels,
        ids: &[u32],
        room: (&mut [f32], &mut [u8]),
        out: &mut [f32],
    ) -> Result<()> {
        self.table.embed(weights, kernels, ids, self.normalize, room, out)
    }
}
