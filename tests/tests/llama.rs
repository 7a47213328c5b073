//! Llama-family decoders: a small model against f64, and SmolLM2 against llama.cpp.

use std::collections::HashMap;

use nanoembed_core::kernel::{self, Kernels};
use nanoembed_core::model::llama::{
    Activations, Cache, Llama, LlamaConfig, LlamaLayer, LlamaMemory, LlamaPlan, Output, Rope,
    RopePairs,
};
use nanoembed_core::model::{Heads, Rotary, Run, SliceWeights, Weights};
use nanoembed_core::tensor::{Dtype, Shape, TensorHeader};
use nanoembed_core::{Error, ErrorKind};
use nanoembed_tests::data;
use nanoembed_tests::decoder::Decoder;

/// A model in memory under the names of Hugging Face.
#[derive(Default)]
struct Tiny {
    file: Vec<u8>,
    headers: HashMap<String, (Shape, u64, u64)>,
    values: HashMap<String, Vec<f32>>,
    state: u32,
}

const VOCABULARY: usize = 23;
const HIDDEN: usize = 24;
const HEADS: usize = 6;
const KV_HEADS: usize = 2;
const HEAD: usize = 8;
const INTERMEDIATE: usize = 20;
const LAYERS: usize = 2;

impl Tiny {
    fn random(&mut self, count: usize, size: f32) -> Vec<f32> {
        let mut next = || {
            self.state = self.state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((f64::from(self.state >> 8) / f64::from(1 << 24)) as f32 - 0.5) * size
        };
        (0..count).map(|_| next()).collect()
    }

    fn put(&mut self, name: &str, dims: &[usize], values: Vec<f32>) {
        let dims: Vec<u64> = dims.iter().map(|&dim| dim as u64).collect();
        let offset = self.file.len() as u64;
        self.file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        let place = (Shape::new(&dims).unwrap(), offset, values.len() as u64 * 4);
        self.headers.insert(name.to_owned(), place);
        self.values.insert(name.to_owned(), values);
    }

    fn matrix(&mut self, name: &str, rows: usize, cols: usize) {
        let values = self.random(rows * cols, 0.8);
        self.put(name, &[rows, cols], values);
    }

    fn vector(&mut self, name: &str, length: usize) {
        let values = self.random(length, 0.4).iter().map(|x| x + 1.0).collect();
        self.put(name, &[length], values);
    }

    /// A model, with its own output layer unless `tied`.
    fn new(tied: bool) -> Self {
        let mut tiny = Self { state: 9, ..Self::default() };
        tiny.matrix("model.embed_tokens.weight", VOCABULARY, HIDDEN);
        tiny.vector("model.norm.weight", HIDDEN);
        if !tied {
            tiny.matrix("lm_head.weight", VOCABULARY, HIDDEN);
        }
        for layer in 0..LAYERS {
            let name = |part: &str| format!("model.layers.{layer}.{part}.weight");
            tiny.vector(&name("input_layernorm"), HIDDEN);
            tiny.vector(&name("post_attention_layernorm"), HIDDEN);
            tiny.matrix(&name("self_attn.q_proj"), HEADS * HEAD, HIDDEN);
            tiny.matrix(&name("self_attn.k_proj"), KV_HEADS * HEAD, HIDDEN);
            tiny.matrix(&name("self_attn.v_proj"), KV_HEADS * HEAD, HIDDEN);
            tiny.matrix(&name("self_attn.o_proj"), HIDDEN, HEADS * HEAD);
            tiny.matrix(&name("mlp.gate_proj"), INTERMEDIATE, HIDDEN);
            tiny.matrix(&name("mlp.up_proj"), INTERMEDIATE, HIDDEN);
            tiny.matrix(&name("mlp.down_proj"), HIDDEN, INTERMEDIATE);
        }
        tiny
    }

