//! From words to vectors and back.

use core::ffi::c_char;

use nanoembed_core::words::{Found, Rows, Words};

use crate::pointer::{self, text};
use crate::source::Bytes;
use crate::status::{
    Failure, NANOEMBED_NOT_FOUND, Outcome, TOO_SMALL, nanoembed_error, nanoembed_status, report,
};
use crate::versioned;
use crate::word_index::IndexMemory;
use crate::words::nanoembed_words;

/// A vector that was found.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_found {
    /// The size of this struct in bytes, by which programs and libraries of different versions
    /// understand each other: `sizeof`.
    pub size: u32,
    /// The word's row; `UINT32_MAX` if it is made of its n-grams.
    pub row: u32,
    /// How many rows of n-grams were added up; 0 if the word is in the vocabulary.
    pub subwords: u32,
    /// The length that the vector had before it was normalised.
    pub norm: f32,
}

crate::versioned!(nanoembed_found);

/// Puts the row of a word of the vocabulary into `*row`; `NANOEMBED_NOT_FOUND` if it is not there.
///
/// # Safety
///
/// `words` is NULL or a handle, `word` points to `word_bytes` bytes, `row` to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_words_find(
    words: *const nanoembed_words,
    word: *const c_char,
    word_bytes: usize,
    row: *mut u32,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (words, word, out) = unsafe {
            (
                pointer::get(words)?,
                pointer::slice(word.cast::<u8>(), word_bytes)?,
                pointer::out(row)?,
            )
        };
        out.write(words.words.find(word)?.ok_or(Failure::here(NANOEMBED_NOT_FOUND))?);
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// Puts the vector of a word into `out`: its own, or what its n-grams add up to if the vocabulary
/// lacks it; `NANOEMBED_NOT_FOUND` if there is neither. `found` may be NULL.
///
/// # Safety
///
/// `words` is NULL or a handle, `word` points to `word_bytes` bytes, `scratch` to `scratch_floats`
/// floats, `out` to `capacity` floats, `found` is NULL or points to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_words_vector(
    words: *const nanoembed_words,
    word: *const c_char,
    word_bytes: usize,
    scratch: *mut f32,
    scratch_floats: usize,
    out: *mut f32,
    capacity: usize,
    found: *mut nanoembed_found,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (words, word, scratch) = unsafe {
            let scratch = pointer::zeroed(scratch, scratch_floats)?;
            (&pointer::get(words)?.words, text(word, word_bytes)?, scratch)
        };
        // SAFETY: the caller's promise.
        let out = unsafe { vector(words, out, capacity) }?;
        let answer = words.vector(word, out, scratch)?;
        let answer = answer.ok_or(Failure::here(NANOEMBED_NOT_FOUND))?;
        if !found.is_null() {
            // SAFETY: the caller's promise.
            unsafe { versioned::room(found) }?.write(found_of(&answer));
        }
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

fn found_of(found: &Found) -> nanoembed_found {
    let norm = found.norm;
    match found.rows {
        Rows::Word { row } => nanoembed_found { row, norm, ..nanoembed_found::default() },
        Rows::Subwords { count } => {
            nanoembed_found { row: u32::MAX, subwords: count, norm, ..nanoembed_found::default() }
        }
    }
}

/// The floats of a vector.
///
/// # Safety
///
/// `out` points to `capacity` floats.
pub(crate) unsafe fn vector<'a>(
    words: &Words<Bytes, IndexMemory>,
    out: *mut f32,
    capacity: usize,
) -> Outcome<&'a mut [f32]> {
    if capacity < words.cols() {
        return Err(TOO_SMALL);
    }
    // SAFETY: the caller's promise.
    unsafe { pointer::slice_mut(out, words.cols()) }
}

/// Puts the word of a row into `buffer`, not ended by a zero, and its length into `*length`.
///
/// # Safety
///
/// `words` is NULL or a handle, `buffer` points to `capacity` bytes, `length` to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_words_word(
    words: *const nanoembed_words,
    row: u32,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (words, buffer, out) = unsafe {
            (
                pointer::get(words)?,
                pointer::slice_mut(buffer.cast::<u8>(), capacity)?,
                pointer::out(length)?,
            )
        };
        out.write(words.words.word_into(row, buffer)?.len());
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}
