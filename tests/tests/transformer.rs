//! Transformers of all settings against a twin in f64 that does what the settings say one step
//! after the other.

use std::collections::BTreeMap;

use nanoembed_core::error::Result;
use nanoembed_core::kernel::{self, Kernels};
use nanoembed_core::model::llama::{Cache, Llama, LlamaMemory, LlamaPlan, Output, Rope, RopePairs};
use nanoembed_core::model::{
    Activation, Attention, BertConfig, Config, Embedding, Encoder, FeedForward, Heads, Job, Layer,
    Mask, Names, NormKind, Order, Parallel, Parts, Plan, Pooling, RelativeBuckets, Rotary, Run,
    SliceWeights, Tensor, Window, Workspace,
};
use nanoembed_core::tensor::{Dtype, Shape, TensorHeader};

const LAYERS: usize = 3;
const HIDDEN: usize = 24;
const HEADS: Heads = Heads { query: 4, key_value: 2, size: 8 };
const INTERMEDIATE: usize = 40;
const VOCABULARY: usize = 50;
const POSITIONS: usize = 64;
/// The second is longer than a block of queries.
const LENGTHS: [usize; 3] = [5, 41, 1];

const NAMES: Names = Names {
    layers: "layer.",
    tensors: &[
        (Tensor::Embeddings, "words"),
        (Tensor::Positions, "positions"),
        (Tensor::TokenTypes, "types"),
        (Tensor::RelativeBias, "relative"),
        (Tensor::EmbeddingNorm, "embedding_norm"),
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
    ],
};

const fn rope(base: f32, pairs: RopePairs, dimensions: usize) -> Rope {
    Rope {
        dimensions,
        base,
        position_divisor: 1.0,
        yarn: None,
        attention_factor: 1.0,
        original_positions: POSITIONS,
        pairs,
    }
}

const fn sized(config: Config) -> Config {
    Config {
        layers: LAYERS,
        heads: HEADS,
        hidden: HIDDEN,
        intermediate: INTERMEDIATE,
        vocabulary: VOCABULARY,
        positions: POSITIONS,
        epsilon: 1e-5,
        ..config
    }
}

const TURNED: Option<Rotary> = Some(Rotary {
    global: rope(10_000.0, RopePairs::Halves, 8),
    local: rope(100.0, RopePairs::Halves, 8),
});

const BUCKETS: RelativeBuckets = RelativeBuckets { buckets: 16, distance: 20 };

