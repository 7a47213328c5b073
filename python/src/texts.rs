//! Texts to be embedded. Nothing is copied: strings of Python lend their UTF-8, columns of Arrow
//! come through its C data interface and stay where they are.
//!
//! Bytes are checked to be UTF-8 whatever their type claims: producers do not all look.

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::ArrayStreamReader;
use arrow_array::types::{ByteArrayType, ByteViewType};
use arrow_array::{Array, ArrayRef, GenericByteArray, GenericByteViewArray, make_array};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{ArrowError, DataType};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyCapsule, PyString, PyTuple};

/// The reason that a row has no vector. Numbers as in C's `nanoembed_row_status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Status {
    Null = 1,
    InvalidUtf8 = 3,
    BadOffsets = 4,
    NotText = 5,
}

/// The status of a row that has a vector.
pub(crate) const OK: u8 = 0;
/// The same if the text had more tokens than were used.
pub(crate) const TRUNCATED: u8 = 2;

/// The policy for items that are no texts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    /// They raise, rather than have a status.
    pub(crate) strict: bool,
    /// But for `None`, which means that a text is missing.
    pub(crate) nulls: bool,
}

impl Policy {
    /// The policy that every item must be a text.
    pub(crate) const STRICT: Self = Self { strict: true, nulls: false };
}

/// A row: a text, or why there is none.
pub(crate) type Row<'t> = Result<&'t str, Status>;

/// Texts that Python holds.
pub(crate) struct Texts {
    held: Held,
    policy: Policy,
}

enum Held {
    Strings(Vec<Result<PyBackedStr, Status>>),
    Arrow(Vec<ArrayRef>),
}

impl Texts {
    /// The texts of an Arrow column, or of anything that is iterated over. The first item that is
    /// no text raises as `policy` says.
    pub(crate) fn from_object(texts: &Bound<'_, PyAny>, policy: Policy) -> PyResult<Self> {
        let held = match arrays(texts)? {
            Some(arrays) => Held::Arrow(arrays),
            None => Held::Strings(strings(texts, policy)?),
        };
        Ok(Self { held, policy })
    }

    /// The rows. The first of an Arrow column that is neither a text nor null raises if the policy
    /// is strict.
    pub(crate) fn rows(&self) -> PyResult<Vec<Row<'_>>> {
        let rows: Vec<Row<'_>> = match &self.held {
            Held::Strings(strings) => {
                return Ok(strings.iter().map(|it| it.as_deref().map_err(|s| *s)).collect());
            }
            Held::Arrow(arrays) => {
                let mut rows = Vec::with_capacity(arrays.iter().map(Array::len).sum());
                for array in arrays {
                    push_rows(array, &mut rows)?;
                }
                rows
            }
        };
        let is_bad = |row: &Row<'_>| matches!(row, Err(status) if *status != Status::Null);
        match rows.iter().position(is_bad).filter(|_| self.policy.strict) {
            Some(at) => Err(PyValueError::new_err(format!("row {at} is not valid UTF-8"))),
            None => Ok(rows),
        }
    }
}

/// The items of an iterable, each a string.
fn strings(texts: &Bound<'_, PyAny>, policy: Policy) -> PyResult<Vec<Result<PyBackedStr, Status>>> {
    let mut strings = Vec::with_capacity(texts.len().unwrap_or(0));
    for (at, item) in texts.try_iter()?.enumerate() {
        let item = item?;
        let text = match item.cast::<PyString>() {
            Ok(text) => PyBackedStr::try_from(text.clone()).map_err(|_| Status::InvalidUtf8),
            Err(_) if item.is_none() => Err(Status::Null),
            Err(_) => Err(Status::NotText),
        };
        if let Err(status) = text
            && policy.strict
            && !(status == Status::Null && policy.nulls)
        {
            return Err(no_text(at, status, &item));
        }
        strings.push(text);
    }
    Ok(strings)
}

fn no_text(at: usize, status: Status, item: &Bound<'_, PyAny>) -> PyErr {
    if status == Status::InvalidUtf8 {
        let message = format!("texts[{at}] has a lone surrogate, which is no character");
        return PyValueError::new_err(message);
    }
    let name = item.get_type().qualname().map_or_else(|_| "?".into(), |name| name.to_string());
    PyTypeError::new_err(format!(
        "texts[{at}] is {name}, not str; on_error=\"null\" gives such rows no vector"
    ))
}

