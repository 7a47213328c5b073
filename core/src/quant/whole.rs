//! Dequantisation of whole blocks, with the lanes of some CPU.

use super::ggml::{self, layouts};
use super::lanes::{LANES, Lanes};
use super::{f8q8, mxfp4};
use crate::tensor::{Dtype, DtypeKind, Encoding};

/// The number of elements that [`dequantize`] converts together: a block, or the number of lanes;
/// `None` for encodings that it does not convert.
#[must_use]
pub const fn step(encoding: &Encoding<'_>) -> Option<usize> {
    match encoding {
        Encoding::Plain { dtype: Dtype::F16 | Dtype::BF16, .. } => Some(LANES),
        Encoding::Plain { dtype, .. }
            if matches!(dtype.kind(), DtypeKind::Blocks) && super::supports(*dtype) =>
        {
            Some(dtype.block_elements())
        }
        Encoding::F8q8 { .. } if cfg!(feature = "blocks-uqff") => Some(f8q8::BLOCK_ELEMENTS),
        Encoding::Mxfp4 { .. } if cfg!(feature = "blocks-uqff") => Some(mxfp4::GROUP),
        _ => None,
    }
}

/// The part of `encoding` from element `first` on; `None` if `first` is not a multiple of a
/// [`step`], or is beyond the end.
#[must_use]
pub fn from<'a>(encoding: &Encoding<'a>, first: usize) -> Option<Encoding<'a>> {
    let step = step(encoding)?;
    if !first.is_multiple_of(step) {
        return None;
    }
    let after = |data: &'a [u8], elements: usize, bytes: usize| {
        data.get(first.checked_div(elements)?.checked_mul(bytes)?..)
    };
    Some(match *encoding {
        Encoding::Plain { dtype, data } => {
            let data = after(data, dtype.block_elements(), dtype.block_bytes())?;
            Encoding::Plain { dtype, data }
        }
        Encoding::F8q8 { blocks } => {
            Encoding::F8q8 { blocks: after(blocks, f8q8::BLOCK_ELEMENTS, f8q8::BLOCK_BYTES)? }
        }
        Encoding::Mxfp4 { codes, scales } => {
            Encoding::Mxfp4 { codes: after(codes, 2, 1)?, scales: after(scales, mxfp4::GROUP, 1)? }
        }
        _ => return None,
    })
}

/// Dequantises complete steps from the first on, as far as `out` has room, bit-identical to
/// [`dequantize_weight`](super::dequantize_weight); returns the number of elements.
///
/// Inlined with all it calls, so that it is compiled for the instructions that the caller has
/// enabled.
#[inline(always)]
pub fn dequantize<L: Lanes>(encoding: &Encoding<'_>, out: &mut [f32]) -> usize {
    // Macros: closures would not be compiled with the caller's instructions.
    macro_rules! halves {
        ($data:expr, $convert:ident) => {{
            let halves = $data.as_chunks::<2>().0.as_chunks().0;
            let pairs = out.as_chunks_mut().0.iter_mut().zip(halves);
            let count = pairs.len();
            for (out, halves) in pairs {
                L::$convert(halves, out);
            }
            count * LANES
        }};
    }
    macro_rules! blocks {
        ($layout:ident, $data:expr) => {{
            let blocks = $data.as_chunks::<{ $layout::BLOCK_BYTES }>().0;
            let values = out.as_chunks_mut::<{ $layout::BLOCK_ELEMENTS }>().0;
            let pairs = blocks.iter().zip(values);
            let count = pairs.len();
            for (block, values) in pairs {
                $layout::dequantize_block::<L>(block, values);
            }
            count * $layout::BLOCK_ELEMENTS
        }};
    }
    match *encoding {
        Encoding::Plain { dtype, data } => {
            macro_rules! plain {
                ($($dtype:ident $layout:ident $(groups $groups:tt)? $(=> $quantize:ident)?;)+) => {
                    match dtype {
                        Dtype::F16 => halves!(data, halves),
                        Dtype::BF16 => halves!(data, bfloats),
                        $(Dtype::$dtype => {
                            use ggml::$layout;
                            blocks!($layout, data)
                        })+
                        _ => 0,
                    }
                };
            }
            layouts!(plain)
        }
        Encoding::F8q8 { blocks } => blocks!(f8q8, blocks),
        Encoding::Mxfp4 { codes, scales } => {
            let codes = codes.as_chunks().0.iter().zip(scales);
            let groups = codes.zip(out.as_chunks_mut().0);
            let count = groups.len();
            for ((codes, scale), values) in groups {
                mxfp4::dequantize_group::<L>(codes, *scale, values);
            }
            count * mxfp4::GROUP
        }
        _ => 0,
    }
}
