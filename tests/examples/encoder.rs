//! The latency of the encoder: milliseconds for one text or a batch, on every table, in f32 and in
//! 8 bits.
//!
//! ```text
//! NANOEMBED_MODEL_DIR=… cargo run --release -p nanoembed-tests --example encoder -- [f32|int8|precise|q8_0|q4_0|q6_k] [TABLE] [SIZE …]
//! ```
//!
//! A size is a number of tokens, or TEXTSxTOKENS. For comparisons with other programs see
//! `tests/peers`.

use std::time::Instant;

use nanoembed_core::event::Mode;
use nanoembed_core::format::embd::Embd;
use nanoembed_core::kernel::{self, Kernels};
use nanoembed_core::model::{Batch, Encoder, Layer, Run, SliceWeights, Weights, Workspace};
use nanoembed_core::tensor::Dtype;
use nanoembed_tests::blocks;
use nanoembed_tests::data::{DEFAULT_MODEL, published_model};
use nanoembed_tests::minilm::{Safetensors, config};

/// Texts and tokens of each, from `32` or `8x32`.
fn size(text: &str) -> Option<(usize, usize)> {
    match text.split_once('x') {
        None => Some((1, text.parse().ok()?)),
        Some((texts, tokens)) => Some((texts.parse().ok()?, tokens.parse().ok()?)),
    }
}

/// The shortest of at least 5 runs in about half a second: other programs only ever add time.
fn least_ms(mut run: impl FnMut()) -> f64 {
    run();
    let start = Instant::now();
    let (mut least, mut runs) = (f64::MAX, 0);
    while runs < 5 || start.elapsed().as_millis() < 500 {
        let start = Instant::now();
        run();
        least = least.min(start.elapsed().as_secs_f64() * 1e3);
        runs += 1;
    }
    least
}

fn measure(
    name: &str,
    weights: &(impl Weights + Sync),
    kernels: &Kernels,
    sizes: &[(usize, usize)],
    quantized: bool,
) {
    let config = config();
    let encoder = Encoder::open(
        weights,
        config.transformer,
        config.embedding(),
        vec![Layer::EMPTY; config.layers],
    )
    .expect("a model");
    let mut line = format!("{:12} {name:8}", kernels.name);
    for &(texts, tokens) in sizes {
        let mut plan = encoder.plan(tokens.max(256));
        plan.quantized &= quantized;
        let needs = Workspace::needs(&config, &plan).expect("a plan");
        let (mut floats, mut bytes) = (vec![0.0; needs.floats], vec![0; needs.bytes]);
        let mut workspace =
            Workspace::new(&config, &plan, &mut floats, &mut bytes).expect("enough");
        let ids: Vec<u32> = (0..texts * tokens).map(|i| 1000 + (i as u32 * 7919) % 20000).collect();
        let lengths = vec![tokens; texts];
        let mut out = vec![0.0; texts * config.hidden];
        let run = Run::new(weights, kernels);
        let ms = least_ms(|| {
            let batch = Batch::new(&ids, &lengths);
            encoder.embed(&run, &batch, &mut workspace, &mut [], &mut out).expect("vectors");
        });
        line += &format!("  {texts}x{tokens}: {ms:7.2}");
    }
    println!("{line}");
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(file) = published_model("model.safetensors", "encoder") else { return };
    let mut model = Safetensors::read(&file);
    model.file = model.realigned();
    let mut sizes: Vec<_> = arguments.iter().filter_map(|argument| size(argument)).collect();
    if sizes.is_empty() {
        sizes = vec![(1, 8), (1, 32), (1, 128), (1, 256), (32, 32)];
    }
    let chosen = |name: &str, all: &[&str]| {
        let named = |argument: &String| all.contains(&argument.as_str());
        !arguments.iter().any(named) || arguments.iter().any(|argument| argument == name)
    };
    let forms = ["f32", "int8", "precise", "q8_0", "q4_0", "q6_k"];
    let tables: Vec<_> = kernel::available().collect();
    let names: Vec<_> = tables.iter().map(|table| table.name).collect();
    let any = |wanted: &[&str]| wanted.iter().any(|name| chosen(name, &forms));
    let float = SliceWeights::new(&model.file, |name| model.find(name));
    let file = std::fs::read(DEFAULT_MODEL).expect("the default model");
    let quantized =
        any(&["int8", "precise"]).then(|| Embd::parse(&file, Mode::Strict).expect("EMBD"));
    let blocks: Vec<_> = [Dtype::Q8_0, Dtype::Q4_0, Dtype::Q6K]
        .into_iter()
        .filter(|dtype| chosen(dtype.name(), &forms))
        .map(|dtype| (dtype, blocks::blocks(&model, dtype)))
        .collect();
    for table in tables.iter().filter(|table| chosen(table.name, &names)) {
        if chosen("f32", &forms) {
            measure("f32", &float, table, &sizes, false);
        }
        for (dtype, blocks) in &blocks {
            let weights = SliceWeights::new(&blocks.file, |name| blocks.find(name));
            measure(dtype.name(), &weights, table, &sizes, true);
        }
        let Some(quantized) = &quantized else { continue };
        let weights =
            SliceWeights::new(&file, |name| quantized.tensor(name).map(|tensor| *tensor.header()));
        for form in ["int8", "precise"] {
            if chosen(form, &forms) {
                measure(form, &weights, table, &sizes, form == "int8");
            }
        }
    }
}
