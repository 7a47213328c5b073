//! The perplexity of decoders: that of each file, on the same tokens.
//!
//! ```text
//! cargo run --release -p nanoembed-tests --example perplexity -- TEXT FILE…
//! ```
//!
//! The text's first tokens are cut into windows of [`WINDOW`]; in each, the second half is
//! predicted, so that every token has at least half a window before it (as in llama.cpp's
//! `perplexity`). Each window begins with the beginning-of-sequence token.

use std::process::ExitCode;

use nanoembed_core::model::llama::{LlamaPlan, Output};
use nanoembed_core::owned::CausalModel;
use nanoembed_core::token::SpecialTokens;

/// Tokens of a window.
const WINDOW: usize = 256;
/// The largest number of windows.
const WINDOWS: usize = 16;
/// Tokens whose logits are in memory at a time.
const AT_ONCE: usize = 32;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((text, files)) = arguments.split_first().filter(|(_, files)| !files.is_empty()) else {
        eprintln!("usage: perplexity TEXT FILE…");
        return ExitCode::from(2);
    };
    let text = std::fs::read_to_string(text).expect("a text");
    println!("| file | MB | tokens | perplexity |\n|---|---|---|---|");
    for file in files {
        let bytes = std::fs::read(file).expect("a file");
        let megabytes = bytes.len() as f64 / 1e6;
        let model = CausalModel::open(bytes).expect("a decoder");
        let (tokens, perplexity) = perplexity(&model, &text);
        let name = file.rsplit('/').next().unwrap_or(file);
        println!("| {name} | {megabytes:.1} | {tokens} | {perplexity:.3} |");
    }
    ExitCode::SUCCESS
}

/// The number of predicted tokens, and their perplexity.
fn perplexity(model: &CausalModel<Vec<u8>>, text: &str) -> (usize, f64) {
    let ids = model.tokenize(text, SpecialTokens::AsTokens).expect("a text");
    let begin = model.tokenize("", SpecialTokens::AsTokens).expect("no text").first().copied();
    let vocabulary = model.config().vocabulary;
    let mut session = model.session(LlamaPlan::new(AT_ONCE, WINDOW + 1)).expect("memory");
    let mut logits = vec![0.0; AT_ONCE * vocabulary];
    let (mut sum, mut count) = (0.0, 0);
    for window in ids.chunks_exact(WINDOW).take(WINDOWS) {
        session.clear();
        if let Some(begin) = begin {
            model.forward(&mut session, &[begin], Output::Nothing).expect("a pass");
        }
        for (part, tokens) in window.chunks(AT_ONCE).enumerate() {
            let first = part * AT_ONCE;
            let out = &mut logits[..tokens.len() * vocabulary];
            model.forward(&mut session, tokens, Output::AllLogits(out)).expect("a pass");
            for (at, logits) in (first..).zip(out.chunks_exact(vocabulary)) {
                let Some(&next) = window.get(at + 1).filter(|_| at + 1 >= WINDOW / 2) else {
                    continue;
                };
                sum += surprise(logits, next);
                count += 1;
            }
        }
    }
    (count, (sum / f64::from(u32::try_from(count).expect("a number of tokens"))).exp())
}

/// The negative logarithm of a token's probability.
fn surprise(logits: &[f32], id: u32) -> f64 {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let total: f64 = logits.iter().map(|logit| f64::from(logit - most).exp()).sum();
    total.ln() - f64::from(logits[id as usize] - most)
}
