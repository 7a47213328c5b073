//! Weights of any format as floats.

use std::path::Path;

use nanoembed_core::tensor::Dtype;

use super::targets::safetensors::{Wanted, write};
use crate::choice::choices;
use crate::error::Result;
use crate::progress::{Observer, Progress};
use crate::stored::{Contents, Stored};

choices! {
    /// The floats that are written.
    pub enum Float {
        /// 32 bits
        F32 = "f32",
        /// 16 bits, the nearest to each value
        F16 = "f16",
        /// 16 bits with the range of f32, the nearest to each value
        Bf16 = "bf16",
    }
}

impl Float {
    const fn dtype(self) -> Dtype {
        match self {
            Self::F32 => Dtype::F32,
            Self::F16 => Dtype::F16,
            Self::Bf16 => Dtype::BF16,
        }
    }
}

/// Writes all tensors as floats into a safetensors file; answers its size.
pub fn dequantize(
    contents: &Contents<'_>,
    output: &Path,
    float: Float,
    observer: &dyn Observer,
) -> Result<u64> {
    let total = contents.tensors.iter().map(|tensor| tensor.values.stored_bytes()).sum();
    let progress = Progress::bytes(observer, "dequantising", total);
    write(output, wanted(&contents.tensors, float.dtype()), &[], &progress)
}

/// All tensors as floats of `dtype`; tensors of other numbers stay what they are.
fn wanted<'s, 'a>(tensors: &'s [Stored<'a>], dtype: Dtype) -> Vec<Wanted<'s, 'a>> {
    let of = |tensor: &'s Stored<'a>| {
        let own = match tensor.values.type_name() {
            "i64" => Dtype::I64,
            "i32" => Dtype::I32,
            "u32" => Dtype::U32,
            "u64" => Dtype::U64,
            "i16" => Dtype::I16,
            "u16" => Dtype::U16,
            "i8" => Dtype::I8,
            "u8" => Dtype::U8,
            "bool" => Dtype::Bool,
            _ => dtype,
        };
        Wanted { name: tensor.name.clone(), tensor, dtype: own }
    };
    tensors.iter().map(of).collect()
}