    /// The same model with fused matrices as in Phi-3.
    fn fused(&self) -> Self {
        let mut fused = Self::default();
        let join = |names: &[String]| -> Vec<f32> {
            names.iter().flat_map(|name| self.values[name].clone()).collect()
        };
        for (name, (shape, ..)) in &self.headers {
            if ["q_proj", "k_proj", "v_proj", "gate_proj", "up_proj"]
                .iter()
                .any(|it| name.contains(it))
            {
                continue;
            }
            let dims: Vec<usize> =
                shape.dims().iter().map(|&d| usize::try_from(d).unwrap()).collect();
            fused.put(name, &dims, self.values[name].clone());
        }
        for layer in 0..LAYERS {
            let name = |part: &str| format!("model.layers.{layer}.{part}.weight");
            let qkv = ["q", "k", "v"].map(|part| name(&format!("self_attn.{part}_proj")));
            let rows = (HEADS + 2 * KV_HEADS) * HEAD;
            fused.put(&name("self_attn.qkv_proj"), &[rows, HIDDEN], join(&qkv));
            let gate_up = ["gate", "up"].map(|part| name(&format!("mlp.{part}_proj")));
            fused.put(&name("mlp.gate_up_proj"), &[2 * INTERMEDIATE, HIDDEN], join(&gate_up));
        }
        fused
    }

    /// The same model with queries and keys in the order for rotating neighbours.
    fn neighbours(&self) -> Self {
        let mut turned = Self::default();
        for (name, (shape, ..)) in &self.headers {
            let dims: Vec<usize> =
                shape.dims().iter().map(|&d| usize::try_from(d).unwrap()).collect();
            let values = &self.values[name];
            let is_turned = name.contains("q_proj") || name.contains("k_proj");
            let row = |index: usize| {
                let (head, i) = (index / HEAD, index % HEAD);
                // Neighbours 2i and 2i + 1 are i and i + HEAD / 2 of the halves.
                let from = if is_turned { head * HEAD + i / 2 + i % 2 * HEAD / 2 } else { index };
                values[from * HIDDEN..(from + 1) * HIDDEN].to_vec()
            };
            let values =
                if is_turned { (0..dims[0]).flat_map(row).collect() } else { values.clone() };
            turned.put(name, &dims, values);
        }
        turned
    }

    fn find(&self, name: &str) -> Option<TensorHeader<'_>> {
        let (name, (shape, offset, bytes)) = self.headers.get_key_value(name)?;
        Some(TensorHeader {
            name,
            dtype: Dtype::F32,
            shape: *shape,
            offset: *offset,
            bytes: *bytes,
        })
    }

    fn logits(
        &self,
        ids: &[u32],
        pairs: RopePairs,
        kernels: &Kernels,
        steps: &[usize],
    ) -> Vec<f32> {
        let weights = SliceWeights::new(&self.file, |name| self.find(name));
        let config = config(pairs);
        let llama = Llama::open(&weights, config, vec![LlamaLayer::EMPTY; LAYERS]).unwrap();
        logits(&llama, &weights, kernels, (ids, steps), Activations::Words)
    }
}

fn config(rope_pairs: RopePairs) -> LlamaConfig {
    let mut rope = Rope::new(HEAD, 10_000.0, 64);
    rope.position_divisor = 2.0;
    rope.pairs = rope_pairs;
    let mut config = LlamaConfig::LLAMA;
    config.layers = LAYERS;
    config.heads = Heads { query: HEADS, key_value: KV_HEADS, size: HEAD };
    config.hidden = HIDDEN;
    config.intermediate = INTERMEDIATE;
    config.vocabulary = VOCABULARY;
    config.positions = 64;
    config.epsilon = 1e-5;
    config.rotary = Some(Rotary { global: rope, local: rope });
    config
}

/// All logits of `ids`, fed in `steps`; the memory is exactly the stated amount.
fn logits(
    llama: &Llama<Vec<LlamaLayer>>,
    weights: &impl Weights,
    kernels: &Kernels,
    (ids, steps): (&[u32], &[usize]),
    activations: Activations,
) -> Vec<f32> {
    let config = llama.config();
    let mut cache = vec![0.0; Cache::floats_needed(config, ids.len()).unwrap()];
    let mut cache = Cache::new(config, ids.len(), &mut cache).unwrap();
    let plan = LlamaPlan { activations, ..LlamaPlan::new(4, ids.len()) };
    let needs = LlamaMemory::needs(config, &plan).unwrap();
    let (mut floats, mut bytes) = (vec![0.0; needs.floats], vec![0; needs.bytes]);
    let short = &mut floats[..needs.floats - 1];
    assert!(LlamaMemory::new(config, &plan, short, &mut bytes).is_err());
    if let Some((_, short)) = bytes.split_last_mut() {
        assert!(LlamaMemory::new(config, &plan, &mut floats, short).is_err());
    }
    let mut memory = LlamaMemory::new(config, &plan, &mut floats, &mut bytes).unwrap();
    let run = Run::new(weights, kernels);
    let mut all = Vec::new();
    let mut rest = ids;
    for &step in steps {
        let (part, after) = rest.split_at(step);
        let mut out = vec![0.0; step * config.vocabulary];
        llama.forward(&run, part, &mut cache, &mut memory, Output::AllLogits(&mut out)).unwrap();
        all.extend(out);
        rest = after;
    }
    assert!(rest.is_empty());
    all
}

