//! UQFF files of both generations: shards, versions, layers.

use std::collections::{BTreeMap, HashMap};

use nanoembed_core::event::Mode;
use nanoembed_core::format::safetensors::Safetensors;
use nanoembed_core::format::uqff::{Generation, Layer, LayerFormat, Uqff};
use nanoembed_core::tensor::Encoding;
use serde::Serialize;
use serde_json::{Map, Value};

use super::tensors::{self, Tensor, Totals};
use super::{Inspection, safetensors};
use crate::error::{Failure, Result};
use crate::output::table::{Align, Table};
use crate::stored::FileSet;
use crate::stored::files::room;

/// What the files say of themselves. The fields' names are those of the JSON output.
#[derive(Debug, Serialize)]
struct Summary {
    file: String,
    format: &'static str,
    /// `blobs` of 0.x, `tensors` of 1.x.
    variant: &'static str,
    version: String,
    file_bytes: u64,
    shards: Vec<Shard>,
    metadata: Map<String, Value>,
    tokenizer: Option<Value>,
    #[serde(flatten)]
    totals: Totals,
    /// How many layers are stored in which way.
    formats: BTreeMap<String, usize>,
    layers: Vec<LayerFacts>,
    tensors: Vec<Tensor>,
}

#[derive(Debug, Serialize)]
struct Shard {
    file: String,
    file_bytes: u64,
    layers: usize,
}

#[derive(Debug, Serialize)]
struct LayerFacts {
    name: String,
    format: &'static str,
    dtype: &'static str,
    shape: Vec<u64>,
    bits_per_weight: f64,
    bias: Option<Bias>,
    parameters: Map<String, Value>,
    shard: usize,
    offset: u64,
    bytes: u64,
}

#[derive(Debug, Serialize)]
struct Bias {
    dtype: &'static str,
    shape: Vec<u64>,
}

pub(super) fn inspect(set: &FileSet) -> Result<Inspection> {
    let contents = set.contents()?;
    let blobs = contents.generation == Some(Generation::Blobs);
    let (_, placed) = set
        .layers(Mode::Lenient)
        .map_err(|(index, error)| Failure::of_file(set.name_of(index), error))?;
    let shards: HashMap<&str, Option<usize>> =
        placed.iter().map(|(shard, layer)| (layer.name, *shard)).collect();
    let layers: Vec<LayerFacts> = contents
        .layers
        .iter()
        .map(|layer| {
            let shard = shards.get(layer.name).copied().flatten().unwrap_or(0);
            LayerFacts::of(layer, shard, set.offset_of(shard, layer))
        })
        .collect();
    let mut formats = BTreeMap::new();
    for layer in &layers {
        *formats.entry(layer.dtype.to_owned()).or_insert(0) += 1;
    }
    let tensors: Vec<Tensor> = contents
        .tensors
        .iter()
        .map(|tensor| Tensor {
            name: tensor.name.clone(),
            dtype: tensor.values.type_name(),
            shape: tensor.values.shape().dims().to_vec(),
            offset: tensor.offset,
            bytes: tensor.values.stored_bytes(),
        })
        .collect();
    let shards: Vec<Shard> = set
        .iter()
        .enumerate()
        .map(|(index, (_, file))| Shard {
            file: set.name_of(index),
            file_bytes: file.len() as u64,
            layers: layers.iter().filter(|layer| layer.shard == index).count(),
        })
        .collect();
    let (version, metadata) = version_and_metadata(set)?;
    let summary = Summary {
        file: set.name(),
        format: "uqff",
        variant: if blobs { "blobs" } else { "tensors" },
        version,
        file_bytes: shards.iter().map(|shard| shard.file_bytes).sum(),
        shards,
        metadata,
        tokenizer: None,
        totals: Totals::of(&tensors),
        formats,
        layers,
        tensors,
    };
    Ok(Inspection::new(&summary, summary.text()))
}

/// The version of the first shard, and its metadata.
fn version_and_metadata(set: &FileSet) -> Result<(String, Map<String, Value>)> {
    let fail = |error| Failure::of_file(set.name(), error);
    let mut container = room(set.first());
    let container = Safetensors::parse(set.first(), Mode::Lenient, &mut container).map_err(fail)?;
    let metadata = safetensors::metadata(&container);
    let patch = container
        .tensor("uqff.version.patch")
        .and_then(|patch| patch.data().first_chunk().map(|bytes| u32::from_le_bytes(*bytes)));
    // A blob says its own version, with the patch in the lowest byte.
    let blob = container.tensors().next().and_then(|blob| blob.data().first().copied());
    let mut room = room(set.first());
    let (major, minor) = match Uqff::parse(set.first(), Mode::Lenient, &mut room) {
        Ok(uqff) => uqff.version(),
        // Layers that go on in a later shard.
        Err(_) => (1, second_word(&container).unwrap_or(0)),
    };
    let patch = if major == 0 { blob.map(u32::from) } else { patch };
    Ok((format!("{major}.{minor}.{}", patch.unwrap_or(0)), metadata))
}

