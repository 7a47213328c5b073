//! The tensors of several files for a conversion: floats borrowed, all else dequantised.

use std::ops::Range;

use nanoembed_core::tensor::{Dtype, Encoding};
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use crate::checkpoint::tensor::{Elements, OwnedTensor, Tensor, le_bytes, sizes};
use crate::convert::experts;
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
        Self::changed(stored, name, file, |_| {})
    }

    /// The tensor, to be called `name`, dequantised and changed by `change`.
    pub(super) fn changed(
        stored: &Stored<'f>,
        name: String,
        file: &str,
        change: impl FnOnce(&mut [f32]),
    ) -> Result<Self> {
        let refuse = |kind| Error::input(kind, format!("`{name}` is too large")).at(file);
        let shape = sizes(stored.values.shape()).map_err(refuse)?;
        let mut values = stored.all().map_err(|failure| failure.at(file))?;
        change(&mut values);
        let data = le_bytes(&values).map_err(|error| Error::in_file(file, error))?;
        Ok(Self::Owned(OwnedTensor { name, shape, data }))
    }

    /// These `rows` of the tensor, dequantised, to be called `name`. A vector has one element per
    /// row.
    pub(super) fn rows(
        stored: &Stored<'f>,
        name: String,
        file: &str,
        rows: Range<usize>,
    ) -> Result<Self> {
        let wrong = || {
            let message = format!("`{}` has not as many rows as the model needs", stored.name);
            Error::input(ErrorKind::WrongShape, message).at(file)
        };
        let mut shape = sizes(stored.values.shape()).map_err(|_| wrong())?;
        let width: usize = shape.get(1..).unwrap_or_default().iter().product();
        *shape.first_mut().filter(|all| rows.end <= **all).ok_or_else(wrong)? = rows.len();
        let failed = |error| Error::in_file(file, error);
        let mut values = limit::filled(rows.len().saturating_mul(width), 0.0).map_err(failed)?;
        let first = rows.start.saturating_mul(width);
        stored.read(first, &mut values).map_err(|failure| failure.at(file))?;
        let data = le_bytes(&values).map_err(failed)?;
        Ok(Self::Owned(OwnedTensor { name, shape, data }))
    }

    /// The second layers of `experts`, stored transposed, as matrices to be called `name`.
    pub(super) fn transposed(
        stored: &Stored<'f>,
        name: String,
        file: &str,
        experts: usize,
    ) -> Result<Self> {
        let failed = |error| Error::in_file(file, error);
        let cols = stored.values.shape().cols().and_then(|cols| usize::try_from(cols).ok());
        let cols = cols.unwrap_or(0);
        let values = stored.all().map_err(|failure| failure.at(file))?;
        let (values, width) = experts::transposed(&values, experts, cols).map_err(failed)?;
        let data = le_bytes(&values).map_err(failed)?;
        Ok(Self::Owned(OwnedTensor { name, shape: vec![experts * cols, width], data }))
    }

    /// The tensor with the rows of all matrices in two dimensions, if it has three.
    pub(super) fn stacked(mut self) -> Self {
        let (Self::Borrowed(Tensor { shape, .. }) | Self::Owned(OwnedTensor { shape, .. })) =
            &mut self;
        if let [count, rows, cols] = **shape {
            *shape = vec![count * rows, cols];
        }
        self
    }

    /// The tensor, whose values stay here.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub(super) fn borrow(&self) -> Result<Tensor<'_>, CoreError> {
        match self {
            Self::Borrowed(tensor) => tensor.copied(),
            Self::Owned(tensor) => tensor.borrow(),
        }
    }
}

/// A list of one tensor of `file`.
pub(super) fn one<'f>(loaded: Loaded<'f>, file: &str) -> Result<Vec<Loaded<'f>>> {
    limit::collected([loaded]).map_err(|error| Error::in_file(file, error))
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

/// The numbers of a tensor of integers, such as a mapping, as 32-bit ones; `None` for others.
///
/// # Errors
///
/// [`ErrorKind::NoMemory`].
pub(in crate::convert) fn integers(stored: &Stored<'_>) -> Result<Option<Vec<u32>>, CoreError> {
    let Values::Weight(weight) = &stored.values else { return Ok(None) };
    let Encoding::Plain { dtype, data } = *weight.encoding() else { return Ok(None) };
    match dtype {
        Dtype::I64 => {
            let (numbers, _) = data.as_chunks();
            let mut all = limit::reserved(numbers.len())?;
            for bytes in numbers {
                let Ok(number) = u32::try_from(i64::from_le_bytes(*bytes)) else {
                    return Ok(None);
                };
                all.push(number);
            }
            Ok(Some(all))
        }
        Dtype::I32 | Dtype::U32 => {
            let (numbers, _) = data.as_chunks();
            limit::exactly(numbers.iter().map(|bytes| u32::from_le_bytes(*bytes))).map(Some)
        }
        _ => Ok(None),
    }
}
