//! The integer encoder against the reference embeddings, on the reference sentences and the default
//! model.

use nanoembed_core::describe::BertConfig;
use nanoembed_core::event::Mode;
use nanoembed_core::format::embd::Embd;
use nanoembed_core::model::{Encoder, FixedMemory, FixedNeeds, Layer, Plan, SliceWeights, Weights};
use nanoembed_core::tensor::{Dtype, TensorHeader};
use nanoembed_tests::data::DEFAULT_MODEL;
use nanoembed_tests::minilm::{self, WIDTH};

fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

fn encoder(weights: &impl Weights, config: &BertConfig) -> Encoder<Vec<Layer>> {
    let layers = vec![Layer::EMPTY; config.layers];
    Encoder::open(weights, config.transformer, config.embedding(), layers).expect("tensors")
}

/// The nearest other vector.
fn nearest(vectors: &[Vec<f64>], to: usize) -> usize {
    let others = (0..vectors.len()).filter(|&other| other != to);
    let score = |&other: &usize| cosine(&vectors[other], &vectors[to]);
    others.max_by(|a, b| score(a).total_cmp(&score(b))).expect("several vectors")
}

#[test]
fn integers_embed_as_floats_do() {
    let file = std::fs::read(DEFAULT_MODEL).expect("the default model");
    let embd = Embd::parse(&file, Mode::Strict).expect("a model");
    let config = BertConfig::from_metadata(|key| embd.metadata_value(key)).expect("sizes");
    let weights =
        SliceWeights::new(&file, |name: &str| embd.tensor(name).map(|tensor| *tensor.header()));
    let encoder = encoder(&weights, &config);
    let plan = Plan { block: 32, ..Plan::new(256) };
    let needs = FixedNeeds::new(&config, &plan).expect("sizes");
    let (mut words, mut codes) = (vec![0; needs.words], vec![0; needs.codes]);

    let reference =
        std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/data/minilm/embeddings_max256.f32"));
    let reference = reference.expect("reference embeddings");
    let mut expected = Vec::new();
    let mut found = Vec::new();
    // Every other sentence, to limit the time of unoptimised builds.
    for sentence in minilm::sentences().iter().step_by(2) {
        let mut out = [0; WIDTH];
        let ids = sentence.truncated(256);
        let memory = FixedMemory { words: &mut words, codes: &mut codes, bytes: &mut [] };
        encoder.embed_fixed(&weights, &plan, &ids, memory, &mut out).expect("an embedding");
        found.push(out.iter().map(|&x| f64::from(x) / f64::from(1 << 30)).collect::<Vec<_>>());
        let row =
            reference.as_chunks::<4>().0.chunks_exact(WIDTH).nth(sentence.row).expect("a row");
        expected.push(row.iter().map(|&x| f32::from_le_bytes(x).into()).collect::<Vec<f64>>());
    }
    let cosines: Vec<f64> = found.iter().zip(&expected).map(|(a, b)| cosine(a, b)).collect();
    let mean = cosines.iter().sum::<f64>() / cosines.len() as f64;
    let least = cosines.iter().copied().fold(1.0, f64::min);
    let same = (0..found.len()).filter(|&i| nearest(&found, i) == nearest(&expected, i)).count();
    println!("cosine: mean {mean:.5}, lowest {least:.5}; same nearest: {same} of {}", found.len());
    assert!(mean > 0.999 && least > 0.998, "mean {mean}, lowest {least}");
    assert!(same * 100 >= found.len() * 95, "{same}");
    assert!(found.iter().all(|x| (cosine(x, x) - 1.0).abs() < 1e-12));
    assert!(found.iter().all(|x| (x.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-6));
}

/// Scales, weights of norms and biases at their largest: the result is any embedding or an error,
/// and nothing overflows.
#[test]
fn numbers_made_to_overflow_do_not() {
    let file = std::fs::read(DEFAULT_MODEL).expect("the default model");
    let embd = Embd::parse(&file, Mode::Strict).expect("a model");
    let floats: Vec<(String, TensorHeader<'_>)> = embd
        .tensors()
        .map(|tensor| (tensor.header().name.to_owned(), *tensor.header()))
        .filter(|(_, header)| header.dtype == Dtype::F32)
        .collect();
    for (ending, values) in [
        (".scale", [f32::MAX, -f32::MAX]),
        (".scale", [-f32::MAX, -f32::MAX]),
        (".scale", [f32::MIN_POSITIVE, -f32::from_bits(1)]),
        ("weight", [f32::MAX, -f32::MAX]),
        ("bias", [f32::MAX, -f32::MAX]),
        ("", [f32::MAX, -f32::MAX]),
    ] {
        let mut file = file.clone();
        let chosen = floats.iter().filter(|(name, _)| name.ends_with(ending));
        assert!(chosen.clone().count() > 10, "{ending}");
        for (_, header) in chosen {
            let start = usize::try_from(header.offset).unwrap();
            let end = start + usize::try_from(header.bytes).unwrap();
            for (slot, value) in
                file[start..end].as_chunks_mut::<4>().0.iter_mut().zip(values.iter().cycle())
            {
                *slot = value.to_le_bytes();
            }
        }
        let config = BertConfig::from_metadata(|key| embd.metadata_value(key)).expect("sizes");
        let weights =
            SliceWeights::new(&file, |name: &str| embd.tensor(name).map(|tensor| *tensor.header()));
        let encoder = encoder(&weights, &config);
        let plan = Plan::new(4);
        let needs = FixedNeeds::new(&config, &plan).expect("sizes");
        let (mut words, mut codes) = (vec![0; needs.words], vec![0; needs.codes]);
        let memory = FixedMemory { words: &mut words, codes: &mut codes, bytes: &mut [] };
        let mut out = [0; WIDTH];
        encoder.embed_fixed(&weights, &plan, &[101, 7592, 102], memory, &mut out).expect("numbers");
        assert!(out.iter().all(|x| x.unsigned_abs() <= 1 << 30), "{ending}");
    }
}

#[test]
fn a_word_of_memory_less_is_too_little() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../ffi/tests/data/small_bert.weights");
    let file = std::fs::read(path).expect("the small model");
    let embd = Embd::parse(&file, Mode::Strict).expect("a model");
    let config = BertConfig::from_metadata(|key| embd.metadata_value(key)).expect("sizes");
    let weights =
        SliceWeights::new(&file, |name: &str| embd.tensor(name).map(|tensor| *tensor.header()));
    let encoder = encoder(&weights, &config);
    let plan = Plan::new(8);
    let needs = FixedNeeds::new(&config, &plan).expect("sizes");
    let mut out = vec![0; config.hidden];
    let mut embed = |words: usize, codes: usize| {
        let (mut words, mut codes) = (vec![0; words], vec![0; codes]);
        let memory = FixedMemory { words: &mut words, codes: &mut codes, bytes: &mut [] };
        encoder
            .embed_fixed(&weights, &plan, &[2, 3], memory, &mut out)
            .map_err(|error| error.code())
    };
    assert_eq!(embed(needs.words - 1, needs.codes), Err(401));
    assert_eq!(embed(needs.words, needs.codes - 1), Err(401));
    // Its linear layers have f32 weights, not codes.
    assert_eq!(embed(needs.words, needs.codes), Err(207));
}
