//! Sessions with a decoder, in lent memory and on the heap.

use std::ptr::null_mut;

use nanoembed_core::ErrorKind;
use nanoembed_core::describe::gguf::gguf_llama_config;
use nanoembed_core::event::Mode;
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::model::SliceWeights;
use nanoembed_core::model::llama::{LlamaPlan, Output};
use nanoembed_core::owned::Decoder;
use nanoembed_ffi::decoder_model::*;
use nanoembed_ffi::owned::*;
use nanoembed_ffi::session::*;
use nanoembed_ffi::status::*;

use crate::support::session::{LentSession, fed};
use crate::{bits, in_memory, models, of};

const VOCABULARY: usize = 6;
const PROMPT: [u32; 3] = [3, 1, 4];
const OPTIONS: (u32, u32) = (5, 2);

fn options() -> nanoembed_decoder_options {
    let (positions, tokens_at_once) = OPTIONS;
    nanoembed_decoder_options { positions, tokens_at_once, ..Default::default() }
}

/// The bits of the logits after the prompt, and after a further token.
fn by_rust(file: &[u8], further: u32) -> [Vec<u32>; 2] {
    let gguf = Gguf::parse(file, Mode::Strict).expect("a GGUF file");
    let weights = SliceWeights::new(file, |name| gguf.tensor(name).map(|it| *it.header()));
    let config = gguf_llama_config(&gguf).expect("a decoder");
    let decoder = Decoder::open(&weights, config).expect("its tensors");
    let (positions, tokens_at_once) = OPTIONS;
    let plan = LlamaPlan::new(tokens_at_once as usize, positions as usize);
    let mut session = decoder.session(plan).expect("memory");
    [&PROMPT[..], &[further]].map(|ids| {
        let mut logits = [0.0; VOCABULARY];
        let output = Output::LastLogits(&mut logits);
        decoder.forward(&weights, &mut session, ids, output).expect("logits");
        bits(&logits)
    })
}

#[test]
fn a_session_in_lent_memory_says_what_rust_says() {
    let file = models::decoder();
    let lent = LentSession::open(&in_memory(&file), &options());
    assert_eq!(lent.vocabulary, VOCABULARY);
    let (decoder, session, mut id) = (lent.decoder, lent.session, 0);
    // SAFETY: handles are good, and the rest lies here.
    unsafe {
        let nothing = nanoembed_session_sample(session, &mut id);
        assert_eq!(nothing, of(ErrorKind::InvalidArgument));
        let after = fed(decoder, session, &PROMPT, VOCABULARY).expect("logits");
        assert_eq!(nanoembed_session_sample(session, &mut id), NANOEMBED_OK);
        let further = fed(decoder, session, &[id], VOCABULARY).expect("logits");
        let expected = by_rust(&file, id);
        assert_eq!(expected[0], after);
        let likeliest = |(at, logit): &(u32, &u32)| (f32::from_bits(**logit), u32::MAX - at);
        let best = (0..)
            .zip(&after)
            .max_by(|a, b| likeliest(a).partial_cmp(&likeliest(b)).expect("numbers"));
        assert_eq!(best.map(|(at, _)| at), Some(id));
        assert_eq!(expected[1], further);

        // Another continuation of the same prompt.
        assert_eq!(nanoembed_session_truncate(session, 3), NANOEMBED_OK);
        assert_eq!(nanoembed_session_length(session), 3);
        assert_eq!(fed(decoder, session, &[id], VOCABULARY), Ok(further));
        assert_eq!(fed(decoder, session, &[0, 0], VOCABULARY), Err(of(ErrorKind::TooManyTokens)));
        assert_eq!(nanoembed_session_length(session), 4);
    }
}

#[test]
fn sessions_on_the_heap_choose_by_their_seed() {
    let file = models::decoder();
    let (source, options, mut decoder) = (in_memory(&file), options(), null_mut());
    let sampling = nanoembed_sampling {
        temperature: 1.5,
        top_p: 0.9,
        top_k: 4,
        seed: 7,
        ..Default::default()
    };
    let mut chosen = Vec::new();
    // SAFETY: everything is there; what is made is freed at the end.
    unsafe {
        let made = nanoembed_decoder_new(&source, &options, &mut decoder, null_mut());
        assert_eq!(made, NANOEMBED_OK);
        for _ in 0..2 {
            let (mut session, mut id) = (null_mut(), 0);
            assert_eq!(nanoembed_session_new(decoder, &mut session), NANOEMBED_OK);
            assert_eq!(nanoembed_session_set_sampling(session, &sampling), NANOEMBED_OK);
            fed(decoder, session, &PROMPT, VOCABULARY).expect("logits");
            assert_eq!(nanoembed_session_sample(session, &mut id), NANOEMBED_OK);
            chosen.push(id);
            nanoembed_session_free(session);
        }
        nanoembed_decoder_free(decoder);
        nanoembed_session_free(null_mut());
        nanoembed_decoder_free(null_mut());
    }
    assert_eq!(chosen[0], chosen[1]);
    assert!((chosen[0] as usize) < VOCABULARY);
}
