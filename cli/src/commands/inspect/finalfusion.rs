//! `.fifu` files: chunks, metadata, vocabulary, vectors.

use nanoembed::inspect::inspection::finalfusion::FinalfusionSummary;
use nanoembed::units;
use serde_json::Value;

use super::tensors;
use crate::output::table::{Align, Table};

pub(super) fn text(summary: &FinalfusionSummary) -> Vec<String> {
    let mut text = vec![summary.file.clone()];
    let mut facts = Table::new(&[Align::Left, Align::Left]);
    let mut fact = |name: &str, value: String| facts.row([name.to_owned(), value]);
    fact("format", format!("finalfusion 0, {} storage", summary.variant));
    fact("size", format!("{} ({} bytes)", units::bytes(summary.file_bytes), summary.file_bytes));
    fact("chunks", summary.chunks.iter().map(|chunk| chunk.name).collect::<Vec<_>>().join(", "));
    if let Some(deviation) = &summary.deviation {
        fact("deviates", format!("byte {}: {}", deviation.offset, deviation.message));
    }
    let described = summary.vocabulary.iter().map(|(key, value)| match value {
        Value::String(text) => text.clone(),
        value => format!("{key} {value}"),
    });
    fact("vocabulary", described.collect::<Vec<_>>().join(", "));
    let rows = units::count(summary.rows);
    let norms = if summary.has_norms { ", with their original lengths" } else { "" };
    fact("vectors", format!("{rows} of {} columns{norms}", summary.cols));
    fact("tensors", tensors::totals(&summary.totals, summary.tensors.len()));
    text.extend(facts.lines(2));
    if let Some(metadata) = &summary.metadata_text {
        text.extend(["".into(), "  metadata".into()]);
        if let Some(error) = summary.bad_metadata {
            text.push(format!("    (not TOML: byte {} of it)", error.offset().unwrap_or(0)));
        }
        text.extend(metadata.lines().map(|line| format!("    {line}")));
    }
    text.extend(["".into(), "  tensors".into()]);
    text.extend(tensors::table(&summary.tensors).lines(4));
    text
}
