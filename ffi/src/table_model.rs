//! A static model that has been opened: a table with a vector for each token.

#[cfg(feature = "families")]
use nanoembed_core::ErrorKind;
use nanoembed_core::kernel::{self, Kernels};
use nanoembed_core::model::TableModel as CoreTable;
#[cfg(feature = "families")]
use nanoembed_core::model::folder_tokenizer::{TokenizingMemory, TokenizingNeeds};
use nanoembed_core::token::Encoded;

#[cfg(feature = "families")]
use crate::folder_tokenizer;
#[cfg(feature = "families")]
use crate::model_tokenizer::Tokenizer;
use crate::scratch::{Scratch, Sizes};
use crate::source::Bytes;
use crate::status::Outcome;
#[cfg(feature = "families")]
use crate::status::TOO_SMALL;

/// A static model.
#[derive(Debug)]
pub(crate) struct TableModel {
    table: CoreTable,
    kernels: Kernels,
    /// Tokens of a text that are used.
    limit: usize,
    /// The scratch memory requirements of tokenising a text.
    #[cfg(feature = "families")]
    tokenizing: TokenizingNeeds,
}

impl TableModel {
    pub(crate) fn new(table: CoreTable, limit: usize) -> Self {
        Self {
            table,
            kernels: kernel::detect(),
            limit,
            #[cfg(feature = "families")]
            tokenizing: TokenizingNeeds::default(),
        }
    }

    /// The same with a tokenizer whose texts take so much.
    #[cfg(feature = "families")]
    pub(crate) const fn tokenizing(self, tokenizing: TokenizingNeeds) -> Self {
        Self { tokenizing, ..self }
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
        let sizes = sizes(&self.table);
        #[cfg(feature = "families")]
        let sizes = beside(sizes, &self.tokenizing)?;
        Ok(sizes)
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
            Tokenizer::Folder(folder) => folder_tokenizer::on_stack(|memory| {
                Ok(self.table.tokens_of((folder, text, limit), memory, &mut take)?)
            })?,
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
        let Self { table, kernels, limit, .. } = self;
        let limit = *limit;
        #[cfg(feature = "families")]
        if let Tokenizer::Folder(tokenizer) = tokenizer {
            let (memory, row) = self.memory(scratch.floats.0)?;
            let (text, row) = ((tokenizer, text, limit), (row, &mut *scratch.bytes.0));
            return Ok(table.embed_by(text, memory, (source, kernels), row, out)?);
        }
        let row = (&mut *scratch.floats.0, &mut *scratch.bytes.0);
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

    /// Memory for a text while it is tokenised, and what is left of the floats.
    #[cfg(feature = "families")]
    fn memory<'s>(
        &self,
        floats: &'s mut [f32],
    ) -> Outcome<(TokenizingMemory<'static>, &'s mut [f32])> {
        let tokenizing = folder_tokenizer::tokenizing_floats(&self.tokenizing)?;
        let (first, row) = floats.split_at_mut_checked(tokenizing).ok_or(TOO_SMALL)?;
        Ok((folder_tokenizer::tokenizing(&self.tokenizing, first)?, row))
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

/// The same with memory for a text while it is tokenised.
#[cfg(feature = "families")]
fn beside(sizes: Sizes, tokenizing: &TokenizingNeeds) -> Outcome<Sizes> {
    let tokenizing = folder_tokenizer::tokenizing_floats(tokenizing)?;
    let floats = sizes.floats.checked_add(tokenizing).ok_or(TOO_SMALL)?;
    Ok(Sizes { floats, ..sizes })
}

/// A row of the table: files of static models lie in memory.
const fn sizes(table: &CoreTable) -> Sizes {
    let floats = table.table().dimensions();
    Sizes { floats, ..Sizes::NONE }
}
