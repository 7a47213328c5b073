//! Writes version 3 in one pass and without allocating: a [`GgufPlan`] determines everything before the
//! data.

use super::ALIGNMENT_KEY;
use super::decoder::{DEFAULT_MAX_TENSORS, MAX_PAIRS};
use super::grammar::{DEFAULT_ALIGNMENT, MAGIC, MAX_NAME_BYTES, MAX_STRING_BYTES};
use crate::error::{Error, ErrorKind, Result};
use crate::sink::Sink;
use crate::tensor::TensorSpec;
use crate::tensor::identity::check_unique;

/// A value of the metadata to be written.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the variants are the format's types")]
#[non_exhaustive]
pub enum WriteValue<'a> {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(bool),
    Text(&'a str),
    U64(u64),
    I64(i64),
    F64(f64),
    Texts(&'a [&'a [u8]]),
    U8s(&'a [u8]),
    U32s(&'a [u32]),
    I32s(&'a [i32]),
    F32s(&'a [f32]),
    Bools(&'a [bool]),
    /// A value copied from another file by [`Gguf::stored_value`](super::Gguf::stored_value).
    Stored(&'a [u8]),
}

/// The contents of a file except for the tensors' data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GgufPlan<'a> {
    /// Up to 256 unique keys and their values; strings have up to 1 MiB. The key
    /// `general.alignment`, which is one of them, is written from [`alignment`](Self::alignment).
    pub metadata: &'a [(&'a str, WriteValue<'a>)],
    /// The tensors in the order in which their data will be written: up to [`DEFAULT_MAX_TENSORS`],
    /// the number that readers accept.
    pub tensors: &'a [TensorSpec<'a>],
    /// The alignment of tensors: a power of two, at least 8; usually 32.
    pub alignment: u32,
}

fn invalid() -> Error {
    Error::without_offset(ErrorKind::InvalidArgument)
}

/// Counts the bytes that pass through.
struct Counted<S> {
    sink: S,
    written: u64,
}

impl<S: Sink> Sink for Counted<S> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.written += bytes.len() as u64;
        self.sink.write(bytes)
    }
}

struct Nowhere;

impl Sink for Nowhere {
    fn write(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }
}

impl<'a> GgufPlan<'a> {
    /// A file with these tensors and the default alignment, without metadata.
    #[must_use]
    pub const fn new(tensors: &'a [TensorSpec<'a>]) -> Self {
        Self { metadata: &[], tensors, alignment: 32 }
    }
}

impl GgufPlan<'_> {
    /// The size of the file in bytes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the format cannot hold the plan;
    /// [`ErrorKind::TooManyTensors`]; [`ErrorKind::UnsupportedDtype`].
    pub fn file_bytes(&self) -> Result<u64> {
        let (data, bytes) = self.layout()?;
        data.checked_add(bytes).ok_or(invalid())
    }

    /// The offset and the size of the data.
    fn layout(&self) -> Result<(u64, u64)> {
        if !self.alignment.is_power_of_two() || self.alignment < 8 {
            return Err(invalid());
        }
        let mut counted = Counted { sink: Nowhere, written: 0 };
        self.write_before_data(&mut counted)?;
        let mut end = 0;
        for tensor in self.tensors {
            end = self.align(end + tensor_bytes(tensor)?)?;
        }
        Ok((self.align(counted.written)?, end))
    }

    fn align(&self, offset: u64) -> Result<u64> {
        // Sizes are below half of the 64-bit range, so that a sum of two cannot wrap.
        let aligned = offset.checked_next_multiple_of(self.alignment.into());
        aligned.filter(|aligned| *aligned <= u64::MAX / 2).ok_or(invalid())
    }

    fn write_before_data(&self, sink: &mut impl Sink) -> Result<()> {
        let says_alignment = u64::from(self.alignment) != DEFAULT_ALIGNMENT;
        if self.metadata.len() + usize::from(says_alignment) > MAX_PAIRS {
            return Err(invalid());
        }
        if self.tensors.len() > DEFAULT_MAX_TENSORS {
            return Err(Error::without_offset(ErrorKind::TooManyTensors));
        }
        sink.write(MAGIC)?;
        sink.write(&3_u32.to_le_bytes())?;
        sink.write(&(self.tensors.len() as u64).to_le_bytes())?;
        sink.write(&(self.metadata.len() as u64 + u64::from(says_alignment)).to_le_bytes())?;
        if says_alignment {
            pair(sink, ALIGNMENT_KEY, &WriteValue::U32(self.alignment))?;
        }
        for (key, value) in self.metadata {
            pair(sink, key, value)?;
        }
        let mut offset = 0_u64;
        for tensor in self.tensors {
            let unsupported = Error::without_offset(ErrorKind::UnsupportedDtype);
            text(sink, tensor.name.as_bytes())?;
            let dims = tensor.shape.dims();
            sink.write(&u32::try_from(dims.len()).unwrap_or(u32::MAX).to_le_bytes())?;
            for dim in dims.iter().rev() {
                sink.write(&dim.to_le_bytes())?;
            }
            sink.write(&tensor.dtype.ggml_number().ok_or(unsupported)?.to_le_bytes())?;
            sink.write(&offset.to_le_bytes())?;
            offset = self.align(offset + tensor_bytes(tensor)?)?;
        }
        Ok(())
    }
}

