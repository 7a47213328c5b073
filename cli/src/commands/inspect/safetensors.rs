//! safetensors files and folders: metadata and tensors.

use nanoembed::Fingerprint;
use nanoembed::inspect::inspection::folder::TokenizerSummary;
use nanoembed::inspect::inspection::safetensors::SafetensorsSummary;

use super::tensors;

pub(super) fn text(summary: &SafetensorsSummary, fingerprint: Option<Fingerprint>) -> Vec<String> {
    let mut text = vec![summary.file.clone()];
    let parts = match summary.parts.len() {
        1 => String::new(),
        count => format!(" in {count} parts"),
    };
    let mut facts = vec![
        ("format", format!("safetensors{parts}")),
        ("size", tensors::size(summary.file_bytes)),
    ];
    if let Some(TokenizerSummary { kind, tokens, file }) = &summary.tokenizer {
        let tokens = tokens.map(|tokens| format!(" with {tokens} tokens")).unwrap_or_default();
        facts.push(("tokenizer", format!("{kind}{tokens} ({file})")));
    }
    facts.extend(tensors::fingerprint(fingerprint));
    facts.push(("tensors", tensors::totals(&summary.totals, summary.tensors.len())));
    text.extend(tensors::facts(facts).lines(2));
    text.extend(tensors::metadata(&summary.metadata));
    text.extend(tensors::listed(&summary.tensors));
    text
}