/// The model in f64, token by token, implemented from the papers.
fn reference(tiny: &Tiny, ids: &[u32]) -> Vec<f64> {
    let value = |name: &str| -> Vec<f64> { tiny.values[name].iter().map(|&x| x.into()).collect() };
    let times = |w: &[f64], x: &[f64]| -> Vec<f64> {
        w.chunks(x.len()).map(|row| row.iter().zip(x).map(|(a, b)| a * b).sum()).collect()
    };
    let norm = |x: &[f64], w: &[f64]| -> Vec<f64> {
        let mean = x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64;
        x.iter().zip(w).map(|(x, w)| x * w / (mean + 1e-5).sqrt()).collect()
    };
    let rope = |x: &mut [f64], position: usize| {
        for head in x.chunks_mut(HEAD) {
            for i in 0..HEAD / 2 {
                let frequency = 10_000_f64.powf(-2.0 * i as f64 / HEAD as f64);
                let (sin, cos) = (position as f64 / 2.0 * frequency).sin_cos();
                let (a, b) = (head[i], head[i + HEAD / 2]);
                (head[i], head[i + HEAD / 2]) = (a * cos - b * sin, a * sin + b * cos);
            }
        }
    };
    let embeddings = value("model.embed_tokens.weight");
    let mut cache: Vec<Vec<(Vec<f64>, Vec<f64>)>> = vec![Vec::new(); LAYERS];
    let mut logits = Vec::new();
    for (position, &id) in ids.iter().enumerate() {
        let mut x = embeddings[id as usize * HIDDEN..][..HIDDEN].to_vec();
        for (layer, cache) in cache.iter_mut().enumerate() {
            let w = |part: &str| value(&format!("model.layers.{layer}.{part}.weight"));
            let h = norm(&x, &w("input_layernorm"));
            let (mut q, mut k) =
                (times(&w("self_attn.q_proj"), &h), times(&w("self_attn.k_proj"), &h));
            rope(&mut q, position);
            rope(&mut k, position);
            cache.push((k, times(&w("self_attn.v_proj"), &h)));
            let mut context = Vec::new();
            for (index, q) in q.chunks(HEAD).enumerate() {
                let kv = index / (HEADS / KV_HEADS) * HEAD;
                let scores: Vec<f64> = cache
                    .iter()
                    .map(|(k, _)| {
                        q.iter().zip(&k[kv..]).map(|(a, b)| a * b).sum::<f64>()
                            / (HEAD as f64).sqrt()
                    })
                    .map(f64::exp)
                    .collect();
                let total: f64 = scores.iter().sum();
                for i in 0..HEAD {
                    let sum: f64 =
                        scores.iter().zip(cache.iter()).map(|(s, (_, v))| s * v[kv + i]).sum();
                    context.push(sum / total);
                }
            }
            let attended = times(&w("self_attn.o_proj"), &context);
            x.iter_mut().zip(attended).for_each(|(x, y)| *x += y);
            let h = norm(&x, &w("post_attention_layernorm"));
            let (gate, up) = (times(&w("mlp.gate_proj"), &h), times(&w("mlp.up_proj"), &h));
            let wide: Vec<f64> =
                gate.iter().zip(up).map(|(g, u)| g / (1.0 + (-g).exp()) * u).collect();
            let out = times(&w("mlp.down_proj"), &wide);
            x.iter_mut().zip(out).for_each(|(x, y)| *x += y);
        }
        let h = norm(&x, &value("model.norm.weight"));
        let output = tiny
            .values
            .get("lm_head.weight")
            .map_or(embeddings.clone(), |w| w.iter().map(|&x| x.into()).collect());
        logits.extend(times(&output, &h));
    }
    logits
}

