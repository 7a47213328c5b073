//! Report of quantised weights, for people.

use nanoembed::convert::{Outcome, Quantized};
use nanoembed::units::{self, Listed};

use crate::commands::convert::report::files;
use crate::output::table::{Align, Table};
use crate::streams::say;

/// Sizes and errors by type, to stderr, and why some tensors stayed as they were.
#[expect(clippy::cast_precision_loss, reason = "ratios for people")]
pub(super) fn print(quantized: &Quantized) {
    let Quantized { outcomes, written, .. } = quantized;
    files(written);
    let (left, right) = (Align::Left, Align::Right);
    let mut table = Table::new(&[left, right, right, right, right, right]);
    let heads = ["type", "tensors", "parameters", "size", "bits", "error (NMSE)"];
    table.row(heads.map(str::to_owned));
    let mut types: Vec<&str> = outcomes.iter().map(|outcome| outcome.dtype.as_str()).collect();
    types.sort_unstable();
    types.dedup();
    for dtype in types {
        let of: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.dtype == dtype).collect();
        let elements: u64 = of.iter().map(|outcome| outcome.elements).sum();
        let bytes: u64 = of.iter().map(|outcome| outcome.bytes).sum();
        let error: f64 = of.iter().map(|outcome| outcome.loss.error).sum();
        let power: f64 = of.iter().map(|outcome| outcome.loss.power).sum();
        table.row([
            dtype.to_owned(),
            of.len().to_string(),
            units::count(elements),
            units::bytes(bytes),
            format!("{:.2}", bytes as f64 * 8.0 / elements.max(1) as f64),
            if error > 0.0 { format!("{:.1e}", error / power) } else { "none".into() },
        ]);
    }
    for line in table.lines(2) {
        say(line);
    }
    for ((dtype, reason), names) in unsuited(outcomes) {
        match names.as_slice() {
            [name] => say(format_args!("  {name} stays {dtype}: {reason}")),
            names => {
                let count = names.len();
                say(format_args!("  {count} tensors stay {dtype}: {reason}: {}", Listed(names)));
            }
        }
    }
}

/// The tensors that stayed as they were, by their types and the reasons, in the order of the file.
fn unsuited(outcomes: &[Outcome]) -> Vec<((&str, &str), Vec<&str>)> {
    let mut groups: Vec<((&str, &str), Vec<&str>)> = Vec::new();
    for outcome in outcomes.iter().filter(|outcome| outcome.unsuited) {
        let why = (outcome.dtype.as_str(), outcome.reason.as_deref().unwrap_or_default());
        match groups.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(&outcome.name),
            None => groups.push((why, vec![&outcome.name])),
        }
    }
    groups
}
