//! The tokenizer of a folder, with the limits of its model.

use nanoembed_core::Error as CoreError;
use nanoembed_core::owned::{Pipeline, PipelineSession, TextTokenizer};

use super::Tokens;
use crate::encoder::packed::limit;
use crate::error::Result;
use crate::open::folder::files::EncoderFolder;
use crate::pool::Pool;

/// A folder's tokenizer, without its weights.
pub(super) struct FolderTokens {
    tokenizer: TextTokenizer,
    scratch: Pool<PipelineSession>,
}

impl FolderTokens {
    pub(super) fn open(folder: &EncoderFolder) -> Result<Self> {
        Ok(Self { tokenizer: folder.tokenizer()?, scratch: Pool::default() })
    }

    pub(super) const fn tokenizer(&self) -> &Pipeline {
        self.tokenizer.pipeline()
    }

    pub(super) fn encode(&self, text: &str, limit: usize) -> Result<Tokens, CoreError> {
        let mut session = self.scratch.take().unwrap_or_default();
        let found = self.tokenizer.encode(text, limit, &mut session);
        self.scratch.give(session);
        found.map(|found| Tokens { ids: found.ids, truncated: found.truncated })
    }

    /// How many tokens of a text the model uses if `asked` are wanted.
    pub(super) fn limit(&self, asked: Option<usize>) -> Result<Option<usize>> {
        match (self.positions(), self.tokenizer.max_tokens()) {
            (Some(positions), usual) => {
                limit(asked, usual.unwrap_or(positions), positions).map(Some)
            }
            (None, usual) => Ok(asked.or(usual)),
        }
    }

    /// The most tokens of a text that the model can use.
    pub(super) const fn positions(&self) -> Option<usize> {
        self.tokenizer.positions()
    }
}
