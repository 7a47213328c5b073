//! The table of tensors, and what they add up to.

use nanoembed_core::tensor::TensorHeader;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::output::table::{Align, Table};
use crate::output::units;

/// A tensor as a file describes it. The fields' names are those of the JSON output.
#[derive(Debug, Serialize)]
pub(super) struct Tensor {
    pub(super) name: String,
    pub(super) dtype: &'static str,
    pub(super) shape: Vec<u64>,
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

impl From<&TensorHeader<'_>> for Tensor {
    fn from(header: &TensorHeader<'_>) -> Self {
        Self {
            name: header.name.to_owned(),
            dtype: header.dtype.name(),
            shape: header.shape.dims().to_vec(),
            offset: header.offset,
            bytes: header.bytes,
        }
    }
}

/// What tensors add up to.
#[derive(Debug, Default, Serialize)]
pub(super) struct Totals {
    pub(super) parameters: u64,
    pub(super) tensor_bytes: u64,
    pub(super) bits_per_parameter: f64,
}

impl Totals {
    /// Companions and indices are not parameters, but they take room.
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    pub(super) fn of(tensors: &[Tensor]) -> Self {
        const COMPANIONS: [&str; 3] = [".scale", ".zero_point", ".column_scale"];
        let is_parameter =
            |tensor: &&Tensor| !COMPANIONS.iter().any(|companion| tensor.name.ends_with(companion));
        let model = || tensors.iter().filter(|tensor| !tensor.name.starts_with("vocab."));
        let elements = |tensor: &Tensor| tensor.shape.iter().product::<u64>();
        let parameters = model().filter(is_parameter).map(elements).sum::<u64>();
        let bytes: u64 = model().map(|tensor| tensor.bytes).sum();
        let bits = bytes as f64 * 8.0 / parameters.max(1) as f64;
        Self {
            parameters,
            tensor_bytes: tensors.iter().map(|tensor| tensor.bytes).sum(),
            bits_per_parameter: if parameters == 0 {
                0.0
            } else {
                (bits * 1000.0).round() / 1000.0
            },
        }
    }

    /// One line for people.
    pub(super) fn text(&self, tensors: usize) -> String {
        format!(
            "{tensors} with {} parameters in {}, {:.2} bits per parameter",
            units::count(self.parameters),
            units::bytes(self.tensor_bytes),
            self.bits_per_parameter,
        )
    }
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
