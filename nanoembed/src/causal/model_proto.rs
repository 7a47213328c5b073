//! SentencePiece models made of other things: of the arrays of a GGUF file, and with tokens added
//! behind the pieces.

use std::collections::{BTreeMap, HashSet};

use nanoembed_core::Error as CoreError;
use nanoembed_core::event::Value;
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::owned::{ModelProto, ModelSettings};
use nanoembed_core::token::sentencepiece::{Algorithm, PieceKind};

use super::byte_pairs::BAD;

/// The model of a GGUF file whose tokenizer is called `llama`: pieces, scores and types in three
/// arrays.
pub(super) fn of_gguf(file: &Gguf<'_>) -> Result<Vec<u8>, CoreError> {
    let tokens: Vec<&[u8]> = file.tokens().collect();
    let scores = file.elements("tokenizer.ggml.scores").ok_or(BAD)?;
    #[expect(clippy::cast_possible_truncation, reason = "scores are f32")]
    let scores = scores.map(|value| match value {
        Value::Float(score) => Ok(score as f32),
        _ => Err(BAD),
    });
    let scores = scores.collect::<Result<Vec<f32>, CoreError>>()?;
    let kinds = file.elements("tokenizer.ggml.token_type").ok_or(BAD)?;
    let kinds = kinds.map(|value| unsigned(value).and_then(PieceKind::from_code).ok_or(BAD));
    let kinds = kinds.collect::<Result<Vec<PieceKind>, CoreError>>()?;
    if scores.len() != tokens.len() || kinds.len() != tokens.len() {
        return Err(BAD);
    }
    let truth = |key: &str, usual: bool| match file.value(key) {
        Some(Value::Bool(value)) => value,
        _ => usual,
    };
    let named = |key: &str| {
        let id = usize::try_from(unsigned(file.value(key)?)?).ok()?;
        tokens.get(id).copied()
    };
    let mut model = ModelProto::new(&ModelSettings {
        algorithm: Algorithm::Bpe,
        byte_fallback: kinds.contains(&PieceKind::Byte),
        whitespace_as_suffix: false,
        add_dummy_prefix: truth("tokenizer.ggml.add_space_prefix", true),
        remove_extra_whitespaces: truth("tokenizer.ggml.remove_extra_whitespaces", false),
        names: [
            named("tokenizer.ggml.bos_token_id"),
            named("tokenizer.ggml.eos_token_id"),
            named("tokenizer.ggml.padding_token_id"),
        ],
        rules: &[],
    });
    let spelled: HashSet<&[u8]> = tokens.iter().copied().collect();
    for ((token, score), kind) in tokens.iter().zip(scores).zip(kinds) {
        let own = (kind == PieceKind::UserDefined).then(|| with_spaces_escaped(token)).flatten();
        let own = own.filter(|own| !spelled.contains(own.as_slice()));
        model.piece(own.as_deref().unwrap_or(token), score, kind);
    }
    Ok(model.finish())
}

/// A token that texts are searched for as they are, as SentencePiece spells it, if that is
/// otherwise: there spaces have been replaced before.
fn with_spaces_escaped(token: &[u8]) -> Option<Vec<u8>> {
    let token = str::from_utf8(token).ok().filter(|token| token.contains(' '))?;
    Some(token.replace(' ', "▁").into_bytes())
}

/// An integer that is not negative.
pub(super) fn unsigned(value: Value<'_>) -> Option<u64> {
    match value {
        Value::Unsigned(number) => Some(number),
        Value::Signed(number) => u64::try_from(number).ok(),
        _ => None,
    }
}

/// A serialized model of so many pieces with those `tokens` added that it does not have. Ids
/// between them become control pieces that nothing spells.
pub(super) fn with_added(
    model: Vec<u8>,
    pieces: u32,
    tokens: &BTreeMap<u32, String>,
) -> Result<Vec<u8>, CoreError> {
    let mut model = ModelProto::continued(model);
    let mut next = pieces;
    for (id, token) in tokens.range(pieces..) {
        // Nobody adds so many.
        if *id - next > 1 << 16 {
            return Err(BAD);
        }
        for hole in next..*id {
            model.piece(format!("<no token {hole}>").as_bytes(), 0.0, PieceKind::Control);
        }
        model.piece(token.as_bytes(), 0.0, PieceKind::Control);
        next = id.saturating_add(1);
    }
    Ok(model.finish())
}
