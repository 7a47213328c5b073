//! Writes files in one pass and without allocating: a [`SafetensorsPlan`] determines the header, and the data
//! is passed through.

use core::cmp::Ordering;

use super::decoder::MAX_METADATA_ENTRIES;
use super::fields::{dtype_name, rank};
use super::{LENGTH_BYTES, METADATA};
use crate::error::{Error, ErrorKind, Result};
use crate::sink::Sink;
use crate::tensor::identity::check_unique;
use crate::tensor::{Dtype, Shape, TensorSpec};

/// The order of tensors in files of the reference writer: by decreasing element size, then by the
/// type's position in the reference's list, then by name.
#[must_use]
pub fn order(left: &TensorSpec<'_>, right: &TensorSpec<'_>) -> Ordering {
    rank(left.dtype).cmp(&rank(right.dtype)).then_with(|| left.name.cmp(right.name))
}

/// The contents of a file except for the tensors' data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SafetensorsPlan<'a> {
    /// Up to 128 keys, unique in the file, and values.
    pub metadata: &'a [(&'a str, &'a str)],
    /// The tensors in the order in which their data will be written; [`order`] is that of the
    /// reference.
    pub tensors: &'a [TensorSpec<'a>],
}

impl<'a> SafetensorsPlan<'a> {
    /// A file with these tensors, without metadata.
    #[must_use]
    pub const fn new(tensors: &'a [TensorSpec<'a>]) -> Self {
        Self { metadata: &[], tensors }
    }
}

impl SafetensorsPlan<'_> {
    /// The size of the file in bytes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the format cannot hold the plan;
    /// [`ErrorKind::UnsupportedDtype`].
    pub fn file_bytes(&self) -> Result<u64> {
        let (header, data) = self.layout()?;
        LENGTH_BYTES.checked_add(header).and_then(|sum| sum.checked_add(data)).ok_or(invalid())
    }

    /// The length of the header with its padding, and that of the data.
    fn layout(&self) -> Result<(u64, u64)> {
        let mut data = 0_u64;
        for tensor in self.tensors {
            if dtype_name(tensor.dtype).is_none() {
                return Err(Error::without_offset(ErrorKind::UnsupportedDtype));
            }
            let bytes = tensor.bytes().ok_or(invalid())?;
            data = data.checked_add(bytes).ok_or(invalid())?;
        }
        let mut length = Length(0);
        self.header(&mut length)?;
        let header = length.0.next_multiple_of(8);
        if header > super::MAX_HEADER_BYTES {
            return Err(Error::without_offset(ErrorKind::HeaderTooLarge));
        }
        Ok((header, data))
    }

    /// Writes the header without padding.
    fn header(&self, sink: &mut impl Sink) -> Result<()> {
        let mut header = Header::begin(sink, self.metadata)?;
        for tensor in self.tensors {
            header.tensor([tensor.name, ""], tensor.dtype, &tensor.shape)?;
        }
        header.end()
    }
}

/// Writes the header's members in order.
pub(crate) struct Header<'s, S> {
    sink: &'s mut S,
    comma: Comma,
    begin: u64,
}

impl<'s, S: Sink> Header<'s, S> {
    pub(crate) fn begin(sink: &'s mut S, metadata: &[(&str, &str)]) -> Result<Self> {
        if metadata.len() > MAX_METADATA_ENTRIES {
            return Err(invalid());
        }
        sink.write(b"{")?;
        let mut comma = Comma(false);
        if !metadata.is_empty() {
            comma.write(sink)?;
            string(sink, [METADATA, ""])?;
            sink.write(b":{")?;
            let mut comma = Comma(false);
            for (key, value) in metadata {
                comma.write(sink)?;
                string(sink, [key, ""])?;
                sink.write(b":")?;
                string(sink, [value, ""])?;
            }
            sink.write(b"}")?;
        }
        Ok(Self { sink, comma, begin: 0 })
    }

    /// Describes the tensor whose name is the concatenation of the parts of `name` and whose data
    /// comes next.
    pub(crate) fn tensor(&mut self, name: [&str; 2], dtype: Dtype, shape: &Shape) -> Result<()> {
        let sink = &mut *self.sink;
        let bytes = shape.elements().and_then(|elements| dtype.data_bytes(elements));
        let end = bytes.and_then(|bytes| self.begin.checked_add(bytes)).ok_or(invalid())?;
        self.comma.write(sink)?;
        string(sink, name)?;
        sink.write(b":{\"dtype\":\"")?;
        let unsupported = Error::without_offset(ErrorKind::UnsupportedDtype);
        sink.write(dtype_name(dtype).ok_or(unsupported)?.as_bytes())?;
        sink.write(b"\",\"shape\":[")?;
        let mut comma = Comma(false);
        for dim in shape.dims() {
            comma.write(sink)?;
            number(sink, *dim)?;
        }
        sink.write(b"],\"data_offsets\":[")?;
        number(sink, self.begin)?;
        sink.write(b",")?;
        number(sink, end)?;
        self.begin = end;
        sink.write(b"]}")
    }

