//! A model with random weights, and its execution.

use std::collections::BTreeMap;

use nanoembed_core::error::Result;
use nanoembed_core::kernel::Kernels;
use nanoembed_core::model::{
    Batch, Config, Encoder, FeedForward, Job, Layer, Names, NormKind, Parallel, Parts, Plan,
    PoolingMode, QueryKeyNorm, Relative, Run, SliceWeights, Tensor, TextEmbedding, Transformer,
    Workspace,
};
use nanoembed_core::tensor::{Dtype, Shape, TensorHeader};

use super::settings::{BUCKETS, HEADS, HIDDEN, LAYERS, LENGTHS, POSITIONS, Stored, VOCABULARY};
use super::twin::has_window;

pub const NAMES: Names = Names {
    layers: "layer.",
    tensors: &[
        (Tensor::Embeddings, "words"),
        (Tensor::Positions, "positions"),
        (Tensor::TokenTypes, "types"),
        (Tensor::RelativeBias, "relative"),
        (Tensor::RelativeVectors, "vectors"),
        (Tensor::RelativeNorm, "vectors_norm"),
        (Tensor::EmbeddingNorm, "embedding_norm"),
        (Tensor::Projection, "projection"),
        (Tensor::Norm, "norm"),
        (Tensor::AttentionNorm, ".attention_norm"),
        (Tensor::Query, ".query"),
        (Tensor::Key, ".key"),
        (Tensor::Value, ".value"),
        (Tensor::QueryKeyValue, ".qkv"),
        (Tensor::QueryNorm, ".query_norm"),
        (Tensor::KeyNorm, ".key_norm"),
        (Tensor::AttentionOutput, ".output"),
        (Tensor::AttentionEndNorm, ".attention_end_norm"),
        (Tensor::FeedForwardNorm, ".feed_forward_norm"),
        (Tensor::Gate, ".gate"),
        (Tensor::Up, ".up"),
        (Tensor::GateUp, ".gate_up"),
        (Tensor::UpGate, ".up_gate"),
        (Tensor::Down, ".down"),
        (Tensor::FeedForwardEndNorm, ".feed_forward_end_norm"),
        (Tensor::Router, ".router"),
        (Tensor::ExpertsUp, ".experts_up"),
        (Tensor::ExpertsDown, ".experts_down"),
        (Tensor::ExpertsDownTransposed, ".experts_down_transposed"),
        (Tensor::ExpertsBias, ".experts"),
        (Tensor::PerLayerInput, "per_layer_input"),
        (Tensor::PerLayerInputNorm, "per_layer_input_norm"),
        (Tensor::PerLayerGate, ".per_layer_gate"),
        (Tensor::PerLayerProjection, ".per_layer_projection"),
        (Tensor::PerLayerNorm, ".per_layer_norm"),
        (Tensor::LayerScale, ".scale"),
    ],
};

/// The names of a model whose layers share the weights of the first.
pub const SHARED: Names = Names {
    layers: "none.",
    tensors: &[
        (Tensor::Embeddings, "words"),
        (Tensor::Positions, "positions"),
        (Tensor::TokenTypes, "types"),
        (Tensor::EmbeddingNorm, "embedding_norm"),
        (Tensor::Projection, "projection"),
        (Tensor::AttentionNorm, "layer.0.attention_norm"),
        (Tensor::Query, "layer.0.query"),
        (Tensor::Key, "layer.0.key"),
        (Tensor::Value, "layer.0.value"),
        (Tensor::AttentionOutput, "layer.0.output"),
        (Tensor::FeedForwardNorm, "layer.0.feed_forward_norm"),
        (Tensor::Up, "layer.0.up"),
        (Tensor::Down, "layer.0.down"),
    ],
};

/// A model with random weights.
pub struct Model {
    pub config: Config,
    pub tensors: BTreeMap<String, Matrix>,
    pub file: Vec<u8>,
    headers: Vec<(String, TensorHeader<'static>)>,
}

#[derive(Clone)]
pub struct Matrix {
    pub rows: usize,
    pub cols: usize,
    pub values: Vec<f32>,
}

impl Matrix {
    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.cols..(row + 1) * self.cols]
    }
}

