//! Transformers with all settings against a simple f64 implementation that follows the settings
//! step by step.

mod model;
mod settings;
mod twin;

use nanoembed_core::ErrorKind;
use nanoembed_core::kernel::{self, RowSummary};
use nanoembed_core::model::llama::{Cache, Llama, LlamaMemory, LlamaPlan, Output};
use nanoembed_core::model::{Batch, Config, Layer, Mask, Plan, Run, SliceWeights, Transformer};

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

/// First tokens that texts share are computed once in causal models.
#[test]
fn texts_that_begin_alike_have_the_bits_that_each_has_alone() {
    let causal = |it: &(&str, Config, Stored)| it.1.attention.mask == Mask::Causal;
    let ids = ids();
    let start = &ids[..20];
    let ends = [&ids[20..21], &ids[3..41], &ids[30..32], &ids[22..39]];
    let texts = ends.map(|end| [start, end].concat());
    let lengths = texts.each_ref().map(Vec::len);
    let all = texts.concat();
    for (name, config, stored) in models().into_iter().filter(causal) {
        let model = Model::new(config, stored, true);
        for kernels in kernel::available() {
            for (quantized, jobs) in [(false, 1), (false, 3), (true, 1), (true, 2)] {
                let plan = Plan { quantized, jobs, ..Plan::new(128) };
                let together = Batch { shared: 20, ..Batch::new(&all, &lengths) };
                let found = model.embed_texts(&kernels, plan, &together);
                for (text, found) in texts.iter().zip(found.chunks_exact(HIDDEN)) {
                    let length = [text.len()];
                    // Among quantised ones, shared tokens have scales of their own.
                    let shared = if quantized { 20 } else { 0 };
                    let alone = Batch { shared, ..Batch::new(text, &length) };
                    let expected = model.embed_texts(&kernels, plan, &alone);
                    let same = found.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits());
                    let place = format!("{name} {} {quantized} {jobs}", kernels.name);
                    assert!(same, "{place} {}: {found:?} {expected:?}", text.len());
                }
            }
        }
    }
}

#[test]
fn tokens_that_texts_do_not_share_are_refused() {
    let models = models();
    let invalid = Err(ErrorKind::InvalidArgument);
    let found = |name: &str, shared: usize| {
        let (_, config, stored) = models.iter().find(|(own, ..)| *own == name).unwrap();
        let model = Model::new(*config, *stored, false);
        let texts = Batch { shared, ..Batch::new(&[3, 4, 5, 3, 4, 6], &[3, 3]) };
        let found = model.try_embed(&kernel::detect(), Plan::new(64), &texts);
        found.map(drop).map_err(|error| error.kind())
    };
    assert_eq!([1, 2].map(|shared| found("Qwen3", shared)), [Ok(()); 2]);
    // Only the first two are equal, and a text has tokens of its own.
    assert_eq!([3, 4, 7].map(|shared| found("Qwen3", shared)), [invalid; 3]);
    assert_eq!(found("EuroBERT", 2), invalid, "not causal");
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
