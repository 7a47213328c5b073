//! `.weights` files: header, flags, metadata, tokenizer, tensors.

use nanoembed::Fingerprint;
use nanoembed::inspect::inspection::embd::EmbdSummary;
use nanoembed::units;

use super::tensors;
use crate::output::table::{Align, Table};

pub(super) fn text(summary: &EmbdSummary, fingerprint: Option<Fingerprint>) -> Vec<String> {
    let mut text = vec![summary.file.clone()];
    let mut facts = Table::new(&[Align::Left, Align::Left]);
    let mut fact = |name: &str, value: String| facts.row([name.to_owned(), value]);
    fact("format", format!("{} {}, {} layout", summary.format, summary.version, summary.variant));
    fact("size", format!("{} ({} bytes)", units::bytes(summary.file_bytes), summary.file_bytes));
    if !summary.flags.is_empty() {
        fact("flags", summary.flags.join(", "));
    }
    if let Some(layout) = summary.linear_layout {
        let remark =
            if layout == "[in, out]" { ", transposed: convert the file to use it" } else { "" };
        fact("linear", format!("{layout}{remark}"));
    }
    if let Some(tokenizer) = &summary.tokenizer {
        let special = tokenizer.spelled.iter().map(|(token, id)| format!("{token} {id}"));
        let special: Vec<String> = special.collect();
        fact("tokenizer", format!("{} with {} tokens", tokenizer.kind, tokenizer.tokens));
        if !special.is_empty() {
            fact("special", special.join(", "));
        }
    }
    if let Some((name, value)) = tensors::fingerprint(fingerprint) {
        fact(name, value);
    }
    fact("tensors", tensors::totals(&summary.totals, summary.tensors.len()));
    text.extend(facts.lines(2));
    if !summary.metadata.is_empty() {
        text.extend(["".into(), "  metadata".into()]);
        let mut table = Table::new(&[Align::Left, Align::Left]);
        for (key, value) in &summary.metadata {
            table.row([key.clone(), value.as_str().unwrap_or_default().to_owned()]);
        }
        text.extend(table.lines(4));
    }
    if !summary.tensors.is_empty() {
        text.extend(["".into(), "  tensors".into()]);
        text.extend(tensors::table(&summary.tensors).lines(4));
    }
    text
}
