//! Report of quantised weights, for people.

use nanoembed::convert::{Outcome, Quantized};
use nanoembed::units;

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
    let unsuited = outcomes.iter().filter(|outcome| outcome.unsuited);
    for outcome in unsuited {
        let reason = outcome.reason.as_deref().unwrap_or_default();
        say(format_args!("  {} stays {}: {reason}", outcome.name, outcome.dtype));
    }
}
