//! Scratch memory for tokenizers of any kind.

use super::{PieceSession, PipelineSession};
use crate::error::{Error, ErrorKind, Result};
use crate::leaf::{self, Part};

const LEFT_OUT: Error = Error::without_offset(ErrorKind::UnsupportedTokenizer);

/// Scratch memory of one thread for a tokenizer of any kind, which grows with the longest text.
#[derive(Debug, Default)]
pub struct TextSession {
    /// Only models of other families than BERT have SentencePiece.
    pieces: Option<Part<leaf::Families, PieceSession>>,
    pipeline: Option<Part<leaf::Pipeline, PipelineSession>>,
}

impl TextSession {
    pub(super) fn pipeline(&mut self) -> Result<&mut PipelineSession> {
        let leaf = leaf::Pipeline::built_in()?;
        Ok(self.pipeline.get_or_insert_with(|| Part::new(leaf, PipelineSession::default())))
    }

    pub(super) fn pieces(&mut self) -> Result<&mut PieceSession> {
        let leaf = leaf::Families::built_in().map_err(|_| LEFT_OUT)?;
        Ok(self.pieces.get_or_insert_with(|| Part::new(leaf, PieceSession::default())))
    }
}
