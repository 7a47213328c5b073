//! Calls of a part of the interface each, for the size table: never run, only linked.

use core::hint::black_box;
use core::ptr::{null, null_mut};

use nanoembed_ffi::embed::*;
use nanoembed_ffi::lookup::*;
use nanoembed_ffi::model::*;
use nanoembed_ffi::reader::*;
use nanoembed_ffi::words::*;

/// Reading what files say, of all formats that were built in.
pub fn reader() {
    let mut reader = null_mut();
    // SAFETY: never run.
    unsafe {
        let (source, options, memory) =
            (black_box(null()), black_box(null()), black_box(null_mut()));
        nanoembed_reader_init(source, options, memory, 0, &mut reader);
        nanoembed_reader_next(reader, black_box(null_mut()), null_mut());
    }
}

/// Vectors of words, known and unknown.
pub fn words() {
    let mut words = null_mut();
    let (source, memory, scratch) =
        (black_box(null()), black_box(null_mut()), black_box(null_mut()));
    let error = null_mut();
    // SAFETY: never run.
    unsafe {
        nanoembed_words_init(source, null(), memory, 0, scratch, 0, &mut words, error);
        let (word, floats, out) = (black_box(null()), black_box(null_mut()), black_box(null_mut()));
        nanoembed_words_vector(words, word, 0, floats, 0, out, 0, null_mut(), error);
    }
}

/// Embeddings of sentences.
pub fn model() {
    let (mut model, mut workspace) = (null_mut(), null_mut());
    let (source, memory, scratch) =
        (black_box(null()), black_box(null_mut()), black_box(null_mut()));
    let error = null_mut();
    // SAFETY: never run.
    unsafe {
        nanoembed_plan_model(source, null(), scratch, 0, black_box(null_mut()), error);
        nanoembed_model_init(source, null(), memory, 0, scratch, 0, &mut model, error);
        nanoembed_workspace_init(model, black_box(null_mut()), 0, &mut workspace);
        let (text, out) = (black_box(null()), black_box(null_mut()));
        nanoembed_embed_text(model, workspace, text, 0, out, 0, null_mut(), error);
    }
}
