//! Workspaces: the scratch memory of one thread.

#[cfg(feature = "std")]
use std::boxed::Box;

use crate::chosen::{Chosen, Prompt};
#[cfg(feature = "std")]
use crate::hosted::HostedSession;
use crate::memory::{Lent, LentSlice, Sum};
use crate::model_handle::{Kind, nanoembed_model};
use crate::pointer;
use crate::scratch::{Scratch, Sizes};
use crate::status::{Outcome, invalid, nanoembed_error, nanoembed_status, report, too_small};

/// The scratch memory of one thread that embeds.
#[derive(Debug)]
pub struct nanoembed_workspace {
    /// The model that it is for.
    model: *const nanoembed_model,
    pub(crate) scratch: Scratch,
    /// The tokens of a pack of texts, and how many each text has.
    pub(crate) ids: LentSlice<u32>,
    pub(crate) lengths: LentSlice<usize>,
    /// The prompt before texts.
    pub(crate) prompt: Prompt,
    /// The scratch memory of models on the heap.
    #[cfg(feature = "std")]
    pub(crate) hosted: Option<Box<HostedSession>>,
    /// Bytes that the heap gave for this workspace; 0 if the caller lent them.
    pub(crate) owned_bytes: usize,
}

/// Makes a workspace for `model` in `memory`, and puts the handle, which lies there, into
/// `*workspace`. A workspace is for this model, and for one thread at a time. There is nothing to
/// close.
///
/// # Safety
///
/// `model` is NULL or a model; `memory` points to as many bytes, aligned to `NANOEMBED_ALIGN`, that
/// nobody else touches as long as the workspace is used; `workspace` points to memory for a
/// pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_workspace_init_with_error(
    model: *const nanoembed_model,
    memory: *mut u8,
    memory_bytes: usize,
    workspace: *mut *mut nanoembed_workspace,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (model, out, mut lent) = unsafe {
            (pointer::get(model)?, pointer::out(workspace)?, Lent::new(memory, memory_bytes)?)
        };
        let sizes = model.kind.sizes()?;
        let needed = bytes(&sizes)?;
        if memory_bytes < needed {
            return Err(too_small(needed));
        }
        let handle: *mut nanoembed_workspace = lent.place(1)?;
        let mut made = nanoembed_workspace {
            model: core::ptr::from_ref(model),
            scratch: Scratch {
                floats: LentSlice(lent.filled(sizes.floats, 0.0)?),
                bytes: LentSlice(lent.filled(sizes.bytes, 0)?),
                words: LentSlice(lent.filled(sizes.words, 0)?),
                codes: LentSlice(lent.filled(sizes.codes, 0)?),
            },
            ids: LentSlice(lent.filled(sizes.ids, 0)?),
            lengths: LentSlice(lent.filled(sizes.texts, 0)?),
            prompt: Prompt::new(lent.filled(sizes.prompt, 0)?),
            #[cfg(feature = "std")]
            hosted: None,
            owned_bytes: 0,
        };
        if let Kind::Encoder(encoder) = &model.kind {
            let nanoembed_workspace { scratch, prompt, .. } = &mut made;
            encoder.set_prompt(&model.tokenizer, scratch, prompt, Chosen::USUAL)?;
        }
        // SAFETY: the place was taken for it.
        unsafe { handle.write(made) };
        out.write(handle);
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// As `nanoembed_workspace_init_with_error`, without telling how much memory would be enough.
///
/// # Safety
///
/// As `nanoembed_workspace_init_with_error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_workspace_init(
    model: *const nanoembed_model,
    memory: *mut u8,
    memory_bytes: usize,
    workspace: *mut *mut nanoembed_workspace,
) -> nanoembed_status {
    let error = core::ptr::null_mut();
    // SAFETY: the caller's promise.
    unsafe { nanoembed_workspace_init_with_error(model, memory, memory_bytes, workspace, error) }
}

/// A model, and a workspace that was made for it.
///
/// # Safety
///
/// The pointers are NULL or handles, and nobody else uses the workspace meanwhile.
pub(crate) unsafe fn used_with<'a>(
    model: *const nanoembed_model,
    workspace: *mut nanoembed_workspace,
) -> Outcome<(&'a nanoembed_model, &'a mut nanoembed_workspace)> {
    // SAFETY: the caller's promise.
    let (model, workspace) = unsafe { (pointer::get(model)?, pointer::get_mut(workspace)?) };
    match core::ptr::eq(workspace.model, model) {
        true => Ok((model, workspace)),
        false => Err(invalid("workspace")),
    }
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
    /// The bytes of a workspace in the memory that holds its handle.
    pub(crate) fn lent_workspace_bytes(&self) -> usize {
        self.kind.sizes().and_then(|sizes| bytes(&sizes)).unwrap_or(0)
    }
}

/// The bytes of a workspace.
pub(crate) fn bytes(sizes: &Sizes) -> Outcome<usize> {
    let mut sum = Sum::default();
    sum.add::<nanoembed_workspace>(1)?;
    sum.add::<f32>(sizes.floats)?;
    sum.add::<u8>(sizes.bytes)?;
    sum.add::<i32>(sizes.words)?;
    sum.add::<i16>(sizes.codes)?;
    sum.add::<u32>(sizes.ids)?;
    sum.add::<usize>(sizes.texts)?;
    sum.add::<u8>(sizes.prompt)?;
    Ok(sum.bytes())
}

/// The scratch memory of models on the heap, which `nanoembed_workspace_new` makes.
#[cfg(feature = "std")]
pub(crate) fn session(hosted: &mut Option<Box<HostedSession>>) -> Outcome<&mut HostedSession> {
    hosted.as_deref_mut().ok_or(invalid("workspace"))
}
