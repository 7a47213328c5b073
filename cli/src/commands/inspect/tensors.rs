//! The table of tensors and their totals.

use nanoembed::Fingerprint;
use nanoembed::inspect::inspection::tensors::{Tensor, Totals};
use nanoembed::units;
use serde_json::{Map, Value};

use crate::output::table::{Align, Table};

/// Totals over all tensors, in one line.
pub(super) fn totals(totals: &Totals, tensors: usize) -> String {
    format!(
        "{tensors} with {} parameters in {}, {:.2} bits per parameter",
        units::count(totals.parameters),
        units::bytes(totals.tensor_bytes),
        totals.bits_per_parameter,
    )
}

/// A row a tensor, under a heading.
pub(super) fn table(tensors: &[Tensor]) -> Table {
    let mut table =
        Table::new(&[Align::Left, Align::Left, Align::Left, Align::Right, Align::Right]);
    table.row(["name", "dtype", "shape", "offset", "bytes"].map(str::to_owned));
    for tensor in tensors {
        table.row([
            tensor.name.clone(),
            tensor.dtype.to_owned(),
            format!("{:?}", tensor.shape),
            tensor.offset.to_string(),
            tensor.bytes.to_string(),
        ]);
    }
    table
}

/// A size for people and to the byte.
pub(super) fn size(bytes: u64) -> String {
    format!("{} ({bytes} bytes)", units::bytes(bytes))
}

/// The fingerprint of a model's vectors, if there is one.
pub(super) fn fingerprint(of: Option<Fingerprint>) -> Option<(&'static str, String)> {
    of.map(|fingerprint| ("fingerprint", fingerprint.to_string()))
}

/// Names and values, one below the other.
pub(super) fn facts(facts: impl IntoIterator<Item = (&'static str, String)>) -> Table {
    let mut table = Table::new(&[Align::Left, Align::Left]);
    for (name, value) in facts {
        table.row([name.to_owned(), value]);
    }
    table
}

/// The metadata under its heading; nothing if there is none.
pub(super) fn metadata(metadata: &Map<String, Value>) -> Vec<String> {
    if metadata.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new(&[Align::Left, Align::Left]);
    for (key, value) in metadata {
        let value = value.as_str().map_or_else(|| value.to_string(), one_line);
        table.row([key.clone(), value]);
    }
    ["".into(), "  metadata".into()].into_iter().chain(table.lines(4)).collect()
}

/// A text without line breaks, cut where it would fill the screen.
fn one_line(text: &str) -> String {
    const SHOWN: usize = 80;
    let line: String =
        text.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(SHOWN).is_some() { line + " …" } else { line }
}

/// The tensors under their heading; nothing if there are none.
pub(super) fn listed(tensors: &[Tensor]) -> Vec<String> {
    if tensors.is_empty() {
        return Vec::new();
    }
    ["".into(), "  tensors".into()].into_iter().chain(table(tensors).lines(4)).collect()
}
