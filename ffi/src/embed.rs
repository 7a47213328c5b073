//! Embeddings of single texts.

use core::ffi::c_char;
use core::mem::size_of;

use nanoembed_core::model::Batch;
use nanoembed_core::token::Encoded;
use nanoembed_core::top::Direction;

use crate::model_handle::{Kind, nanoembed_model};
use crate::pointer::{self, text};
use crate::status::{
    INVALID, Outcome, answer, nanoembed_error, nanoembed_status, report, too_small,
};
use crate::tokenized::nanoembed_tokenized;
use crate::versioned;
#[cfg(feature = "std")]
use crate::workspace::session;

pub use crate::workspace::*;

/// The first `dimensions` of `capacity` floats.
unsafe fn vector<'a>(
    model: &nanoembed_model,
    out: *mut f32,
    capacity: usize,
) -> Outcome<&'a mut [f32]> {
    let dimensions = model.kind.dimensions();
    if capacity < dimensions {
        return Err(too_small(dimensions));
    }
    // SAFETY: the caller's promise; floats may hold anything.
    unsafe { pointer::slice_mut(out, dimensions) }
}

/// The embedding of a text whose token ids are known, special tokens included.
///
/// # Safety
///
/// `model` and `workspace` are NULL or handles, `ids` points to `count` ids, `out` to `capacity`
/// floats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_embed_ids(
    model: *const nanoembed_model,
    workspace: *mut nanoembed_workspace,
    ids: *const u32,
    count: usize,
    out: *mut f32,
    capacity: usize,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let ((model, workspace), ids) =
            unsafe { (used_with(model, workspace)?, pointer::slice(ids, count)?) };
        // SAFETY: the caller's promise.
        let out = unsafe { vector(model, out, capacity) }?;
        let scratch = &mut workspace.scratch;
        match &model.kind {
            Kind::Encoder(encoder) => {
                encoder.run(&model.source, scratch, &Batch::new(ids, &[ids.len()]), out)
            }
            Kind::Table(table) => table.embed_ids(&model.source, scratch, ids, out),
            #[cfg(feature = "std")]
            Kind::Hosted(hosted) => hosted.embed_ids(session(&mut workspace.hosted)?, ids, out),
        }
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// The embedding of a text in UTF-8. `tokenized` may be NULL; it says how many tokens the text has
/// and whether they were more than there was room for.
///
/// # Safety
///
/// `model` and `workspace` are NULL or handles, `text` points to `text_bytes` bytes, `out` to
/// `capacity` floats, `tokenized` is NULL or points to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_embed_text(
    model: *const nanoembed_model,
    workspace: *mut nanoembed_workspace,
    text_start: *const c_char,
    text_bytes: usize,
    out: *mut f32,
    capacity: usize,
    tokenized: *mut nanoembed_tokenized,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let ((model, workspace), text) =
            unsafe { (used_with(model, workspace)?, text(text_start, text_bytes)?) };
        // SAFETY: the caller's promise.
        let out = unsafe { vector(model, out, capacity) }?;
        let encoded = embed_one(model, workspace, text, out)?;
        if !tokenized.is_null() {
            // SAFETY: the caller's promise.
            unsafe { versioned::room(tokenized) }?
                .write(nanoembed_tokenized::from_encoded(&encoded));
        }
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// Puts the embedding of a text into `out`.
pub(crate) fn embed_one(
    model: &nanoembed_model,
    workspace: &mut nanoembed_workspace,
    text: &str,
    out: &mut [f32],
) -> Outcome<Encoded> {
    let nanoembed_workspace { scratch, ids, prompt, .. } = workspace;
    match &model.kind {
        Kind::Encoder(encoder) => {
            let room = ids.0.get_mut(..encoder.most()).ok_or(INVALID)?;
            let encoded = encoder.tokenize(&model.tokenizer, scratch, prompt, text, room)?;
            let ids = room.get(..encoded.tokens).ok_or(INVALID)?;
            let lengths = [ids.len()];
            let texts = Batch { skipped: prompt.skipped(), ..Batch::new(ids, &lengths) };
            encoder.run(&model.source, scratch, &texts, out)?;
            Ok(encoded)
        }
        Kind::Table(table) => table.embed_text(&model.tokenizer, &model.source, scratch, text, out),
        #[cfg(feature = "std")]
        Kind::Hosted(hosted) => hosted.embed_text(session(&mut workspace.hosted)?, text, out),
    }
}

/// The cosine of two vectors of `length` floats; 0 if one of them is all zeros, NaN if an element is.
///
/// # Safety
///
/// `a` and `b` point to `length` floats, `cosine` to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_cosine(
    a: *const f32,
    b: *const f32,
    length: usize,
    cosine: *mut f32,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (a, b, out) = unsafe {
            (pointer::slice(a, length)?, pointer::slice(b, length)?, pointer::out(cosine)?)
        };
        out.write(Direction::new(a).cosine(b));
        Ok(())
    };
    answer(make())
}

const _: () = assert!(size_of::<usize>() >= 4);
