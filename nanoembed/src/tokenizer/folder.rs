//! The tokenizer of a folder, with the limits of its model.

use nanoembed_core::Error as CoreError;
use nanoembed_core::owned::Pipeline;
use nanoembed_core::token::SpecialTokens;

use super::Tokens;
use crate::encoder::packed::limit;
use crate::error::Result;
use crate::open::folder::files::{EncoderFolder, FolderKind};
use crate::open::folder::table::FolderTable;
use crate::pool::Pool;

/// A folder's tokenizer without its weights, or with its table.
pub(super) enum FolderTokens {
    Transformer {
        tokenizer: Box<Pipeline>,
        scratch: Pool<nanoembed_core::owned::PipelineSession>,
        max_tokens: usize,
        positions: usize,
    },
    Table(Box<FolderTable<'static>>),
}

impl FolderTokens {
    pub(super) fn open(folder: &'static EncoderFolder) -> Result<Self> {
        Ok(match folder.model() {
            FolderKind::Transformer(model) => Self::Transformer {
                tokenizer: Box::new(folder.tokenizer()?),
                scratch: Pool::default(),
                max_tokens: folder.max_tokens(model.config.positions)?,
                positions: model.config.positions,
            },
            FolderKind::Table(settings) => {
                Self::Table(Box::new(FolderTable::open(folder, *settings)?))
            }
        })
    }

    pub(super) fn tokenizer(&self) -> &Pipeline {
        match self {
            Self::Transformer { tokenizer, .. } => tokenizer,
            Self::Table(table) => table.tokenizer(),
        }
    }

    pub(super) fn encode(&self, text: &str, limit: usize) -> Result<Tokens, CoreError> {
        match self {
            Self::Transformer { tokenizer, scratch, .. } => {
                let mut session = scratch.take().unwrap_or_default();
                let found = tokenizer.encode(text, limit, SpecialTokens::AsTokens, &mut session);
                scratch.give(session);
                found.map(|found| Tokens { ids: found.ids, truncated: found.truncated })
            }
            Self::Table(table) => table.encode(text, limit),
        }
    }

    /// How many tokens of a text the model uses if `asked` are wanted.
    pub(super) fn limit(&self, asked: Option<usize>) -> Result<Option<usize>> {
        match self {
            Self::Transformer { max_tokens, positions, .. } => {
                limit(asked, *max_tokens, *positions).map(Some)
            }
            Self::Table(table) => Ok(asked.or(table.max_tokens())),
        }
    }

    /// The most tokens of a text that the model can use.
    pub(super) const fn positions(&self) -> Option<usize> {
        match self {
            Self::Transformer { positions, .. } => Some(*positions),
            Self::Table(_) => None,
        }
    }
}
