//! Many texts at once, laid out as Apache Arrow lays out a column of strings.

use core::ffi::c_char;

use nanoembed_core::model::Batch;

use crate::embed::embed_one;
use crate::encoder_model::EncoderModel;
use crate::model_handle::{Kind, nanoembed_model};
use crate::pointer;
use crate::status::{
    INVALID, Outcome, TOO_SMALL, nanoembed_error, nanoembed_status, report, too_small,
};
use crate::versioned;
use crate::workspace::{nanoembed_workspace, used_with};

/// A column of strings as Apache Arrow's `Utf8` and `LargeUtf8` arrays have it; nothing is copied.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_strings {
    /// The size of this struct in bytes, by which programs and libraries of different versions
    /// understand each other: `sizeof`.
    pub size: u32,
    /// `first + length + 1` offsets into `data`; row `i` is `data[offsets[first + i] ..
    /// offsets[first + i + 1]]`. NULL for columns with `large_offsets`.
    pub offsets: *const i32,
    /// The same for Arrow's `LargeUtf8`; used if `offsets` is NULL.
    pub large_offsets: *const i64,
    /// UTF-8.
    pub data: *const c_char,
    /// The length of `data`.
    pub data_bytes: usize,
    /// Bit `first + i`, least significant first, is 0 where row `i` is null; NULL if no row is.
    pub validity: *const u8,
    /// The first row of the column that is meant (Arrow's `offset`).
    pub first: usize,
    /// The number of rows.
    pub length: usize,
}

crate::versioned!(nanoembed_strings);

/// The outcome of a row of a batch.
pub type nanoembed_row_status = u8;
/// The row has a vector.
pub const NANOEMBED_ROW_OK: nanoembed_row_status = 0;
/// The row is null; its vector is all zeros.
pub const NANOEMBED_ROW_NULL: nanoembed_row_status = 1;
/// The row has a vector, of as many tokens of the text as there was room for.
pub const NANOEMBED_ROW_TRUNCATED: nanoembed_row_status = 2;
/// The row is not UTF-8; its vector is all zeros.
pub const NANOEMBED_ROW_INVALID_UTF8: nanoembed_row_status = 3;
/// The row's offsets do not lie in the data; its vector is all zeros.
pub const NANOEMBED_ROW_BAD_OFFSETS: nanoembed_row_status = 4;

enum Offsets<'a> {
    Small(&'a [i32]),
    Large(&'a [i64]),
}

impl Offsets<'_> {
    fn get(&self, at: usize) -> Option<usize> {
        match self {
            Self::Small(offsets) => usize::try_from(*offsets.get(at)?).ok(),
            Self::Large(offsets) => usize::try_from(*offsets.get(at)?).ok(),
        }
    }
}

struct Column<'a> {
    offsets: Offsets<'a>,
    data: &'a [u8],
    validity: &'a [u8],
    first: usize,
}

impl Column<'_> {
    fn row(&self, row: usize) -> Result<&str, nanoembed_row_status> {
        let at = self.first.saturating_add(row);
        let bits = self.validity.get(at / 8);
        if bits.is_some_and(|bits| bits >> (at % 8) & 1 == 0) {
            return Err(NANOEMBED_ROW_NULL);
        }
        let place = |at: usize| self.offsets.get(at);
        let range = place(at).zip(place(at.saturating_add(1)));
        let bytes = range.and_then(|(start, end)| self.data.get(start..end));
        let bytes = bytes.ok_or(NANOEMBED_ROW_BAD_OFFSETS)?;
        core::str::from_utf8(bytes).map_err(|_| NANOEMBED_ROW_INVALID_UTF8)
    }
}

/// Texts that follow each other in the output and are computed together.
#[derive(Default)]
struct Pack {
    first: usize,
    texts: usize,
    tokens: usize,
}

