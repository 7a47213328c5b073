//! The members of a tensor's description.

use crate::error::{Error, ErrorKind, Result};
use crate::tensor::{Dtype, MAX_DIMS, Shape, TensorHeader};
use crate::text::json;

/// The format's types with their names, in the order in which the reference writes their tensors.
pub(crate) const DTYPES: [(&str, Dtype); 22] = [
    ("U64", Dtype::U64),
    ("I64", Dtype::I64),
    ("F64", Dtype::F64),
    ("C64", Dtype::C64),
    ("F32", Dtype::F32),
    ("U32", Dtype::U32),
    ("I32", Dtype::I32),
    ("BF16", Dtype::BF16),
    ("F16", Dtype::F16),
    ("U16", Dtype::U16),
    ("I16", Dtype::I16),
    ("F8_E5M2FNUZ", Dtype::F8E5M2Fnuz),
    ("F8_E4M3FNUZ", Dtype::F8E4M3Fnuz),
    ("F8_E8M0", Dtype::F8E8M0),
    ("F8_E4M3", Dtype::F8E4M3),
    ("F8_E5M2", Dtype::F8E5M2),
    ("I8", Dtype::I8),
    ("U8", Dtype::U8),
    ("F6_E3M2", Dtype::F6E3M2),
    ("F6_E2M3", Dtype::F6E2M3),
    ("F4", Dtype::F4),
    ("BOOL", Dtype::Bool),
];

/// The rank of `dtype` in the order of the reference's files; `None` for block types.
#[must_use]
pub(super) fn rank(dtype: Dtype) -> Option<usize> {
    DTYPES.iter().position(|(_, known)| *known == dtype)
}

/// The type with this name in the format.
#[must_use]
pub fn dtype_of(name: &str) -> Option<Dtype> {
    DTYPES.iter().find(|(known, _)| json::is(name, known)).map(|(_, dtype)| *dtype)
}

/// The format's name of `dtype`; `None` for block types.
#[must_use]
pub fn dtype_name(dtype: Dtype) -> Option<&'static str> {
    DTYPES.iter().find(|(_, known)| *known == dtype).map(|(name, _)| *name)
}

/// The members read so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fields {
    dtype: Option<Dtype>,
    dims: [u64; MAX_DIMS],
    ndim: Option<usize>,
    offsets: [u64; 2],
    /// The number of offsets read, if the member has begun.
    offsets_read: Option<usize>,
    offsets_at: u64,
}

impl Fields {
    pub(super) fn dtype(&mut self, spelling: &str, at: u64) -> Result<()> {
        self.dtype = Some(dtype_of(spelling).ok_or(Error::new(at, ErrorKind::BadDtype))?);
        Ok(())
    }

    pub(super) fn begin_shape(&mut self) {
        self.ndim = Some(0);
    }

    pub(super) fn dim(&mut self, spelling: &str, at: u64) -> Result<()> {
        let dim = json::number_u64(spelling).ok_or(Error::new(at, ErrorKind::BadField))?;
        let next = self.ndim.unwrap_or(0);
        let free = self.dims.get_mut(next).ok_or(Error::new(at, ErrorKind::BadDimensions))?;
        *free = dim;
        self.ndim = Some(next.saturating_add(1));
        Ok(())
    }

    pub(super) fn begin_offsets(&mut self, at: u64) {
        (self.offsets_read, self.offsets_at) = (Some(0), at);
    }

    pub(super) fn data_offset(&mut self, spelling: &str, at: u64) -> Result<()> {
        let error = Error::new(at, ErrorKind::BadField);
        let offset = json::number_u64(spelling).ok_or(error)?;
        let next = self.offsets_read.unwrap_or(0);
        *self.offsets.get_mut(next).ok_or(error)? = offset;
        self.offsets_read = Some(next.saturating_add(1));
        Ok(())
    }

    /// Returns true if the member has been read.
    pub(super) const fn has_dtype(&self) -> bool {
        self.dtype.is_some()
    }

    pub(super) const fn has_shape(&self) -> bool {
        self.ndim.is_some()
    }

    pub(super) const fn has_offsets(&self) -> bool {
        self.offsets_read.is_some()
    }

    /// The described tensor; its description ends at the absolute offset `at`, and its data follows
    /// `data`.
    pub(super) fn finish<'a>(&self, name: &'a str, data: u64, at: u64) -> Result<TensorHeader<'a>> {
        let missing = Error::new(at, ErrorKind::BadField);
        let (Some(dtype), Some(ndim), Some(2)) = (self.dtype, self.ndim, self.offsets_read) else {
            return Err(missing);
        };
        let shape = self.dims.get(..ndim).and_then(Shape::new).ok_or(missing)?;
        let wrong = |kind| Error::new(self.offsets_at, kind);
        let elements = shape.elements().ok_or(wrong(ErrorKind::SizeOverflow))?;
        // Elements of fewer than eight bits may end inside a byte, but a tensor may not.
        let kind = if elements.is_multiple_of(dtype.block_elements() as u64) {
            ErrorKind::SizeOverflow
        } else {
            ErrorKind::SizeMismatch
        };
        let bytes = dtype.data_bytes(elements).ok_or(wrong(kind))?;
        let [begin, end] = self.offsets;
        match end.checked_sub(begin) {
            None => return Err(wrong(ErrorKind::OutOfBounds)),
            Some(length) if length != bytes => return Err(wrong(ErrorKind::SizeMismatch)),
            Some(_) => {}
        }
        if data.checked_add(end).is_none() {
            return Err(wrong(ErrorKind::OutOfBounds));
        }
        Ok(TensorHeader { name, dtype, shape, offset: data.saturating_add(begin), bytes })
    }
}