/// Settings of families, on small sizes.
fn models() -> Vec<(&'static str, Config, Stored)> {
    let bert = sized(Config::BERT);
    let llama = sized(Config { rotary: TURNED, ..Config::LLAMA });
    let apart = Stored { biases: true, fused: false, up_first: false, first_norm: true };
    let fused = Stored { fused: true, biases: false, ..apart };
    let window = |every, first| Some(Window { reach: 3, every, first });
    let roberta = Embedding { positions: Some(2), ..bert.embedding };
    let unplaced = Embedding { positions: None, ..bert.embedding };
    let modern_bert = Config {
        embedding: Embedding { token_types: false, ..unplaced },
        rotary: TURNED,
        attention: Attention { window: window(3, 0), ..bert.attention },
        order: Order::Pre,
        feed_forward: FeedForward::Gated(Activation::Gelu),
        final_norm: true,
        ..bert
    };
    let gemma = Config {
        embedding: Embedding { scale: 24.0_f32.sqrt(), ..llama.embedding },
        attention: Attention {
            mask: Mask::Full,
            window: window(2, 1),
            query_key_norm: true,
            scale: Some(0.25),
        },
        order: Order::Sandwich,
        norm: NormKind::Rms { one_plus: true },
        feed_forward: FeedForward::Gated(Activation::GeluTanh),
        ..llama
    };
    let neighbours = Rotary {
        global: rope(500.0, RopePairs::Neighbours, 6),
        local: rope(500.0, RopePairs::Neighbours, 6),
    };
    vec![
        ("BERT", bert, apart),
        ("RoBERTa", Config { embedding: roberta, ..bert }, apart),
        (
            "DistilBERT",
            Config { embedding: Embedding { token_types: false, ..bert.embedding }, ..bert },
            apart,
        ),
        (
            "MPNet",
            Config {
                embedding: Embedding { token_types: false, ..roberta },
                relative: Some(BUCKETS),
                ..bert
            },
            apart,
        ),
        (
            "NomicBERT",
            Config {
                embedding: unplaced,
                rotary: TURNED,
                feed_forward: FeedForward::Gated(Activation::Silu),
                ..bert
            },
            Stored { biases: false, ..apart },
        ),
        (
            "GTE",
            Config {
                embedding: unplaced,
                rotary: TURNED,
                feed_forward: FeedForward::Gated(Activation::Gelu),
                ..bert
            },
            Stored { up_first: true, biases: true, ..fused },
        ),
        ("ModernBERT", modern_bert, Stored { first_norm: false, ..fused }),
        ("EmbeddingGemma", gemma, Stored { biases: false, ..apart }),
        (
            "Gemma",
            Config { attention: Attention { mask: Mask::Causal, ..gemma.attention }, ..gemma },
            Stored { biases: false, ..apart },
        ),
        (
            "Qwen3",
            Config { attention: Attention { query_key_norm: true, ..llama.attention }, ..llama },
            Stored { biases: false, ..apart },
        ),
        ("Llama", Config { rotary: Some(neighbours), ..llama }, fused),
        (
            "EuroBERT",
            Config { attention: Attention { mask: Mask::Full, ..llama.attention }, ..llama },
            apart,
        ),
        (
            "causal with ReLU",
            Config {
                attention: Attention { mask: Mask::Causal, ..bert.attention },
                embedding: Embedding {
                    positions: None,
                    token_types: false,
                    norm: false,
                    ..unplaced
                },
                rotary: TURNED,
                feed_forward: FeedForward::Plain(Activation::Relu),
                ..bert
            },
            apart,
        ),
    ]
}

/// How a model is stored.
#[derive(Clone, Copy, Debug)]
struct Stored {
    biases: bool,
    /// Whether queries, keys and values are one matrix, and gates and what they multiply.
    fused: bool,
    /// Whether gates lie behind what they multiply.
    up_first: bool,
    /// Whether the first layer norms before the attention.
    first_norm: bool,
}

/// A model with random weights.
struct Model {
    config: Config,
    tensors: BTreeMap<String, Matrix>,
    file: Vec<u8>,
    headers: Vec<(String, TensorHeader<'static>)>,
}

#[derive(Clone)]
struct Matrix {
    rows: usize,
    cols: usize,
    values: Vec<f32>,
}

impl Matrix {
    fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.cols..(row + 1) * self.cols]
    }
}

