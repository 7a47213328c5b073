//! UQFF files of both generations: shards, versions, layers.

use std::collections::{BTreeMap, HashMap};

use nanoembed_core::event::{Mode, Version};
use nanoembed_core::format::safetensors::Safetensors;
use nanoembed_core::format::uqff::{Generation, Uqff, UqffLayer};
use nanoembed_core::tensor::Encoding;
use serde::Serialize;
use serde_json::{Map, Value};

use super::safetensors;
use super::tensors::{Tensor, Totals};
use crate::error::{Error, Result};
use crate::stored::FileSet;
use crate::stored::entries::room;

/// The description of UQFF files. The fields' names are those of the JSON output.
#[derive(Debug, Serialize)]
pub struct UqffSummary {
    pub file: String,
    pub format: &'static str,
    /// `blobs` of 0.x, `tensors` of 1.x.
    pub variant: &'static str,
    pub version: String,
    pub file_bytes: u64,
    pub shards: Vec<Shard>,
    pub metadata: Map<String, Value>,
    pub tokenizer: Option<Value>,
    #[serde(flatten)]
    pub totals: Totals,
    /// The number of layers stored in each format.
    pub formats: BTreeMap<String, usize>,
    pub layers: Vec<LayerFacts>,
    pub tensors: Vec<Tensor>,
}

#[derive(Debug, Serialize)]
pub struct Shard {
    pub file: String,
    pub file_bytes: u64,
    pub layers: usize,
}

#[derive(Debug, Serialize)]
pub struct LayerFacts {
    pub name: String,
    pub format: &'static str,
    pub dtype: &'static str,
    pub shape: Vec<u64>,
    pub bits_per_weight: f64,
    pub bias: Option<Bias>,
    pub parameters: Map<String, Value>,
    pub shard: usize,
    pub offset: u64,
    pub bytes: u64,
}

#[derive(Debug, Serialize)]
pub struct Bias {
    pub dtype: &'static str,
    pub shape: Vec<u64>,
}

pub(super) fn inspect(set: &FileSet) -> Result<UqffSummary> {
    let contents = set.contents()?;
    let blobs = contents.generation == Some(Generation::Blobs);
    let (_, placed) = set
        .layers(Mode::Lenient)
        .map_err(|(index, error)| Error::in_file(set.name_of(index), error))?;
    let shards: HashMap<&str, Option<usize>> =
        placed.iter().map(|(shard, layer)| (layer.name, *shard)).collect();
    let layers: Vec<LayerFacts> = contents
        .layers
        .iter()
        .map(|layer| {
            let shard = shards.get(layer.name).copied().flatten().unwrap_or(0);
            LayerFacts::from_layer(layer, shard, set.offset_of(shard, layer))
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
    Ok(UqffSummary {
        file: set.name(),
        format: "uqff",
        variant: if blobs { "blobs" } else { "tensors" },
        version,
        file_bytes: shards.iter().map(|shard| shard.file_bytes).sum(),
        shards,
        metadata,
        tokenizer: None,
        totals: Totals::from_tensors(&tensors),
        formats,
        layers,
        tensors,
    })
}

/// The version of the first shard, and its metadata.
fn version_and_metadata(set: &FileSet) -> Result<(String, Map<String, Value>)> {
    let fail = |error| Error::in_file(set.name(), error);
    let mut container = room(set.first()).map_err(fail)?;
    let container = Safetensors::parse(set.first(), Mode::Lenient, &mut container).map_err(fail)?;
    let metadata = safetensors::metadata(&container);
    let patch = container
        .tensor("uqff.version.patch")
        .and_then(|patch| patch.data().first_chunk().map(|bytes| u32::from_le_bytes(*bytes)));
    // A blob says its own version, with the patch in the lowest byte.
    let blob = container.tensors().next().and_then(|blob| blob.data().first().copied());
    let mut room = room(set.first()).map_err(fail)?;
    let version = match Uqff::parse(set.first(), Mode::Lenient, &mut room) {
        Ok(uqff) => uqff.version(),
        // Layers that go on in a later shard.
        Err(_) => Version::new(1, second_word(&container).unwrap_or(0)),
    };
    let patch = if version.major == 0 { blob.map(u32::from) } else { patch };
    Ok((format!("{version}.{}", patch.unwrap_or(0)), metadata))
}

fn second_word(container: &Safetensors<'_, '_>) -> Option<u16> {
    let minor = container.tensor("uqff.version.minor")?;
    u16::try_from(u32::from_le_bytes(*minor.data().first_chunk()?)).ok()
}

impl LayerFacts {
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    fn from_layer(layer: &UqffLayer<'_>, shard: usize, offset: u64) -> Self {
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

    /// The bias's type, if there is one.
    pub fn bias(&self) -> String {
        self.bias.as_ref().map(|bias| bias.dtype.to_owned()).unwrap_or_default()
    }
}

/// Parameters of a layer besides type and shape, called as in the format.
fn parameters(layer: &UqffLayer<'_>) -> Map<String, Value> {
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
