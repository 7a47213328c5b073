//! A table of a vector for each token, with its tokenizer.

use alloc::vec::Vec;

use super::tokenizer::TextTokenizer;
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::{self, Kernels};
use crate::limit::filled;
use crate::model::{TokenTable, Weights};
use crate::owned::folder::FolderModel;

/// A static model: the mean of its tokens' vectors is the embedding of a text.
#[derive(Clone, Debug)]
pub struct StaticModel<W> {
    weights: W,
    tokenizer: TextTokenizer,
    table: TokenTable,
    kernels: Kernels,
    normalize: bool,
}

impl<W: Weights> StaticModel<W> {
    pub(super) fn of(
        weights: W,
        table: TokenTable,
        tokenizer: TextTokenizer,
        normalize: bool,
    ) -> Self {
        Self { weights, tokenizer, table, kernels: kernel::detect(), normalize }
    }

    /// Elements of an embedding.
    #[must_use]
    pub const fn dimensions(&self) -> usize {
        self.table.dimensions()
    }

    /// The tokenizer.
    #[must_use]
    pub const fn tokenizer(&self) -> &TextTokenizer {
        &self.tokenizer
    }

    /// The embeddings of tokenised texts into `out`, [`dimensions`](Self::dimensions) elements each.
    ///
    /// # Errors
    ///
    /// As [`TokenTable::embed_texts`].
    pub fn embed(&self, ids: &[u32], lengths: &[usize], out: &mut [f32]) -> Result<()> {
        let mut row = filled(self.dimensions(), 0.0)?;
        let mut tile = match self.weights.borrows() {
            true => Vec::new(),
            false => filled(self.table.tile_bytes(), 0)?,
        };
        let Self { weights, kernels, normalize, .. } = self;
        let room = (&mut row[..], &mut tile[..]);
        self.table.embed_texts(weights, kernels, (ids, lengths), *normalize, room, out)
    }
}

/// The table, which has a row for each of so many tokens, and which no Dense module can follow.
pub(super) fn open(model: &FolderModel, weights: &impl Weights, count: u32) -> Result<TokenTable> {
    if model.modules.as_ref().is_some_and(|modules| !modules.head.is_empty()) {
        return Err(Error::without_offset(ErrorKind::UnsupportedSetting));
    }
    let find = |name: &str| weights.header(name);
    let table = TokenTable::open(&find)?;
    table.check_tokens(count, &find)?;
    Ok(table)
}
