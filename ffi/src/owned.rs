//! Handles on the heap, for hosts that have one: planned, allocated and opened in one call.

use core::ffi::c_char;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::boxed::Box;
use std::string::String;

use crate::decoder_model::{
    nanoembed_decoder, nanoembed_decoder_get_plan, nanoembed_decoder_init,
    nanoembed_decoder_options, nanoembed_decoder_plan, nanoembed_plan_decoder,
};
use crate::embed::{nanoembed_workspace, nanoembed_workspace_bytes, nanoembed_workspace_init};
use crate::hosted::{Data, HostedModel, map, path_of};
use crate::memory::ALIGN;
use crate::model::{
    Kind, NANOEMBED_VOCABULARY_NONE, Tokenizer, nanoembed_model, nanoembed_model_init,
    nanoembed_model_options, nanoembed_plan, nanoembed_plan_model, nanoembed_plan_scratch,
};
use crate::pointer;
use crate::session::{nanoembed_session, nanoembed_session_init};
use crate::source::{Bytes, nanoembed_source};
use crate::status::{
    Failure, NANOEMBED_OK, NANOEMBED_OUT_OF_MEMORY, Outcome, nanoembed_error, nanoembed_status,
    report_named,
};
use crate::tokenizer::{
    nanoembed_plan_tokenizer, nanoembed_tokenizer, nanoembed_tokenizer_init,
    nanoembed_tokenizer_plan,
};
use crate::versioned;
use crate::words::{
    nanoembed_plan_words, nanoembed_words, nanoembed_words_init, nanoembed_words_options,
    nanoembed_words_plan,
};

/// Memory from the heap that goes back unless it is kept.
struct Memory {
    start: *mut u8,
    layout: Layout,
}

impl Memory {
    fn new(bytes: usize) -> Result<Self, nanoembed_status> {
        let layout = Layout::from_size_align(bytes.max(1), ALIGN);
        let layout = layout.map_err(|_| NANOEMBED_OUT_OF_MEMORY)?;
        // SAFETY: at least one byte.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() { Err(NANOEMBED_OUT_OF_MEMORY) } else { Ok(Self { start, layout }) }
    }

    fn keep(self) {
        core::mem::forget(self);
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and given away by nobody.
        unsafe { dealloc(self.start, self.layout) };
    }
}

/// Gives back the memory in front of which a handle lies.
///
/// # Safety
///
/// `handle` lies at the start of `bytes` bytes from the heap, and is used no more.
unsafe fn free<T>(handle: *mut T, bytes: usize) {
    if let (true, Ok(layout)) = (bytes > 0, Layout::from_size_align(bytes, ALIGN)) {
        // SAFETY: the caller's promise.
        unsafe { dealloc(handle.cast(), layout) };
    }
}

fn status(outcome: Result<(), nanoembed_status>) -> nanoembed_status {
    outcome.err().unwrap_or(NANOEMBED_OK)
}

fn check(status: nanoembed_status) -> Result<(), nanoembed_status> {
    if status == NANOEMBED_OK { Ok(()) } else { Err(status) }
}

/// As `nanoembed_model_init`, in memory from the heap; to be freed by `nanoembed_model_free`.
///
/// In a file in memory that may be a model of any family, with any tokenizer, with prompts, and one
/// that compares texts; such models are to be used with workspaces of `nanoembed_workspace_new`.
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
    let lent = unsafe { lent_model(source, options, model, error) };
    // What is not supported in lent memory, or incomplete as such a model.
    if !(200..400).contains(&lent) {
        return lent;
    }
    let mut name = String::new();
    let mut make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (source, options, out) =
            unsafe { (Bytes::new(source)?, versioned::given(options)?, pointer::out(model)?) };
        if options.vocabulary == NANOEMBED_VOCABULARY_NONE {
            return Err(Failure::here(lent));
        }
        let file = source.memory().ok_or(Failure::here(lent))?;
        out.write(hosted(HostedModel::open(Data::Lent(file), options.tokens, &mut name)?)?);
        Ok(())
    };
    match make() {
        Err(failure) if failure.status() == lent => lent,
        // SAFETY: the caller's promise.
        outcome => unsafe { report_named(outcome, &name, error) },
    }
}

