//! The numbers of layer types and data types.

use crate::error::ErrorKind;
use crate::tensor::Dtype;

/// How a layer is quantised; the numbers are the format's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum LayerFormat {
    /// ggml blocks.
    Gguf = 0,
    /// Not quantised.
    Unquantized = 1,
    /// Half-quadratic.
    Hqq = 2,
    /// 8-bit floats under one scale.
    Fp8 = 3,
    /// Affine, in groups.
    Afq = 4,
    /// Bytes under 8-bit float scales.
    F8q8 = 5,
    /// 4-bit floats under powers of two.
    Mxfp4 = 6,
}

impl LayerFormat {
    const ALL: [Self; 7] =
        [Self::Gguf, Self::Unquantized, Self::Hqq, Self::Fp8, Self::Afq, Self::F8q8, Self::Mxfp4];

    /// The format of this number.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// The number of this format.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The name in machine-readable output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gguf => "gguf",
            Self::Unquantized => "unquant",
            Self::Hqq => "hqq",
            Self::Fp8 => "fp8",
            Self::Afq => "afq",
            Self::F8q8 => "f8q8",
            Self::Mxfp4 => "mxfp4",
        }
    }
}

const GGML: [(u32, Dtype); 15] = [
    (0, Dtype::F32),
    (1, Dtype::F16),
    (2, Dtype::Q4_0),
    (3, Dtype::Q4_1),
    (6, Dtype::Q5_0),
    (7, Dtype::Q5_1),
    (8, Dtype::Q8_0),
    (9, Dtype::Q8_1),
    (10, Dtype::Q2K),
    (11, Dtype::Q3K),
    (12, Dtype::Q4K),
    (13, Dtype::Q5K),
    (14, Dtype::Q6K),
    (15, Dtype::Q8K),
    (30, Dtype::BF16),
];

/// The ggml type of this number, as UQFF knows them.
#[must_use]
pub fn ggml_dtype(code: u32) -> Option<Dtype> {
    GGML.iter().find(|(known, _)| *known == code).map(|(_, dtype)| *dtype)
}

/// The ggml number of a type.
#[must_use]
pub fn ggml_code(dtype: Dtype) -> Option<u32> {
    GGML.iter().find(|(_, known)| *known == dtype).map(|(code, _)| *code)
}

const TENSOR: [Dtype; 10] = [
    Dtype::U8,
    Dtype::U32,
    Dtype::I32,
    Dtype::I64,
    Dtype::F16,
    Dtype::BF16,
    Dtype::F32,
    Dtype::F64,
    Dtype::I16,
    Dtype::F8E4M3,
];

/// The number of FP8 in a layer's own `dtype` field.
pub(super) const FP8_CODE: u32 = 9;

/// The type of a blob's tensor; numbers 10 to 13 are known but never stored.
pub(super) fn tensor_dtype(code: u32) -> Result<Dtype, ErrorKind> {
    let index = usize::try_from(code).unwrap_or(usize::MAX);
    match TENSOR.get(index) {
        Some(dtype) => Ok(*dtype),
        None if (10..=13).contains(&code) => Err(ErrorKind::UnsupportedDtype),
        None => Err(ErrorKind::BadDtype),
    }
}

/// The number of a type in a blob.
pub(super) fn tensor_code(dtype: Dtype) -> Option<u32> {
    TENSOR.iter().position(|known| *known == dtype).and_then(|code| u32::try_from(code).ok())
}
