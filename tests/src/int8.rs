//! The published model with its matrices in 8 bits, as a converter would write it.

use std::collections::HashMap;
use std::sync::Mutex;

use nanoembed_core::kernel;
use nanoembed_core::model::{
    Bert, BertConfig, Layer, LayerInput, Run, SliceWeights, Weights, Workspace,
};
use nanoembed_core::quant;
use nanoembed_core::quant::int8::{ColumnEnergy, column_scales, groups, quantize_row};
use nanoembed_core::tensor::{Dtype, Shape, TensorHeader};

use crate::minilm::Safetensors;

/// A model in memory, tensors one after the other.
#[derive(Debug, Default)]
pub struct Quantized {
    /// All tensors.
    pub file: Vec<u8>,
    headers: HashMap<String, (Dtype, Shape, u64, u64)>,
}

impl Quantized {
    /// The header of a tensor.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<TensorHeader<'_>> {
        let (name, (dtype, shape, offset, bytes)) = self.headers.get_key_value(name)?;
        Some(TensorHeader { name, dtype: *dtype, shape: *shape, offset: *offset, bytes: *bytes })
    }

    fn push(&mut self, name: &str, dtype: Dtype, dims: &[u64], data: &[u8]) {
        let place =
            (dtype, Shape::new(dims).expect("dims"), self.file.len() as u64, data.len() as u64);
        self.headers.insert(name.to_owned(), place);
        self.file.extend(data);
        self.file.resize(self.file.len().next_multiple_of(64), 0);
    }

    fn push_floats(&mut self, name: &str, dims: &[u64], values: &[f32]) {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.push(name, Dtype::F32, dims, &bytes);
    }

    fn push_matrix(&mut self, name: &str, values: &[f32], cols: usize, columns: &[f32]) {
        let rows = values.len() / cols;
        let groups = groups(cols);
        let (mut codes, mut scales) = (vec![0; values.len()], vec![0.0; rows * groups]);
        for ((row, codes), scales) in
            values.chunks(cols).zip(codes.chunks_mut(cols)).zip(scales.chunks_mut(groups))
        {
            quantize_row(row, columns, codes, scales);
        }
        let codes: Vec<u8> = codes.iter().map(|&code| code as u8).collect();
        self.push(name, Dtype::I8, &[rows as u64, cols as u64], &codes);
        self.push_floats(&format!("{name}.scale"), &[rows as u64, groups as u64], &scales);
        if !columns.is_empty() {
            self.push_floats(&format!("{name}.column_scale"), &[cols as u64], columns);
        }
    }
}

/// The root mean squares of all linear layers' inputs, by layer and input, over some texts.
type Energies = HashMap<(usize, LayerInput), Vec<f32>>;

fn calibrate(weights: &(impl Weights + Sync), config: &BertConfig, texts: &[Vec<u32>]) -> Energies {
    let bert = Bert::open(weights, *config, vec![Layer::EMPTY; config.layers]).expect("a model");
    let longest = texts.iter().map(Vec::len).max().expect("texts");
    let plan = bert.plan(longest);
    let needs = Workspace::needs(config, &plan).expect("a plan");
    let (mut floats, mut bytes) = (vec![0.0; needs.floats], vec![0; needs.bytes]);
    let mut workspace = Workspace::new(config, &plan, &mut floats, &mut bytes).expect("enough");
    let kernels = kernel::detect();
    let rows: Mutex<HashMap<(usize, LayerInput), Vec<f32>>> = Mutex::default();
    let lengths: Vec<usize> = texts.iter().map(Vec::len).collect();
    let mut out = vec![0.0; texts.len() * config.hidden];
    bert.embed_observed(
        &Run::new(weights, &kernels),
        &texts.concat(),
        &lengths,
        &mut workspace,
        &mut out,
        &|seen| {
            let mut rows = rows.lock().expect("one thread");
            rows.entry((seen.layer, seen.input)).or_default().extend(seen.values);
        },
    )
    .expect("embeddings");
    let rows = rows.into_inner().expect("no panic");
    rows.into_iter()
        .map(|(place, values)| {
            let cols = match place.1 {
                LayerInput::Output => config.intermediate,
                _ => config.hidden,
            };
            let mut sums = vec![0.0; cols];
            let mut energy = ColumnEnergy::new(&mut sums);
            energy.add(&values);
            (place, (0..cols).map(|col| energy.root_mean_square(col)).collect())
        })
        .collect()
}