/// The arrays of an object with Arrow's C data interface; `None` if it has none.
fn arrays(texts: &Bound<'_, PyAny>) -> PyResult<Option<Vec<ArrayRef>>> {
    let failed = |error: ArrowError| PyTypeError::new_err(format!("the Arrow column: {error}"));
    if let Ok(export) = texts.getattr("__arrow_c_stream__") {
        let capsule = export.call0()?.cast_into::<PyCapsule>()?;
        let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast();
        // SAFETY: a capsule of this name holds a stream, which is moved out and marked as released.
        let reader = unsafe { ArrayStreamReader::from_raw(stream.as_ptr()) }.map_err(failed)?;
        return reader.collect::<Result<_, _>>().map(Some).map_err(failed);
    }
    if let Ok(export) = texts.getattr("__arrow_c_array__") {
        let capsules = export.call0()?.cast_into::<PyTuple>()?;
        let schema = capsules.get_item(0)?.cast_into::<PyCapsule>()?;
        let array = capsules.get_item(1)?.cast_into::<PyCapsule>()?;
        let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
        let array = array.pointer_checked(Some(c"arrow_array"))?.cast::<FFI_ArrowArray>();
        // SAFETY: capsules of these names hold an array and its schema; the array is moved out and
        // marked as released.
        let data = unsafe { from_ffi(FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) };
        return Ok(Some(vec![make_array(data.map_err(failed)?)]));
    }
    Ok(None)
}

/// Appends the rows of a column.
fn push_rows<'a>(array: &'a dyn Array, rows: &mut Vec<Row<'a>>) -> PyResult<()> {
    match array.data_type() {
        DataType::Utf8 => push_bytes(array.as_string::<i32>(), rows),
        DataType::LargeUtf8 => push_bytes(array.as_string::<i64>(), rows),
        DataType::Binary => push_bytes(array.as_binary::<i32>(), rows),
        DataType::LargeBinary => push_bytes(array.as_binary::<i64>(), rows),
        DataType::Utf8View => push_views(array.as_string_view(), rows),
        DataType::BinaryView => push_views(array.as_binary_view(), rows),
        DataType::Null => rows.extend((0..array.len()).map(|_| Err(Status::Null))),
        DataType::Dictionary(..) => return push_dictionary(array, rows),
        other => {
            return Err(PyTypeError::new_err(format!("a column of {other} holds no texts")));
        }
    }
    Ok(())
}

fn row(bytes: Option<&[u8]>, is_null: bool) -> Row<'_> {
    if is_null {
        return Err(Status::Null);
    }
    std::str::from_utf8(bytes.ok_or(Status::BadOffsets)?).map_err(|_| Status::InvalidUtf8)
}

fn push_bytes<'a, T: ByteArrayType>(array: &'a GenericByteArray<T>, rows: &mut Vec<Row<'a>>) {
    let data = array.value_data();
    for (at, ends) in array.value_offsets().windows(2).enumerate() {
        let [start, end] = ends else { continue };
        let bytes = data.get(start.as_usize()..end.as_usize());
        rows.push(row(bytes, array.is_null(at)));
    }
}

/// A view is a length and, up to 12 bytes, the bytes themselves, else 4 of them, the number of a
/// buffer and an offset in it.
fn push_views<'a, T: ByteViewType + ?Sized>(
    array: &'a GenericByteViewArray<T>,
    rows: &mut Vec<Row<'a>>,
) {
    let buffers = array.data_buffers();
    for (at, view) in array.views().iter().enumerate() {
        #[expect(clippy::cast_possible_truncation, reason = "the low word is the length")]
        let length = *view as u32 as usize;
        let bytes = if length <= 12 {
            // SAFETY: a view of so many bytes holds them itself.
            Some(unsafe { GenericByteViewArray::<T>::inline_value(view, length) })
        } else {
            let word = |at: u32| (*view >> (32 * at)) as u32 as usize;
            let (buffer, offset) = (word(2), word(3));
            buffers.get(buffer).and_then(|buffer| buffer.get(offset..offset.checked_add(length)?))
        };
        rows.push(row(bytes, array.is_null(at)));
    }
}

fn push_dictionary<'a>(array: &'a dyn Array, rows: &mut Vec<Row<'a>>) -> PyResult<()> {
    let dictionary = array.as_any_dictionary();
    let mut values = Vec::with_capacity(dictionary.values().len());
    push_rows(dictionary.values(), &mut values)?;
    if values.is_empty() {
        rows.extend((0..array.len()).map(|_| Err(Status::Null)));
        return Ok(());
    }
    for (at, key) in dictionary.normalized_keys().into_iter().enumerate() {
        let value = values.get(key).copied().unwrap_or(Err(Status::BadOffsets));
        rows.push(if array.is_null(at) { Err(Status::Null) } else { value });
    }
    Ok(())
}
