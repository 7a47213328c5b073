//! Weights in other formats and types: `quantize`, `dequantize`, `diff`, `histogram`, `migrate`.

mod dequantize;
mod differences;
mod migrate;
mod quantize;
mod shards;

use serde_json::Value;

use crate::{nanoembed, objects, stdout};

fn success(arguments: &[&str]) {
    nanoembed(arguments).assert().success();
}

fn read(path: &str) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

/// What `diff --json` says.
fn diff(a: &str, b: &str, more: &[&str]) -> Value {
    let arguments = [&["diff", "--json", a, b], more].concat();
    objects(&stdout(&arguments, "")).remove(0)
}

/// The largest share of squared error of all shared tensors, of which there must be so many.
fn worst(report: &Value, count: usize) -> f64 {
    let tensors = report["tensors"].as_array().unwrap();
    assert_eq!(tensors.len(), count, "{report}");
    tensors.iter().map(|tensor| tensor["nmse"].as_f64().unwrap()).fold(0.0, f64::max)
}
