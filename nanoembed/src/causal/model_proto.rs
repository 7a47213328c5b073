//! SentencePiece models with tokens added after the pieces.

use nanoembed_core::owned::ModelProto;
use nanoembed_core::token::sentencepiece::PieceKind;
use nanoembed_core::{Error as CoreError, ErrorKind};

use crate::numbered::Numbered;

const BAD: CoreError = CoreError::without_offset(ErrorKind::BadVocabulary);

/// A serialized model of so many pieces with those `tokens` added that it does not have. Ids
/// between them become control pieces that nothing spells.
pub(super) fn with_added(
    model: Vec<u8>,
    pieces: u32,
    tokens: &Numbered<String>,
) -> Result<Vec<u8>, CoreError> {
    let mut model = ModelProto::continued(model);
    let mut next = pieces;
    for (id, token) in tokens.iter().filter(|(id, _)| *id >= pieces) {
        // Nobody adds so many.
        if id - next > 1 << 16 {
            return Err(BAD);
        }
        for hole in next..id {
            model.piece(format!("<no token {hole}>").as_bytes(), 0.0, PieceKind::Control);
        }
        model.piece(token.as_bytes(), 0.0, PieceKind::Control);
        next = id.saturating_add(1);
    }
    model.finish()
}
