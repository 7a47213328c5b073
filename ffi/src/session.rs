//! Sessions with a decoder: tokens in, the next token out.

use nanoembed_core::model::llama::{
    Cache, LlamaConfig, LlamaMemory, LlamaPlan, Output, Sampler, Sampling,
};
use nanoembed_core::model::{Run, SliceWeights};
use nanoembed_core::tensor::TensorHeader;
use nanoembed_core::top::Scored;

use crate::decoder_handle::nanoembed_decoder;
use crate::memory::{Lent, LentSlice, Sum, number};
use crate::pointer;
use crate::status::{
    INVALID, Outcome, TOO_SMALL, answer, nanoembed_error, nanoembed_status, report, too_small,
};
use crate::versioned;

/// How the next token is chosen.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_sampling {
    /// The size of this struct in bytes, by which programs and libraries of different versions
    /// understand each other: `sizeof`.
    pub size: u32,
    /// By what logits are divided; 0 always takes the likeliest token.
    pub temperature: f32,
    /// Only the likeliest tokens that together have this probability are considered; 1: all.
    pub top_p: f32,
    /// Only so many of the likeliest tokens are considered; 0: all.
    pub top_k: u32,
    /// The same seed and the same tokens give the same choices.
    pub seed: u64,
}

crate::versioned!(nanoembed_sampling);

/// The state of one text: keys and values of its tokens, the logits after the last, and scratch
/// memory. Used by one thread at a time, always with the decoder that it was made for.
#[derive(Debug)]
pub struct nanoembed_session {
    cache: LentSlice<f32>,
    scratch: LentSlice<f32>,
    scratch_bytes: LentSlice<u8>,
    logits: LentSlice<f32>,
    order: LentSlice<Scored>,
    sampler: Sampler,
    /// Tokens so far.
    length: usize,
    /// True if the logits are those after the last token.
    is_fed: bool,
    /// Bytes that the heap gave for this handle; 0 if the caller lent them.
    pub(crate) owned_bytes: usize,
}

pub(crate) fn session_bytes(
    config: &LlamaConfig,
    positions: usize,
    tokens_at_once: usize,
) -> Outcome<usize> {
    let mut sum = Sum::default();
    sum.add::<nanoembed_session>(1)?;
    sum.add::<f32>(Cache::floats_needed(config, positions).ok_or(TOO_SMALL)?)?;
    let needs = LlamaMemory::needs(config, &LlamaPlan::new(tokens_at_once, positions))?;
    sum.add::<f32>(needs.floats)?;
    sum.add::<u8>(needs.bytes)?;
    sum.add::<f32>(config.vocabulary)?;
    sum.add::<Scored>(config.vocabulary)?;
    Ok(sum.bytes())
}

/// Makes a session with `decoder` in `memory`, and puts the handle, which lies there, into
/// `*session`. It has no tokens yet, and takes the likeliest token until
/// `nanoembed_session_set_sampling` says otherwise. There is nothing to close.
///
/// # Safety
///
/// `decoder` is NULL or a decoder; `memory` points to as many bytes, aligned to `NANOEMBED_ALIGN`,
/// that nobody else touches as long as the session is used; `session` points to memory for a
/// pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_session_init(
    decoder: *const nanoembed_decoder,
    memory: *mut u8,
    memory_bytes: usize,
    session: *mut *mut nanoembed_session,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (decoder, out, mut lent) = unsafe {
            (pointer::get(decoder)?, pointer::out(session)?, Lent::new(memory, memory_bytes)?)
        };
        let nanoembed_decoder { llama, positions, tokens_at_once, .. } = decoder;
        let config = llama.config();
        let needed = session_bytes(config, *positions, *tokens_at_once)?;
        if memory_bytes < needed {
            return Err(too_small(needed));
        }
        let cache = Cache::floats_needed(config, *positions).ok_or(TOO_SMALL)?;
        let plan = LlamaPlan::new(*tokens_at_once, *positions);
        let needs = LlamaMemory::needs(config, &plan)?;
        let handle: *mut nanoembed_session = lent.place(1)?;
        let made = nanoembed_session {
            cache: LentSlice(lent.filled(cache, 0.0)?),
            scratch: LentSlice(lent.filled(needs.floats, 0.0)?),
            scratch_bytes: LentSlice(lent.filled(needs.bytes, 0)?),
            logits: LentSlice(lent.filled(config.vocabulary, 0.0)?),
            order: LentSlice(lent.filled(config.vocabulary, Scored::default())?),
            sampler: Sampler::new(Sampling::GREEDY, 0)?,
            length: 0,
            is_fed: false,
            owned_bytes: 0,
        };
        // SAFETY: the place was taken for it.
        unsafe { handle.write(made) };
        out.write(handle);
        Ok(())
    };
    answer(make())
}