impl Model {
    fn new(config: Config, stored: Stored, coded: bool) -> Self {
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
        let Config { hidden, intermediate, heads, .. } = config;
        add("words.weight".into(), VOCABULARY, hidden, 0.0, 1.0);
        add("positions.weight".into(), POSITIONS + 2, hidden, 0.0, 0.7);
        add("types.weight".into(), 2, hidden, 0.0, 0.5);
        add("relative.weight".into(), BUCKETS.buckets, HEADS.query, 0.0, 3.0);
        let centre = if config.norm == (NormKind::Rms { one_plus: true }) { 0.0 } else { 1.0 };
        let has_bias = stored.biases && config.norm == NormKind::Layer;
        let mut norms = vec![("embedding_norm".to_owned(), hidden), ("norm".to_owned(), hidden)];
        let mut linear = Vec::new();
        for layer in 0..config.layers {
            let of = |name: &str| format!("layer.{layer}.{name}");
            if stored.first_norm || layer > 0 {
                norms.push((of("attention_norm"), hidden));
            }
            for name in ["attention_end_norm", "feed_forward_norm", "feed_forward_end_norm"] {
                norms.push((of(name), hidden));
            }
            norms.extend([(of("query_norm"), heads.size), (of("key_norm"), heads.size)]);
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
                FeedForward::Plain(_) => linear.push((of("up"), intermediate, hidden)),
            }
            linear.push((of("output"), hidden, queries));
            linear.push((of("down"), hidden, intermediate));
        }
        for (name, size) in &norms {
            add(format!("{name}.weight"), 1, *size, centre, 0.3);
            if has_bias {
                add(format!("{name}.bias"), 1, *size, 0.0, 0.3);
            }
        }
        for (name, rows, cols) in &linear {
            // Scores are far enough apart that it shows who sees whom; codes of 7 bits tell less.
            let spread = if coded { 1.5 } else { 3.0 };
            add(format!("{name}.weight"), *rows, *cols, 0.0, spread / (*cols as f32).sqrt());
            if stored.biases {
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

    fn find(&self, name: &str) -> Option<TensorHeader<'static>> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, header)| *header)
    }

    fn settings(&self) -> BertConfig {
        let read = |key: &str| {
            Some(match key {
                "num_layers" | "num_attention_heads" | "max_position_emb" => "4",
                "hidden_size" | "intermediate_size" | "vocab_size" => "8",
                "normalize" => "false",
                _ => return None,
            })
        };
        let read = BertConfig::from_metadata(read).unwrap();
        BertConfig { transformer: self.config, pooling: Pooling::Last, ..read }
    }

    fn tensor(&self, name: &str) -> &Matrix {
        self.tensors.get(name).unwrap_or_else(|| panic!("{name}"))
    }

    /// Rows `first..` of the first of some matrices that is there.
    fn product(&self, x: &[f64], choices: &[(String, usize)], rows: usize) -> Vec<f64> {
        let is_there =
            |(name, _): &&(String, usize)| self.tensors.contains_key(&format!("{name}.weight"));
        let (name, first) = choices.iter().find(is_there).expect("a matrix");
        let weight = self.tensor(&format!("{name}.weight"));
        let bias = self.tensors.get(&format!("{name}.bias"));
        (*first..first + rows)
            .map(|row| {
                let products = weight.row(row).iter().zip(x).map(|(w, x)| f64::from(*w) * x);
                products.sum::<f64>() + bias.map_or(0.0, |bias| f64::from(bias.values[row]))
            })
            .collect()
    }

    fn norm(&self, x: &[f64], name: &str) -> Vec<f64> {
        let Some(weight) = self.tensors.get(&format!("{name}.weight")) else { return x.to_vec() };
        let (count, epsilon) = (x.len() as f64, f64::from(self.config.epsilon));
        let mean = match self.config.norm {
            NormKind::Layer => x.iter().sum::<f64>() / count,
            NormKind::Rms { .. } => 0.0,
        };
        let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        let plus = f64::from(u8::from(self.config.norm == NormKind::Rms { one_plus: true }));
        let bias = self.tensors.get(&format!("{name}.bias"));
        let all = x.iter().zip(&weight.values).enumerate();
        all.map(|(at, (x, weight))| {
            let bias = bias.map_or(0.0, |bias| f64::from(bias.values[at]));
            (x - mean) / (variance + epsilon).sqrt() * (f64::from(*weight) + plus) + bias
        })
        .collect()
    }

    /// Norms and turns a head's query or key.
    fn change(&self, head: &mut [f64], layer: usize, position: usize, norm: &str) {
        if self.config.attention.query_key_norm {
            head.copy_from_slice(&self.norm(head, &format!("layer.{layer}.{norm}")));
        }
        let Some(rotary) = self.config.rotary else { return };
        let rope = if has_window(&self.config, layer) { rotary.local } else { rotary.global };
        let pairs = rope.dimensions / 2;
        for pair in 0..pairs {
            let frequency = f64::from(rope.base).powf(-2.0 * pair as f64 / rope.dimensions as f64);
            let (sin, cos) = (position as f64 * frequency).sin_cos();
            let (a, b) = match rope.pairs {
                RopePairs::Halves => (pair, pair + pairs),
                RopePairs::Neighbours => (2 * pair, 2 * pair + 1),
            };
            (head[a], head[b]) = (head[a] * cos - head[b] * sin, head[a] * sin + head[b] * cos);
        }
    }

    fn attention(&self, x: &[Vec<f64>], layer: usize) -> Vec<Vec<f64>> {
        let Heads { query, key_value, size } = self.config.heads;
        let of = |name: &str| format!("layer.{layer}.{name}");
        let (queries, keys) = (query * size, key_value * size);
        let heads = |first: usize, name: &str, rows: usize, norm: Option<&str>| -> Vec<Vec<f64>> {
            let choices = [(of("qkv"), first), (of(name), 0)];
            let all = x.iter().map(|x| self.product(x, &choices, rows));
            let changed = all.enumerate().map(|(position, mut row)| {
                for head in row.chunks_exact_mut(size).filter(|_| norm.is_some()) {
                    self.change(head, layer, position, norm.unwrap_or_default());
                }
                row
            });
            changed.collect()
        };
        let q = heads(0, "query", queries, Some("query_norm"));
        let k = heads(queries, "key", keys, Some("key_norm"));
        let v = heads(queries + keys, "value", keys, None);
        let scale = self.config.attention.scale.map_or(1.0 / (size as f64).sqrt(), f64::from);
        (0..x.len())
            .map(|i| {
                let mut context = Vec::new();
                for head in 0..query {
                    let shared = head / (query / key_value) * size;
                    let seen: Vec<usize> =
                        (0..x.len()).filter(|j| sees(&self.config, layer, i, *j)).collect();
                    let score = |j: &usize| {
                        let q = &q[i][head * size..(head + 1) * size];
                        let k = &k[*j][shared..shared + size];
                        let bias = self.config.relative.map_or(0.0, |buckets| {
                            let row = self.tensor("relative.weight").row(bucket(buckets, i, *j));
                            f64::from(row[head])
                        });
                        q.iter().zip(k).map(|(q, k)| q * k).sum::<f64>() * scale + bias
                    };
                    let scores: Vec<f64> = seen.iter().map(score).collect();
                    let most = scores.iter().copied().fold(f64::MIN, f64::max);
                    let scores: Vec<f64> = scores.iter().map(|x| (x - most).exp()).collect();
                    let sum: f64 = scores.iter().sum();
                    context.extend((0..size).map(|e| {
                        let all = seen.iter().zip(&scores);
                        all.map(|(j, score)| score / sum * v[*j][shared + e]).sum::<f64>()
                    }));
                }
                self.product(&context, &[(of("output"), 0)], self.config.hidden)
            })
            .collect()
    }

    fn feed_forward(&self, x: &[f64], layer: usize) -> Vec<f64> {
        let of = |name: &str| format!("layer.{layer}.{name}");
        let rows = self.config.intermediate;
        let wide = match self.config.feed_forward {
            FeedForward::Plain(activation) => {
                let up = self.product(x, &[(of("up"), 0)], rows);
                up.iter().map(|x| activate(activation, *x)).collect::<Vec<f64>>()
            }
            FeedForward::Gated(activation) => {
                let gate = [(of("gate_up"), 0), (of("up_gate"), rows), (of("gate"), 0)];
                let up = [(of("gate_up"), rows), (of("up_gate"), 0), (of("up"), 0)];
                let (gate, up) = (self.product(x, &gate, rows), self.product(x, &up, rows));
                gate.iter().zip(up).map(|(gate, up)| activate(activation, *gate) * up).collect()
            }
        };
        self.product(&wide, &[(of("down"), 0)], self.config.hidden)
    }

    /// The hidden states of a text behind all layers.
    fn states(&self, ids: &[u32]) -> Vec<Vec<f64>> {
        let Config { embedding, order, .. } = self.config;
        let add = |x: &mut Vec<f64>, y: &[f64]| x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
        let wide = |row: &[f32]| row.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
        let mut states: Vec<Vec<f64>> = Vec::new();
        let mut next = embedding.positions.unwrap_or(0);
        // Where positions begin behind that of padding, a padding token has that one.
        let padding = next.checked_sub(1);
        for id in ids {
            let mut row = wide(self.tensor("words.weight").row(*id as usize));
            row.iter_mut().for_each(|x| *x *= f64::from(embedding.scale));
            if embedding.positions.is_some() {
                let own = padding.filter(|padding| *padding == *id as usize);
                add(&mut row, &wide(self.tensor("positions.weight").row(own.unwrap_or(next))));
                next += usize::from(own.is_none());
            }
            if embedding.token_types {
                add(&mut row, &wide(self.tensor("types.weight").row(0)));
            }
            states.push(if embedding.norm { self.norm(&row, "embedding_norm") } else { row });
        }
        for layer in 0..self.config.layers {
            let of = |name: &str| format!("layer.{layer}.{name}");
            let before = |x: &[f64], name: &str| match order {
                Order::Post => x.to_vec(),
                Order::Pre | Order::Sandwich => self.norm(x, &of(name)),
            };
            let sum = |x: &mut Vec<f64>, mut y: Vec<f64>, behind: &str, end: &str| {
                if order == Order::Sandwich {
                    y = self.norm(&y, &of(end));
                }
                add(x, &y);
                if order == Order::Post {
                    *x = self.norm(x, &of(behind));
                }
            };
            let x: Vec<_> = states.iter().map(|x| before(x, "attention_norm")).collect();
            for (state, y) in states.iter_mut().zip(self.attention(&x, layer)) {
                sum(state, y, "attention_norm", "attention_end_norm");
                let x = before(state, "feed_forward_norm");
                let y = self.feed_forward(&x, layer);
                sum(state, y, "feed_forward_norm", "feed_forward_end_norm");
            }
        }
        if self.config.final_norm {
            states.iter_mut().for_each(|x| *x = self.norm(x, "norm"));
        }
        states
    }

    fn encoder(&self) -> Encoder<Vec<Layer>> {
        let weights = SliceWeights::new(&self.file, |name: &str| self.find(name));
        let layers = vec![Layer::EMPTY; LAYERS];
        Encoder::of_family(&weights, self.settings(), &NAMES, layers).unwrap()
    }

    /// The vectors of the last tokens of some texts.
    fn embed(&self, kernels: &Kernels, plan: Plan, jobs: usize) -> Vec<f32> {
        let weights = SliceWeights::new(&self.file, |name: &str| self.find(name));
        let encoder = self.encoder();
        let plan = Plan { jobs, ..plan };
        let needs = Workspace::needs(encoder.config(), &plan).unwrap();
        // What is left in memory from before is no part of any result.
        let (mut floats, mut bytes) = (vec![f32::NAN; needs.floats], vec![0xff; needs.bytes]);
        let mut workspace =
            Workspace::new(encoder.config(), &plan, &mut floats, &mut bytes).unwrap();
        let run = Run { parallel: &Jobs(jobs), ..run(&weights, kernels, jobs) };
        let mut out = vec![0.0; LENGTHS.len() * HIDDEN];
        encoder.embed_batch(&run, &ids(), &LENGTHS, &mut workspace, &mut out).unwrap();
        out
    }

    fn expected(&self) -> Vec<f64> {
        let (ids, mut rest) = (ids(), Vec::new());
        let mut first = 0;
        for length in LENGTHS {
            let states = self.states(&ids[first..first + length]);
            rest.extend_from_slice(&states[length - 1]);
            first += length;
        }
        rest
    }
}

/// Parts in order, as if there were several threads.
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

fn ids() -> Vec<u32> {
    (0..LENGTHS.iter().sum::<usize>() as u32).map(|i| i * 17 % VOCABULARY as u32).collect()
}

/// The bucket of a query at `i` and a key at `j`.
fn bucket(RelativeBuckets { buckets, distance }: RelativeBuckets, i: usize, j: usize) -> usize {
    let (half, exact) = (buckets / 2, buckets / 4);
    let far = |n: usize| {
        let ratio = (n as f64 / exact as f64).ln() / (distance as f64 / exact as f64).ln();
        (exact + (ratio * (half - exact) as f64) as usize).min(half - 1)
    };
    let n = i.abs_diff(j);
    usize::from(j > i) * half + if n < exact { n } else { far(n) }
}

fn has_window(config: &Config, layer: usize) -> bool {
    config.attention.window.is_some_and(|window| layer % window.every != window.first)
}

fn sees(config: &Config, layer: usize, i: usize, j: usize) -> bool {
    let near = config.attention.window.is_none_or(|window| i.abs_diff(j) <= window.reach);
    (near || !has_window(config, layer)) && (j <= i || config.attention.mask == Mask::Full)
}

fn activate(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::Gelu => x * 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2),
        Activation::GeluTanh => {
            let root = (2.0 / std::f64::consts::PI).sqrt();
            0.5 * x * (1.0 + (root * (x + 0.044_715 * x.powi(3))).tanh())
        }
        Activation::Silu => x / (1.0 + (-x).exp()),
        Activation::Relu => x.max(0.0),
    }
}

