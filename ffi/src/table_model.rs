//! A static model that has been opened: a table with a vector for each token.

use nanoembed_core::ErrorKind;
use nanoembed_core::kernel::{self, Kernels};
use nanoembed_core::source::StaticModel;
use nanoembed_core::source::folder_tokenizer::{TokenizingMemory, TokenizingNeeds};
use nanoembed_core::token::Encoded;

use crate::folder_tokenizer;
use crate::leaf::{self, Part};
use crate::model_tokenizer::Tokenizer;
use crate::scratch::{Scratch, Sizes};
use crate::source::Bytes;
use crate::status::{Outcome, TOO_SMALL};

/// A static model.
#[derive(Debug)]
pub(crate) struct TableModel {
    table: StaticModel,
    kernels: Kernels,
    /// Tokens of a text that are used.
    limit: usize,
    /// The scratch memory that tokenising a text takes, unless the tokenizer is BERT's.
    tokenizing: Option<Part<leaf::Families, TokenizingNeeds>>,
}

impl TableModel {
    /// A model whose tokenizer takes so much for a text; nothing if it is BERT's.
    pub(crate) fn new(
        table: StaticModel,
        limit: usize,
        tokenizing: Option<Part<leaf::Families, TokenizingNeeds>>,
    ) -> Self {
        Self { table, kernels: kernel::detect(), limit, tokenizing }
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

    pub(crate) fn sizes(&self) -> Outcome<Sizes> {
        // A row of the table: files of static models lie in memory.
        let mut floats = self.dimensions();
        if let Some(needs) = &self.tokenizing {
            let tokenizing = folder_tokenizer::tokenizing_floats(needs)?;
            floats = floats.checked_add(tokenizing).ok_or(TOO_SMALL)?;
        }
        Ok(Sizes { floats, ..Sizes::NONE })
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
        let (limit, nothing) = (self.limit, TokenizingMemory::default());
        let mut encoded = match tokenizer {
            Tokenizer::Folder(folder) => folder_tokenizer::on_stack(|memory| {
                Ok(self.table.tokens((&**folder, text, limit), memory, &mut take)?)
            })?,
            Tokenizer::None => return Err(ErrorKind::MissingVocabulary.into()),
            Tokenizer::InFile(words) => {
                self.table.tokens((words, text, limit), nothing, &mut take)?
            }
            Tokenizer::Indexed(words) => {
                self.table.tokens((words, text, limit), nothing, &mut take)?
            }
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
        let Self { table, kernels, limit, tokenizing } = self;
        let Scratch { floats, bytes, .. } = scratch;
        let (memory, row) = match tokenizing {
            Some(needs) => {
                let tokenizing = folder_tokenizer::tokenizing_floats(needs)?;
                let (first, row) = floats.0.split_at_mut_checked(tokenizing).ok_or(TOO_SMALL)?;
                (folder_tokenizer::tokenizing(needs, first)?, row)
            }
            None => (TokenizingMemory::default(), &mut *floats.0),
        };
        let (by, row, limit) = ((source, kernels), (row, &mut *bytes.0), *limit);
        Ok(match tokenizer {
            Tokenizer::None => return Err(ErrorKind::MissingVocabulary.into()),
            Tokenizer::Folder(folder) => {
                table.embed((&**folder, text, limit), memory, by, row, out)?
            }
            Tokenizer::InFile(words) => table.embed((words, text, limit), memory, by, row, out)?,
            Tokenizer::Indexed(words) => table.embed((words, text, limit), memory, by, row, out)?,
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
