//! Models that continue texts, opened and run.

use nanoembed_core::model::llama::{Activations, LlamaPlan, Output};
use nanoembed_core::owned::CausalModel;
use nanoembed_core::token::SpecialTokens;

use crate::data;

/// Tokens that a session has room for.
const POSITIONS: usize = 6;
/// Logits that are looked at: as many as an honest model has here.
const MOST_LOGITS: usize = 1 << 20;

/// What an AMB, `.weights` or GGUF file holds opens, gives tokens that it has and logits, the same
/// ones for the same tokens in one piece and in two; or is refused at a place that the file has.
///
/// The first byte chooses how activations are held.
///
/// # Panics
///
/// If a promise is broken.
pub fn causal(input: &[u8]) {
    let Some((choice, file)) = input.split_first() else { return };
    let model = match CausalModel::open(file) {
        Ok(model) => model,
        Err(error) => {
            assert!(error.offset().is_none_or(|at| at <= file.len() as u64), "{error}");
            return;
        }
    };
    let vocabulary = model.config().vocabulary;
    let ids = model.tokenize("Hello, w\u{f6}rld! <|im_end|> 12", SpecialTokens::AsTokens);
    for id in ids.iter().flatten() {
        assert!(model.token(*id).is_ok(), "{id}");
    }
    let activations =
        [Activations::Floats, Activations::Words, Activations::Bytes][usize::from(*choice) % 3];
    let plan = LlamaPlan { activations, ..LlamaPlan::new(2, POSITIONS) };
    if vocabulary > MOST_LOGITS {
        return;
    }
    let run = |pieces: [&[u32]; 2]| {
        let mut session = model.session(plan)?;
        let mut logits = vec![f32::NAN; vocabulary];
        for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
            model.forward(&mut session, piece, Output::LastLogits(&mut logits))?;
        }
        Ok::<_, nanoembed_core::Error>(logits.into_iter().map(f32::to_bits).collect::<Vec<_>>())
    };
    let last = u32::try_from(vocabulary).unwrap_or(u32::MAX).saturating_sub(1);
    let whole = run([&[0, 1, last], &[]]);
    let again = run([&[0, 1, last], &[]]);
    assert_eq!(whole, again, "the same tokens");
    let parts = run([&[0, 1], &[last]]);
    assert_eq!(whole.is_ok(), parts.is_ok(), "{whole:?} {parts:?}");
    let over = run([&[0; POSITIONS + 1], &[]]);
    assert!(over.is_err(), "more tokens than positions");
}

/// How activations are held, and a file with a model that continues texts.
pub(super) fn causal_seeds() -> Vec<(String, Vec<u8>)> {
    let file = data::read("llama/tiny.gguf");
    let seed = |choice: u8| (format!("{choice}-tiny.gguf"), [&[choice], &file[..]].concat());
    (0..3).map(seed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_is_a_model() {
        for (name, seed) in &causal_seeds() {
            let model = CausalModel::open(&seed[1..]).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(model.config().vocabulary > 0);
            causal(seed);
        }
    }
}