fn tensor_bytes(tensor: &TensorSpec<'_>) -> Result<u64> {
    let dims = tensor.shape.dims();
    let row = dims.last().copied().unwrap_or(0);
    let known = (1..=4).contains(&dims.len())
        && dims.iter().all(|dim| *dim > 0)
        && row.is_multiple_of(tensor.dtype.block_elements() as u64)
        && is_name(tensor.name);
    let elements = tensor.shape.elements().filter(|_| known);
    let bytes = elements.and_then(|elements| tensor.dtype.data_bytes(elements));
    bytes.filter(|bytes| *bytes <= u64::MAX / 4).ok_or(invalid())
}

const fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_NAME_BYTES
}

fn text(sink: &mut impl Sink, text: &[u8]) -> Result<()> {
    if text.len() > MAX_STRING_BYTES {
        return Err(invalid());
    }
    sink.write(&(text.len() as u64).to_le_bytes())?;
    sink.write(text)
}

fn pair(sink: &mut impl Sink, key: &str, value: &WriteValue<'_>) -> Result<()> {
    if !is_name(key) {
        return Err(invalid());
    }
    text(sink, key.as_bytes())?;
    let mut one = |kind: u32, bytes: &[u8]| {
        sink.write(&kind.to_le_bytes())?;
        sink.write(bytes)
    };
    match *value {
        WriteValue::U8(n) => one(0, &n.to_le_bytes()),
        WriteValue::I8(n) => one(1, &n.to_le_bytes()),
        WriteValue::U16(n) => one(2, &n.to_le_bytes()),
        WriteValue::I16(n) => one(3, &n.to_le_bytes()),
        WriteValue::U32(n) => one(4, &n.to_le_bytes()),
        WriteValue::I32(n) => one(5, &n.to_le_bytes()),
        WriteValue::F32(n) => one(6, &n.to_le_bytes()),
        WriteValue::Bool(truth) => one(7, &[truth.into()]),
        WriteValue::U64(n) => one(10, &n.to_le_bytes()),
        WriteValue::I64(n) => one(11, &n.to_le_bytes()),
        WriteValue::F64(n) => one(12, &n.to_le_bytes()),
        WriteValue::Text(value) => {
            one(8, &[])?;
            text(sink, value.as_bytes())
        }
        WriteValue::Texts(all) => array(sink, 8, all, |sink, element| text(sink, element)),
        WriteValue::U32s(all) => array(sink, 4, all, |sink, n| sink.write(&n.to_le_bytes())),
        WriteValue::U8s(all) => array(sink, 0, all, |sink, n| sink.write(&[*n])),
        WriteValue::I32s(all) => array(sink, 5, all, |sink, n| sink.write(&n.to_le_bytes())),
        WriteValue::F32s(all) => array(sink, 6, all, |sink, n| sink.write(&n.to_le_bytes())),
        WriteValue::Bools(all) => array(sink, 7, all, |sink, it| sink.write(&[(*it).into()])),
        WriteValue::Stored(value) => sink.write(value),
    }
}

