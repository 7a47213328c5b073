//! Handles on the heap: what is made is freed, and nothing else. Miri says so of what leaks.

use std::ptr::{null, null_mut};

use nanoembed_core::ErrorKind;
use nanoembed_ffi::embed::nanoembed_workspace;
use nanoembed_ffi::model::*;
use nanoembed_ffi::owned::*;
use nanoembed_ffi::prompt::*;
use nanoembed_ffi::source::*;
use nanoembed_ffi::status::*;
use nanoembed_ffi::words::*;

use crate::lent::score;
use crate::models::HIDDEN;
use crate::{Lent, in_memory, models, of, vector};

/// A model and a workspace on the heap.
struct Owned {
    model: *mut nanoembed_model,
    workspace: *mut nanoembed_workspace,
}

impl Owned {
    fn open(source: &nanoembed_source) -> Self {
        let (mut model, mut workspace) = (null_mut(), null_mut());
        // SAFETY: everything is there; the file outlives the handles.
        unsafe {
            let made = nanoembed_model_new(source, null(), &mut model, null_mut());
            assert_eq!(made, NANOEMBED_OK);
            assert_eq!(nanoembed_workspace_new(model, &mut workspace), NANOEMBED_OK);
        }
        Self { model, workspace }
    }

    fn vector(&self, text: &str) -> Result<Vec<u32>, nanoembed_status> {
        vector(self.model, self.workspace, HIDDEN, text)
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: made by `_new`, used no more.
        unsafe {
            nanoembed_workspace_free(self.workspace);
            nanoembed_model_free(self.model);
        }
    }
}

#[test]
fn a_model_on_the_heap_is_that_in_lent_memory() {
    let file = models::table();
    let source = in_memory(&file);
    let lent = Lent::of(&source);
    let expected = lent.vector("cat");
    assert!(expected.is_ok());
    assert_eq!(Owned::open(&source).vector("cat"), expected);
    // SAFETY: what is lent, and NULL, are left alone.
    unsafe {
        nanoembed_workspace_free(lent.workspace);
        nanoembed_model_free(lent.model);
        nanoembed_workspace_free(null_mut());
        nanoembed_model_free(null_mut());
    }
    assert_eq!(lent.vector("cat"), expected);
}

#[test]
fn a_model_with_memory_of_its_own_embeds_after_its_prompts() {
    let file = models::with_prompts();
    let source = in_memory(&file);
    let (owned, lent) = (Owned::open(&source), Lent::of(&source));
    // SAFETY: handles are good.
    let set = unsafe {
        let (Owned { model, workspace }, prompt) = (&owned, NANOEMBED_PROMPT_QUERY);
        nanoembed_workspace_set_prompt(*model, *workspace, prompt, null(), 0, null_mut())
    };
    assert_eq!(set, NANOEMBED_OK);
    let after = owned.vector("cat");
    assert!(after.is_ok());
    assert_eq!(after, lent.vector("dog cat"));
    // A workspace of lent memory has not what such a model embeds with.
    let other = vector(owned.model, lent.workspace, HIDDEN, "cat");
    assert_eq!(other, Err(of(ErrorKind::InvalidArgument)));
}

#[test]
fn scores_on_the_heap_are_those_in_lent_memory() {
    let file = models::cross_encoder();
    let source = in_memory(&file);
    let (owned, lent) = (Owned::open(&source), Lent::of(&source));
    let pair = ["cat", "dog !"];
    let expected = score(lent.model, lent.workspace, pair);
    assert!(expected.is_ok());
    assert_eq!(score(owned.model, owned.workspace, pair), expected);
}

#[test]
fn a_file_that_is_refused_leaves_nothing_on_the_heap() {
    let file = models::table();
    let mut model = null_mut();
    let mut words: *mut nanoembed_words = null_mut();
    // SAFETY: everything is there.
    unsafe {
        for length in [0, 3, 100, file.len() as u64 - 1] {
            let source = nanoembed_source { length, ..in_memory(&file) };
            let status = nanoembed_model_new(&source, null(), &mut model, null_mut());
            assert_ne!(status, NANOEMBED_OK, "{length}");
            assert!(model.is_null());
        }
        let status = nanoembed_words_new(&in_memory(&file), null(), &mut words, null_mut());
        assert_ne!(status, NANOEMBED_OK);
    }
    assert!(words.is_null());
}

#[test]
fn words_on_the_heap_are_freed() {
    let file = models::words();
    let (mut words, mut plan) = (null_mut(), nanoembed_words_plan::default());
    let options = nanoembed_words_options { indexed: 1, ..Default::default() };
    // SAFETY: everything is there; it is freed when it is used no more.
    unsafe {
        let made = nanoembed_words_new(&in_memory(&file), &options, &mut words, null_mut());
        assert_eq!(made, NANOEMBED_OK);
        assert_eq!(nanoembed_words_get_plan(words, &mut plan), NANOEMBED_OK);
        nanoembed_words_free(words);
        nanoembed_words_free(null_mut());
    }
    assert_eq!((plan.words, plan.dimensions), (4, 4));
}
