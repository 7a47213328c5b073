//! Encoders in lent memory, over files in memory and behind a callback.

use std::ptr::null_mut;

use nanoembed_core::ErrorKind;
use nanoembed_core::owned::{Encoder, TextSession};
use nanoembed_ffi::batch::*;
use nanoembed_ffi::embed::*;
use nanoembed_ffi::model::*;
use nanoembed_ffi::prompt::*;
use nanoembed_ffi::score::nanoembed_score;
use nanoembed_ffi::status::*;

use crate::models::{HIDDEN, TOKENS};
use crate::{Lent, Room, Stored, bits, in_memory, models, of};

/// The vectors and ids are those of Rust's own `Encoder`.
fn assert_same(lent: &Lent, file: &[u8]) {
    let rust = Encoder::open(file).expect("an encoder");
    let text = "Cat ab";
    let vector = rust.embed_text(text).expect("a vector");
    assert_eq!(lent.vector(text), Ok(bits(&vector)));
    assert_eq!(
        lent.ids(text),
        Ok(rust.encode(text, rust.usual_tokens(), &mut TextSession::default()).expect("ids").ids)
    );
}

#[test]
fn a_bert_in_memory_is_that_of_rust() {
    let file = models::bert();
    assert_same(&Lent::of(&in_memory(&file)), &file);
}

#[test]
fn a_bert_after_a_callback_is_that_of_rust() {
    let file = models::bert();
    let stored = Stored::new(&file, 500);
    let lent = Lent::of(&stored.source());
    assert_ne!(lent.plan.tile_bytes, 0);
    assert_same(&lent, &file);
}

/// The bits of the vector of known tokens.
fn of_ids(lent: &Lent, ids: &[u32]) -> Result<Vec<u32>, nanoembed_status> {
    let mut vector = [f32::NAN; HIDDEN];
    let Lent { model, workspace, .. } = *lent;
    let (out, room, none) = (vector.as_mut_ptr(), HIDDEN, null_mut());
    // SAFETY: handles are good, and the rest lies here.
    match unsafe { nanoembed_embed_ids(model, workspace, ids.as_ptr(), ids.len(), out, room, none) }
    {
        NANOEMBED_OK => Ok(bits(&vector)),
        status => Err(status),
    }
}

#[test]
fn without_a_vocabulary_ids_give_the_vector_of_their_text() {
    let file = models::table();
    let vocabulary = NANOEMBED_VOCABULARY_NONE;
    let options = nanoembed_model_options { vocabulary, ..Default::default() };
    let lent = Lent::open(&in_memory(&file), &options);
    assert_eq!(of_ids(&lent, &[10, 9]), Lent::of(&in_memory(&file)).vector("dog cat"));
    assert_eq!(of_ids(&lent, &[TOKENS.len() as u32]), Err(of(ErrorKind::TokenOutOfRange)));
    assert_eq!(lent.ids("cat"), Err(of(ErrorKind::MissingVocabulary)));
}

#[test]
fn one_byte_less_than_planned_is_refused_and_says_what_is_needed() {
    let file = models::table();
    let (source, options) = (in_memory(&file), nanoembed_model_options::default());
    let lent = Lent::of(&source);
    let (mut model, mut workspace) = (null_mut(), null_mut());
    let (mut plan, mut error) = (nanoembed_plan::default(), nanoembed_error::default());
    let mut bytes = 0;
    // SAFETY: everything is there, with its true sizes.
    unsafe {
        assert_eq!(nanoembed_plan_scratch(&source, &mut bytes, null_mut()), NANOEMBED_OK);
        let less = Room::new(bytes - 1);
        let (at, size, out) = (less.start, less.bytes(), &mut plan);
        let status = nanoembed_plan_model(&source, &options, at, size, out, &mut error);
        assert_eq!((status, error.needed), (of(ErrorKind::BufferTooSmall), bytes as u64));

        let (scratch, less) = (Room::new(bytes), Room::new(lent.plan.model_bytes - 1));
        let (place, at, out) = (less.start, scratch.start, &mut model);
        let size = less.bytes();
        let status =
            nanoembed_model_init(&source, &options, place, size, at, bytes, out, &mut error);
        let needed = lent.plan.model_bytes as u64;
        assert_eq!((status, error.needed), (of(ErrorKind::BufferTooSmall), needed));

        let less = Room::new(lent.plan.workspace_bytes - 1);
        let size = less.bytes();
        let status = nanoembed_workspace_init(lent.model, less.start, size, &mut workspace);
        assert_eq!(status, of(ErrorKind::BufferTooSmall));
        assert_eq!(nanoembed_workspace_bytes(lent.model), lent.plan.workspace_bytes);
    }
    assert!(model.is_null() && workspace.is_null());
}