fn second_word(container: &Safetensors<'_, '_>) -> Option<u16> {
    let minor = container.tensor("uqff.version.minor")?;
    u16::try_from(u32::from_le_bytes(*minor.data().first_chunk()?)).ok()
}

impl LayerFacts {
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    fn of(layer: &Layer<'_>, shard: usize, offset: u64) -> Self {
        let bytes = layer.weight.encoding().stored_bytes();
        let bits = bytes as f64 * 8.0 / layer.weight.elements().max(1) as f64;
        let bias = layer.bias.as_ref().map(|bias| Bias {
            dtype: bias.header().dtype.name(),
            shape: bias.header().shape.dims().to_vec(),
        });
        Self {
            name: layer.name.to_owned(),
            format: layer.format.name(),
            dtype: layer.weight.encoding().name(),
            shape: layer.weight.shape().dims().to_vec(),
            bits_per_weight: (bits * 1000.0).round() / 1000.0,
            bias,
            parameters: parameters(layer),
            shard,
            offset,
            bytes,
        }
    }

    fn bias(&self) -> String {
        self.bias.as_ref().map(|bias| bias.dtype.to_owned()).unwrap_or_default()
    }
}

/// What a layer says besides type and shape, called as in the format.
fn parameters(layer: &Layer<'_>) -> Map<String, Value> {
    let extra = &layer.extra;
    let mut parameters = Map::new();
    let mut say = |name: &str, value: Value| {
        parameters.insert(name.to_owned(), value);
    };
    match *layer.weight.encoding() {
        Encoding::Hqq(hqq) => {
            say("bits", hqq.bits.into());
            say("group_size", hqq.group_size.into());
            say("axis", hqq.axis.into());
            say("channel_wise", hqq.channel_wise.into());
            say("round_zeros", extra.round_zeros.into());
            say("optimization_steps", extra.optimization_steps.into());
            say("scale_dtype", hqq.scales.dtype.name().into());
        }
        Encoding::Afq(afq) => {
            say("bits", afq.bits.into());
            say("group_size", afq.group_size.into());
            say("scale_dtype", afq.scales.dtype.name().into());
        }
        Encoding::Fp8 { scale, .. } => {
            say("dequant_w_scale", scale.into());
            say("dequant_x_scale", extra.dequant_x_scale.into());
            say("quant_scale", extra.quant_scale.into());
        }
        _ => {}
    }
    parameters
}

impl Summary {
    fn text(&self) -> Vec<String> {
        let mut text = vec![self.file.clone()];
        let layout = match self.variant {
            "blobs" => "a blob for each layer",
            _ => "several tensors for each layer",
        };
        let counts: Vec<String> =
            self.formats.iter().map(|(format, count)| format!("{count} {format}")).collect();
        let mut facts = vec![
            ("format", format!("uqff {}, {layout}", self.version)),
            ("size", tensors::size(self.file_bytes)),
        ];
        if self.shards.len() > 1 {
            facts.push(("shards", self.shards.len().to_string()));
        }
        facts.push(("layers", format!("{} ({})", self.layers.len(), counts.join(", "))));
        facts.push(("tensors", self.totals.text(self.tensors.len())));
        text.extend(tensors::facts(facts).lines(2));
        if self.shards.len() > 1 {
            text.extend(["".into(), "  shards".into()]);
            let mut table = Table::new(&[Align::Left, Align::Right, Align::Right]);
            for shard in &self.shards {
                let layers = format!("{} layers", shard.layers);
                table.row([shard.file.clone(), tensors::size(shard.file_bytes), layers]);
            }
            text.extend(table.lines(4));
        }
        text.extend(tensors::metadata(&self.metadata));
        if !self.layers.is_empty() {
            text.extend(["".into(), "  layers".into()]);
            text.extend(self.layer_table().lines(4));
        }
        text
    }

    fn layer_table(&self) -> Table {
        let (left, right) = (Align::Left, Align::Right);
        let mut table = Table::new(&[left, left, right, left, left, right, right]);
        let heads = ["layer", "format", "bits/weight", "shape", "bias", "offset", "bytes"];
        table.row(heads.map(str::to_owned));
        for layer in &self.layers {
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
}
