//! Models: in memory like that which callers lend, or with memory of their own.

use core::ffi::{CStr, c_char};
use std::boxed::Box;
use std::string::String;
use std::vec::Vec;

use nanoembed_core::event::Mode;
use nanoembed_core::format::embd::Embd;
use nanoembed_core::limit::{copied, reserved};
use nanoembed_core::source::TransformerSource;

use super::heap::{Memory, check, free, on_heap, out, status};
use crate::hosted::{Asked, Data, HostedModel};
use crate::limits::nanoembed_limits;
use crate::model::{nanoembed_model_init, nanoembed_plan_model, nanoembed_plan_scratch};
use crate::model_handle::{Kind, nanoembed_model};
use crate::model_options::{NANOEMBED_VOCABULARY_NONE, nanoembed_model_options, nanoembed_plan};
use crate::model_tokenizer::Tokenizer;
use crate::opening::gguf_encoder;
use crate::pointer;
use crate::source::{Bytes, nanoembed_source};
use crate::status::{
    Failure, NANOEMBED_OK, Outcome, invalid, nanoembed_error, nanoembed_status, report_named,
};
use crate::versioned;

/// As `nanoembed_model_init`, in memory from the heap; to be freed by `nanoembed_model_free`.
///
/// In a file in memory that may be a model of any family, with any tokenizer, with prompts, and one
/// that compares texts; such models have memory of their own, and are to be used with workspaces of
/// `nanoembed_workspace_new`. Of the options they honour `activations` but for
/// `NANOEMBED_ACTIVATIONS_FIXED`, `block_tokens`, and `vocabulary` but for
/// `NANOEMBED_VOCABULARY_IN_FILE`; these two are `NANOEMBED_INVALID_ARGUMENT`, with the name of the
/// option. With `NANOEMBED_VOCABULARY_NONE` their file must have a tokenizer all the same.
/// `tile_bytes` is for storage, and has no meaning for them. Texts are embedded one by one: of
/// `tokens`, no more than the model's positions are used.
///
/// # Safety
///
/// As `nanoembed_model_init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_model_new(
    source: *const nanoembed_source,
    options: *const nanoembed_model_options,
    model: *mut *mut nanoembed_model,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    // SAFETY: the caller's promise.
    let lent = match unsafe { wants_prompts(source, options) } {
        true => NANOEMBED_OK,
        // SAFETY: the caller's promise.
        false => match unsafe { lent_model(source, options, model, error) } {
            // What is not supported in lent memory, or incomplete as such a model.
            refused @ 200..400 => refused,
            status => return status,
        },
    };
    let mut name = String::new();
    let mut make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (source, options, out) =
            unsafe { (Bytes::new(source)?, versioned::given(options)?, pointer::out(model)?) };
        let file = source.memory().ok_or(Failure::here(lent))?;
        // SAFETY: the caller's promise.
        let allowed = unsafe { allowed_names(&options) }?;
        let limits = &nanoembed_limits::default();
        let asked = Asked { options: &options, limits, allowed: &allowed };
        out.write(hosted(HostedModel::open(Data::Lent(file), asked, &mut name)?)?);
        Ok(())
    };
    match make() {
        Err(failure) if failure.status() == lent => lent,
        // SAFETY: the caller's promise.
        outcome => unsafe { report_named(outcome, &name, error) },
    }
}

/// Returns true if a model of another family than BERT is to embed texts: it may have prompts, or a
/// tokenizer that needs a heap.
///
/// # Safety
///
/// As `nanoembed_model_init`.
unsafe fn wants_prompts(
    source: *const nanoembed_source,
    options: *const nanoembed_model_options,
) -> bool {
    // SAFETY: the caller's promise.
    let (source, options) = unsafe { (Bytes::new(source), versioned::given(options)) };
    let (Ok(source), Ok(options)) = (source, options) else { return false };
    let file = source.memory().and_then(|file| Embd::parse(file, Mode::Lenient).ok());
    let is_family = file.is_some_and(|file| TransformerSource::is_in(&file))
        || matches!(gguf_encoder(&source), Ok(Some(_)));
    is_family && options.vocabulary != NANOEMBED_VOCABULARY_NONE
}

/// The names of `allow_unknown`.
///
/// # Safety
///
/// `options` is what its type says.
unsafe fn allowed_names(options: &nanoembed_model_options) -> Outcome<Vec<String>> {
    let bad = |_| invalid("allow_unknown");
    // SAFETY: the caller's promise.
    let names = unsafe { pointer::slice(options.allow_unknown, options.allow_unknown_count) };
    let mut allowed = reserved(options.allow_unknown_count)?;
    for name in names.map_err(bad)? {
        // SAFETY: the caller's promise.
        let name = unsafe { pointer::name(*name) }.map_err(bad)?;
        allowed.push(copied(name)?);
    }
    Ok(allowed)
}

