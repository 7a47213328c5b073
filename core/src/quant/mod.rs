//! Quantisation of weights, and dequantisation.
//!
//! | I want to … | |
//! |---|---|
//! | dequantise a tensor of a file | [`TensorView::dequantize`](crate::tensor::TensorView::dequantize) |
//! | dequantise elements or blocks of a type | [`dequantize`] |
//! | dequantise a weight of several arrays, such as UQFF has them | [`dequantize_weight`] |
//! | dequantise whole tensors as fast as the CPU can | [`kernel::Dequantizer`](crate::kernel::Dequantizer) |
//! | quantise to floats or ggml blocks | [`quantize`] |
//! | quantise to AMB's scaled codes | [`amb_block`], [`adaptive`] |
//! | quantise to int8 for `.weights` | [`int8`] |
//! | quantise to one of UQFF's encodings | [`hqq`], [`fp8`], [`afq`], [`f8q8`], [`mxfp4`] |
//!
//! Dequantisation is bit-identical to the formats' reference programs. Any range of elements can be
//! read; nothing else is touched, and nothing is allocated.
//!
//! | layout | elements | bytes | `x =` |
//! |---|---|---|---|
//! | [`hqq`] | a group | | `(q − zero) scale` |
//! | [`fp8`] | 1 | 1 | `e4m3(q) scale` |
//! | [`afq`] | a group | | `q scale + bias` |
//! | [`f8q8`] | 32 | 33 | `q (e4m3(d) / 416)` |
//! | [`mxfp4`] | 32 | 17 | `e2m1(q) 2^(e − 127)` |
//! | [`amb_block`], [`adaptive`] | any | | `q scale`, or an IEEE half |
//! | [`int8`] | a group | | `q scale[row][group] column_scale[col]` |
//!
//! The blocks of ggml are in `ggml`, plain numeric [`Dtype`]s in `number`, with a row of functions
//! for each. Each block layout is a file with its dequantiser, written over `lanes` of sixteen
//! elements, and its quantiser if there is one.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "blocks are of sizes that their types fix"
)]

pub mod adaptive;
pub mod afq;
pub mod amb_block;
mod amb_codes;
mod amb_read;
pub(crate) mod amb_unpack;
mod block;
mod column_weights;
pub mod f8q8;
pub(crate) mod float16;
pub mod fp8;
mod ggml;
pub(crate) mod groups;
pub mod hqq;
pub mod int8;
// Only the x86-64 kernels use all of it.
#[cfg_attr(not(all(target_arch = "x86_64", not(miri))), allow(dead_code))]
pub(crate) mod lanes;
pub mod mxfp4;
mod number;
mod view;
// Only the x86-64 kernels use all of it.
#[cfg_attr(not(all(target_arch = "x86_64", not(miri))), allow(dead_code))]
pub(crate) mod whole;

use crate::error::{Error, ErrorKind, Result};
use crate::tensor::{Dtype, DtypeKind, Encoding, Weight};
pub use column_weights::ColumnWeights;

/// Internals that only this project's tests and benchmarks use; they may change in any version.
#[cfg(feature = "unstable")]
pub mod unstable {
    /// AMB's scaled codes as groups.
    pub mod amb_unpack {
        pub use crate::quant::amb_unpack::*;
    }
    /// Blocks as groups.
    pub mod groups {
        pub use crate::quant::groups::*;
    }
}
use lanes::Scalar;

/// Returns true if this build reads the values of `dtype`: types that Cargo features left out can
/// be neither run nor dequantised.
#[must_use]
pub const fn supports(dtype: Dtype) -> bool {
    match dtype.kind() {
        DtypeKind::Number => true,
        DtypeKind::Fp8 => cfg!(feature = "blocks-uqff"),
        DtypeKind::Blocks => cfg!(feature = "blocks-ggml"),
        DtypeKind::Scaled => cfg!(feature = "scaled-codes"),
        DtypeKind::Opaque => false,
    }
}

/// Returns true if [`quantize`] writes `dtype` in this build.
#[must_use]
pub const fn has_quantizer(dtype: Dtype) -> bool {
    supports(dtype)
        && match dtype.kind() {
            DtypeKind::Number => number::has_quantizer(dtype),
            DtypeKind::Fp8 => true,
            DtypeKind::Blocks => ggml::has_quantizer(dtype),
            DtypeKind::Scaled | DtypeKind::Opaque => false,
        }
}

const UNSUPPORTED: Error = Error::without_offset(ErrorKind::UnsupportedDtype);