impl Model {
    pub fn new(config: Config, stored: Stored, coded: bool) -> Self {
        let mut seed = 7_u32;
        let mut noise = move || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as f32 / 8_388_608.0 - 1.0
        };
        let mut tensors = BTreeMap::new();
        let mut add = |name: String, rows: usize, cols: usize, center: f32, spread: f32| {
            let values = (0..rows * cols).map(|_| center + spread * noise()).collect();
            tensors.insert(name, Matrix { rows, cols, values });
        };
        let Config { hidden, intermediate, .. } = config;
        let width = config.embedding.projected.unwrap_or(hidden);
        add("words.weight".into(), VOCABULARY, width, 0.0, 1.0);
        add("positions.weight".into(), POSITIONS + 2, width, 0.0, 0.7);
        add("types.weight".into(), 2, width, 0.0, 0.5);
        add("relative.weight".into(), BUCKETS.buckets, HEADS.query, 0.0, 3.0);
        let centre = if config.norm == (NormKind::Rms { one_plus: true }) { 0.0 } else { 1.0 };
        let has_bias = stored.biases && config.norm == NormKind::Layer;
        let mut norms = vec![("embedding_norm".to_owned(), width), ("norm".to_owned(), hidden)];
        if let Some(Relative::Disentangled(it)) = config.relative {
            let rows = 2 * if it.buckets > 0 { it.buckets } else { it.distance };
            add("vectors.weight".into(), rows, hidden, 0.0, 1.0);
            norms.push(("vectors_norm".to_owned(), hidden));
        }
        let mut linear = Vec::new();
        if config.embedding.projected.is_some() {
            linear.push(("projection".to_owned(), hidden, width));
        }
        for layer in 0..config.layers {
            let of = |name: &str| format!("layer.{layer}.{name}");
            let heads = config.heads_of(has_window(&config, layer));
            if stored.first_norm || layer > 0 {
                norms.push((of("attention_norm"), hidden));
            }
            for name in ["attention_end_norm", "feed_forward_norm", "feed_forward_end_norm"] {
                norms.push((of(name), hidden));
            }
            let widths = match config.attention.query_key_norm {
                Some(QueryKeyNorm::Vector) => (heads.width(), heads.key_width()),
                _ => (heads.size, heads.size),
            };
            norms.extend([(of("query_norm"), widths.0), (of("key_norm"), widths.1)]);
            let (queries, keys) = (heads.width(), heads.key_width());
            if stored.fused {
                linear.push((of("qkv"), queries + 2 * keys, hidden));
            } else {
                linear.push((of("query"), queries, hidden));
                linear.extend([(of("key"), keys, hidden), (of("value"), keys, hidden)]);
            }
            match config.feed_forward {
                FeedForward::Gated(_) if stored.fused => {
                    let name = if stored.up_first { "up_gate" } else { "gate_up" };
                    linear.push((of(name), 2 * intermediate, hidden));
                }
                FeedForward::Gated(_) => {
                    linear.push((of("gate"), intermediate, hidden));
                    linear.push((of("up"), intermediate, hidden));
                }
                FeedForward::Mixed(mixture) if layer % mixture.every == 1 => {
                    let count = mixture.experts;
                    // Experts are chosen clearly, whatever the activations' type.
                    add(of("router.weight"), count, hidden, 0.0, 2.0);
                    add(of("experts.bias"), 1, hidden, 0.0, 0.5);
                    linear.push((of("experts_up"), count * intermediate, hidden));
                    if stored.transposed {
                        let spread = 3.0 / (intermediate as f32).sqrt();
                        let name = of("experts_down_transposed.weight");
                        add(name, count * intermediate, hidden, 0.0, spread);
                    } else {
                        linear.push((of("experts_down"), count * hidden, intermediate));
                    }
                }
                FeedForward::Plain(_) | FeedForward::Mixed(_) => {
                    linear.push((of("up"), intermediate, hidden));
                }
            }
            linear.push((of("output"), hidden, queries));
            linear.push((of("down"), hidden, intermediate));
            if let Some(elements) = config.per_layer {
                linear.push((of("per_layer_gate"), elements, hidden));
                linear.push((of("per_layer_projection"), hidden, elements));
                norms.push((of("per_layer_norm"), hidden));
                add(of("scale"), 1, 1, 0.8, 0.2);
            }
        }
        if let Some(elements) = config.per_layer {
            linear.push(("per_layer_input".into(), config.layers * elements, hidden));
            norms.push(("per_layer_input_norm".into(), elements));
        }
        for (name, size) in &norms {
            add(format!("{name}.weight"), 1, *size, centre, 0.3);
            if has_bias {
                add(format!("{name}.bias"), 1, *size, 0.0, 0.3);
            }
        }
        for (name, rows, cols) in &linear {
            // Scores are far enough apart to reveal the mask; 7-bit codes have less resolution.
            let spread = if coded { 1.5 } else { 3.0 };
            add(format!("{name}.weight"), *rows, *cols, 0.0, spread / (*cols as f32).sqrt());
            if stored.biases && !name.contains("experts") {
                add(format!("{name}.bias"), 1, *rows, 0.0, 0.2);
            }
        }
        let is_coded = |name: &str| {
            coded && linear.iter().any(|(known, ..)| name == format!("{known}.weight"))
        };
        let (mut file, mut headers) = (Vec::new(), Vec::new());
        let mut put = |name: String, dtype, dims: &[u64], data: Vec<u8>| {
            let (offset, bytes) = (file.len() as u64, data.len() as u64);
            let shape = Shape::new(dims).unwrap();
            headers.push((name, TensorHeader { name: "", dtype, shape, offset, bytes }));
            file.extend(data);
            file.resize(file.len().next_multiple_of(64), 0);
        };
        for (name, matrix) in &mut tensors {
            let dims = [matrix.rows as u64, matrix.cols as u64];
            let floats = |values: &[f32]| values.iter().flat_map(|x| x.to_le_bytes()).collect();
            if !is_coded(name) {
                let dims = if matrix.rows == 1 { &dims[1..] } else { &dims[..] };
                put(name.clone(), Dtype::F32, dims, floats(&matrix.values));
                continue;
            }
            let (mut codes, mut scales) = (Vec::new(), Vec::new());
            for row in matrix.values.chunks_exact_mut(matrix.cols) {
                let scale = row.iter().fold(0.0_f32, |most, x| most.max(x.abs())) / 127.0;
                scales.push(scale);
                for x in row {
                    let code = (*x / scale).round() as i8;
                    codes.push(code.cast_unsigned());
                    *x = f32::from(code) * scale;
                }
            }
            put(name.clone(), Dtype::I8, &dims, codes);
            put(format!("{name}.scale"), Dtype::F32, &dims[..1], floats(&scales));
        }
        Self { config, tensors, file, headers }
    }

    pub fn find(&self, name: &str) -> Option<TensorHeader<'static>> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, header)| *header)
    }

    fn encoder(&self) -> Encoder<Vec<Layer>> {
        let weights = SliceWeights::new(&self.file, |name: &str| self.find(name));
        let layers = vec![Layer::EMPTY; LAYERS];
        let transformer = Transformer::from_family(&weights, self.config, &NAMES, layers).unwrap();
        let embedding =
            TextEmbedding { width: HIDDEN, pooling: PoolingMode::Last.into(), normalize: false };
        Encoder { transformer, embedding, head: [], floats: [] }
    }

    /// The vectors of the last tokens of some texts.
    pub fn embed(&self, kernels: &Kernels, plan: Plan, jobs: usize) -> Vec<f32> {
        self.embed_texts(kernels, Plan { jobs, ..plan }, &Batch::new(&ids(), &LENGTHS))
    }

    /// The vectors of the last tokens of these texts.
    pub fn embed_texts(&self, kernels: &Kernels, plan: Plan, texts: &Batch<'_>) -> Vec<f32> {
        self.try_embed(kernels, plan, texts).unwrap()
    }

    /// As [`embed_texts`](Self::embed_texts), but returns an error instead of panicking.
    pub fn try_embed(&self, kernels: &Kernels, plan: Plan, texts: &Batch<'_>) -> Result<Vec<f32>> {
        let weights = SliceWeights::new(&self.file, |name: &str| self.find(name));
        let encoder = self.encoder();
        let jobs = plan.jobs;
        let needs = Workspace::needs(encoder.config(), &plan).unwrap();
        // Earlier contents of the memory must not affect results.
        let (mut floats, mut bytes) = (vec![f32::NAN; needs.floats], vec![0xff; needs.bytes]);
        let mut workspace =
            Workspace::new(encoder.config(), &plan, &mut floats, &mut bytes).unwrap();
        let run = Run { parallel: &Jobs(jobs), ..run(&weights, kernels, jobs) };
        let mut out = vec![0.0; texts.lengths.len() * HIDDEN];
        let embedded = encoder.embed(&run, texts, &mut workspace, &mut [], &mut out);
        embedded.map(|()| out)
    }
}

/// Runs parts in order, as if there were several threads.
struct Jobs(usize);

impl Parallel for Jobs {
    fn jobs(&self) -> usize {
        self.0
    }

    fn run(&self, mut parts: Parts<'_>, job: &Job<'_>) -> Result<()> {
        parts.try_for_each(job)
    }
}

const fn run<'a, W: ?Sized>(weights: &'a W, kernels: &'a Kernels, jobs: usize) -> Run<'a, W, Jobs> {
    const JOBS: [Jobs; 4] = [Jobs(0), Jobs(1), Jobs(2), Jobs(3)];
    Run { weights, kernels, summaries: &[], parallel: &JOBS[jobs] }
}

pub fn ids() -> Vec<u32> {
    (0..LENGTHS.iter().sum::<usize>() as u32).map(|i| i * 17 % VOCABULARY as u32).collect()
}
