//! Serialized SentencePiece models, written: what [`Spec`](crate::token::sentencepiece::Spec)
//! reads.

use alloc::vec::Vec;

use crate::error::Result;
use crate::limit::Growing;
use crate::token::sentencepiece::{ModelSettings, PieceKind, write_piece, write_settings};

/// A serialized model that is being written. [`finish`](Self::finish) reports if there was no memory
/// for a part of it.
#[derive(Debug, Default)]
pub struct ModelProto(Growing<u8>);

impl ModelProto {
    /// A model without pieces.
    #[must_use]
    pub fn new(settings: &ModelSettings<'_>) -> Self {
        let mut model = Growing::new();
        write_settings(settings, &mut |bytes| model.append(bytes));
        Self(model)
    }

    /// A model to which pieces are added: messages that follow each other are one.
    #[must_use]
    pub fn continued(model: Vec<u8>) -> Self {
        Self(model.into())
    }

    /// Adds a piece with the next id.
    pub fn piece(&mut self, spelling: &[u8], score: f32, kind: PieceKind) {
        write_piece(spelling, score, kind, &mut |bytes| self.0.append(bytes));
    }

    /// The serialized model.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](crate::ErrorKind::NoMemory).
    pub fn finish(self) -> Result<Vec<u8>> {
        self.0.into_vec()
    }
}
