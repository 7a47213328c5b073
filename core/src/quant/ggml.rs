//! The choice among ggml's blocks.

use super::block::blocks;
use super::lanes::Scalar;
use super::{q2_k, q3_k, q4_0, q4_1, q4_k, q5_0, q5_1, q5_k, q6_k, q8_0, q8_1, q8_k};
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::Dtype;

/// As [`dequantize`](super::dequantize), for the types that are blocks of ggml.
pub(super) fn dequantize(dtype: Dtype, data: &[u8], first: usize, out: &mut [f32]) -> Result<()> {
    const UNSUPPORTED: Error = Error::without_offset(ErrorKind::UnsupportedDtype);
    if !cfg!(feature = "blocks-ggml") {
        return Err(UNSUPPORTED);
    }
    let done = match dtype {
        Dtype::Q4_0 => blocks(data, first, out, q4_0::dequantize_block::<Scalar>),
        Dtype::Q4_1 => blocks(data, first, out, q4_1::dequantize_block::<Scalar>),
        Dtype::Q5_0 => blocks(data, first, out, q5_0::dequantize_block::<Scalar>),
        Dtype::Q5_1 => blocks(data, first, out, q5_1::dequantize_block::<Scalar>),
        Dtype::Q8_0 => blocks(data, first, out, q8_0::dequantize_block::<Scalar>),
        Dtype::Q8_1 => blocks(data, first, out, q8_1::dequantize_block::<Scalar>),
        Dtype::Q2K => blocks(data, first, out, q2_k::dequantize_block::<Scalar>),
        Dtype::Q3K => blocks(data, first, out, q3_k::dequantize_block::<Scalar>),
        Dtype::Q4K => blocks(data, first, out, q4_k::dequantize_block::<Scalar>),
        Dtype::Q5K => blocks(data, first, out, q5_k::dequantize_block::<Scalar>),
        Dtype::Q6K => blocks(data, first, out, q6_k::dequantize_block::<Scalar>),
        Dtype::Q8K => blocks(data, first, out, q8_k::dequantize_block::<Scalar>),
        _ => return Err(UNSUPPORTED),
    };
    done.ok_or(Error::without_offset(ErrorKind::InvalidArgument))
}
