//! Embeddings of the reference sentences against those computed in f64.

use nanoembed_core::kernel::{self, Kernels};
use nanoembed_core::model::{Bert, Layer, Plan, Run, SliceWeights, Weights, Workspace};
use nanoembed_tests::minilm::{
    Safetensors, WIDTH, config, cosine, model_dir, references, sentences,
};

struct Agreement {
    max_difference: f32,
    min_cosine: f64,
    mean_cosine: f64,
}

fn compare(weights: &(impl Weights + Sync), kernels: &Kernels, most_tokens: usize) -> Agreement {
    let config = config();
    let bert = Bert::open(weights, config, vec![Layer::EMPTY; config.layers]).unwrap();
    let plan = Plan::new(most_tokens);
    let needs = Workspace::needs(&config, &plan).unwrap();
    let (mut floats, mut bytes) = (vec![0.0; needs.floats], vec![0; needs.bytes]);
    let mut workspace = Workspace::new(&config, &plan, &mut floats, &mut bytes).unwrap();
    let sentences = sentences();
    let texts: Vec<_> = sentences.iter().map(|s| s.truncated(most_tokens)).collect();
    let lengths: Vec<_> = texts.iter().map(Vec::len).collect();
    let mut out = vec![0.0; sentences.len() * WIDTH];
    let run = Run::new(weights, kernels);
    bert.embed_batch(&run, &texts.concat(), &lengths, &mut workspace, &mut out).unwrap();

    let references = references(most_tokens);
    let pairs: Vec<_> = sentences
        .iter()
        .zip(out.chunks(WIDTH))
        .map(|(s, out)| (out, &references[s.row * WIDTH..][..WIDTH]))
        .collect();
    let cosines: Vec<_> = pairs.iter().map(|(a, b)| cosine(a, b)).collect();
    Agreement {
        max_difference: pairs
            .iter()
            .flat_map(|(a, b)| a.iter().zip(*b).map(|(a, b)| (a - b).abs()))
            .fold(0.0, f32::max),
        min_cosine: cosines.iter().copied().fold(1.0, f64::min),
        mean_cosine: cosines.iter().sum::<f64>() / cosines.len() as f64,
    }
}

#[test]
fn f32_agrees_with_the_reference_on_every_table() {
    let Some(dir) = model_dir() else { return };
    let model = Safetensors::read(&dir.join("model.safetensors"));
    let weights = SliceWeights::new(&model.file, |name| model.find(name));
    for kernels in kernel::available() {
        for most_tokens in [256, 512] {
            let result = compare(&weights, &kernels, most_tokens);
            println!(
                "{} {most_tokens}: max |difference| {:.2e}, cosine min {:.9} mean {:.9}",
                kernels.name, result.max_difference, result.min_cosine, result.mean_cosine
            );
            assert!(result.max_difference <= 1e-5, "{}", kernels.name);
            assert!(result.min_cosine >= 0.999_999, "{}", kernels.name);
        }
    }
}
