//! A model that wants a prompt before every text, which C callers would have to know of.

mod support {
    pub(crate) mod lent;
    pub(crate) mod memory;
    pub(crate) mod source;
}

use std::ffi::CStr;
use std::ptr::null_mut;

use nanoembed_core::ErrorKind;
use nanoembed_core::model::InOrder;
use nanoembed_core::owned::{Encoder, TextSession, usual_prompt};
use nanoembed_core::source::ModelSource;
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
    let planned = Planned::new(&source, &options).map_err(|error| {
        // SAFETY: names end with a zero.
        let name = unsafe { CStr::from_ptr(error.name.as_ptr()) };
        assert_eq!(name, c"default_prompt_name");
        error.status
    })?;
    Ok(planned.open().expect("what is planned opens"))
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
    assert_eq!(usual_prompt(&ModelSource::parse(FILE).unwrap()).as_deref(), Ok("query: "));
    let model = Encoder::open(FILE).unwrap();
    let vector = model.embed_text("hello world").unwrap();
    let alone = |text: &str| {
        let ids = model.encode(text, 64, &mut TextSession::default()).unwrap().ids;
        let (mut session, mut out) = (model.session(64, 1).unwrap(), vec![0.0; vector.len()]);
        model.embed(&mut session, &InOrder, &ids, &[ids.len()], 0, &mut out).unwrap();
        out
    };
    assert_eq!(vector, alone("query: hello world"));
    assert_ne!(vector, alone("hello world"));
}
