//! The tensors of several files for a conversion: floats borrowed, all else dequantised.

use nanoembed_core::tensor::{Dtype, Encoding};

use crate::checkpoint::tensor::{Elements, OwnedTensor, Tensor, le_bytes, sizes};
use crate::error::{Error, Result};
use crate::stored::{Stored, Values};

/// A tensor that is borrowed, or was dequantised.
pub(super) enum Loaded<'f> {
    Borrowed(Tensor<'f>),
    Owned(OwnedTensor),
}

impl<'f> Loaded<'f> {
    /// The tensor, to be called `name`.
    pub(super) fn from_stored(stored: &Stored<'f>, name: String, file: &str) -> Result<Self> {
        let refuse = |kind| Error::input(kind, format!("`{name}` is too large")).at(file);
        let shape = sizes(stored.values.shape()).map_err(refuse)?;
        if let Values::Weight(weight) = &stored.values
            && let Encoding::Plain { dtype, data } = *weight.encoding()
            && let Some(elements) = elements(dtype)
        {
            let (scales, columns, zeros) = (&[][..], &[][..], &[][..]);
            let transposed = false;
            let tensor = Tensor { name, shape, elements, data, scales, columns, zeros, transposed };
            return Ok(Self::Borrowed(tensor));
        }
        let values = stored.all().map_err(|failure| failure.at(file))?;
        let data = le_bytes(&values).map_err(|error| Error::in_file(file, error))?;
        Ok(Self::Owned(OwnedTensor { name, shape, data }))
    }

    pub(super) fn borrow(&self) -> Tensor<'_> {
        match self {
            Self::Borrowed(tensor) => tensor.clone(),
            Self::Owned(tensor) => tensor.borrow(),
        }
    }
}

const fn elements(dtype: Dtype) -> Option<Elements> {
    match dtype {
        Dtype::F64 => Some(Elements::F64),
        Dtype::F32 => Some(Elements::F32),
        Dtype::F16 => Some(Elements::F16),
        Dtype::BF16 => Some(Elements::BF16),
        _ => None,
    }
}

/// The numbers of a tensor of integers, such as a mapping, as 32-bit ones.
pub(in crate::convert) fn integers(stored: &Stored<'_>) -> Option<Vec<u32>> {
    let Values::Weight(weight) = &stored.values else { return None };
    let Encoding::Plain { dtype, data } = *weight.encoding() else { return None };
    match dtype {
        Dtype::I64 => {
            let (numbers, _) = data.as_chunks();
            numbers.iter().map(|bytes| u32::try_from(i64::from_le_bytes(*bytes)).ok()).collect()
        }
        Dtype::I32 | Dtype::U32 => {
            let (numbers, _) = data.as_chunks();
            Some(numbers.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect())
        }
        _ => None,
    }
}
