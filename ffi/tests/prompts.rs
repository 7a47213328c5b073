//! A model that wants a prompt before every text, which C callers would have to know of.

use std::ptr::null_mut;

use nanoembed_core::ErrorKind;
use nanoembed_core::owned::Embedder;
use nanoembed_ffi::model::*;
use nanoembed_ffi::source::*;
use nanoembed_ffi::status::*;

/// Of `tests/data/cases/default-prompt`.
static FILE: &[u8] = include_bytes!("data/default_prompt.weights");

fn open(vocabulary: nanoembed_vocabulary) -> (nanoembed_status, u32) {
    let source = nanoembed_source {
        data: FILE.as_ptr(),
        length: FILE.len() as u64,
        read_at: None,
        context: null_mut(),
        ..Default::default()
    };
    let options = nanoembed_model_options { vocabulary, ..Default::default() };
    let (mut plan, mut info) = (nanoembed_plan::default(), nanoembed_model_info::default());
    let (mut model, mut bytes) = (null_mut(), 0);
    // SAFETY: the file is static, all else lies here.
    unsafe {
        assert_eq!(nanoembed_plan_scratch(&source, &mut bytes, null_mut()), NANOEMBED_OK);
        let mut scratch = vec![0_u128; bytes.div_ceil(16)];
        let at = scratch.as_mut_ptr().cast::<u8>();
        let planned = nanoembed_plan_model(&source, &options, at, bytes, &mut plan, null_mut());
        assert_eq!(planned, NANOEMBED_OK);
        let mut memory = vec![0_u128; plan.model_bytes.div_ceil(16)];
        let (place, size) = (memory.as_mut_ptr().cast::<u8>(), plan.model_bytes);
        let none = null_mut();
        let status =
            nanoembed_model_init(&source, &options, place, size, at, bytes, &mut model, none);
        if status == NANOEMBED_OK {
            assert_eq!(nanoembed_model_get_info(model, &mut info), NANOEMBED_OK);
        }
        (status, info.has_tokenizer)
    }
}

#[test]
fn in_lent_memory_a_model_with_a_default_prompt_takes_token_ids_alone() {
    let unsupported = nanoembed_status::from(ErrorKind::UnsupportedSetting.code());
    assert_eq!(open(NANOEMBED_VOCABULARY_AUTO), (unsupported, 0));
    assert_eq!(open(NANOEMBED_VOCABULARY_INDEXED), (unsupported, 0));
    assert_eq!(open(NANOEMBED_VOCABULARY_NONE), (NANOEMBED_OK, 0));
}

#[test]
fn with_a_heap_the_prompt_is_put_before_every_text() {
    let model = Embedder::open(FILE).unwrap();
    assert_eq!(model.default_prompt(), Ok("query: "));
    let behind = model.tokenize("hello world", None).unwrap();
    assert_eq!(behind, model.tokenize_alone("query: hello world", None).unwrap());
    assert_ne!(behind, model.tokenize_alone("hello world", None).unwrap());
}
