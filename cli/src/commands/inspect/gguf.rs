//! GGUF files: metadata, tokenizer and tensors.

use nanoembed::Fingerprint;
use nanoembed::inspect::inspection::gguf::GgufSummary;

use super::tensors;

pub(super) fn text(summary: &GgufSummary, fingerprint: Option<Fingerprint>) -> Vec<String> {
    let mut text = vec![summary.file.clone()];
    let mut facts = vec![
        ("format", format!("gguf, version {}", summary.version)),
        ("size", tensors::size(summary.file_bytes)),
    ];
    if !summary.parts.len() < 2 {
        facts.push(("parts", summary.parts.join(", ")));
    }
    if let Some(tokenizer) = &summary.tokenizer {
        facts.push(("tokenizer", format!("{} with {} tokens", tokenizer.kind, tokenizer.tokens)));
    }
    facts.extend(tensors::fingerprint(fingerprint));
    facts.push(("tensors", tensors::totals(&summary.totals, summary.tensors.len())));
    text.extend(tensors::facts(facts).lines(2));
    text.extend(tensors::metadata(&summary.metadata));
    text.extend(tensors::listed(&summary.tensors));
    text
}
