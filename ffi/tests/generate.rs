//! What C says with a decoder is what Rust says with it: the same bits of logits, the same tokens.

mod support {
    pub(crate) mod memory;
    pub(crate) mod session;
    pub(crate) mod source;
}

use nanoembed_core::describe::gguf::gguf_llama_config;
use nanoembed_core::event::Mode;
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::kernel;
use nanoembed_core::model::llama::{
    Cache, Llama, LlamaLayer, LlamaMemory, LlamaPlan, Output, Sampler, Sampling,
};
use nanoembed_core::model::{Run, SliceWeights};
use nanoembed_core::top::Scored;
use nanoembed_ffi::decoder_model::*;
use nanoembed_ffi::session::*;
use nanoembed_ffi::status::*;

use crate::support::session::{LentSession, fed};
use crate::support::source::in_memory;

static FILE: &[u8] = include_bytes!("data/small_llama.gguf");
const PROMPT: [u32; 8] = [3, 1, 4, 1, 5, 9, 2, 6];
const TOKENS: usize = 24;
const POSITIONS: usize = PROMPT.len() + TOKENS;
/// Fewer than the prompt has, so that it comes in several parts.
const TOKENS_AT_ONCE: usize = 3;

/// The tokens that follow the prompt, and the bits of the logits after each.
type Said = (Vec<u32>, Vec<Vec<u32>>);

fn bits(logits: &[f32]) -> Vec<u32> {
    logits.iter().map(|x| x.to_bits()).collect()
}

fn rust(sampling: Sampling, seed: u64) -> Said {
    let gguf = Gguf::parse(FILE, Mode::Strict).expect("a GGUF file");
    let config = gguf_llama_config(&gguf).expect("a decoder");
    let weights = SliceWeights::new(FILE, |name| gguf.tensor(name).map(|t| *t.header()));
    let llama = Llama::open(&weights, config, vec![LlamaLayer::EMPTY; config.layers]).unwrap();
    let mut cache = vec![0.0; Cache::floats_needed(&config, POSITIONS).unwrap()];
    let mut cache = Cache::new(&config, POSITIONS, &mut cache).unwrap();
    let plan = LlamaPlan::new(TOKENS_AT_ONCE, POSITIONS);
    let needs = LlamaMemory::needs(&config, &plan).unwrap();
    let (mut floats, mut bytes) = (vec![0.0; needs.floats], vec![0; needs.bytes]);
    let mut memory = LlamaMemory::new(&config, &plan, &mut floats, &mut bytes).unwrap();
    let kernels = kernel::detect();
    let run = Run::new(&weights, &kernels);
    let mut sampler = Sampler::new(sampling, seed).unwrap();
    let (mut logits, mut order) =
        (vec![0.0; config.vocabulary], vec![Scored::default(); config.vocabulary]);
    let (mut said, mut all) = (Vec::new(), Vec::new());
    let mut next = PROMPT.to_vec();
    for _ in 0..TOKENS {
        let output = Output::LastLogits(&mut logits);
        llama.forward(&run, &next, &mut cache, &mut memory, output).unwrap();
        all.push(bits(&logits));
        next = vec![sampler.next(&logits, &mut order).unwrap()];
        said.extend(&next);
    }
    (said, all)
}

fn c(sampling: &nanoembed_sampling) -> Said {
    let options = nanoembed_decoder_options {
        positions: POSITIONS as u32,
        tokens_at_once: TOKENS_AT_ONCE as u32,
        ..Default::default()
    };
    let (mut said, mut all) = (Vec::new(), Vec::new());
    let lent = LentSession::open(&in_memory(FILE), &options);
    let LentSession { decoder, session, vocabulary, .. } = lent;
    let mut next = PROMPT.to_vec();
    // SAFETY: handles are good, and the rest lies here.
    unsafe {
        assert_eq!(nanoembed_session_set_sampling(session, sampling), NANOEMBED_OK);
        for _ in 0..TOKENS {
            all.push(fed(decoder, session, &next, vocabulary).expect("logits"));
            let mut id = 0;
            assert_eq!(nanoembed_session_sample(session, &mut id), NANOEMBED_OK);
            next = vec![id];
            said.push(id);
        }
    }
    (said, all)
}

/// The array of this name in the test in C.
fn expected(name: &str) -> Vec<u32> {
    let test = include_str!("c/test_decoder.c");
    let start = test.find(&format!("static const uint32_t {name}[] = {{")).expect("an array");
    let list = test[start..].split(['{', '}']).nth(1).expect("a list");
    list.split(',').map(|id| id.trim().parse().expect("an id")).collect()
}

#[test]
fn c_says_the_same_greedily_and_by_chance() {
    for (temperature, top_p, top_k, seed, name) in
        [(0.0, 1.0, 0, 0, "greedy"), (0.9, 0.95, 40, 7, "sampled")]
    {
        let ours = rust(Sampling { temperature, top_k, top_p, ..Sampling::GREEDY }, seed);
        let sampling = nanoembed_sampling {
            temperature,
            top_p,
            top_k: top_k as u32,
            seed,
            ..Default::default()
        };
        assert_eq!(c(&sampling), ours, "{name}");
        assert_eq!(expected(name), ours.0, "{name}: what tests/c/test_decoder.c expects");
        let different: std::collections::HashSet<_> = ours.0.iter().collect();
        assert!(different.len() > 5, "{name}: {:?}", ours.0);
    }
}
