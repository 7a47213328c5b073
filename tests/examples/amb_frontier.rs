//! The quality of quantised models: `amb_frontier FILE…` prints, for each `.amb` or `.weights` file
//! of all-MiniLM-L6-v2, its size, bits per weight, cosine to the reference embeddings, same nearest
//! neighbours, and latency, as JSON lines.
//!
//! `cargo run --release -p nanoembed-tests --example amb_frontier -- a.amb b.amb`; with
//! `--requantize` before the files, for weights requantised to bytes.

use std::time::Instant;

use nanoembed_core::event::{Event, Mode};
use nanoembed_core::format::{amb, embd};
use nanoembed_core::model::InOrder;
use nanoembed_core::owned::Encoder;
use nanoembed_core::read::Slice;
use nanoembed_tests::agreement::compare;
use nanoembed_tests::minilm::{WIDTH, sentences};
use serde_json::json;

/// The length of the longest reference text.
const MAX_TOKENS: usize = 256;

/// Bytes and elements of all two-dimensional tensors, companions included.
fn matrices(file: &[u8]) -> (u64, u64) {
    let (mut bytes, mut elements) = (0, 0);
    let mut add = |event: Event<'_>| {
        let Event::Tensor(tensor) = event else { return };
        let companion = tensor.name.ends_with("scale");
        if tensor.shape.dims().len() == 2 || companion {
            bytes += tensor.bytes;
            elements += if companion { 0 } else { tensor.shape.elements().unwrap_or(0) };
        }
    };
    if file.starts_with(amb::MAGIC) {
        let mut slice = Slice::new(<amb::AmbDecoder>::new(Mode::Strict), file).without_data();
        while let Ok(event) = slice.next_event() {
            add(event);
            if event == Event::End {
                break;
            }
        }
    } else {
        let mut slice = Slice::new(<embd::EmbdDecoder>::new(Mode::Strict), file).without_data();
        while let Ok(event) = slice.next_event() {
            add(event);
            if event == Event::End {
                break;
            }
        }
    }
    (bytes, elements)
}

fn main() {
    let mut paths = std::env::args().skip(1).peekable();
    let requantize = paths.next_if_eq("--requantize").is_some();
    for path in paths {
        let file = std::fs::read(&path).expect("a file");
        let (bytes, elements) = matrices(&file);
        let mut encoder = Encoder::open(file.as_slice()).expect("a model");
        if requantize {
            encoder.requantize().expect("codes");
        }
        let mut session = encoder.session(MAX_TOKENS, 1).expect("memory");
        let mut out = vec![0.0; WIDTH];
        let mut embeddings = Vec::new();
        for sentence in sentences() {
            let ids = sentence.truncated(MAX_TOKENS);
            encoder
                .embed(&mut session, &InOrder, &ids, &[ids.len()], 0, &mut out)
                .expect("a vector");
            embeddings.extend_from_slice(&out);
        }
        let agreement = compare(embeddings, MAX_TOKENS);
        let latency = |tokens: usize| {
            let ids = vec![2000; tokens];
            let mut session = encoder.session(tokens, 1).expect("memory");
            let mut out = vec![0.0; WIDTH];
            let mut times: Vec<f64> = (0..15)
                .map(|_| {
                    let start = Instant::now();
                    let done = encoder.embed(&mut session, &InOrder, &ids, &[tokens], 0, &mut out);
                    done.expect("a vector");
                    start.elapsed().as_secs_f64() * 1000.0
                })
                .collect();
            times.sort_by(f64::total_cmp);
            (times[times.len() / 2] * 100.0).round() / 100.0
        };
        let line = json!({
            "file": std::path::Path::new(&path).file_name().unwrap_or_default().to_string_lossy(),
            "file_bytes": file.len(),
            "bits_per_weight": bytes as f64 * 8.0 / elements as f64,
            "mean_cosine": agreement.mean_cosine,
            "min_cosine": agreement.min_cosine,
            "same_neighbour": agreement.same_neighbour,
            "ms_16_tokens": latency(16),
            "ms_128_tokens": latency(128),
        });
        println!("{line}");
    }
}