/// Sets how the next tokens are chosen.
///
/// # Safety
///
/// `session` is NULL or a session, `sampling` points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_session_set_sampling(
    session: *mut nanoembed_session,
    sampling: *const nanoembed_sampling,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (session, chosen) =
            unsafe { (pointer::get_mut(session)?, versioned::needed(sampling)?) };
        let nanoembed_sampling { temperature, top_p, top_k, seed, .. } = chosen;
        let sampling = Sampling { temperature, top_k: top_k as usize, top_p, ..Sampling::GREEDY };
        session.sampler = Sampler::new(sampling, seed)?;
        Ok(())
    };
    answer(make())
}

/// Takes `count` tokens through the model after those of the session: a prompt, or the token that
/// was chosen. `NANOEMBED_TOO_MANY_TOKENS` if the session has no room for them; after an error the
/// session is as it was, but for its logits.
///
/// # Safety
///
/// `decoder` and `session` are NULL or handles, `ids` points to `count` ids.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_session_feed(
    decoder: *const nanoembed_decoder,
    session: *mut nanoembed_session,
    ids: *const u32,
    count: usize,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (decoder, session, ids) = unsafe {
            (pointer::get(decoder)?, pointer::get_mut(session)?, pointer::slice(ids, count)?)
        };
        let nanoembed_decoder { file, llama, kernels, positions, tokens_at_once, .. } = decoder;
        let nanoembed_session { cache, scratch, scratch_bytes, logits, length, is_fed, .. } =
            session;
        let config = llama.config();
        let mut cache = Cache::resume(config, *positions, *length, cache.0)?;
        let plan = LlamaPlan::new(*tokens_at_once, *positions);
        let mut memory = LlamaMemory::new(config, &plan, scratch.0, scratch_bytes.0)?;
        // The decoder has found its tensors already.
        let weights = SliceWeights::new(file, |_: &str| None::<TensorHeader<'_>>);
        let run = Run::new(&weights, kernels);
        *is_fed = false;
        llama.forward(&run, ids, &mut cache, &mut memory, Output::LastLogits(logits.0))?;
        (*length, *is_fed) = (cache.len(), true);
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// Chooses the token that comes next and puts it into `*id`; it is not yet part of the session:
/// feed it. `NANOEMBED_INVALID_ARGUMENT` if nothing has been fed.
///
/// # Safety
///
/// `session` is NULL or a session, `id` points to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_session_sample(
    session: *mut nanoembed_session,
    id: *mut u32,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (session, out) = unsafe { (pointer::get_mut(session)?, pointer::out(id)?) };
        if !session.is_fed {
            return Err(INVALID);
        }
        out.write(session.sampler.next(session.logits.0, session.order.0)?);
        Ok(())
    };
    answer(make())
}

/// Copies the logits after the last token, as many as the vocabulary has tokens, into `out`.
/// `NANOEMBED_INVALID_ARGUMENT` if nothing has been fed.
///
/// # Safety
///
/// `session` is NULL or a session, `out` points to `capacity` floats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_session_logits(
    session: *const nanoembed_session,
    out: *mut f32,
    capacity: usize,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let session = unsafe { pointer::get(session) }?;
        if !session.is_fed {
            return Err(INVALID);
        }
        let logits = &*session.logits.0;
        if capacity < logits.len() {
            return Err(TOO_SMALL);
        }
        // SAFETY: the caller's promise; floats may hold anything.
        let out = unsafe { pointer::slice_mut(out, logits.len()) }?;
        out.iter_mut().zip(logits).for_each(|(to, from)| *to = *from);
        Ok(())
    };
    answer(make())
}

/// How many tokens a session has; 0 for NULL.
///
/// # Safety
///
/// `session` is NULL or a session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_session_length(session: *const nanoembed_session) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { pointer::get(session) }.map_or(0, |session| number(session.length))
}

/// Forgets all tokens of a session from the `length`-th on, for another continuation or another
/// text.
///
/// # Safety
///
/// `session` is NULL or a session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_session_truncate(
    session: *mut nanoembed_session,
    length: u32,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let session = unsafe { pointer::get_mut(session) }?;
        if (length as usize) < session.length {
            (session.length, session.is_fed) = (length as usize, false);
        }
        Ok(())
    };
    answer(make())
}