fn array<S: Sink, T>(
    sink: &mut S,
    of: u32,
    elements: &[T],
    write: impl Fn(&mut S, &T) -> Result<()>,
) -> Result<()> {
    sink.write(&9_u32.to_le_bytes())?;
    sink.write(&of.to_le_bytes())?;
    sink.write(&(elements.len() as u64).to_le_bytes())?;
    elements.iter().try_for_each(|element| write(sink, element))
}

/// Writes one file: [`new`](Self::new) writes everything before the data, [`data`](Self::data) the
/// tensors in order, each padded to the alignment.
pub struct GgufWriter<'p, S> {
    plan: GgufPlan<'p>,
    sink: S,
    /// Index of the tensor whose data comes next, and the number of its missing bytes.
    tensor: usize,
    missing: u64,
}

impl<'p, S: Sink> GgufWriter<'p, S> {
    /// Checks `plan` and writes everything before the data.
    ///
    /// # Errors
    ///
    /// As [`GgufPlan::file_bytes`]; [`ErrorKind::DuplicateName`] if two tensors or two keys have the
    /// same name; any error from the sink.
    pub fn new(plan: GgufPlan<'p>, sink: S) -> Result<Self> {
        let (data, _) = plan.layout()?;
        check_unique(plan.tensors.iter().map(|tensor| tensor.name))?;
        check_unique(plan.metadata.iter().map(|(key, _)| *key).chain([ALIGNMENT_KEY]))?;
        let mut counted = Counted { sink, written: 0 };
        plan.write_before_data(&mut counted)?;
        let padding = data - counted.written;
        let mut writer = Self { plan, sink: counted.sink, tensor: 0, missing: 0 };
        writer.zeros(if plan.tensors.is_empty() { 0 } else { padding })?;
        writer.missing = plan.tensors.first().map_or(Ok(0), tensor_bytes)?;
        Ok(writer)
    }

    /// Writes the next bytes of data: the tensors' bytes in the order of the plan, cut anywhere,
    /// without padding.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if there is more data than planned; any error from the sink.
    pub fn data(&mut self, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = usize::try_from(self.missing).unwrap_or(usize::MAX);
            let (part, after) = rest.split_at_checked(room).unwrap_or((rest, &[]));
            if part.is_empty() {
                return Err(invalid());
            }
            self.sink.write(part)?;
            self.missing -= part.len() as u64;
            rest = after;
            if self.missing == 0 {
                self.end_tensor()?;
            }
        }
        Ok(())
    }

    /// Returns the sink.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::SizeMismatch`] if data is missing.
    pub fn finish(self) -> Result<S> {
        if self.tensor == self.plan.tensors.len() {
            Ok(self.sink)
        } else {
            Err(Error::without_offset(ErrorKind::SizeMismatch))
        }
    }

    /// Pads the current tensor and proceeds to the next.
    fn end_tensor(&mut self) -> Result<()> {
        let written = self.plan.tensors.get(self.tensor).map_or(Ok(0), tensor_bytes)?;
        self.zeros(self.plan.align(written)? - written)?;
        self.tensor += 1;
        self.missing = self.plan.tensors.get(self.tensor).map_or(Ok(0), tensor_bytes)?;
        Ok(())
    }

    fn zeros(&mut self, count: u64) -> Result<()> {
        for _ in 0..count {
            self.sink.write(&[0])?;
        }
        Ok(())
    }
}
