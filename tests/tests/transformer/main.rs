//! Transformers with all settings against a simple f64 implementation that follows the settings
//! step by step.

mod model;
mod settings;
mod twin;

use nanoembed_core::kernel::{self, RowSummary};
use nanoembed_core::model::llama::{Cache, Llama, LlamaMemory, LlamaPlan, Output};
use nanoembed_core::model::{Config, Layer, Mask, Plan, Run, SliceWeights, Transformer};

use model::{Model, NAMES, SHARED, ids};
use settings::{HIDDEN, LAYERS, Stored, models};

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
            // Transposed matrices are floats.
            assert!(same || stored.transposed, "{name} {}", kernels.name);
        }
    }
}

#[test]
fn layers_that_share_their_weights_share_their_summaries() {
    let models = models();
    let (_, config, stored) = models.iter().find(|(name, ..)| *name == "ALBERT").unwrap();
    let model = Model::new(*config, *stored, true);
    let weights = SliceWeights::new(&model.file, |name: &str| model.find(name));
    for kernels in kernel::available() {
        let [apart, shared] = [&NAMES, &SHARED].map(|names| {
            let layers = vec![Layer::EMPTY; LAYERS];
            let model = Transformer::from_family(&weights, *config, names, layers).unwrap();
            let count = model.summaries(&kernels);
            let mut summaries = vec![RowSummary::EMPTY; count];
            model.summarize(&weights, &kernels, &mut [], &mut summaries).unwrap();
            count
        });
        assert_eq!(shared * LAYERS, apart, "{}", kernels.name);
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
        let llama = Llama::from_family(&weights, config, &NAMES, layers).unwrap();
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
