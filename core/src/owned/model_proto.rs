//! Serialized SentencePiece models, written: what [`Spec`](crate::token::sentencepiece::Spec)
//! reads.

use alloc::vec::Vec;

use crate::token::sentencepiece::{ModelSettings, PieceKind, write_piece, write_settings};

/// A serialized model that is being written.
#[derive(Clone, Debug, Default)]
pub struct ModelProto(Vec<u8>);

impl ModelProto {
    /// A model without pieces.
    #[must_use]
    pub fn new(settings: &ModelSettings<'_>) -> Self {
        let mut model = Vec::new();
        write_settings(settings, &mut |bytes| model.extend_from_slice(bytes));
        Self(model)
    }

    /// A model to which pieces are added: messages that follow each other are one.
    #[must_use]
    pub const fn continued(model: Vec<u8>) -> Self {
        Self(model)
    }

    /// Adds a piece with the next id.
    pub fn piece(&mut self, spelling: &[u8], score: f32, kind: PieceKind) {
        write_piece(spelling, score, kind, &mut |bytes| self.0.extend_from_slice(bytes));
    }

    /// The serialized model.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.0
    }
}