/// The vectors and statuses of a column.
fn batch(lent: &Lent, strings: &nanoembed_strings) -> (Vec<Vec<u32>>, Vec<nanoembed_row_status>) {
    let mut out = vec![f32::NAN; HIDDEN * strings.length];
    let mut statuses = vec![u8::MAX; strings.length];
    let (vectors, room) = (out.as_mut_ptr(), out.len());
    let (rows, count, none) = (statuses.as_mut_ptr(), statuses.len(), null_mut());
    let Lent { model, workspace, .. } = *lent;
    // SAFETY: handles are good, and the rest lies here.
    let status = unsafe {
        nanoembed_embed_strings(model, workspace, strings, vectors, room, rows, count, none)
    };
    assert_eq!(status, NANOEMBED_OK);
    (out.chunks_exact(HIDDEN).map(bits).collect(), statuses)
}

#[test]
fn rows_of_a_batch_of_a_bert_in_amb_are_those_of_rust_or_say_why_not() {
    let file = models::bert_in_amb();
    let lent = Lent::of(&in_memory(&file));
    // The last row ends before it begins.
    let (data, offsets, validity) = (b"catdog\xff!", [0, 3, 6, 6, 7, 2], [0b1_1011]);
    let strings = nanoembed_strings {
        offsets: offsets.as_ptr(),
        data: data.as_ptr().cast(),
        data_bytes: data.len(),
        validity: validity.as_ptr(),
        length: 5,
        ..Default::default()
    };
    let (vectors, statuses) = batch(&lent, &strings);
    assert_eq!(
        statuses,
        [
            NANOEMBED_ROW_OK,
            NANOEMBED_ROW_OK,
            NANOEMBED_ROW_NULL,
            NANOEMBED_ROW_INVALID_UTF8,
            NANOEMBED_ROW_BAD_OFFSETS,
        ]
    );
    let rust = Encoder::open(&file[..]).expect("an encoder");
    let expected = ["cat", "dog"].map(|text| bits(&rust.embed_text(text).expect("a vector")));
    assert_eq!(vectors[..2], expected);
    assert_eq!(of_ids(&lent, &[2, 9, 3]).as_ref(), Ok(&expected[0]));
    assert_eq!(vectors[2..].concat(), [0; 3 * HIDDEN]);
}

#[test]
fn a_static_model_embeds_a_batch_of_large_offsets_from_a_row_on() {
    let file = models::table();
    let lent = Lent::of(&in_memory(&file));
    let (data, offsets) = (b"catdog", [0_i64, 3, 3, 6]);
    let strings = nanoembed_strings {
        large_offsets: offsets.as_ptr(),
        data: data.as_ptr().cast(),
        data_bytes: data.len(),
        first: 1,
        length: 2,
        ..Default::default()
    };
    let (vectors, statuses) = batch(&lent, &strings);
    assert_eq!(statuses, [NANOEMBED_ROW_OK; 2]);
    assert_eq!(vectors, [vec![0; HIDDEN], lent.vector("dog").expect("a vector")]);
    assert_eq!(lent.ids("dog cat"), Ok(vec![10, 9]));
    let dog = lent.vector("dog").expect("a vector").into_iter().map(f32::from_bits);
    let length: f32 = dog.map(|x| x * x).sum();
    assert!((length - 1.0).abs() < 1e-6, "{length}");
}