    pub(crate) fn end(self) -> Result<()> {
        self.sink.write(b"}")
    }
}

/// Writes the length of the header, the header that `header` writes, and its padding.
pub(crate) fn write_header<S: Sink>(sink: &mut S, header: &impl WriteHeader) -> Result<()> {
    let mut length = Length(0);
    header.write(&mut length)?;
    let padded = length.0.next_multiple_of(8);
    if padded > super::MAX_HEADER_BYTES {
        return Err(Error::without_offset(ErrorKind::HeaderTooLarge));
    }
    sink.write(&padded.to_le_bytes())?;
    header.write(sink)?;
    for _ in length.0..padded {
        sink.write(b" ")?;
    }
    Ok(())
}

/// A header that can be written repeatedly.
pub(crate) trait WriteHeader {
    fn write(&self, sink: &mut impl Sink) -> Result<()>;
}

impl WriteHeader for SafetensorsPlan<'_> {
    fn write(&self, sink: &mut impl Sink) -> Result<()> {
        self.header(sink)
    }
}

fn invalid() -> Error {
    Error::without_offset(ErrorKind::InvalidArgument)
}

/// Counts the bytes that would be written.
pub(crate) struct Length(pub(crate) u64);

impl Sink for Length {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.0 += bytes.len() as u64;
        Ok(())
    }
}

/// Writes a comma before every member except the first.
struct Comma(bool);

impl Comma {
    fn write(&mut self, sink: &mut impl Sink) -> Result<()> {
        if core::mem::replace(&mut self.0, true) { sink.write(b",") } else { Ok(()) }
    }
}

/// A JSON string made of two parts, with the escapes that JSON requires.
fn string(sink: &mut impl Sink, parts: [&str; 2]) -> Result<()> {
    sink.write(b"\"")?;
    parts.into_iter().try_for_each(|part| escaped(sink, part))?;
    sink.write(b"\"")
}

fn escaped(sink: &mut impl Sink, text: &str) -> Result<()> {
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| byte < b' ' || byte == b'"' || byte == b'\\')
    {
        let (plain, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
        sink.write(plain.as_bytes())?;
        let Some((escaped, after)) = after.split_at_checked(1) else { break };
        let byte = escaped.bytes().next().unwrap_or(0);
        if byte < b' ' {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            let digit = |value: u8| DIGITS.get(usize::from(value)).copied().unwrap_or(b'0');
            sink.write(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)])?;
        } else {
            sink.write(&[b'\\', byte])?;
        }
        rest = after;
    }
    sink.write(rest.as_bytes())
}

fn number(sink: &mut impl Sink, value: u64) -> Result<()> {
    let mut digits = [0; 20];
    let mut rest = value;
    let mut count = 0;
    for digit in digits.iter_mut().rev() {
        *digit = b'0'.saturating_add(u8::try_from(rest % 10).unwrap_or(0));
        rest /= 10;
        count += 1;
        if rest == 0 {
            break;
        }
    }
    sink.write(digits.get(digits.len() - count..).unwrap_or(&[]))
}

/// Writes one file: [`new`](Self::new) writes the header, [`data`](Self::data) the tensors in
/// order.
#[derive(Debug)]
pub struct SafetensorsWriter<S> {
    sink: S,
    /// Bytes of data still to come.
    missing: u64,
}

impl<S: Sink> SafetensorsWriter<S> {
    /// Checks `plan` and writes the header.
    ///
    /// # Errors
    ///
    /// As [`SafetensorsPlan::file_bytes`]; [`ErrorKind::DuplicateName`] if two tensors or two keys have the
    /// same name; any error from the sink.
    pub fn new(plan: &SafetensorsPlan<'_>, mut sink: S) -> Result<Self> {
        let (_, data) = plan.layout()?;
        check_unique(plan.tensors.iter().map(|tensor| tensor.name).chain([METADATA]))?;
        check_unique(plan.metadata.iter().map(|(key, _)| *key))?;
        write_header(&mut sink, plan)?;
        Ok(Self { sink, missing: data })
    }

    /// Writes the next bytes of data: the tensors' bytes in the order of the plan, cut anywhere.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if there is more data than planned; any error from the sink.
    pub fn data(&mut self, bytes: &[u8]) -> Result<()> {
        self.missing = self.missing.checked_sub(bytes.len() as u64).ok_or(invalid())?;
        self.sink.write(bytes)
    }

    /// Returns the sink.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::SizeMismatch`] if data is missing.
    pub fn finish(self) -> Result<S> {
        if self.missing == 0 {
            Ok(self.sink)
        } else {
            Err(Error::without_offset(ErrorKind::SizeMismatch))
        }
    }
}
