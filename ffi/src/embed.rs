//! Workspaces, and embeddings of single texts.

use core::ffi::c_char;
use core::mem::size_of;
#[cfg(feature = "std")]
use std::boxed::Box;

use nanoembed_core::token::Encoded;

#[cfg(feature = "families")]
use crate::chosen::{Chosen, Prompt};
#[cfg(feature = "std")]
use crate::hosted::HostedSession;
use crate::memory::{Lent, LentSlice, Sum};
use crate::model::{Kind, nanoembed_model};
use crate::pointer::{self, text};
#[cfg(feature = "embd")]
use crate::status::INVALID;
use crate::status::{Outcome, answer, nanoembed_error, nanoembed_status, report, too_small};
#[cfg(feature = "embd")]
use crate::tokenize::by_word_pieces;
use crate::tokenized::nanoembed_tokenized;
use crate::versioned;

/// The scratch memory of one thread that embeds.
#[derive(Debug)]
pub struct nanoembed_workspace {
    pub(crate) scratch: Scratch,
    /// The tokens of a pack of texts, and how many each text has.
    pub(crate) ids: LentSlice<u32>,
    pub(crate) lengths: LentSlice<usize>,
    /// What stands before texts.
    #[cfg(feature = "families")]
    pub(crate) prompt: Prompt,
    /// What models with memory of their own embed with.
    #[cfg(feature = "std")]
    pub(crate) hosted: Option<Box<HostedSession>>,
    /// Bytes that the heap gave for this workspace; 0 if the caller lent them.
    #[cfg_attr(not(feature = "std"), allow(dead_code))]
    pub(crate) owned_bytes: usize,
}

/// What computing takes: floats and bytes, or what integers take.
#[derive(Debug)]
pub(crate) struct Scratch {
    pub(crate) floats: LentSlice<f32>,
    pub(crate) bytes: LentSlice<u8>,
    pub(crate) words: LentSlice<i32>,
    pub(crate) codes: LentSlice<i16>,
}

/// Elements of each kind of memory that a workspace takes.
pub(crate) struct Sizes {
    pub(crate) floats: usize,
    pub(crate) bytes: usize,
    pub(crate) words: usize,
    pub(crate) codes: usize,
    pub(crate) ids: usize,
    pub(crate) texts: usize,
    /// Bytes of a prompt.
    #[cfg(feature = "families")]
    pub(crate) prompt: usize,
}

impl Sizes {
    pub(crate) const NONE: Self = Self {
        floats: 0,
        bytes: 0,
        words: 0,
        codes: 0,
        ids: 0,
        texts: 0,
        #[cfg(feature = "families")]
        prompt: 0,
    };

    pub(crate) fn workspace_bytes(&self) -> Outcome<usize> {
        let mut sum = Sum::default();
        sum.add::<nanoembed_workspace>(1)?;
        sum.add::<f32>(self.floats)?;
        sum.add::<u8>(self.bytes)?;
        sum.add::<i32>(self.words)?;
        sum.add::<i16>(self.codes)?;
        sum.add::<u32>(self.ids)?;
        sum.add::<usize>(self.texts)?;
        #[cfg(feature = "families")]
        sum.add::<u8>(self.prompt)?;
        Ok(sum.bytes())
    }
}

/// Makes a workspace for `model` in `memory`, and puts the handle, which lies there, into
/// `*workspace`. A workspace is for one thread at a time. There is nothing to close.
///
/// # Safety
///
/// `model` is NULL or a model; `memory` points to as many bytes, aligned to `NANOEMBED_ALIGN`, that
/// nobody else touches as long as the workspace is used; `workspace` points to memory for a
/// pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_workspace_init(
    model: *const nanoembed_model,
    memory: *mut u8,
    memory_bytes: usize,
    workspace: *mut *mut nanoembed_workspace,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (model, out, mut lent) = unsafe {
            (pointer::get(model)?, pointer::out(workspace)?, Lent::new(memory, memory_bytes)?)
        };
        let sizes = model.kind.sizes()?;
        let needed = sizes.workspace_bytes()?;
        if memory_bytes < needed {
            return Err(too_small(needed));
        }
        let handle: *mut nanoembed_workspace = lent.place(1)?;
        #[cfg_attr(not(feature = "families"), allow(unused_mut))]
        let mut made = nanoembed_workspace {
            scratch: Scratch {
                floats: LentSlice(lent.filled(sizes.floats, 0.0)?),
                bytes: LentSlice(lent.filled(sizes.bytes, 0)?),
                words: LentSlice(lent.filled(sizes.words, 0)?),
                codes: LentSlice(lent.filled(sizes.codes, 0)?),
            },
            ids: LentSlice(lent.filled(sizes.ids, 0)?),
            lengths: LentSlice(lent.filled(sizes.texts, 0)?),
            #[cfg(feature = "families")]
            prompt: Prompt::new(lent.filled(sizes.prompt, 0)?),
            #[cfg(feature = "std")]
            hosted: None,
            owned_bytes: 0,
        };
        #[cfg(feature = "families")]
        if let Kind::Family(family) = &model.kind {
            let nanoembed_workspace { scratch, prompt, .. } = &mut made;
            family.set_prompt(&model.tokenizer, scratch, prompt, Chosen::USUAL)?;
        }
        // SAFETY: the place was taken for it.
        unsafe { handle.write(made) };
        out.write(handle);
        Ok(())
    };
    answer(make())
}

