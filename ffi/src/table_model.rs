//! A static model that has been opened: a table with a vector for each token.

use nanoembed_core::ErrorKind;
use nanoembed_core::kernel::{self, Kernels};
use nanoembed_core::model::TableModel as CoreTable;
use nanoembed_core::token::Encoded;

use crate::embed::{Scratch, Sizes};
use crate::model::Tokenizer;
use crate::source::Bytes;
use crate::status::Outcome;

/// A static model.
#[derive(Debug)]
pub(crate) struct TableModel {
    table: CoreTable,
    kernels: Kernels,
    /// Tokens of a text that are used.
    limit: usize,
}

impl TableModel {
    pub(crate) fn new(table: CoreTable, limit: usize) -> Self {
        Self { table, kernels: kernel::detect(), limit }
    }

    pub(crate) const fn dimensions(&self) -> usize {
        self.table.table().dimensions()
    }

    pub(crate) const fn tokens(&self) -> usize {
        self.table.table().tokens()
    }

    pub(crate) const fn limit(&self) -> usize {
        self.limit
    }

    pub(crate) const fn max_tokens(&self) -> Option<usize> {
        self.table.max_tokens()
    }

    pub(crate) fn sizes(&self) -> Sizes {
        sizes(&self.table)
    }

    /// Writes the ids of the tokens that count, as many as there is room for.
    pub(crate) fn tokenize(
        &self,
        tokenizer: &Tokenizer,
        text: &str,
        ids: &mut [u32],
    ) -> Outcome<Encoded> {
        let mut places = ids.iter_mut();
        let mut take = |id| {
            if let Some(place) = places.next() {
                *place = id;
            }
            Ok(())
        };
        let limit = self.limit;
        let mut encoded = match tokenizer {
            #[cfg(feature = "families")]
            Tokenizer::Folder(_) => return Err(ErrorKind::MissingVocabulary.into()),
            Tokenizer::None => return Err(ErrorKind::MissingVocabulary.into()),
            Tokenizer::InFile(words) => self.table.tokens(words, text, limit, &mut take)?,
            Tokenizer::Indexed(words) => self.table.tokens(words, text, limit, &mut take)?,
        };
        let room = ids.len();
        encoded.truncated |= encoded.tokens > room;
        encoded.tokens = encoded.tokens.min(room);
        Ok(encoded)
    }

    /// The embedding of a text.
    pub(crate) fn embed_text(
        &self,
        tokenizer: &Tokenizer,
        source: &Bytes,
        scratch: &mut Scratch,
        text: &str,
        out: &mut [f32],
    ) -> Outcome<Encoded> {
        let Self { table, kernels, limit } = self;
        let (row, limit) = ((&mut *scratch.floats.0, &mut *scratch.bytes.0), *limit);
        Ok(match tokenizer {
            #[cfg(feature = "families")]
            Tokenizer::Folder(_) => return Err(ErrorKind::MissingVocabulary.into()),
            Tokenizer::None => return Err(ErrorKind::MissingVocabulary.into()),
            Tokenizer::InFile(words) => {
                table.embed((words, text, limit), source, kernels, row, out)?
            }
            Tokenizer::Indexed(words) => {
                table.embed((words, text, limit), source, kernels, row, out)?
            }
        })
    }

    /// The embedding of known tokens.
    pub(crate) fn embed_ids(
        &self,
        source: &Bytes,
        scratch: &mut Scratch,
        ids: &[u32],
        out: &mut [f32],
    ) -> Outcome {
        let row = (&mut *scratch.floats.0, &mut *scratch.bytes.0);
        Ok(self.table.embed_ids(source, &self.kernels, ids, row, out)?)
    }
}

/// A row of the table: files of static models lie in memory.
pub(crate) const fn sizes(table: &CoreTable) -> Sizes {
    let floats = table.table().dimensions();
    Sizes { floats, ..Sizes::NONE }
}
