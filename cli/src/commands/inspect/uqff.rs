//! UQFF files of both generations: shards, versions, layers.

use nanoembed::Fingerprint;
use nanoembed::inspect::inspection::uqff::UqffSummary;
use nanoembed_core::format::uqff::LayerFormat;

use super::tensors;
use crate::output::table::{Align, Table};

pub(super) fn text(summary: &UqffSummary, fingerprint: Option<Fingerprint>) -> Vec<String> {
    let mut text = vec![summary.file.clone()];
    let layout = match summary.variant {
        "blobs" => "a blob for each layer",
        _ => "several tensors for each layer",
    };
    let counts: Vec<String> =
        summary.formats.iter().map(|(format, count)| format!("{count} {format}")).collect();
    let mut facts = vec![
        ("format", format!("uqff {}, {layout}", summary.version)),
        ("size", tensors::size(summary.file_bytes)),
    ];
    if summary.shards.len() > 1 {
        facts.push(("shards", summary.shards.len().to_string()));
    }
    facts.push(("layers", format!("{} ({})", summary.layers.len(), counts.join(", "))));
    facts.extend(tensors::fingerprint(fingerprint));
    facts.push(("tensors", tensors::totals(&summary.totals, summary.tensors.len())));
    text.extend(tensors::facts(facts).lines(2));
    if summary.shards.len() > 1 {
        text.extend(["".into(), "  shards".into()]);
        let mut table = Table::new(&[Align::Left, Align::Right, Align::Right]);
        for shard in &summary.shards {
            let layers = format!("{} layers", shard.layers);
            table.row([shard.file.clone(), tensors::size(shard.file_bytes), layers]);
        }
        text.extend(table.lines(4));
    }
    text.extend(tensors::metadata(&summary.metadata));
    if !summary.layers.is_empty() {
        text.extend(["".into(), "  layers".into()]);
        text.extend(layer_table(summary).lines(4));
    }
    text
}

fn layer_table(summary: &UqffSummary) -> Table {
    let (left, right) = (Align::Left, Align::Right);
    let mut table = Table::new(&[left, left, right, left, left, right, right]);
    let heads = ["layer", "format", "bits/weight", "shape", "bias", "offset", "bytes"];
    table.row(heads.map(str::to_owned));
    for layer in &summary.layers {
        // ggml's types say enough by themselves.
        let format = match layer.format {
            own if own == LayerFormat::Unquantized.name() => format!("{own} {}", layer.dtype),
            _ => layer.dtype.to_owned(),
        };
        let group = layer.parameters.get("group_size").map(|size| format!(" g{size}"));
        table.row([
            layer.name.clone(),
            format + &group.unwrap_or_default(),
            format!("{:.2}", layer.bits_per_weight),
            format!("{:?}", layer.shape),
            layer.bias(),
            layer.offset.to_string(),
            layer.bytes.to_string(),
        ]);
    }
    table
}
