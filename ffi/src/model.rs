//! Opening models in lent memory.

use crate::memory::Lent;
use crate::opening::{Opened, Opening, scratch_bytes};
use crate::pointer;
use crate::source::{Bytes, nanoembed_source};
use crate::status::{Outcome, nanoembed_error, nanoembed_status, report, too_small};
use crate::versioned;

pub use crate::model_handle::*;
pub use crate::model_options::*;

/// The memory that `nanoembed_plan_model` and `nanoembed_model_init` use while they run over a file,
/// put into `*bytes`: some 100 bytes a tensor, and 6 KB where there are transformers. Reads the
/// file's first 64 bytes. A model's workspace can be lent for that.
///
/// # Safety
///
/// `source` is what its type says, `bytes` points to memory for one number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_plan_scratch(
    source: *const nanoembed_source,
    bytes: *mut usize,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (out, source) = unsafe { (pointer::out(bytes)?, Bytes::new(source)?) };
        out.write(scratch_bytes(&source)?);
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// Reads a file but for its weights and says how much memory the encoder in it takes. BERT encoders
/// in `.weights` files may lie in storage; other families, and `.amb` and GGUF files, must be in
/// memory. `options` may be NULL.
///
/// Where texts cannot be tokenised without a heap, as the model's tokenizer does it, the setting is
/// refused by its name; with `NANOEMBED_VOCABULARY_NONE` the model takes token ids.
///
/// A model that compares texts has 0 dimensions, and is for `nanoembed_score`.
///
/// `NANOEMBED_OTHER_MODEL` for a model that continues texts; `NANOEMBED_UNSUPPORTED_AMB` or
/// `NANOEMBED_UNSUPPORTED_GGUF` if the build leaves the format out.
///
/// # Safety
///
/// `source` and `options` are what their types say, `scratch` points to `scratch_bytes` bytes,
/// `plan` to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_plan_model(
    source: *const nanoembed_source,
    options: *const nanoembed_model_options,
    scratch: *mut u8,
    scratch_bytes: usize,
    plan: *mut nanoembed_plan,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (out, (_, opening)) = unsafe {
            (versioned::room(plan)?, Opening::new(source, options, (scratch, scratch_bytes))?)
        };
        out.write(opening.plan()?);
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// Opens the encoder in a file in `memory`, and puts the handle, which lies there, into
/// `*model`. `options` may be NULL; they must be those of the plan. `scratch` is used only
/// meanwhile.
///
/// Nothing is copied from the file: it must stay as it is as long as the model is used. There is
/// nothing to close.
///
/// # Safety
///
/// `source` and `options` are what their types say, `memory` and `scratch` point to as many bytes,
/// aligned to `NANOEMBED_ALIGN`; nobody else touches `memory` as long as the model is used. `model`
/// points to memory for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_model_init(
    source: *const nanoembed_source,
    options: *const nanoembed_model_options,
    memory: *mut u8,
    memory_bytes: usize,
    scratch: *mut u8,
    scratch_bytes: usize,
    model: *mut *mut nanoembed_model,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (out, mut lent, (source, opening)) = unsafe {
            (
                pointer::out(model)?,
                Lent::new(memory, memory_bytes)?,
                Opening::new(source, options, (scratch, scratch_bytes))?,
            )
        };
        let needed = opening.model_bytes()?;
        if memory_bytes < needed {
            return Err(too_small(needed));
        }
        let handle: *mut nanoembed_model = lent.place(1)?;
        // SAFETY: the place was taken for it, and may hold anything.
        let opened = unsafe {
            (&raw mut (*handle).source).write(source);
            (&raw mut (*handle).owned_bytes).write(0);
            Opened {
                kind: &mut *(&raw mut (*handle).kind).cast(),
                tokenizer: &mut *(&raw mut (*handle).tokenizer).cast(),
            }
        };
        opening.open(&mut lent, opened)?;
        out.write(handle);
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}