/// The size of the workspaces of `model` in bytes; 0 for NULL. That of a model with memory of its
/// own, which `nanoembed_workspace_new` makes, grows with the texts up to this size.
///
/// # Safety
///
/// `model` is NULL or a model.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_workspace_bytes(model: *const nanoembed_model) -> usize {
    // SAFETY: the caller's promise.
    let Ok(model) = (unsafe { pointer::get(model) }) else { return 0 };
    let bytes = model.lent_workspace_bytes();
    #[cfg(feature = "std")]
    if let Kind::Hosted(hosted) = &model.kind {
        return bytes.saturating_add(hosted.session_bytes().unwrap_or(0));
    }
    bytes
}

impl nanoembed_model {
    /// What a workspace takes of the memory that it lies in.
    pub(crate) fn lent_workspace_bytes(&self) -> usize {
        self.kind.sizes().and_then(|sizes| sizes.workspace_bytes()).unwrap_or(0)
    }
}

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
        let (model, workspace, ids) = unsafe {
            (pointer::get(model)?, pointer::get_mut(workspace)?, pointer::slice(ids, count)?)
        };
        // SAFETY: the caller's promise.
        let out = unsafe { vector(model, out, capacity) }?;
        let scratch = &mut workspace.scratch;
        match &model.kind {
            #[cfg(feature = "embd")]
            Kind::Bert(bert) => bert.run(&model.source, scratch, ids, &[ids.len()], out),
            #[cfg(feature = "families")]
            Kind::Family(family) => family.run(&model.source, scratch, (ids, 0), out),
            #[cfg(feature = "static-models")]
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
        let (model, workspace, text) = unsafe {
            (pointer::get(model)?, pointer::get_mut(workspace)?, text(text_start, text_bytes)?)
        };
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

/// What a workspace of `nanoembed_workspace_new` has for models with memory of their own.
#[cfg(feature = "std")]
pub(crate) fn session(hosted: &mut Option<Box<HostedSession>>) -> Outcome<&mut HostedSession> {
    hosted.as_deref_mut().ok_or(crate::status::invalid("workspace"))
}

/// Puts the embedding of a text into `out`.
pub(crate) fn embed_one(
    model: &nanoembed_model,
    workspace: &mut nanoembed_workspace,
    text: &str,
    out: &mut [f32],
) -> Outcome<Encoded> {
    let nanoembed_workspace {
        scratch,
        ids,
        #[cfg(feature = "families")]
        prompt,
        ..
    } = workspace;
    match &model.kind {
        #[cfg(feature = "embd")]
        Kind::Bert(bert) => {
            let room = ids.0.get_mut(..bert.most()).ok_or(INVALID)?;
            let encoded = by_word_pieces(&model.tokenizer, text, room)?;
            let ids = room.get(..encoded.tokens).ok_or(INVALID)?;
            bert.run(&model.source, scratch, ids, &[ids.len()], out)?;
            Ok(encoded)
        }
        #[cfg(feature = "families")]
        Kind::Family(family) => {
            let room = ids.0.get_mut(..family.most()).ok_or(INVALID)?;
            let encoded = family.tokenize(&model.tokenizer, scratch, (prompt, text), room)?;
            let ids = room.get(..encoded.tokens).ok_or(INVALID)?;
            family.run(&model.source, scratch, (ids, prompt.skipped()), out)?;
            Ok(encoded)
        }
        #[cfg(feature = "static-models")]
        Kind::Table(table) => {
            let _ = ids;
            table.embed_text(&model.tokenizer, &model.source, scratch, text, out)
        }
        #[cfg(feature = "std")]
        Kind::Hosted(hosted) => hosted.embed_text(session(&mut workspace.hosted)?, text, out),
    }
}

/// The cosine of two vectors of `length` floats; 0 if one of them is all zeros.
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
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).fold(0.0, |sum, (a, b)| sum + a * b);
        let lengths = libm::sqrtf(dot(a, a)) * libm::sqrtf(dot(b, b));
        out.write(if lengths > 0.0 { dot(a, b) / lengths } else { 0.0 });
        Ok(())
    };
    answer(make())
}

const _: () = assert!(size_of::<usize>() >= 4);