#[test]
fn a_prompt_is_put_before_the_texts_of_its_workspace() {
    let file = models::with_prompts();
    let lent = Lent::of(&in_memory(&file));
    let set = |prompt, name: &str| {
        let (start, bytes, mut error) = (name.as_ptr().cast(), name.len(), Default::default());
        let Lent { model, workspace, .. } = lent;
        // SAFETY: handles are good, and the rest lies here.
        unsafe {
            nanoembed_workspace_set_prompt(model, workspace, prompt, start, bytes, &mut error)
        }
    };
    let (alone, after) = (lent.vector("cat"), lent.vector("dog cat"));
    assert_ne!(alone, after);
    assert_eq!(set(NANOEMBED_PROMPT_QUERY, ""), NANOEMBED_OK);
    assert_eq!(lent.vector("cat"), after);
    assert_eq!(set(NANOEMBED_PROMPT_NAMED, "odd"), of(ErrorKind::InvalidArgument));
    assert_eq!(lent.vector("cat"), alone);
    assert_eq!(set(NANOEMBED_PROMPT_TEXT, "dog "), NANOEMBED_OK);
    assert_eq!(lent.vector("cat"), after);
    assert_eq!(set(NANOEMBED_PROMPT_TEXT, &"x".repeat(257)), of(ErrorKind::BufferTooSmall));
    assert_eq!(lent.vector("cat"), alone);
}

/// The bits of the score of a pair.
pub(crate) fn score(
    model: *const nanoembed_model,
    workspace: *mut nanoembed_workspace,
    [query, document]: [&str; 2],
) -> Result<u32, nanoembed_status> {
    let (a, b) = (query.as_ptr().cast(), document.as_ptr().cast());
    let (a_bytes, b_bytes, mut score) = (query.len(), document.len(), f32::NAN);
    let (out, none) = (&raw mut score, null_mut());
    // SAFETY: handles are good, and the rest lies here.
    match unsafe { nanoembed_score(model, workspace, a, a_bytes, b, b_bytes, out, none) } {
        NANOEMBED_OK => Ok(score.to_bits()),
        status => Err(status),
    }
}

#[test]
fn a_cross_encoder_scores_pairs_and_embeds_nothing() {
    let file = models::cross_encoder();
    let lent = Lent::of(&in_memory(&file));
    let Lent { model, workspace, .. } = lent;
    let near = score(model, workspace, ["cat", "a"]).expect("a score");
    assert!(f32::from_bits(near).is_finite());
    assert_ne!(score(model, workspace, ["cat", "dog"]), Ok(near));
    assert_eq!(lent.vector("cat"), Err(of(ErrorKind::OtherModel)));
}

#[test]
fn texts_are_cut_to_the_tokens_that_are_asked_for() {
    let file = models::table();
    let options = nanoembed_model_options { tokens: 3, ..Default::default() };
    let lent = Lent::open(&in_memory(&file), &options);
    assert_eq!(lent.ids("cat dog ! a"), Ok(vec![9, 10, 11]));
    assert_eq!(lent.vector("cat dog ! a"), lent.vector("cat dog !"));
    let mut info = nanoembed_model_info::default();
    // SAFETY: the handle is good, and the rest lies here.
    assert_eq!(unsafe { nanoembed_model_get_info(lent.model, &mut info) }, NANOEMBED_OK);
    let (dimensions, vocabulary) = (info.dimensions as usize, info.vocabulary as usize);
    assert_eq!((dimensions, vocabulary), (HIDDEN, TOKENS.len()));
    assert_eq!((info.workspace_tokens, info.has_tokenizer), (3, 1));
}