unsafe fn lent_model(
    source: *const nanoembed_source,
    options: *const nanoembed_model_options,
    model: *mut *mut nanoembed_model,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || {
        let mut needed = 0;
        // SAFETY: the caller's promise.
        check(unsafe { nanoembed_plan_scratch(source, &raw mut needed, error) })?;
        let scratch = Memory::new(needed)?;
        let (start, bytes) = (scratch.start, scratch.layout.size());
        let mut plan = nanoembed_plan::default();
        let mut made = core::ptr::null_mut();
        // SAFETY: the caller's promise.
        unsafe {
            check(nanoembed_plan_model(source, options, start, bytes, &raw mut plan, error))?;
            let memory = Memory::new(plan.model_bytes)?;
            let size = memory.layout.size();
            let (out, target) = (&raw mut made, memory.start);
            if model.is_null() {
                return Err(crate::status::NANOEMBED_BAD_POINTER);
            }
            check(nanoembed_model_init(source, options, target, size, start, bytes, out, error))?;
            (*made).owned_bytes = size;
            memory.keep();
            *model = made;
        }
        Ok(())
    };
    status(make())
}

/// A model on the heap that has memory of its own.
fn hosted(model: HostedModel) -> Outcome<*mut nanoembed_model> {
    let memory = Memory::new(size_of::<nanoembed_model>()).map_err(Failure::here)?;
    let handle = memory.start.cast::<nanoembed_model>();
    let kind = Kind::Hosted(Box::new(model));
    let (tokenizer, owned_bytes) = (Tokenizer::None, memory.layout.size());
    let made = nanoembed_model { source: Bytes::Memory(&[]), kind, tokenizer, owned_bytes };
    // SAFETY: as many bytes, aligned.
    unsafe { handle.write(made) };
    memory.keep();
    Ok(handle)
}

/// Opens the model at `path`, which is a `.weights`, `.amb` or GGUF file or a folder of Hugging
/// Face, and keeps what it maps; to be freed by `nanoembed_model_free`. Otherwise as
/// `nanoembed_model_new`.
///
/// # Safety
///
/// `path` is NULL or ends with a zero, `options` is what its type says, `model` points to memory for
/// a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_model_open(
    path: *const c_char,
    options: *const nanoembed_model_options,
    model: *mut *mut nanoembed_model,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let mut name = String::new();
    let mut make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (path, options, out) =
            unsafe { (path_of(path)?, versioned::given(options)?, pointer::out(model)?) };
        let opened = match path.is_dir() {
            true => HostedModel::open_folder(&path, options.tokens, &mut name)?,
            false => HostedModel::open(map(&path)?, options.tokens, &mut name)?,
        };
        out.write(hosted(opened)?);
        Ok(())
    };
    let outcome = make();
    // SAFETY: the caller's promise.
    unsafe { report_named(outcome, &name, error) }
}

