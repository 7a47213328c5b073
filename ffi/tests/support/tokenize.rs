//! Texts that are tokenized for a model.

use std::ptr::null_mut;

use nanoembed_ffi::model::nanoembed_model;
use nanoembed_ffi::status::*;
use nanoembed_ffi::tokenize::nanoembed_tokenize;
use nanoembed_ffi::tokenized::nanoembed_tokenized;

/// The first `room` tokens of a text, and how many it has.
pub(crate) fn ids(
    model: *const nanoembed_model,
    text: &str,
    room: usize,
) -> Result<(Vec<u32>, u32), nanoembed_status> {
    let (mut ids, mut found) = (vec![0; room], nanoembed_tokenized::default());
    let (start, bytes, none) = (text.as_ptr().cast(), text.len(), null_mut());
    let out = ids.as_mut_ptr();
    // SAFETY: the handle is good, and the rest lies here.
    match unsafe { nanoembed_tokenize(model, start, bytes, out, room, &mut found, none) } {
        NANOEMBED_OK => {
            ids.truncate(found.tokens as usize);
            Ok((ids, found.total))
        }
        status => Err(status),
    }
}
