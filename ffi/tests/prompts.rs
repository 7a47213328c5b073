//! A model that wants a prompt before every text, which C callers would have to know of.

mod support {
    pub(crate) mod lent;
    pub(crate) mod memory;
    pub(crate) mod source;
}

use std::ptr::null_mut;

use nanoembed_core::ErrorKind;
use nanoembed_core::owned::Embedder;
use nanoembed_ffi::embed::nanoembed_embed_ids;
use nanoembed_ffi::model::*;
use nanoembed_ffi::status::*;

use crate::support::lent::{Lent, Planned};
use crate::support::source::in_memory;

/// Of `tests/data/cases/default-prompt`.
static FILE: &[u8] = include_bytes!("data/default_prompt.weights");

fn open(vocabulary: nanoembed_vocabulary) -> Result<Lent, nanoembed_status> {
    let source = in_memory(FILE);
    let options = nanoembed_model_options { vocabulary, ..Default::default() };
    let planned = Planned::new(&source, &options).expect("it is planned");
    planned.open().map_err(|error| error.status)
}

#[test]
fn in_lent_memory_a_model_with_a_default_prompt_takes_token_ids_alone() {
    let unsupported = nanoembed_status::from(ErrorKind::UnsupportedSetting.code());
    for vocabulary in [NANOEMBED_VOCABULARY_AUTO, NANOEMBED_VOCABULARY_INDEXED] {
        assert_eq!(open(vocabulary).err(), Some(unsupported), "{vocabulary}");
    }
    let lent = open(NANOEMBED_VOCABULARY_NONE).expect("a model");
    let (ids, mut vector) = ([1, 2], vec![f32::NAN; lent.plan.dimensions as usize]);
    let mut info = nanoembed_model_info::default();
    // SAFETY: handles are good, and the rest lies here.
    unsafe {
        let Lent { model, workspace, .. } = lent;
        let (out, room, none) = (vector.as_mut_ptr(), vector.len(), null_mut());
        let embedded = nanoembed_embed_ids(model, workspace, ids.as_ptr(), 2, out, room, none);
        assert_eq!(embedded, NANOEMBED_OK);
        assert_eq!(nanoembed_model_get_info(model, &mut info), NANOEMBED_OK);
    }
    assert_eq!(info.has_tokenizer, 0);
}

#[test]
fn with_a_heap_the_prompt_is_put_before_every_text() {
    let model = Embedder::open(FILE).unwrap();
    assert_eq!(model.default_prompt(), Ok("query: "));
    let behind = model.tokenize("hello world", None).unwrap();
    assert_eq!(behind, model.tokenize_alone("query: hello world", None).unwrap());
    assert_ne!(behind, model.tokenize_alone("hello world", None).unwrap());
}
