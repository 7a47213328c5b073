//! `.amb` files: sections, metadata and configuration, tokenizer, tensors.

use nanoembed::Fingerprint;
use nanoembed::inspect::inspection::amb::AmbSummary;
use nanoembed::units;
use nanoembed_core::format::amb::AmbTokenizerKind;

use super::tensors;
use crate::output::table::{Align, Table};

pub(super) fn text(summary: &AmbSummary, fingerprint: Option<Fingerprint>) -> Vec<String> {
    let mut text = vec![summary.file.clone()];
    let mut facts = Table::new(&[Align::Left, Align::Left]);
    let mut fact = |name: &str, value: String| facts.row([name.to_owned(), value]);
    fact("format", format!("{} version {}, {}", summary.format, summary.version, summary.variant));
    fact("size", format!("{} ({} bytes)", units::bytes(summary.file_bytes), summary.file_bytes));
    fact("checksum", if summary.checksum { "yes" } else { "none" }.into());
    if let Some(tokenizer) = &summary.tokenizer {
        let has = match tokenizer.kind {
            kind if kind == AmbTokenizerKind::Bpe.name() => {
                format!("{} tokens and {} merges", tokenizer.tokens, tokenizer.merges)
            }
            kind if kind == AmbTokenizerKind::WordPiece.name() => {
                format!("{} tokens", tokenizer.tokens)
            }
            _ => units::bytes(tokenizer.bytes),
        };
        fact("tokenizer", format!("{} with {has}", tokenizer.kind));
        let special: Vec<String> =
            tokenizer.special.iter().map(|(role, id)| format!("{role} {id}")).collect();
        if !special.is_empty() {
            fact("special", special.join(", "));
        }
    }
    if let Some((name, value)) = tensors::fingerprint(fingerprint) {
        fact(name, value);
    }
    fact("tensors", tensors::totals(&summary.totals, summary.tensors.len()));
    text.extend(facts.lines(2));
    for (heading, object) in [("metadata", &summary.metadata), ("configuration", &summary.config)] {
        let Some(members) = object.as_object().filter(|members| !members.is_empty()) else {
            continue;
        };
        text.extend(["".into(), format!("  {heading}")]);
        let mut table = Table::new(&[Align::Left, Align::Left]);
        for (key, value) in members {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            table.row([key.clone(), value]);
        }
        text.extend(table.lines(4));
    }
    if !summary.tensors.is_empty() {
        text.extend(["".into(), "  tensors".into()]);
        text.extend(tensors::table(&summary.tensors).lines(4));
    }
    text
}