fn largest_difference(found: &[f32], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let most = expected.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    let differences = found.iter().zip(expected).map(|(a, b)| (f64::from(*a) - b).abs());
    differences.fold(0.0, |largest, it| if it <= largest { largest } else { it }) / most
}

#[test]
fn encoders_of_all_settings_are_their_twins_in_f64() {
    for (name, config, stored) in models() {
        let model = Model::new(config, stored, false);
        let expected = model.expected();
        for kernels in kernel::available() {
            for (tokens, jobs) in [(64, 1), (41, 2), (41, 3)] {
                let found = model.embed(&kernels, Plan::new(tokens), jobs);
                let difference = largest_difference(&found, &expected);
                assert!(difference < 1e-5, "{name} {} {jobs}: {difference}", kernels.name);
            }
        }
    }
}

#[test]
fn quantised_activations_are_near_the_twins_on_every_table() {
    for (name, config, stored) in models() {
        let model = Model::new(config, stored, true);
        let expected = model.expected();
        let plan = Plan { quantized: true, ..Plan::new(64) };
        let mut first: Option<Vec<f32>> = None;
        for kernels in kernel::available() {
            let found = model.embed(&kernels, plan, 1);
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            for (found, expected) in found.chunks(HIDDEN).zip(expected.chunks(HIDDEN)) {
                let found: Vec<f64> = found.iter().map(|x| f64::from(*x)).collect();
                let lengths = dot(&found, &found) * dot(expected, expected);
                let cosine = dot(&found, expected) / lengths.sqrt();
                assert!(cosine > 0.99, "{name} {}: {cosine}", kernels.name);
            }
            let first = first.get_or_insert_with(|| found.clone());
            let same = first.iter().zip(&found).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(same, "{name} {}", kernels.name);
        }
    }
}

