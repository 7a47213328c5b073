//! Similar words and analogies.

use core::ffi::c_char;

use nanoembed_core::kernel;
use nanoembed_core::words::{Scored, SearchMemory, TopK};

use crate::lookup::vector;
use crate::memory::Lent;
use crate::pointer::{self, text};
use crate::status::{
    Failure, INVALID, NANOEMBED_NOT_FOUND, Outcome, TOO_SMALL, nanoembed_error, nanoembed_status,
    report, too_small,
};
use crate::top_k::nanoembed_scored;
use crate::words::{nanoembed_words, similar_bytes};

/// Puts the words whose vectors have the largest dot products with `query`, the best first, into
/// `best`, and how many there are into `*found`: `capacity`, unless the vocabulary has fewer. The
/// rows in `skip` are left out.
///
/// # Safety
///
/// `words` is NULL or a handle, `query` points to `dimensions` floats, `skip` to `skips` rows,
/// `memory` to `memory_bytes` bytes aligned to `NANOEMBED_ALIGN`, `best` to `capacity` elements,
/// `found` to memory for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_words_similar(
    words: *const nanoembed_words,
    query: *const f32,
    dimensions: usize,
    skip: *const u32,
    skips: usize,
    memory: *mut u8,
    memory_bytes: usize,
    best: *mut nanoembed_scored,
    capacity: usize,
    found: *mut usize,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise; both kinds of scores have the same layout.
        let (words, query, skip, best, out) = unsafe {
            (
                &pointer::get(words)?.words,
                pointer::slice(query, dimensions)?,
                pointer::slice(skip, skips)?,
                pointer::zeroed(best.cast::<Scored>(), capacity)?,
                pointer::out(found)?,
            )
        };
        if dimensions != words.cols() {
            return Err(INVALID);
        }
        let needed = similar_bytes(words)?;
        if memory_bytes < needed {
            return Err(too_small(needed));
        }
        // SAFETY: the caller's promise.
        let mut lent = unsafe { Lent::new(memory, memory_bytes) }?;
        let floats = lent.filled(words.search_memory_needed(1).ok_or(TOO_SMALL)?, 0.0)?;
        let tile = lent.rest()?;
        let mut tops = [TopK::new(best, skip)];
        let rows = 0..words.layout().vocabulary.words;
        let memory = SearchMemory { floats, tile };
        words.search(kernel::detect().product_f32, rows, query, &mut tops, memory)?;
        let [top] = tops;
        out.write(words.ranked(top)?.len());
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// Puts the query of "a is to b as c is to …" into `query`, for `nanoembed_words_similar`;
/// `NANOEMBED_NOT_FOUND` if one of the words has no vector. `rows`, which may be NULL, gets the
/// rows of `a`, `b` and `c`, `UINT32_MAX` for words that are not in the vocabulary: answers that
/// are usually not wanted.
///
/// # Safety
///
/// `words` is NULL or a handle, `a`, `b` and `c` point to as many bytes, `scratch` to
/// `scratch_floats` floats, `query` to `capacity` floats, `rows` is NULL or points to memory for
/// three.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_words_analogy(
    words: *const nanoembed_words,
    a: *const c_char,
    a_bytes: usize,
    b: *const c_char,
    b_bytes: usize,
    c: *const c_char,
    c_bytes: usize,
    scratch: *mut f32,
    scratch_floats: usize,
    query: *mut f32,
    capacity: usize,
    rows: *mut u32,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (words, asked, scratch) = unsafe {
            let scratch = pointer::zeroed(scratch, scratch_floats)?;
            let asked = [text(a, a_bytes)?, text(b, b_bytes)?, text(c, c_bytes)?];
            (&pointer::get(words)?.words, asked, scratch)
        };
        // SAFETY: the caller's promise.
        let query = unsafe { vector(words, query, capacity) }?;
        let analogy = words.analogy(asked, query, scratch)?;
        if analogy.present != [true; 3] {
            return Err(Failure::here(NANOEMBED_NOT_FOUND));
        }
        if !rows.is_null() {
            // SAFETY: the caller's promise.
            let rows = unsafe { pointer::slice_mut(rows, 3) }?;
            for (to, from) in rows.iter_mut().zip(analogy.rows) {
                *to = from.unwrap_or(u32::MAX);
            }
        }
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}
