//! Report of quantised weights, for people.

use nanoembed::convert::{Outcome, Quantized};
use nanoembed::units::{self, Listed};

use crate::commands::convert::report::files;
use crate::error::warn;
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
    for Unsuited { dtype, reason, replaced, names } in unsuited(outcomes) {
        let (one, many) = if replaced { ("becomes", "become") } else { ("stays", "stay") };
        match names.as_slice() {
            [name] => say(format_args!("  {name} {one} {dtype}: {reason}")),
            names => {
                let count = names.len();
                say(format_args!("  {count} tensors {many} {dtype}: {reason}: {}", Listed(names)));
            }
        }
    }
}

/// A line for those who asked for no report: tensors that are not of the type `wanted`, though only
/// their shapes are the reason.
pub(super) fn warn_of_unsuited(outcomes: &[Outcome], wanted: &str) {
    let groups = unsuited(outcomes);
    let group = |Unsuited { dtype, reason, replaced, names }: &Unsuited<'_>| {
        let verb = if *replaced { "became" } else { "stayed" };
        format!("{} {verb} {dtype} ({reason})", names.len())
    };
    if !groups.is_empty() {
        let groups: Vec<String> = groups.iter().map(group).collect();
        warn(format_args!("tensors that are not {wanted}: {}", groups.join(", ")));
    }
}

/// Tensors of one type that do not suit the type that was asked for, for one reason.
struct Unsuited<'o> {
    dtype: &'o str,
    reason: &'o str,
    /// True if they are of that type for the reason, rather than as they were.
    replaced: bool,
    names: Vec<&'o str>,
}

/// The tensors that do not suit the type that was asked for, in the order of the file.
fn unsuited(outcomes: &[Outcome]) -> Vec<Unsuited<'_>> {
    let mut groups: Vec<Unsuited<'_>> = Vec::new();
    for outcome in outcomes.iter().filter(|outcome| outcome.unsuited) {
        let (dtype, replaced) = (outcome.dtype.as_str(), outcome.replaced);
        let reason = outcome.reason.as_deref().unwrap_or_default();
        let is_same = |known: &&mut Unsuited<'_>| {
            (known.dtype, known.reason, known.replaced) == (dtype, reason, replaced)
        };
        match groups.iter_mut().find(is_same) {
            Some(known) => known.names.push(&outcome.name),
            None => groups.push(Unsuited { dtype, reason, replaced, names: vec![&outcome.name] }),
        }
    }
    groups
}
