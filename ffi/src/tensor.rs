//! Tensors: their types, and their elements as floats.

use core::ffi::c_char;

use nanoembed_core::kernel::Dequantizer;
use nanoembed_core::model::Weights;
use nanoembed_core::tensor::{Dtype, MAX_DIMS, TensorHeader};

use crate::memory::number;
use crate::pointer;
use crate::source::{Bytes, nanoembed_source};
use crate::status::{
    INVALID, Outcome, TOO_SMALL, answer, nanoembed_error, nanoembed_status, report,
};

/// The most dimensions of a tensor.
pub const NANOEMBED_MAX_DIMENSIONS: usize = 8;
const _: () = assert!(MAX_DIMS == NANOEMBED_MAX_DIMENSIONS);

/// The type of a tensor's elements; `nanoembed_dtype_name` has the names. 0 is none that this
/// library knows.
pub type nanoembed_dtype = u32;

/// The longest name of a type, and the zero after it.
const NAME_BYTES: usize = 16;

/// The names of the types for C, in the order of their numbers: those of [`Dtype::ALL`], which
/// count from 1 and never change.
static NAMES: [[u8; NAME_BYTES]; Dtype::ALL.len()] = {
    let mut names = [[0; NAME_BYTES]; Dtype::ALL.len()];
    let mut number = 0;
    while number < Dtype::ALL.len() {
        let name = Dtype::ALL[number].name().as_bytes();
        assert!(name.len() < NAME_BYTES, "a longer name");
        let mut at = 0;
        while at < name.len() {
            names[number][at] = name[at];
            at += 1;
        }
        number += 1;
    }
    names
};

fn index(number: nanoembed_dtype) -> Option<usize> {
    usize::try_from(number).ok()?.checked_sub(1)
}

fn dtype_from_number(number: nanoembed_dtype) -> Option<Dtype> {
    Dtype::ALL.get(index(number)?).copied()
}

fn number_of(dtype: Dtype) -> nanoembed_dtype {
    Dtype::ALL.iter().zip(1..).find(|(known, _)| **known == dtype).map_or(0, |(_, number)| number)
}

/// The name of a type, for example `q4_k`, or `unknown`. Types are numbered from 1 without gaps.
/// Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nanoembed_dtype_name(dtype: nanoembed_dtype) -> *const c_char {
    let name = index(dtype).and_then(|index| NAMES.get(index));
    name.map_or(c"unknown".as_ptr(), |name| name.as_ptr().cast())
}

/// The description of a tensor in a file.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nanoembed_tensor {
    /// The type of the elements.
    pub dtype: nanoembed_dtype,
    /// How many of `dimensions` count.
    pub dimension_count: u32,
    /// The dimensions, outermost first.
    pub dimensions: [u64; NANOEMBED_MAX_DIMENSIONS],
    /// Absolute offset of the data in the file.
    pub offset: u64,
    /// Length of the data in bytes.
    pub bytes: u64,
}

impl nanoembed_tensor {
    pub(crate) const NONE: Self =
        Self { dtype: 0, dimension_count: 0, dimensions: [0; MAX_DIMS], offset: 0, bytes: 0 };

    pub(crate) fn from_header(header: &TensorHeader<'_>) -> Self {
        let mut dimensions = [0; MAX_DIMS];
        for (to, from) in dimensions.iter_mut().zip(header.shape.dims()) {
            *to = *from;
        }
        Self {
            dtype: number_of(header.dtype),
            dimension_count: number(header.shape.dims().len()),
            dimensions,
            offset: header.offset,
            bytes: header.bytes,
        }
    }
}

/// Converts the elements from `first` on of `data`, stored as elements or blocks of `dtype`, to
/// `count` floats.
///
/// # Safety
///
/// `data` points to `bytes` bytes, `out` to `count` floats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_dequantize(
    dtype: nanoembed_dtype,
    data: *const u8,
    bytes: usize,
    first: usize,
    out: *mut f32,
    count: usize,
) -> nanoembed_status {
    let make = || -> Outcome {
        let dtype = dtype_from_number(dtype).ok_or(INVALID)?;
        // SAFETY: the caller's promise.
        let (data, out) =
            unsafe { (pointer::slice(data, bytes)?, pointer::slice_mut(out, count)?) };
        Ok(Dequantizer::detect().dequantize(dtype, data, first, out)?)
    };
    answer(make())
}

/// Converts `count` elements of a tensor of `source`, from `first` on, to floats. Where the file is
/// in storage it is read in pieces of up to `tile_bytes`, at least a block of the tensor's type (at
/// most 292 bytes).
///
/// # Safety
///
/// `source` and `tensor` are what their types say, `tile` points to `tile_bytes` bytes, `out` to
/// `count` floats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_tensor_dequantize(
    source: *const nanoembed_source,
    tensor: *const nanoembed_tensor,
    first: u64,
    tile: *mut u8,
    tile_bytes: usize,
    out: *mut f32,
    count: usize,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (source, tensor, tile, out) = unsafe {
            (
                Bytes::new(source)?,
                pointer::get(tensor)?,
                pointer::slice_mut(tile, tile_bytes)?,
                pointer::slice_mut(out, count)?,
            )
        };
        tensor_floats(&source, tensor, first, tile, out)
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

fn tensor_floats(
    source: &Bytes,
    tensor: &nanoembed_tensor,
    first: u64,
    tile: &mut [u8],
    out: &mut [f32],
) -> Outcome {
    let dtype = dtype_from_number(tensor.dtype).ok_or(INVALID)?;
    // None of these types has blocks of no size; the compiler does not know.
    let (block, block_bytes) = (dtype.block_elements().max(1), dtype.block_bytes().max(1));
    let blocks = tensor.bytes / block_bytes as u64;
    let elements = blocks.checked_mul(block as u64).ok_or(INVALID)?;
    let end = first.checked_add(out.len() as u64).ok_or(INVALID)?;
    if end > elements || tensor.offset.checked_add(tensor.bytes).is_none() {
        return Err(INVALID);
    }
    let room = match source.memory() {
        Some(_) => usize::MAX / 512,
        None => tile.len() / block_bytes,
    };
    if room == 0 && !out.is_empty() {
        return Err(TOO_SMALL);
    }
    let (mut at, mut rest) = (first, out);
    while !rest.is_empty() {
        let skipped = usize::try_from(at % block as u64).unwrap_or(0);
        let wanted = (skipped + rest.len()).div_ceil(block).min(room);
        let offset = tensor.offset + at / block as u64 * block_bytes as u64;
        let data = source.bytes(offset, wanted * block_bytes, tile)?;
        let size = (wanted * block - skipped).min(rest.len());
        let (now, later) = rest.split_at_mut_checked(size).ok_or(INVALID)?;
        Dequantizer::detect().dequantize(dtype, data, skipped, now)?;
        at += size as u64;
        rest = later;
    }
    Ok(())
}