/// Quantises word embeddings and linear layers, calibrated on `texts`.
///
/// # Panics
///
/// If `model` is not a model of these sizes.
#[must_use]
pub fn quantize(model: &Safetensors, config: &BertConfig, texts: &[Vec<u32>]) -> Quantized {
    let weights = SliceWeights::new(&model.file, |name| model.find(name));
    let energies = calibrate(&weights, config, texts);
    let mut quantized = Quantized::default();
    for name in model.names() {
        let header = model.find(name).expect("a tensor");
        let values = model.values(name);
        let dims = header.shape.dims();
        let cols = usize::try_from(*dims.last().expect("a shape")).expect("small");
        let parts: Vec<&str> = name.split('.').collect();
        let input = match parts[..] {
            ["encoder", "layer", _, "attention", "self", _, "weight"] => LayerInput::Attention,
            ["encoder", "layer", _, "attention", "output", "dense", "weight"] => {
                LayerInput::AttentionOutput
            }
            ["encoder", "layer", _, "intermediate", "dense", "weight"] => LayerInput::Intermediate,
            ["encoder", "layer", _, "output", "dense", "weight"] => LayerInput::Output,
            ["embeddings", "word_embeddings", "weight"] => {
                quantized.push_matrix(name, &values, cols, &[]);
                continue;
            }
            _ => {
                quantized.push_floats(name, dims, &values);
                continue;
            }
        };
        let layer: usize = parts[2].parse().expect("a number");
        let columns = match input {
            LayerInput::AttentionOutput => vec![],
            LayerInput::Attention => {
                // Queries, keys and values share their input, so they share its scales; values are the sensitive ones.
                let value =
                    model.values(&format!("encoder.layer.{layer}.attention.self.value.weight"));
                scales_for(&value, cols, &energies[&(layer, input)])
            }
            _ => scales_for(&values, cols, &energies[&(layer, input)]),
        };
        quantized.push_matrix(name, &values, cols, &columns);
    }
    quantized
}

fn scales_for(weights: &[f32], cols: usize, rms: &[f32]) -> Vec<f32> {
    let mut largest = vec![0.0_f32; cols];
    for row in weights.chunks(cols) {
        for (most, value) in largest.iter_mut().zip(row) {
            *most = most.max(value.abs());
        }
    }
    let mut scales = vec![0.0; cols];
    column_scales(rms, &largest, &mut scales);
    scales
}

/// The linear layers and word embeddings in blocks of `dtype`, or of Q8_0 where rows are no whole blocks of that.
///
/// # Panics
///
/// If `dtype` has no quantiser.
#[must_use]
pub fn in_blocks(model: &Safetensors, dtype: Dtype) -> Quantized {
    let mut quantized = Quantized::default();
    for name in model.names() {
        let header = model.find(name).expect("a tensor");
        let values = model.values(name);
        let dims = header.shape.dims();
        let cols = usize::try_from(*dims.last().expect("a shape")).expect("small");
        let parts: Vec<&str> = name.split('.').collect();
        let matrix = match parts[..] {
            ["encoder", .., kind, "weight"] => kind != "LayerNorm",
            ["embeddings", kind, "weight"] => kind == "word_embeddings",
            _ => false,
        };
        if !matrix {
            quantized.push_floats(name, dims, &values);
            continue;
        }
        let whole = cols.is_multiple_of(dtype.block_elements());
        let dtype = if whole { dtype } else { Dtype::Q8_0 };
        let size = values.len() / dtype.block_elements() * dtype.block_bytes();
        let mut blocks = vec![0; size];
        quant::quantize(dtype, &values, &mut blocks).expect("a quantiser");
        quantized.push(name, dtype, dims, &blocks);
    }
    quantized
}