const IDS: [u32; 11] = [3, 0, 22, 7, 7, 1, 14, 9, 2, 19, 5];

fn largest_difference(ours: &[f32], theirs: &[f64]) -> f64 {
    assert_eq!(ours.len(), theirs.len());
    ours.iter().zip(theirs).map(|(&a, b)| (f64::from(a) - b).abs()).fold(0.0, f64::max)
}

#[test]
fn logits_are_those_of_f64_however_tokens_come() {
    for tied in [false, true] {
        let tiny = Tiny::new(tied);
        let expected = reference(&tiny, &IDS);
        for kernels in kernel::available() {
            for steps in [&[11][..], &[1; 11], &[4, 7], &[5, 1, 5]] {
                let ours = tiny.logits(&IDS, RopePairs::Halves, &kernels, steps);
                let off = largest_difference(&ours, &expected);
                assert!(off < 2e-5, "{} {steps:?}: {off:e}", kernels.name);
            }
        }
    }
}

#[test]
fn fused_matrices_and_the_order_of_gguf_are_the_same_model() {
    let tiny = Tiny::new(false);
    let kernels = Kernels::portable();
    let ours = tiny.logits(&IDS, RopePairs::Halves, &kernels, &[11]);
    assert_eq!(tiny.fused().logits(&IDS, RopePairs::Halves, &kernels, &[11]), ours);
    // The same products summed up in another order.
    let turned = tiny.neighbours().logits(&IDS, RopePairs::Neighbours, &kernels, &[11]);
    let ours: Vec<f64> = ours.iter().map(|&x| x.into()).collect();
    assert!(largest_difference(&turned, &ours) < 1e-5);
}

#[test]
fn pooled_states_are_of_length_one_and_of_the_last_token_or_all() {
    let tiny = Tiny::new(true);
    let weights = SliceWeights::new(&tiny.file, |name| tiny.find(name));
    let llama =
        Llama::open(&weights, config(RopePairs::Halves), vec![LlamaLayer::EMPTY; LAYERS]).unwrap();
    let config = llama.config();
    let mut cache = vec![0.0; Cache::floats_needed(config, 11).unwrap()];
    let mut cache = Cache::new(config, 11, &mut cache).unwrap();
    let plan = LlamaPlan { activations: Activations::Floats, ..LlamaPlan::new(4, 11) };
    let mut floats = vec![0.0; LlamaMemory::needs(config, &plan).unwrap().floats];
    let mut memory = LlamaMemory::new(config, &plan, &mut floats, &mut []).unwrap();
    let kernels = Kernels::portable();
    let run = Run::new(&weights, &kernels);
    let (mut states, mut last, mut mean) =
        (vec![0.0; 11 * HIDDEN], vec![0.0; HIDDEN], vec![0.0; HIDDEN]);
    llama.embed(&run, &IDS, &mut cache, &mut memory, (true, &mut states, &mut last)).unwrap();
    llama.embed(&run, &IDS, &mut cache, &mut memory, (false, &mut states, &mut mean)).unwrap();
    let length = |x: &[f32]| x.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    assert!((length(&last) - 1.0).abs() < 1e-6 && (length(&mean) - 1.0).abs() < 1e-6);
    let sums: Vec<f32> = (0..HIDDEN).map(|i| states.chunks(HIDDEN).map(|s| s[i]).sum()).collect();
    let scale = length(&sums) as f32;
    assert!(sums.iter().zip(&mean).all(|(sum, mean)| (sum / scale - mean).abs() < 1e-5));
    let end = &states[10 * HIDDEN..];
    let scale = length(end) as f32;
    assert!(end.iter().zip(&last).all(|(end, last)| (end / scale - last).abs() < 1e-5));
}

