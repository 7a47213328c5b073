//! Numbers of whole bytes, one table row each: conversion to f32, and back if supported.

use super::{block, float16};
use crate::error::{Error, ErrorKind, Result};
use crate::tensor::Dtype;

const TOO_FEW: Error = Error::without_offset(ErrorKind::InvalidArgument);
const UNSUPPORTED: Error = Error::without_offset(ErrorKind::UnsupportedDtype);

macro_rules! numbers {
    ($($dtype:ident: $decode:expr $(=> $encode:expr)?;)+) => {
        /// As [`dequantize`](super::dequantize), for numbers.
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            reason = "wider types are rounded"
        )]
        pub(super) fn dequantize(
            dtype: Dtype,
            data: &[u8],
            first: usize,
            out: &mut [f32],
        ) -> Result<()> {
            let done = match dtype {
                $(Dtype::$dtype => block::elements(data, first, out, $decode),)+
                _ => return Err(UNSUPPORTED),
            };
            done.ok_or(TOO_FEW)
        }

        /// As [`quantize`](super::quantize), for numbers; `out` has their size.
        pub(super) fn quantize(dtype: Dtype, values: &[f32], out: &mut [u8]) -> Result<()> {
            match dtype {
                $($(Dtype::$dtype => block::encode(values, out, $encode),)?)+
                _ => return Err(UNSUPPORTED),
            }
            Ok(())
        }

        /// Returns true if f32 is converted to `dtype` here.
        pub(super) const fn has_quantizer(dtype: Dtype) -> bool {
            match dtype {
                $($(Dtype::$dtype => { let _ = stringify!($encode); true })?)+
                _ => false,
            }
        }
    };
}

numbers! {
    F64: |b| f64::from_le_bytes(b) as f32;
    F32: f32::from_le_bytes => |&[x]| x.to_le_bytes();
    F16: float16::f16_to_f32 => |&[x]| half::f16::from_f32(x).to_le_bytes();
    BF16: float16::bf16_to_f32 => |&[x]| half::bf16::from_f32(x).to_le_bytes();
    I64: |b| i64::from_le_bytes(b) as f32;
    I32: |b| i32::from_le_bytes(b) as f32;
    I16: |b| f32::from(i16::from_le_bytes(b));
    I8: |b| f32::from(i8::from_le_bytes(b));
    U64: |b| u64::from_le_bytes(b) as f32;
    U32: |b| u32::from_le_bytes(b) as f32;
    U16: |b| f32::from(u16::from_le_bytes(b));
    U8: |[b]| f32::from(b);
    Bool: |[b]| f32::from(b);
}