/// A model in lent memory, which has no unknown settings.
unsafe fn lent_model(
    source: *const nanoembed_source,
    options: *const nanoembed_model_options,
    model: *mut *mut nanoembed_model,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    // SAFETY: the caller's promise.
    let without_names = unsafe { versioned::given(options) }.map(|it| nanoembed_model_options {
        allow_unknown: core::ptr::null(),
        allow_unknown_count: 0,
        ..it
    });
    // Invalid ones are told below.
    let options = without_names.as_ref().map_or(options, core::ptr::from_ref);
    let make = || {
        let mut needed = 0;
        // SAFETY: the caller's promise.
        check(unsafe { nanoembed_plan_scratch(source, &raw mut needed, error) })?;
        let scratch = Memory::new(needed)?;
        let (start, bytes) = (scratch.start, scratch.layout.size());
        let mut plan = nanoembed_plan::default();
        // SAFETY: the caller's promise.
        unsafe {
            check(nanoembed_plan_model(source, options, start, bytes, &raw mut plan, error))?;
            let out = out(model)?;
            out.write(on_heap(plan.model_bytes, |memory, size, made| {
                nanoembed_model_init(source, options, memory, size, start, bytes, made, error)
            })?);
        }
        Ok(())
    };
    status(make())
}

/// A model on the heap that has memory of its own.
fn hosted(model: HostedModel) -> Outcome<*mut nanoembed_model> {
    let (source, kind) = (Bytes::Memory(&[]), Kind::Hosted(Box::new(model)));
    let model = nanoembed_model { source, kind, tokenizer: Tokenizer::None, owned_bytes: 0 };
    let made = on_heap::<nanoembed_model>(size_of_val(&model), |memory, _, made| {
        // SAFETY: as many bytes, aligned; and `made` is a place.
        unsafe {
            made.write(memory.cast());
            (*made).write(model);
        }
        NANOEMBED_OK
    });
    made.map_err(Failure::here)
}

/// Opens the model at `path`, which is a `.weights`, `.amb` or GGUF file or a folder of Hugging
/// Face, and keeps what it maps; to be freed by `nanoembed_model_free`. It always has memory of its
/// own, with the options as `nanoembed_model_new` says of such models.
///
/// # Safety
///
/// `path` is NULL or ends with a zero, `options` is what its type says, `model` points to memory
/// for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_model_open(
    path: *const c_char,
    options: *const nanoembed_model_options,
    model: *mut *mut nanoembed_model,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    // SAFETY: the caller's promise.
    unsafe { nanoembed_model_open_within(path, options, core::ptr::null(), model, error) }
}

/// As `nanoembed_model_open`, if the model takes no more than `limits` allow; NULL is all zeros, as
/// for `nanoembed_model_open`.
///
/// # Safety
///
/// As `nanoembed_model_open`; `limits` is NULL or what its type says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_model_open_within(
    path: *const c_char,
    options: *const nanoembed_model_options,
    limits: *const nanoembed_limits,
    model: *mut *mut nanoembed_model,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let mut name = String::new();
    let mut make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (path, options, limits, out) = unsafe {
            let (options, limits) = (versioned::given(options)?, versioned::given(limits)?);
            (pointer::path(path)?, options, limits, pointer::out(model)?)
        };
        // SAFETY: the caller's promise.
        let allowed = unsafe { allowed_names(&options) }?;
        let asked = Asked { options: &options, limits: &limits, allowed: &allowed };
        out.write(hosted(HostedModel::open_path(path, asked, &mut name)?)?);
        Ok(())
    };
    let outcome = make();
    // SAFETY: the caller's promise.
    unsafe { report_named(outcome, &name, error) }
}

/// The warning of this index: that one of the unknown settings named in `allow_unknown` is ignored,
/// with its file and name. NULL if there are no more, which is so for every model that was opened
/// without names. The text ends with a zero and lives as long as the model.
///
/// # Safety
///
/// `model` is NULL or a model.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_model_warning(
    model: *const nanoembed_model,
    index: usize,
) -> *const c_char {
    // SAFETY: the caller's promise.
    match unsafe { pointer::get(model) }.map(|model| &model.kind) {
        Ok(Kind::Hosted(hosted)) => hosted.warning(index).map_or(core::ptr::null(), CStr::as_ptr),
        _ => core::ptr::null(),
    }
}

/// Frees a model that `nanoembed_model_new` or `nanoembed_model_open` made; NULL and models in lent
/// memory are left alone.
///
/// # Safety
///
/// `model` is NULL or a model that is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_model_free(model: *mut nanoembed_model) {
    // SAFETY: the caller's promise.
    unsafe { free(model) };
}
