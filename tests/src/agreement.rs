//! Runs a model over the reference sentences and measures its agreement with the reference.

use nanoembed_core::kernel::{Kernels, RowSummary};
use nanoembed_core::model::{Batch, Encoder, Layer, Run, Weights, Workspace};

use crate::minilm::{WIDTH, config, cosine, references, sentences};

/// The agreement of embeddings of the reference sentences with the reference.
#[derive(Debug)]
pub struct Agreement {
    /// The number of sentences whose nearest other sentence is the same as in the reference.
    pub same_neighbour: usize,
    /// The embeddings themselves.
    pub embeddings: Vec<f32>,
    /// The largest difference of an element.
    pub max_difference: f32,
    /// The lowest cosine of a sentence's embedding to its reference.
    pub min_cosine: f64,
    /// The mean of the cosines.
    pub mean_cosine: f64,
}

/// The embeddings of all reference sentences, in order; `precise` computes in f32 even if weights
/// have 8 bits.
///
/// # Panics
///
/// If `weights` are not those of all-MiniLM-L6-v2, in memory.
#[must_use]
pub fn embed(
    weights: &(impl Weights + Sync),
    kernels: &Kernels,
    most_tokens: usize,
    precise: bool,
) -> Vec<f32> {
    let config = config();
    let layers = vec![Layer::EMPTY; config.layers];
    let encoder =
        Encoder::open(weights, config.transformer, config.embedding(), layers).expect("the model");
    let mut plan = encoder.plan(most_tokens);
    plan.quantized &= !precise;
    let needs = Workspace::needs(&config, &plan).expect("the model");
    let (mut floats, mut bytes) = (vec![0.0; needs.floats], vec![0; needs.bytes]);
    let mut workspace = Workspace::new(&config, &plan, &mut floats, &mut bytes).expect("the model");
    let sentences = sentences();
    let texts: Vec<_> = sentences.iter().map(|s| s.truncated(most_tokens)).collect();
    let lengths: Vec<_> = texts.iter().map(Vec::len).collect();
    let mut out = vec![0.0; sentences.len() * WIDTH];
    let mut summaries = vec![RowSummary::EMPTY; encoder.transformer.summaries(kernels)];
    let transformer = &encoder.transformer;
    transformer.summarize(weights, kernels, &mut [], &mut summaries).expect("weights in memory");
    let run = Run { summaries: &summaries, ..Run::new(weights, kernels) };
    let ids = texts.concat();
    let batch = Batch::new(&ids, &lengths);
    encoder.embed(&run, &batch, &mut workspace, &mut [], &mut out).expect("the model");
    out
}

/// Compares embeddings of all reference sentences, in order, truncated to `most_tokens`.
///
/// # Panics
///
/// If there is no reference for `most_tokens`.
#[must_use]
pub fn compare(embeddings: Vec<f32>, most_tokens: usize) -> Agreement {
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

/// The index of the nearest other vector by cosine; the first one among ties.
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
