//! Texts to token ids.

use nanoembed_core::ErrorKind;
use nanoembed_core::token::wordpiece::Encoded;

use crate::memory::number;
use crate::model::{Tokenizer, nanoembed_model};
use crate::pointer::{self, text};
use crate::status::{Outcome, nanoembed_error, nanoembed_status, report};
use crate::tokenized::nanoembed_tokenized;

pub(crate) fn tokenize(model: &nanoembed_model, text: &str, ids: &mut [u32]) -> Outcome<Encoded> {
    match &model.tokenizer {
        Tokenizer::None => Err(ErrorKind::MissingVocabulary.into()),
        Tokenizer::InFile(tokenizer) => Ok(tokenizer.encode(text, ids)?),
        Tokenizer::Indexed(tokenizer) => Ok(tokenizer.encode(text, ids)?),
    }
}

/// Writes the token ids of a text in UTF-8 into `ids`, special tokens included, as many as there is
/// room for.
///
/// In the error, `NANOEMBED_INVALID_UTF8` has the offset in the text.
///
/// # Safety
///
/// `model` is NULL or a model, `text` points to `text_bytes` bytes, `ids` to `capacity` ids,
/// `tokenized` to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_tokenize(
    model: *const nanoembed_model,
    text_start: *const u8,
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
                pointer::out(tokenized)?,
            )
        };
        let encoded = tokenize(model, text, ids)?;
        out.write(nanoembed_tokenized {
            tokens: number(encoded.tokens),
            total: number(encoded.total),
            truncated: encoded.truncated.into(),
        });
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}
