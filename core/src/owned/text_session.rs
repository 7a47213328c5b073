//! Scratch memory for tokenizers of any kind.

#[cfg(feature = "families")]
use super::PieceSession;
use super::{OfPipelines, PipelineSession};
use crate::error::{Error, ErrorKind, Result};

const LEFT_OUT: Error = Error::without_offset(ErrorKind::UnsupportedTokenizer);

/// Scratch memory of one thread for a tokenizer of any kind, which grows with the longest text.
#[derive(Debug, Default)]
pub struct TextSession {
    /// Only models of other families than BERT have SentencePiece.
    #[cfg(feature = "families")]
    pieces: PieceSession,
    pipeline: Option<OfPipelines<PipelineSession>>,
}

impl TextSession {
    pub(super) fn pipeline(&mut self) -> Result<&mut PipelineSession> {
        if self.pipeline.is_none() {
            self.pipeline = Some(OfPipelines::new(PipelineSession::default())?);
        }
        self.pipeline.as_mut().map(OfPipelines::get_mut).ok_or(LEFT_OUT)
    }

    #[cfg(feature = "families")]
    pub(super) const fn pieces(&mut self) -> Result<&mut PieceSession> {
        Ok(&mut self.pieces)
    }

    #[cfg(not(feature = "families"))]
    pub(super) const fn pieces(&mut self) -> Result<&mut super::PieceSession> {
        Err(LEFT_OUT)
    }
}