#[test]
fn texts_that_grow_are_what_whole_texts_are() {
    let causal = |it: &(&str, Config, Stored)| it.1.attention.mask == Mask::Causal;
    for (name, config, stored) in models().into_iter().filter(causal) {
        let model = Model::new(config, stored, false);
        let ids: Vec<u32> = ids()[5..46].to_vec();
        let expected = model.states(&ids).concat();
        let kernels = kernel::detect();
        let weights = SliceWeights::new(&model.file, |name: &str| model.find(name));
        let layers = vec![Layer::EMPTY; LAYERS];
        let llama = Llama::of_family(&weights, config, &NAMES, layers).unwrap();
        let mut cache = vec![0.0; Cache::floats_needed(&config, 41).unwrap()];
        let mut cache = Cache::new(&config, 41, &mut cache).unwrap();
        let plan = LlamaPlan::new(7, 41);
        let needs = LlamaMemory::needs(&config, &plan).unwrap();
        let (mut floats, mut bytes) = (vec![f32::NAN; needs.floats], vec![0; needs.bytes]);
        let mut memory = LlamaMemory::new(&config, &plan, &mut floats, &mut bytes).unwrap();
        let run = Run::new(&weights, &kernels);
        let mut found = vec![0.0; expected.len()];
        let mut first = 0;
        for count in [1, 20, 20] {
            let out = &mut found[first * HIDDEN..(first + count) * HIDDEN];
            let ids = &ids[first..first + count];
            llama.forward(&run, ids, &mut cache, &mut memory, Output::Hidden(out)).unwrap();
            first += count;
        }
        let difference = largest_difference(&found, &expected);
        assert!(difference < 1e-5, "{name}: {difference}");
    }
}
