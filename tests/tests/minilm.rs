//! Embeddings of the reference sentences against those computed in f64.

use nanoembed_core::event::Mode;
use nanoembed_core::format::embd::Embd;
use nanoembed_core::kernel;
use nanoembed_core::model::SliceWeights;
use nanoembed_core::tensor::Dtype;
use nanoembed_tests::agreement::{compare, embed};
use nanoembed_tests::blocks;
use nanoembed_tests::data::{DEFAULT_MODEL, published_model};
use nanoembed_tests::minilm::{Safetensors, WIDTH, cosine};

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
