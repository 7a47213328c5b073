//! The codes of layer types and data types.

use crate::error::ErrorKind;
use crate::tensor::Dtype;

/// The quantisation of a layer; the discriminants are the format's codes.
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
    /// 8-bit floats with one scale.
    Fp8 = 3,
    /// Affine, in groups.
    Afq = 4,
    /// Bytes with 8-bit float scales.
    F8q8 = 5,
    /// 4-bit floats with power-of-two scales.
    Mxfp4 = 6,
}

impl LayerFormat {
    const ALL: [Self; 7] =
        [Self::Gguf, Self::Unquantized, Self::Hqq, Self::Fp8, Self::Afq, Self::F8q8, Self::Mxfp4];

    /// The format with this code.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// The code of this format.
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

/// True for ggml's numbers of the types that mistral.rs supports in UQFF: those up to Q8_K, and
/// BF16.
const fn is_known(number: u32) -> bool {
    matches!(number, 0..=15 | 30)
}

/// The ggml type of this number, if UQFF has it.
#[must_use]
pub const fn ggml_dtype(number: u32) -> Option<Dtype> {
    if is_known(number) { Dtype::from_ggml_number(number) } else { None }
}

/// ggml's number of a type; `None` for types that UQFF does not have.
#[must_use]
pub const fn ggml_number(dtype: Dtype) -> Option<u32> {
    match dtype.ggml_number() {
        Some(number) if is_known(number) => Some(number),
        _ => None,
    }
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

/// The code of FP8 in a layer's own `dtype` field.
pub(super) const FP8_CODE: u32 = 9;

/// The type of a blob's tensor; codes 10 to 13 are known but never stored.
pub(super) fn tensor_dtype(code: u32) -> Result<Dtype, ErrorKind> {
    let index = usize::try_from(code).unwrap_or(usize::MAX);
    match TENSOR.get(index) {
        Some(dtype) => Ok(*dtype),
        None if (10..=13).contains(&code) => Err(ErrorKind::UnsupportedDtype),
        None => Err(ErrorKind::BadDtype),
    }
}

/// The code of a type in a blob.
pub(super) fn tensor_code(dtype: Dtype) -> Option<u32> {
    TENSOR.iter().position(|known| *known == dtype).and_then(|code| u32::try_from(code).ok())
}