/// Frees a model that `nanoembed_model_new` or `nanoembed_model_open` made; NULL and models in lent
/// memory are left alone.
///
/// # Safety
///
/// `model` is NULL or a model that is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_model_free(model: *mut nanoembed_model) {
    if model.is_null() {
        return;
    }
    // SAFETY: the caller's promise.
    unsafe {
        let owned_bytes = (*model).owned_bytes;
        if owned_bytes > 0 {
            model.drop_in_place();
        }
        free(model, owned_bytes);
    }
}

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
        if workspace.is_null() {
            return Err(crate::status::NANOEMBED_BAD_POINTER);
        }
        let mut made = core::ptr::null_mut();
        // SAFETY: the caller's promise.
        unsafe {
            let memory = Memory::new(nanoembed_workspace_bytes(model))?;
            let size = memory.layout.size();
            check(nanoembed_workspace_init(model, memory.start, size, &raw mut made))?;
            (*made).owned_bytes = size;
            if let Ok(Kind::Hosted(_)) = pointer::get(model).map(|model| &model.kind) {
                (*made).hosted = Some(Box::default());
            }
            memory.keep();
            *workspace = made;
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
    if workspace.is_null() {
        return;
    }
    // SAFETY: the caller's promise.
    unsafe {
        let owned_bytes = (*workspace).owned_bytes;
        if owned_bytes > 0 {
            workspace.drop_in_place();
        }
        free(workspace, owned_bytes);
    }
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
        let mut made = core::ptr::null_mut();
        // SAFETY: the caller's promise.
        unsafe {
            check(nanoembed_plan_words(source, options, start, bytes, &raw mut plan, error))?;
            let memory = Memory::new(plan.words_bytes)?;
            let size = memory.layout.size();
            let (out, target) = (&raw mut made, memory.start);
            if words.is_null() {
                return Err(crate::status::NANOEMBED_BAD_POINTER);
            }
            check(nanoembed_words_init(source, options, target, size, start, bytes, out, error))?;
            (*made).owned_bytes = size;
            memory.keep();
            *words = made;
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
    if !words.is_null() {
        // SAFETY: the caller's promise.
        unsafe { free(words, (*words).owned_bytes) };
    }
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
        if decoder.is_null() {
            return Err(crate::status::NANOEMBED_BAD_POINTER);
        }
        let mut plan = nanoembed_decoder_plan::default();
        let mut made = core::ptr::null_mut();
        // SAFETY: the caller's promise.
        unsafe {
            check(nanoembed_plan_decoder(source, options, &raw mut plan, error))?;
            let memory = Memory::new(plan.decoder_bytes)?;
            let size = memory.layout.size();
            let out = &raw mut made;
            check(nanoembed_decoder_init(source, options, memory.start, size, out, error))?;
            (*made).owned_bytes = size;
            memory.keep();
            *decoder = made;
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
    if !decoder.is_null() {
        // SAFETY: the caller's promise.
        unsafe { free(decoder, (*decoder).owned_bytes) };
    }
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
        if tokenizer.is_null() {
            return Err(crate::status::NANOEMBED_BAD_POINTER);
        }
        let mut plan = nanoembed_tokenizer_plan::default();
        let mut made = core::ptr::null_mut();
        // SAFETY: the caller's promise.
        unsafe {
            check(nanoembed_plan_tokenizer(source, &raw mut plan, error))?;
            let memory = Memory::new(plan.tokenizer_bytes)?;
            let size = memory.layout.size();
            check(nanoembed_tokenizer_init(source, memory.start, size, &raw mut made, error))?;
            (*made).owned_bytes = size;
            memory.keep();
            *tokenizer = made;
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
    if !tokenizer.is_null() {
        // SAFETY: the caller's promise.
        unsafe { free(tokenizer, (*tokenizer).owned_bytes) };
    }
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
        if session.is_null() {
            return Err(crate::status::NANOEMBED_BAD_POINTER);
        }
        let mut plan = nanoembed_decoder_plan::default();
        let mut made = core::ptr::null_mut();
        // SAFETY: the caller's promise.
        unsafe {
            check(nanoembed_decoder_get_plan(decoder, &raw mut plan))?;
            let memory = Memory::new(plan.session_bytes)?;
            let size = memory.layout.size();
            check(nanoembed_session_init(decoder, memory.start, size, &raw mut made))?;
            (*made).owned_bytes = size;
            memory.keep();
            *session = made;
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
    if !session.is_null() {
        // SAFETY: the caller's promise.
        unsafe { free(session, (*session).owned_bytes) };
    }
}