#[test]
fn wrong_arguments_and_weights_are_refused() {
    let tiny = Tiny::new(true);
    let weights = SliceWeights::new(&tiny.file, |name| tiny.find(name));
    let config = config(RopePairs::Halves);
    let open = |config| {
        Llama::open(&weights, config, vec![LlamaLayer::EMPTY; 3]).map(drop).map_err(|e| e.kind())
    };
    assert_eq!(open(config), Ok(()));
    let open_with = |set: fn(&mut LlamaConfig)| {
        let mut config = config;
        set(&mut config);
        open(config)
    };
    assert_eq!(open_with(|it| it.layers = 3), Err(ErrorKind::MissingTensor));
    assert_eq!(open_with(|it| it.layers = 4), Err(ErrorKind::BufferTooSmall));
    assert_eq!(open_with(|it| it.hidden = 23), Err(ErrorKind::WrongShape));
    assert_eq!(open_with(|it| it.heads.key_value = 6), Err(ErrorKind::WrongShape));
    let llama = Llama::open(&weights, config, vec![LlamaLayer::EMPTY; LAYERS]).unwrap();
    let mut cache = vec![0.0; Cache::floats_needed(&config, 4).unwrap()];
    let mut cache = Cache::new(&config, 4, &mut cache).unwrap();
    let plan = LlamaPlan { activations: Activations::Floats, ..LlamaPlan::new(2, 4) };
    let mut floats = vec![0.0; LlamaMemory::needs(&config, &plan).unwrap().floats];
    let mut memory = LlamaMemory::new(&config, &plan, &mut floats, &mut []).unwrap();
    let kernels = Kernels::portable();
    let run = Run::new(&weights, &kernels);
    let mut forward = |ids: &[u32]| -> Result<(), ErrorKind> {
        let result: Result<(), Error> =
            llama.forward(&run, ids, &mut cache, &mut memory, Output::Nothing);
        result.map_err(|error| error.kind())
    };
    assert_eq!(forward(&[]), Err(ErrorKind::InvalidArgument));
    assert_eq!(forward(&[23]), Err(ErrorKind::TokenOutOfRange));
    assert_eq!(forward(&[0; 5]), Err(ErrorKind::TooManyTokens));
    assert_eq!(forward(&[0; 4]), Ok(()));
    assert_eq!(forward(&[0]), Err(ErrorKind::TooManyTokens));
}

/// llama.cpp's results for SmolLM2-135M-Instruct in f32: see `tools/llamacpp_reference.mjs`.
#[test]
fn smollm2_says_what_llama_cpp_says() {
    let test = "smollm2_says_what_llama_cpp_says";
    let Some(path) = data::environment("NANOEMBED_SMOLLM2", test) else { return };
    let expected: serde_json::Value =
        serde_json::from_slice(&data::read("llama/smollm2.json")).unwrap();
    let list = |key: &str| -> Vec<u32> {
        expected[key].as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect()
    };
    let file = std::fs::read(path).unwrap();
    let (prompt, greedy) = (list("prompt"), list("greedy"));
    let ids = [&prompt[..], &greedy[..greedy.len() - 1]].concat();
    for activations in [Activations::Floats, Activations::Words] {
        let mut decoder = Decoder::open(&file, (64, ids.len()), activations);
        let vocabulary = decoder.llama.config().vocabulary;
        let mut all = vec![0.0; ids.len() * vocabulary];
        decoder.forward(&ids, Output::AllLogits(&mut all));
        let rows: Vec<&[f32]> = all.chunks(vocabulary).skip(prompt.len() - 1).collect();
        let likeliest = |row: &[f32]| {
            let best = row.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
            u32::try_from(best.0).unwrap()
        };
        let ours: Vec<u32> = rows.iter().map(|row| likeliest(row)).collect();
        assert_eq!(ours, greedy, "64 greedy tokens");
        // Differences of logits are logarithms of ratios of probabilities.
        let top = expected["top"].as_array().unwrap();
        let of = |pair: &serde_json::Value| {
            (pair[0].as_u64().unwrap() as usize, pair[1].as_f64().unwrap())
        };
        let (best, probability) = of(&top[0]);
        let largest = rows[0].iter().fold(0.0_f32, |most, x| most.max(x.abs()));
        for pair in top {
            let (id, share) = of(pair);
            let theirs = (share / probability).ln();
            let ours = f64::from(rows[0][id] - rows[0][best]);
            assert!((ours - theirs).abs() < 1e-3 * f64::from(largest), "{id}: {ours} and {theirs}");
        }
    }
}
