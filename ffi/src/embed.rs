//! Workspaces, and embeddings of single texts.

use core::mem::size_of;

use nanoembed_core::model::{BertConfig, FixedMemory, FixedNeeds, Plan, Run, Workspace};

use crate::memory::{Lent, LentSlice, Sum, number};
use crate::model::nanoembed_model;
use crate::pointer::{self, text};
use crate::status::{
    INVALID, Outcome, TOO_SMALL, answer, nanoembed_error, nanoembed_status, report,
};
use crate::tokenize::tokenize;
use crate::tokenized::nanoembed_tokenized;

/// The scratch memory of one thread that embeds.
#[derive(Debug)]
pub struct nanoembed_workspace {
    pub(crate) scratch: Scratch,
    /// The tokens of a pack of texts, and how many each text has.
    pub(crate) ids: LentSlice<u32>,
    pub(crate) lengths: LentSlice<usize>,
    /// Bytes that the heap gave for this workspace; 0 if the caller lent them.
    #[cfg_attr(not(feature = "std"), allow(dead_code))]
    pub(crate) owned_bytes: usize,
}

/// What computing takes: floats and bytes, or what integers take.
#[derive(Debug)]
pub(crate) struct Scratch {
    pub(crate) plan: Plan,
    floats: LentSlice<f32>,
    bytes: LentSlice<u8>,
    words: LentSlice<i32>,
    codes: LentSlice<i16>,
}

/// Without the feature no model is opened to be computed in integers alone.
pub(crate) const FIXED: bool = cfg!(feature = "fixed");

/// Elements of each kind of memory.
struct Sizes {
    floats: usize,
    bytes: usize,
    words: usize,
    codes: usize,
}

impl Sizes {
    fn new(config: &BertConfig, plan: &Plan, fixed: bool) -> Outcome<Self> {
        if fixed && FIXED {
            let FixedNeeds { words, codes, bytes } = FixedNeeds::new(config, plan)?;
            // And the embedding.
            let words = words.checked_add(config.hidden).ok_or(TOO_SMALL)?;
            return Ok(Self { floats: 0, bytes, words, codes });
        }
        let needs = Workspace::needs(config, plan)?;
        Ok(Self { floats: needs.floats, bytes: needs.bytes, words: 0, codes: 0 })
    }
}

const fn most_texts(plan: &Plan) -> usize {
    // A text has two tokens at least.
    plan.tokens / 2
}

pub(crate) fn workspace_bytes(config: &BertConfig, plan: &Plan, fixed: bool) -> Outcome<usize> {
    let sizes = Sizes::new(config, plan, fixed)?;
    let mut sum = Sum::default();
    sum.add::<nanoembed_workspace>(1)?;
    sum.add::<f32>(sizes.floats)?;
    sum.add::<u8>(sizes.bytes)?;
    sum.add::<i32>(sizes.words)?;
    sum.add::<i16>(sizes.codes)?;
    sum.add::<u32>(plan.tokens)?;
    sum.add::<usize>(most_texts(plan))?;
    Ok(sum.bytes())
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
        let plan = model.plan;
        if memory_bytes < workspace_bytes(model.bert.config(), &plan, model.fixed)? {
            return Err(TOO_SMALL);
        }
        let sizes = Sizes::new(model.bert.config(), &plan, model.fixed)?;
        let handle: *mut nanoembed_workspace = lent.place(1)?;
        let made = nanoembed_workspace {
            scratch: Scratch {
                plan,
                floats: LentSlice(lent.filled(sizes.floats, 0.0)?),
                bytes: LentSlice(lent.filled(sizes.bytes, 0)?),
                words: LentSlice(lent.filled(sizes.words, 0)?),
                codes: LentSlice(lent.filled(sizes.codes, 0)?),
            },
            ids: LentSlice(lent.filled(plan.tokens, 0)?),
            lengths: LentSlice(lent.filled(most_texts(&plan), 0)?),
            owned_bytes: 0,
        };
        // SAFETY: the place was taken for it.
        unsafe { handle.write(made) };
        out.write(handle);
        Ok(())
    };
    answer(make())
}

/// The size of the workspaces of `model` in bytes; 0 for NULL.
///
/// # Safety
///
/// `model` is NULL or a model.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_workspace_bytes(model: *const nanoembed_model) -> usize {
    // SAFETY: the caller's promise.
    let model = unsafe { pointer::get(model) };
    model
        .and_then(|model| workspace_bytes(model.bert.config(), &model.plan, model.fixed))
        .unwrap_or(0)
}

/// Embeds texts of which the tokens are known, `hidden` floats each.
pub(crate) fn run(
    model: &nanoembed_model,
    scratch: &mut Scratch,
    ids: &[u32],
    lengths: &[usize],
    out: &mut [f32],
) -> Outcome {
    let Scratch { plan, floats, bytes, words, codes } = scratch;
    if model.fixed && FIXED {
        return run_fixed(model, (plan, words.0, codes.0, bytes.0), ids, lengths, out);
    }
    let mut workspace = Workspace::new(model.bert.config(), plan, floats.0, bytes.0)?;
    let summaries = model.summaries;
    let run = Run { summaries, ..Run::new(&model.source, &model.kernels) };
    Ok(model.bert.embed_batch(&run, ids, lengths, &mut workspace, out)?)
}

/// The same in integers; only the results are converted.
fn run_fixed(
    model: &nanoembed_model,
    (plan, words, codes, bytes): (&Plan, &mut [i32], &mut [i16], &mut [u8]),
    ids: &[u32],
    lengths: &[usize],
    out: &mut [f32],
) -> Outcome {
    let config = model.bert.config();
    let (vector, words) = words.split_at_mut_checked(config.hidden).ok_or(TOO_SMALL)?;
    let one = if config.normalize { 1 << 30 } else { 1 << 16 };
    let mut rest = ids;
    for (length, out) in lengths.iter().zip(out.chunks_exact_mut(config.hidden.max(1))) {
        let (ids, behind) = rest.split_at_checked(*length).ok_or(INVALID)?;
        rest = behind;
        let memory = FixedMemory { words: &mut *words, codes: &mut *codes, bytes: &mut *bytes };
        model.bert.embed_fixed(&model.source, plan, ids, memory, vector)?;
        for (to, from) in out.iter_mut().zip(&*vector) {
            *to = *from as f32 / one as f32;
        }
    }
    Ok(())
}

/// The first `dimensions` of `capacity` floats.
unsafe fn vector<'a>(
    model: &nanoembed_model,
    out: *mut f32,
    capacity: usize,
) -> Outcome<&'a mut [f32]> {
    let dimensions = model.bert.config().hidden;
    if capacity < dimensions {
        return Err(TOO_SMALL);
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
        run(model, &mut workspace.scratch, ids, &[ids.len()], out)
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
    text_start: *const u8,
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
        let nanoembed_workspace { scratch, ids, .. } = workspace;
        let room = ids.0.get_mut(..model.bert.config().positions.min(scratch.plan.tokens));
        let room = room.ok_or(INVALID)?;
        let encoded = tokenize(model, text, room)?;
        let ids = room.get(..encoded.tokens).ok_or(INVALID)?;
        run(model, scratch, ids, &[ids.len()], out)?;
        if !tokenized.is_null() {
            // SAFETY: the caller's promise.
            unsafe { pointer::out(tokenized) }?.write(nanoembed_tokenized {
                tokens: number(encoded.tokens),
                total: number(encoded.total),
                truncated: encoded.truncated.into(),
            });
        }
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
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
