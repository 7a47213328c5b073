//! Tensors: their types, and their elements as floats.

use core::ffi::{CStr, c_char};

use nanoembed_core::kernel::Dequantizer;
use nanoembed_core::model::Weights;
use nanoembed_core::tensor::{Dtype, MAX_DIMS, Opaque, TensorHeader};

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

/// The types in the order of their numbers, which count from 1 and never change: new types go to
/// the end.
const DTYPES: [(Dtype, &CStr); 48] = [
    (Dtype::F64, c"f64"),
    (Dtype::F32, c"f32"),
    (Dtype::F16, c"f16"),
    (Dtype::BF16, c"bf16"),
    (Dtype::F8E4M3, c"f8_e4m3"),
    (Dtype::F8E5M2, c"f8_e5m2"),
    (Dtype::F8E8M0, c"f8_e8m0"),
    (Dtype::I64, c"i64"),
    (Dtype::I32, c"i32"),
    (Dtype::I16, c"i16"),
    (Dtype::I8, c"i8"),
    (Dtype::U64, c"u64"),
    (Dtype::U32, c"u32"),
    (Dtype::U16, c"u16"),
    (Dtype::U8, c"u8"),
    (Dtype::Bool, c"bool"),
    (Dtype::Q4_0, c"q4_0"),
    (Dtype::Q4_1, c"q4_1"),
    (Dtype::Q5_0, c"q5_0"),
    (Dtype::Q5_1, c"q5_1"),
    (Dtype::Q8_0, c"q8_0"),
    (Dtype::Q8_1, c"q8_1"),
    (Dtype::Q2K, c"q2_k"),
    (Dtype::Q3K, c"q3_k"),
    (Dtype::Q4K, c"q4_k"),
    (Dtype::Q5K, c"q5_k"),
    (Dtype::Q6K, c"q6_k"),
    (Dtype::Q8K, c"q8_k"),
    (Dtype::Opaque(Opaque::Iq1S), c"iq1_s"),
    (Dtype::Opaque(Opaque::Iq1M), c"iq1_m"),
    (Dtype::Opaque(Opaque::Iq2Xxs), c"iq2_xxs"),
    (Dtype::Opaque(Opaque::Iq2Xs), c"iq2_xs"),
    (Dtype::Opaque(Opaque::Iq2S), c"iq2_s"),
    (Dtype::Opaque(Opaque::Iq3Xxs), c"iq3_xxs"),
    (Dtype::Opaque(Opaque::Iq3S), c"iq3_s"),
    (Dtype::Opaque(Opaque::Iq4Nl), c"iq4_nl"),
    (Dtype::Opaque(Opaque::Iq4Xs), c"iq4_xs"),
    (Dtype::Opaque(Opaque::Tq1_0), c"tq1_0"),
    (Dtype::Opaque(Opaque::Tq2_0), c"tq2_0"),
    (Dtype::Opaque(Opaque::Mxfp4), c"mxfp4"),
    (Dtype::Opaque(Opaque::Nvfp4), c"nvfp4"),
    (Dtype::Opaque(Opaque::Q1_0), c"q1_0"),
    (Dtype::Opaque(Opaque::C64), c"c64"),
    (Dtype::Opaque(Opaque::F8E4M3Fnuz), c"f8_e4m3fnuz"),
    (Dtype::Opaque(Opaque::F8E5M2Fnuz), c"f8_e5m2fnuz"),
    (Dtype::Opaque(Opaque::F6E2M3), c"f6_e2m3"),
    (Dtype::Opaque(Opaque::F6E3M2), c"f6_e3m2"),
    (Dtype::Opaque(Opaque::F4), c"f4"),
];

fn dtype_of(number: nanoembed_dtype) -> Option<(Dtype, &'static CStr)> {
    let at = usize::try_from(number).ok()?.checked_sub(1)?;
    DTYPES.get(at).copied()
}

fn number_of(dtype: Dtype) -> nanoembed_dtype {
    DTYPES.iter().zip(1..).find(|((known, _), _)| *known == dtype).map_or(0, |(_, number)| number)
}

/// The name of a type, for example `q4_k`, or `unknown`. Types are numbered from 1 without gaps.
/// Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nanoembed_dtype_name(dtype: nanoembed_dtype) -> *const c_char {
    dtype_of(dtype).map_or(c"unknown", |(_, name)| name).as_ptr()
}

/// What a file says of a tensor.
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

    pub(crate) fn of(header: &TensorHeader<'_>) -> Self {
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
        let (dtype, _) = dtype_of(dtype).ok_or(INVALID)?;
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
    let (dtype, _) = dtype_of(tensor.dtype).ok_or(INVALID)?;
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