/// Converts `out.len()` elements from `first` on to f32, of `data` stored as elements or blocks of
/// `dtype`.
///
/// # Errors
///
/// [`ErrorKind::InvalidArgument`] if there are fewer elements than `first + out.len()`;
/// [`ErrorKind::UnsupportedDtype`] for types whose data alone does not determine values (scaled
/// codes, see [`dequantize_weight`]), those known only by name and size, and those that Cargo
/// features left out.
pub fn dequantize(dtype: Dtype, data: &[u8], first: usize, out: &mut [f32]) -> Result<()> {
    match dtype.kind() {
        DtypeKind::Number => number::dequantize(dtype, data, first, out),
        DtypeKind::Fp8 if cfg!(feature = "blocks-uqff") => {
            block::elements(data, first, out, |[b]| fp8::decode(b))
                .ok_or(Error::without_offset(ErrorKind::InvalidArgument))
        }
        DtypeKind::Blocks if cfg!(feature = "blocks-ggml") => {
            ggml::dequantize(dtype, data, first, out)
        }
        _ => Err(UNSUPPORTED),
    }
}

/// Dequantises `out.len()` elements of `weight` from `first` on, in row-major order.
///
/// # Errors
///
/// [`ErrorKind::InvalidArgument`] if there are fewer elements than `first + out.len()`;
/// [`ErrorKind::UnsupportedDtype`] as [`dequantize`].
pub fn dequantize_weight(weight: &Weight<'_>, first: usize, out: &mut [f32]) -> Result<()> {
    let wanted = first.checked_add(out.len());
    if wanted.is_none_or(|wanted| wanted as u64 > weight.elements()) {
        return Err(Error::without_offset(ErrorKind::InvalidArgument));
    }
    let done = match *weight.encoding() {
        Encoding::Plain { dtype: Dtype::Scaled(codes), mut data }
            if cfg!(feature = "scaled-codes") =>
        {
            let tensor = amb_block::ScaledTensor {
                codes,
                elements: weight.elements(),
                bytes: data.len() as u64,
            };
            return amb_block::dequantize(&tensor, first as u64, out, &mut data);
        }
        Encoding::Plain { dtype, data } => return dequantize(dtype, data, first, out),
        Encoding::Hqq(hqq) if cfg!(feature = "blocks-uqff") => {
            hqq::dequantize(&hqq, weight.shape(), first, out)
        }
        Encoding::Fp8 { data, scale } if cfg!(feature = "blocks-uqff") => {
            block::elements(data, first, out, |[b]| fp8::decode(b) * scale)
        }
        Encoding::Afq(afq) if cfg!(feature = "blocks-uqff") => afq::dequantize(&afq, first, out),
        Encoding::F8q8 { blocks } if cfg!(feature = "blocks-uqff") => {
            block::blocks(blocks, first, out, f8q8::dequantize_block::<Scalar>)
        }
        Encoding::Mxfp4 { codes, scales } if cfg!(feature = "blocks-uqff") => {
            mxfp4::dequantize(codes, scales, first, out)
        }
        _ => return Err(UNSUPPORTED),
    };
    done.ok_or(Error::without_offset(ErrorKind::InvalidArgument))
}

/// Quantises `values` to elements or blocks of `dtype`, filling `out`.
///
/// # Errors
///
/// [`ErrorKind::UnsupportedDtype`] if there is no quantiser for `dtype`;
/// [`ErrorKind::InvalidArgument`] if `values` are not a whole number of blocks, or `out` does not
/// have exactly their size.
pub fn quantize(dtype: Dtype, values: &[f32], out: &mut [u8]) -> Result<()> {
    if dtype.data_bytes(values.len() as u64) != Some(out.len() as u64) {
        return Err(Error::without_offset(ErrorKind::InvalidArgument));
    }
    match dtype.kind() {
        DtypeKind::Number => number::quantize(dtype, values, out),
        DtypeKind::Fp8 if cfg!(feature = "blocks-uqff") => {
            block::encode(values, out, |&[x]| [fp8::encode(x)]);
            Ok(())
        }
        DtypeKind::Blocks if cfg!(feature = "blocks-ggml") => ggml::quantize(dtype, values, out),
        _ => Err(UNSUPPORTED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Run also with `--no-default-features`, where everything is left out.
    #[test]
    fn types_are_dequantised_if_they_were_built_in() {
        for &dtype in Dtype::ALL {
            let data = [0; 292];
            let data = if dtype.is_block() { &data[..dtype.block_bytes()] } else { &data };
            let mut out = [1.0; 32];
            let built_in = match dtype.kind() {
                DtypeKind::Number => true,
                DtypeKind::Fp8 => cfg!(feature = "blocks-uqff"),
                DtypeKind::Blocks => cfg!(feature = "blocks-ggml"),
                DtypeKind::Scaled | DtypeKind::Opaque => false,
            };
            let expected = if built_in { Ok(()) } else { Err(ErrorKind::UnsupportedDtype) };
            let result = dequantize(dtype, data, 0, &mut out);
            assert_eq!(result.map_err(|error| error.kind()), expected, "{}", dtype.name());
        }
    }
}
