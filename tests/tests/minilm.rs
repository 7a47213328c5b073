//! Embeddings of the reference sentences against those computed in f64.

use nanoembed_core::event::Mode;
use nanoembed_core::format::embd::Embd;
use nanoembed_core::kernel::{self, Kernels};
use nanoembed_core::model::{Bert, Layer, Run, SliceWeights, Weights, Workspace};
use nanoembed_core::tensor::Dtype;
use nanoembed_tests::blocks;
use nanoembed_tests::data::published_model;
use nanoembed_tests::minilm::{Safetensors, WIDTH, config, cosine, references, sentences};

const DEFAULT_MODEL: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../models/all-MiniLM-L6-v2.int8.weights");

#[derive(Debug)]
struct Agreement {
    /// Sentences whose nearest other sentence is the same as by the reference.
    same_neighbour: usize,
    embeddings: Vec<f32>,
    max_difference: f32,
    min_cosine: f64,
    mean_cosine: f64,
}

/// The embeddings of all reference sentences, in order.
fn embed(
    weights: &(impl Weights + Sync),
    kernels: &Kernels,
    most_tokens: usize,
    precise: bool,
) -> Vec<f32> {
    let config = config();
    let bert = Bert::open(weights, config, vec![Layer::EMPTY; config.layers]).unwrap();
    let mut plan = bert.plan(most_tokens);
    plan.quantized &= !precise;
    let needs = Workspace::needs(&config, &plan).unwrap();
    let (mut floats, mut bytes) = (vec![0.0; needs.floats], vec![0; needs.bytes]);
    let mut workspace = Workspace::new(&config, &plan, &mut floats, &mut bytes).unwrap();
    let sentences = sentences();
    let texts: Vec<_> = sentences.iter().map(|s| s.truncated(most_tokens)).collect();
    let lengths: Vec<_> = texts.iter().map(Vec::len).collect();
    let mut out = vec![0.0; sentences.len() * WIDTH];
    let run = Run::new(weights, kernels);
    bert.embed_batch(&run, &texts.concat(), &lengths, &mut workspace, &mut out).unwrap();

    out
}

fn compare(embeddings: Vec<f32>, most_tokens: usize) -> Agreement {
    let references = references(most_tokens);
    let sentences = sentences();
    let ours: Vec<_> = embeddings.chunks(WIDTH).collect();
    let theirs: Vec<_> = sentences.iter().map(|s| &references[s.row * WIDTH..][..WIDTH]).collect();
    let cosines: Vec<_> = ours.iter().zip(&theirs).map(|(a, b)| cosine(a, b)).collect();
    let pairs = ours.iter().zip(&theirs);
    Agreement {
        max_difference: pairs
            .flat_map(|(a, b)| a.iter().zip(*b).map(|(a, b)| (a - b).abs()))
            .fold(0.0, f32::max),
        min_cosine: cosines.iter().copied().fold(1.0, f64::min),
        mean_cosine: cosines.iter().sum::<f64>() / cosines.len() as f64,
        same_neighbour: (0..ours.len())
            .filter(|&i| neighbour(i, &ours) == neighbour(i, &theirs))
            .count(),
        embeddings,
    }
}

/// The nearest other one by cosine, the first of several that are equally near.
fn neighbour(index: usize, all: &[&[f32]]) -> usize {
    let mut nearest = (0, f64::MIN);
    for (other, vector) in all.iter().enumerate() {
        let near = cosine(all[index], vector);
        if other != index && near > nearest.1 {
            nearest = (other, near);
        }
    }
    nearest.0
}

#[test]
fn f32_agrees_with_the_reference_on_every_table() {
    let Some(file) =
        published_model("model.safetensors", "f32_agrees_with_the_reference_on_every_table")
    else {
        return;
    };
    let model = Safetensors::read(&file);
    let weights = SliceWeights::new(&model.file, |name| model.find(name));
    for kernels in kernel::available() {
        for most_tokens in [256, 512] {
            let result = compare(embed(&weights, &kernels, most_tokens, false), most_tokens);
            println!(
                "{} {most_tokens}: max |difference| {:.2e}, cosine min {:.9} mean {:.9}",
                kernels.name, result.max_difference, result.min_cosine, result.mean_cosine
            );
            assert!(result.max_difference <= 1e-5, "{}", kernels.name);
            assert!(result.min_cosine >= 0.999_999, "{}", kernels.name);
        }
    }
}

#[test]
fn int8_is_close_to_the_reference_and_the_same_on_every_table() {
    let file = std::fs::read(DEFAULT_MODEL).unwrap();
    let model = Embd::parse(&file, Mode::Strict).unwrap();
    let weights =
        SliceWeights::new(&file, |name| model.tensor(name).map(|tensor| *tensor.header()));
    let mut first: Option<Vec<f32>> = None;
    for kernels in kernel::available() {
        let result = compare(embed(&weights, &kernels, 256, false), 256);
        println!(
            "{} int8: cosine min {:.6} mean {:.6}, same neighbour {}",
            kernels.name, result.min_cosine, result.mean_cosine, result.same_neighbour
        );
        assert!(result.mean_cosine >= 0.998, "{}", kernels.name);
        assert!(result.min_cosine >= 0.99, "{}", kernels.name);
        assert!(result.same_neighbour >= 98, "{}", kernels.name);
        let first = first.get_or_insert(result.embeddings.clone());
        assert!(*first == result.embeddings, "{} computes other bits", kernels.name);
    }
    let result = compare(embed(&weights, &kernel::detect(), 256, true), 256);
    println!(
        "precise: cosine min {:.6} mean {:.6}, same neighbour {}",
        result.min_cosine, result.mean_cosine, result.same_neighbour
    );
    assert!(result.mean_cosine >= 0.999 && result.min_cosine >= 0.995);
}

#[test]
fn blocks_are_close_to_the_reference_on_every_table() {
    let Some(file) =
        published_model("model.safetensors", "blocks_are_close_to_the_reference_on_every_table")
    else {
        return;
    };
    let float = Safetensors::read(&file);
    // Lowest mean cosine to the reference, and between quantised and float activations.
    for (dtype, mean, same) in
        [(Dtype::Q8_0, 0.999, 0.997), (Dtype::Q4_0, 0.94, 0.997), (Dtype::Q6K, 0.999, 0.997)]
    {
        let model = blocks::blocks(&float, dtype);
        let weights = SliceWeights::new(&model.file, |name| model.find(name));
        let precise = embed(&weights, &kernel::detect(), 256, true);
        let result = compare(precise.clone(), 256);
        println!(
            "{} precise: cosine min {:.6} mean {:.6}, same neighbour {}",
            dtype.name(),
            result.min_cosine,
            result.mean_cosine,
            result.same_neighbour
        );
        assert!(result.mean_cosine >= mean, "{}", dtype.name());
        for kernels in kernel::available() {
            let vectors = embed(&weights, &kernels, 256, false);
            let pairs = vectors.chunks(WIDTH).zip(precise.chunks(WIDTH));
            let least = pairs.map(|(a, b)| cosine(a, b)).fold(1.0, f64::min);
            let result = compare(vectors, 256);
            println!(
                "{} {}: cosine min {:.6} mean {:.6}, same neighbour {}; to precise {least:.6}",
                kernels.name,
                dtype.name(),
                result.min_cosine,
                result.mean_cosine,
                result.same_neighbour
            );
            assert!(result.mean_cosine >= mean, "{} {}", kernels.name, dtype.name());
            assert!(least >= same, "{} {}", kernels.name, dtype.name());
        }
    }
}
