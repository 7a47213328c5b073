//! Texts that are embedded.

use std::ptr::null_mut;

use nanoembed_ffi::embed::*;
use nanoembed_ffi::model::nanoembed_model;
use nanoembed_ffi::status::*;
use nanoembed_ffi::tokenized::nanoembed_tokenized;

/// The vector of a text, and how many tokens the text has.
pub(crate) fn vector(
    model: *const nanoembed_model,
    workspace: *mut nanoembed_workspace,
    dimensions: usize,
    text: &str,
) -> Result<(Vec<f32>, u32), nanoembed_status> {
    let (mut vector, mut found) = (vec![f32::NAN; dimensions], nanoembed_tokenized::default());
    let (start, bytes, none) = (text.as_ptr().cast(), text.len(), null_mut());
    let out = vector.as_mut_ptr();
    // SAFETY: handles are good, and the rest lies here.
    match unsafe {
        nanoembed_embed_text(model, workspace, start, bytes, out, dimensions, &mut found, none)
    } {
        NANOEMBED_OK => Ok((vector, found.total)),
        status => Err(status),
    }
}
