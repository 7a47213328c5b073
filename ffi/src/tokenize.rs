//! Texts to token ids.

use core::ffi::c_char;

use nanoembed_core::token::Encoded;

use crate::folder_tokenizer;
#[cfg(feature = "std")]
use crate::hosted::HostedSession;
use crate::model_handle::{Kind, nanoembed_model};
use crate::model_tokenizer::Tokenizer;
use crate::pointer::{self, text};
use crate::status::{Outcome, nanoembed_error, nanoembed_status, report};
use crate::tokenized::nanoembed_tokenized;
use crate::versioned;

pub(crate) fn tokenize(model: &nanoembed_model, text: &str, ids: &mut [u32]) -> Outcome<Encoded> {
    match &model.kind {
        Kind::Encoder(encoder) => {
            if let (Tokenizer::Folder(tokenizer), Some(texts)) = (&model.tokenizer, &encoder.texts)
            {
                return folder_tokenizer::tokenize(tokenizer, &texts.prompts, text, ids);
            }
            model.tokenizer.by_word_pieces(text, ids)
        }
        Kind::Table(table) => table.tokenize(&model.tokenizer, text, ids),
        #[cfg(feature = "std")]
        Kind::Hosted(hosted) => hosted.tokenize(&mut HostedSession::default(), text, ids),
    }
}

/// Writes the token ids of a text in UTF-8 into `ids`, special tokens included, as many as there is
/// room for.
///
/// In the error, `NANOEMBED_INVALID_UTF8` has the offset in the text. Where the model is of a family
/// in lent memory, its usual prompt stands before the text, and this takes 42 KB of stack, as where it
/// is a static one with a Unigram tokenizer; `NANOEMBED_OVER_LIMIT` for a word that does not fit them
/// (embedding a text takes memory of the workspace in their place).
///
/// # Safety
///
/// `model` is NULL or a model, `text` points to `text_bytes` bytes, `ids` to `capacity` ids,
/// `tokenized` to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_tokenize(
    model: *const nanoembed_model,
    text_start: *const c_char,
    text_bytes: usize,
    ids: *mut u32,
    capacity: usize,
    tokenized: *mut nanoembed_tokenized,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (model, text, ids, out) = unsafe {
            (
                pointer::get(model)?,
                text(text_start, text_bytes)?,
                pointer::slice_mut(ids, capacity)?,
                versioned::room(tokenized)?,
            )
        };
        let encoded = tokenize(model, text, ids)?;
        out.write(nanoembed_tokenized::from_encoded(&encoded));
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}
