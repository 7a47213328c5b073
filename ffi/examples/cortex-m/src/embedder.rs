//! A sentence embedder in lent memory: planned, opened, and run.

use core::ptr::null_mut;

use nanoembed_ffi::embed::*;
use nanoembed_ffi::model::*;
use nanoembed_ffi::source::*;
use nanoembed_ffi::status::*;
use nanoembed_ffi::tokenized::nanoembed_tokenized;

use crate::{check, exit, print_number};

/// A model and its workspace, one after the other at the front of lent memory.
pub struct Embedder {
    model: *mut nanoembed_model,
    workspace: *mut nanoembed_workspace,
    /// How much memory they take.
    pub plan: nanoembed_plan,
}

impl Embedder {
    /// Opens a model; ends the program if that fails or the memory is too small.
    ///
    /// # Safety
    ///
    /// `source` is what its type says; `memory` points to `memory_bytes` bytes, aligned to 8, that
    /// nobody else uses.
    pub unsafe fn open(
        source: &nanoembed_source,
        options: &nanoembed_model_options,
        memory: *mut u8,
        memory_bytes: usize,
    ) -> Self {
        let mut plan = nanoembed_plan::default();
        let mut error = nanoembed_error::default();
        let (mut model, mut workspace) = (null_mut(), null_mut());
        // SAFETY: the caller's promise; the memory is lent to the model, its workspace and, before
        // there is a workspace, the reading.
        unsafe {
            let status =
                nanoembed_plan_model(source, options, memory, memory_bytes, &mut plan, &mut error);
            check(status, "plan");
            print_number("model: ", plan.model_bytes as u64);
            print_number("workspace: ", plan.workspace_bytes as u64);
            print_number("quantized: ", plan.quantized.into());
            if plan.model_bytes + plan.workspace_bytes > memory_bytes {
                print_number("memory too small: ", memory_bytes as u64);
                exit(1);
            }
            let (size, rest) = (plan.model_bytes, memory.add(plan.model_bytes));
            let left = memory_bytes - size;
            let status = nanoembed_model_init(
                source, options, memory, size, rest, left, &mut model, &mut error,
            );
            check(status, "model");
            let status =
                nanoembed_workspace_init(model, rest, plan.workspace_bytes, &mut workspace);
            check(status, "workspace");
        }
        Self { model, workspace, plan }
    }

    /// Puts the embedding of a text into `vector`; returns how many tokens it has.
    pub fn embed(&mut self, text: &[u8], vector: &mut [f32]) -> u32 {
        let mut tokenized = nanoembed_tokenized::default();
        let mut error = nanoembed_error::default();
        let (start, bytes) = (text.as_ptr().cast(), text.len());
        let (out, capacity) = (vector.as_mut_ptr(), vector.len());
        // SAFETY: both handles are good, and the rest are pointers to what lives here.
        let status = unsafe {
            nanoembed_embed_text(
                self.model,
                self.workspace,
                start,
                bytes,
                out,
                capacity,
                &mut tokenized,
                &mut error,
            )
        };
        check(status, "embed");
        tokenized.tokens
    }
}
