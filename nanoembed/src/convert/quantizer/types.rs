//! The types that weights are quantised to, and what each of them can hold.

use nanoembed_core::tensor::{Dtype, Shape};

use crate::choice::choices;

choices! {
    /// A type of weights.
    #[non_exhaustive]
    pub enum QuantType {
        /// 32-bit floats
        F32 = "f32",
        /// 16-bit floats
        F16 = "f16",
        /// 16-bit floats with the range of f32
        Bf16 = "bf16",
        /// ggml: 8 bits, a scale for 32 elements
        Q8_0 = "q8_0",
        /// ggml: 5 bits, a scale for 32 elements
        Q5_0 = "q5_0",
        /// ggml: 4 bits, a scale for 32 elements
        Q4_0 = "q4_0",
        /// ggml: 4 bits, a scale and a minimum for 32 elements
        Q4_1 = "q4_1",
        /// ggml: 6 bits in blocks of 256 elements
        Q6k = "q6k" | "q6_k",
        /// ggml: 4 bits in blocks of 256 elements
        Q4k = "q4k" | "q4_k",
        /// Half-quadratic: 8 bits, groups of 64
        Hqq8 = "hqq8",
        /// Half-quadratic: 4 bits, groups of 64
        Hqq4 = "hqq4",
        /// Affine: 8 bits
        Afq8 = "afq8",
        /// Affine: 6 bits
        Afq6 = "afq6",
        /// Affine: 4 bits
        Afq4 = "afq4",
        /// Affine: 3 bits
        Afq3 = "afq3",
        /// Affine: 2 bits
        Afq2 = "afq2",
        /// 8-bit floats under one scale
        Fp8 = "fp8",
        /// Signed bytes, an 8-bit float for 32 elements
        F8q8 = "f8q8",
        /// 4-bit floats, a power of two for 32 elements
        Mxfp4 = "mxfp4",
    }
}

/// Elements in a group of HQQ, as the reference has them.
pub const HQQ_GROUP: u64 = 64;

impl QuantType {
    /// The type of elements or blocks, if that is all there is to the type.
    pub const fn dtype(self) -> Option<Dtype> {
        Some(match self {
            Self::F32 => Dtype::F32,
            Self::F16 => Dtype::F16,
            Self::Bf16 => Dtype::BF16,
            Self::Q8_0 => Dtype::Q8_0,
            Self::Q5_0 => Dtype::Q5_0,
            Self::Q4_0 => Dtype::Q4_0,
            Self::Q4_1 => Dtype::Q4_1,
            Self::Q6k => Dtype::Q6K,
            Self::Q4k => Dtype::Q4K,
            _ => return None,
        })
    }

    /// Bits of a code, of the affine types.
    pub const fn afq_bits(self) -> Option<u8> {
        Some(match self {
            Self::Afq8 => 8,
            Self::Afq6 => 6,
            Self::Afq4 => 4,
            Self::Afq3 => 3,
            Self::Afq2 => 2,
            _ => return None,
        })
    }

    /// Whether a weight of this shape can be stored in this type; if not, why.
    pub fn suits(self, shape: &Shape) -> Result<(), String> {
        let row = shape.dims().last().copied().unwrap_or(1);
        let block = match self {
            Self::Hqq8 | Self::Hqq4 => {
                let elements = shape.elements().unwrap_or(1);
                if shape.dims().len() != 2 {
                    return Err("HQQ wants two dimensions".into());
                }
                return if elements.is_multiple_of(HQQ_GROUP) {
                    Ok(())
                } else {
                    Err(format!("{elements} elements are no whole groups of {HQQ_GROUP}"))
                };
            }
            Self::Fp8 | Self::F8q8 if shape.dims().len() != 2 => {
                return Err("this type wants two dimensions".into());
            }
            Self::Mxfp4 => 32,
            _ if self.afq_bits().is_some() => 32,
            _ => self.dtype().map_or(1, |dtype| dtype.block_elements() as u64),
        };
        if row.is_multiple_of(block) {
            Ok(())
        } else {
            Err(format!("rows of {row} elements are no whole blocks of {block}"))
        }
    }
}
