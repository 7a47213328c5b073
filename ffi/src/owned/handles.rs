//! Workspaces, words, decoders, tokenizers and sessions.

use std::boxed::Box;

use super::heap::{Memory, check, free, on_heap, out, status};
use crate::decoder_model::{
    nanoembed_decoder, nanoembed_decoder_get_plan, nanoembed_decoder_init,
    nanoembed_decoder_options, nanoembed_decoder_plan, nanoembed_plan_decoder,
};
use crate::model_handle::{Kind, nanoembed_model};
use crate::pointer;
use crate::session::{nanoembed_session, nanoembed_session_init};
use crate::source::nanoembed_source;
use crate::status::{nanoembed_error, nanoembed_status};
use crate::tokenizer::{
    nanoembed_plan_tokenizer, nanoembed_tokenizer, nanoembed_tokenizer_init,
    nanoembed_tokenizer_plan,
};
use crate::words::{
    nanoembed_plan_words, nanoembed_words, nanoembed_words_init, nanoembed_words_options,
    nanoembed_words_plan,
};
use crate::workspace::{nanoembed_workspace, nanoembed_workspace_init};

/// As `nanoembed_workspace_init`, in memory from the heap; to be freed by
/// `nanoembed_workspace_free`.
///
/// # Safety
///
/// As `nanoembed_workspace_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_workspace_new(
    model: *const nanoembed_model,
    workspace: *mut *mut nanoembed_workspace,
) -> nanoembed_status {
    let make = || {
        // SAFETY: the caller's promise.
        unsafe {
            let out = out(workspace)?;
            let bytes = pointer::get(model).map_or(0, nanoembed_model::lent_workspace_bytes);
            let made = on_heap(bytes, |memory, size, made| {
                nanoembed_workspace_init(model, memory, size, made)
            })?;
            if let Ok(Kind::Hosted(_)) = pointer::get(model).map(|model| &model.kind) {
                (*made).hosted = Some(Box::default());
            }
            out.write(made);
        }
        Ok(())
    };
    status(make())
}

/// Frees a workspace that `nanoembed_workspace_new` made; NULL and workspaces in lent memory are
/// left alone.
///
/// # Safety
///
/// `workspace` is NULL or a workspace that is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_workspace_free(workspace: *mut nanoembed_workspace) {
    // SAFETY: the caller's promise.
    unsafe { free(workspace) };
}

/// As `nanoembed_words_init`, in memory from the heap; to be freed by `nanoembed_words_free`.
///
/// # Safety
///
/// As `nanoembed_words_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_words_new(
    source: *const nanoembed_source,
    options: *const nanoembed_words_options,
    words: *mut *mut nanoembed_words,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    // Room for the longest word that a file may have.
    const SCRATCH_BYTES: usize = nanoembed_core::format::finalfusion::MAX_ITEM_BYTES;
    let make = || {
        let scratch = Memory::new(SCRATCH_BYTES)?;
        let (start, bytes) = (scratch.start, scratch.layout.size());
        let mut plan = nanoembed_words_plan::default();
        // SAFETY: the caller's promise.
        unsafe {
            check(nanoembed_plan_words(source, options, start, bytes, &raw mut plan, error))?;
            let out = out(words)?;
            out.write(on_heap(plan.words_bytes, |memory, size, made| {
                nanoembed_words_init(source, options, memory, size, start, bytes, made, error)
            })?);
        }
        Ok(())
    };
    status(make())
}

/// Frees words that `nanoembed_words_new` made; NULL and words in lent memory are left alone.
///
/// # Safety
///
/// `words` is NULL or a handle that is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_words_free(words: *mut nanoembed_words) {
    // SAFETY: the caller's promise.
    unsafe { free(words) };
}

/// As `nanoembed_decoder_init`, in memory from the heap; to be freed by `nanoembed_decoder_free`.
///
/// # Safety
///
/// As `nanoembed_decoder_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_decoder_new(
    source: *const nanoembed_source,
    options: *const nanoembed_decoder_options,
    decoder: *mut *mut nanoembed_decoder,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || {
        let mut plan = nanoembed_decoder_plan::default();
        // SAFETY: the caller's promise.
        unsafe {
            let out = out(decoder)?;
            check(nanoembed_plan_decoder(source, options, &raw mut plan, error))?;
            out.write(on_heap(plan.decoder_bytes, |memory, size, made| {
                nanoembed_decoder_init(source, options, memory, size, made, error)
            })?);
        }
        Ok(())
    };
    status(make())
}

/// Frees a decoder that `nanoembed_decoder_new` made; NULL and decoders in lent memory are left
/// alone.
///
/// # Safety
///
/// `decoder` is NULL or a decoder that is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_decoder_free(decoder: *mut nanoembed_decoder) {
    // SAFETY: the caller's promise.
    unsafe { free(decoder) };
}

/// As `nanoembed_tokenizer_init`, in memory from the heap; to be freed by
/// `nanoembed_tokenizer_free`.
///
/// # Safety
///
/// As `nanoembed_tokenizer_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_tokenizer_new(
    source: *const nanoembed_source,
    tokenizer: *mut *mut nanoembed_tokenizer,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || {
        let mut plan = nanoembed_tokenizer_plan::default();
        // SAFETY: the caller's promise.
        unsafe {
            let out = out(tokenizer)?;
            check(nanoembed_plan_tokenizer(source, &raw mut plan, error))?;
            out.write(on_heap(plan.tokenizer_bytes, |memory, size, made| {
                nanoembed_tokenizer_init(source, memory, size, made, error)
            })?);
        }
        Ok(())
    };
    status(make())
}

/// Frees a tokenizer that `nanoembed_tokenizer_new` made; NULL and tokenizers in lent memory are
/// left alone.
///
/// # Safety
///
/// `tokenizer` is NULL or a tokenizer that is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_tokenizer_free(tokenizer: *mut nanoembed_tokenizer) {
    // SAFETY: the caller's promise.
    unsafe { free(tokenizer) };
}

/// As `nanoembed_session_init`, in memory from the heap; to be freed by `nanoembed_session_free`.
///
/// # Safety
///
/// As `nanoembed_session_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_session_new(
    decoder: *const nanoembed_decoder,
    session: *mut *mut nanoembed_session,
) -> nanoembed_status {
    let make = || {
        let mut plan = nanoembed_decoder_plan::default();
        // SAFETY: the caller's promise.
        unsafe {
            let out = out(session)?;
            check(nanoembed_decoder_get_plan(decoder, &raw mut plan))?;
            out.write(on_heap(plan.session_bytes, |memory, size, made| {
                nanoembed_session_init(decoder, memory, size, made)
            })?);
        }
        Ok(())
    };
    status(make())
}

/// Frees a session that `nanoembed_session_new` made; NULL and sessions in lent memory are left
/// alone.
///
/// # Safety
///
/// `session` is NULL or a session that is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_session_free(session: *mut nanoembed_session) {
    // SAFETY: the caller's promise.
    unsafe { free(session) };
}
