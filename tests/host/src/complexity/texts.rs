//! Texts that repeat one pattern, and tokenizers of all kinds.

use std::rc::Rc;

use nanoembed_core::owned::{Pipeline, PipelineSession};
use nanoembed_core::token::SpecialTokens;
use nanoembed_tests::data;

use super::Subject;

/// Tokenizers of test models, with every kind of model and step.
const MODELS: [&str; 8] = [
    "bert_cased",
    "roberta",
    "modernbert_mean",
    "mpnet",
    "xlmr_e5",
    "albert",
    "deberta_v2",
    "qwen3_embedding",
];

/// Patterns that are hard for tokenizers: one long word, only spaces, marks that are sorted and
/// composed, prefixes of added tokens, characters that expand, endless clusters.
const PATTERNS: [(&str, &str); 13] = [
    ("one word", "a"),
    ("capitals", "A"),
    ("words", "ab "),
    ("spaces", " "),
    ("line ends", "\r\n"),
    ("digits", "1"),
    ("dots", "."),
    ("accents", "\u{301}"),
    ("accents out of order", "\u{345}\u{301}\u{323}"),
    ("added tokens", "[MASK]<s>"),
    ("beginnings of added tokens", "[MAS<"),
    ("one character that is eighteen", "\u{fdfa}"),
    ("joined characters", "\u{1F468}\u{200D}"),
];

pub(super) fn subjects() -> Vec<Subject> {
    let mut subjects = Vec::new();
    for model in MODELS {
        let json = data::read(&format!("models/{model}/tokenizer.json"));
        let json = std::str::from_utf8(&json).expect("UTF-8");
        let tokenizer = Rc::new(Pipeline::read(json).unwrap_or_else(|e| panic!("{model}: {e}")));
        for (pattern, piece) in PATTERNS {
            let tokenizer = Rc::clone(&tokenizer);
            subjects.push(Subject::new(
                format!("{model}: {pattern}"),
                move |bytes| piece.repeat(bytes / piece.len()).into_bytes(),
                move |text| tokenize(&tokenizer, text),
            ));
        }
    }
    subjects
}

fn tokenize(tokenizer: &Pipeline, text: &[u8]) {
    let text = std::str::from_utf8(text).expect("UTF-8");
    let mut session = PipelineSession::default();
    let found = tokenizer.encode(text, usize::MAX, SpecialTokens::AsTokens, &mut session);
    if let Ok(found) = found {
        let _ = tokenizer.decode(&found.ids, false);
    }
}
