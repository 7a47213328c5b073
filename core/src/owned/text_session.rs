//! Scratch memory for tokenizers of any kind.

use super::{PieceSession, PipelineSession};
use crate::error::Result;
#[cfg(not(feature = "families"))]
use crate::error::{Error, ErrorKind};
use crate::leaf::{self, Part};

#[cfg(not(feature = "families"))]
const LEFT_OUT: Error = Error::without_offset(ErrorKind::UnsupportedTokenizer);

/// Scratch memory of one thread for a tokenizer of any kind, which grows with the longest text.
#[derive(Debug, Default)]
pub struct TextSession {
    /// Only models of other families than BERT have SentencePiece.
    #[cfg(feature = "families")]
    pieces: PieceSession,
    pipeline: Option<Part<leaf::Pipeline, PipelineSession>>,
}

impl TextSession {
    pub(super) fn pipeline(&mut self) -> Result<&mut PipelineSession> {
        let leaf = leaf::Pipeline::built_in()?;
        Ok(self.pipeline.get_or_insert_with(|| Part::new(leaf, PipelineSession::default())))
    }

    #[cfg(feature = "families")]
    pub(super) const fn pieces(&mut self) -> Result<&mut PieceSession> {
        Ok(&mut self.pieces)
    }

    #[cfg(not(feature = "families"))]
    pub(super) const fn pieces(&mut self) -> Result<&mut PieceSession> {
        Err(LEFT_OUT)
    }
}