/// Embeds the rows of a column. Row `i` gets the `dimensions` floats from `out[i · dimensions]` on
/// and `row_status[i]`. Short texts are computed together, as many as the workspace has room for.
/// If the status is not 0, rows may or may not have been written.
///
/// # Safety
///
/// `model` and `workspace` are NULL or handles, `strings` is what its type says, `out` points to
/// `capacity` floats, `row_status` to `row_capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_embed_strings(
    model: *const nanoembed_model,
    workspace: *mut nanoembed_workspace,
    strings: *const nanoembed_strings,
    out: *mut f32,
    capacity: usize,
    row_status: *mut nanoembed_row_status,
    row_capacity: usize,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let ((model, workspace), strings) =
            unsafe { (used_with(model, workspace)?, versioned::needed(strings)?) };
        let rows = strings.length;
        let end = strings.first.checked_add(rows).ok_or(INVALID)?;
        let floats = rows.checked_mul(model.kind.dimensions()).ok_or(TOO_SMALL)?;
        if capacity < floats {
            return Err(too_small(floats));
        }
        if row_capacity < rows {
            return Err(too_small(rows));
        }
        let bits = if strings.validity.is_null() { 0 } else { end.div_ceil(8) };
        let offsets = if rows == 0 { 0 } else { end.checked_add(1).ok_or(INVALID)? };
        // SAFETY: the caller's promise.
        let (column, out, row_status) = unsafe {
            let column = Column {
                offsets: match strings.offsets.is_null() {
                    false => Offsets::Small(pointer::slice(strings.offsets, offsets)?),
                    true => Offsets::Large(pointer::slice(strings.large_offsets, offsets)?),
                },
                data: pointer::slice(strings.data.cast::<u8>(), strings.data_bytes)?,
                validity: pointer::slice(strings.validity, bits)?,
                first: strings.first,
            };
            (column, pointer::slice_mut(out, floats)?, pointer::slice_mut(row_status, rows)?)
        };
        match &model.kind {
            Kind::Encoder(encoder) if encoder.packs() => {
                embed_packs((model, encoder), workspace, &column, out, row_status)
            }
            _ => embed_rows(model, workspace, &column, out, row_status),
        }
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

/// Row by row.
fn embed_rows(
    model: &nanoembed_model,
    workspace: &mut nanoembed_workspace,
    column: &Column<'_>,
    out: &mut [f32],
    row_status: &mut [nanoembed_row_status],
) -> Outcome {
    let vectors = out.chunks_exact_mut(model.kind.dimensions().max(1));
    for ((row, status), out) in row_status.iter_mut().enumerate().zip(vectors) {
        *status = match column.row(row) {
            Ok(text) if embed_one(model, workspace, text, out)?.truncated => {
                NANOEMBED_ROW_TRUNCATED
            }
            Ok(_) => NANOEMBED_ROW_OK,
            Err(why) => {
                out.fill(0.0);
                why
            }
        };
    }
    Ok(())
}

/// Several rows at once, as many as the workspace has room for.
fn embed_packs(
    (model, encoder): (&nanoembed_model, &EncoderModel),
    workspace: &mut nanoembed_workspace,
    column: &Column<'_>,
    out: &mut [f32],
    row_status: &mut [nanoembed_row_status],
) -> Outcome {
    let nanoembed_workspace { scratch, ids, lengths, .. } = workspace;
    let (dimensions, most) = (encoder.network.dimensions(), encoder.most());
    let mut pack = Pack::default();
    let mut flush = |pack: &mut Pack, ids: &[u32], lengths: &[usize], next: usize| -> Outcome {
        let rows = pack.first * dimensions..(pack.first + pack.texts) * dimensions;
        if pack.texts > 0 {
            let lengths = lengths.get(..pack.texts).ok_or(INVALID)?;
            let ids = ids.get(..pack.tokens).ok_or(INVALID)?;
            let out = out.get_mut(rows).ok_or(TOO_SMALL)?;
            encoder.run(&model.source, scratch, &Batch::new(ids, lengths), out)?;
        }
        if let Some(out) = out.get_mut(next.saturating_sub(1) * dimensions..next * dimensions)
            && next > pack.first + pack.texts
        {
            out.fill(0.0);
        }
        *pack = Pack { first: next, texts: 0, tokens: 0 };
        Ok(())
    };
    for (row, status) in row_status.iter_mut().enumerate() {
        let text = match column.row(row) {
            Ok(text) => text,
            Err(why) => {
                *status = why;
                flush(&mut pack, ids.0, lengths.0, row + 1)?;
                continue;
            }
        };
        let mut left = ids.0.len().saturating_sub(pack.tokens).min(most);
        let mut encoded = match left {
            0 | 1 => None,
            _ => {
                let room = ids.0.get_mut(pack.tokens..pack.tokens + left).ok_or(INVALID)?;
                Some(model.tokenizer.by_word_pieces(text, room)?)
            }
        };
        // A text that does not fit after the others begins the next pack.
        if pack.texts > 0 && encoded.as_ref().is_none_or(|e| e.truncated && left < most) {
            flush(&mut pack, ids.0, lengths.0, row)?;
            left = most;
            let room = ids.0.get_mut(..left).ok_or(INVALID)?;
            encoded = Some(model.tokenizer.by_word_pieces(text, room)?);
        }
        let encoded = encoded.ok_or(INVALID)?;
        *lengths.0.get_mut(pack.texts).ok_or(INVALID)? = encoded.tokens;
        pack.texts += 1;
        pack.tokens += encoded.tokens;
        *status = if encoded.truncated { NANOEMBED_ROW_TRUNCATED } else { NANOEMBED_ROW_OK };
    }
    let rows = row_status.len();
    if pack.texts > 0 { flush(&mut pack, ids.0, lengths.0, rows) } else { Ok(()) }
}
