//! The vectors that are nearest to another one.

use nanoembed_core::top::{Scored, nearest};

use crate::pointer;
use crate::status::{Outcome, answer, invalid, nanoembed_status};

/// A row and its score, the dot product of its vector with the query.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_scored {
    /// The score.
    pub score: f32,
    /// The row.
    pub row: u32,
}

const _: () = assert!(size_of::<nanoembed_scored>() == size_of::<Scored>());

/// Puts those of `rows` vectors, one after the other, that have the largest dot products with
/// `query` into `best`, the best first, and how many there are into `*found`: `capacity`, unless
/// there are fewer rows. Of vectors of length 1 the dot product is the cosine.
///
/// # Safety
///
/// `query` points to `dimensions` floats, `vectors` to `rows` times as many, `best` to `capacity`
/// elements, `found` to memory for one number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_top_k(
    query: *const f32,
    dimensions: usize,
    vectors: *const f32,
    rows: usize,
    best: *mut nanoembed_scored,
    capacity: usize,
    found: *mut usize,
) -> nanoembed_status {
    let make = || -> Outcome {
        let floats = rows.checked_mul(dimensions).ok_or(invalid("rows"))?;
        if dimensions == 0 {
            return Err(invalid("dimensions"));
        }
        // SAFETY: the caller's promise; both kinds of scores have the same layout.
        let (query, vectors, best, out) = unsafe {
            (
                pointer::slice(query, dimensions)?,
                pointer::slice(vectors, floats)?,
                pointer::zeroed(best.cast::<Scored>(), capacity)?,
                pointer::out(found)?,
            )
        };
        out.write(nearest(query, vectors, best).len());
        Ok(())
    };
    answer(make())
}
