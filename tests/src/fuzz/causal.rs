//! Causal models, opened and run.

use nanoembed_core::model::llama::{Activations, LlamaPlan, Output};
use nanoembed_core::owned::CausalModel;
use nanoembed_core::token::SpecialTokens;

use crate::data;

/// The capacity of a session in tokens.
const POSITIONS: usize = 6;
/// The largest number of logits that are checked: more than a valid model has here.
const MOST_LOGITS: usize = 1 << 20;

/// A model in an AMB, `.weights` or GGUF file opens, and returns ids in its vocabulary and the same
/// logits for the same tokens in one piece and in two; or it is rejected at an offset inside the
/// file.
///
/// The first byte chooses the precision of activations.
///
/// # Panics
///
/// If a guarantee is broken.
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

/// A precision of activations, and a file with a causal model.
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
