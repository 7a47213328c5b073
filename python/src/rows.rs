//! Vectors on their way out: rows in one buffer, which NumPy takes by its array interface and Arrow
//! as a list of fixed size, neither with a copy.

use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::ffi::to_ffi;
use arrow_array::types::{Float16Type, Float32Type, Int8Type, UInt8Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, FixedSizeListArray, PrimitiveArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::Field;
use nanoembed::precision::{to_binary, to_f16, to_int8};
use nanoembed::{Precision, f16};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

/// Rows of numbers.
#[pyclass(frozen, module = "nanoembed._native")]
pub(crate) struct Rows {
    buffer: Buffer,
    precision: Precision,
    rows: usize,
    width: usize,
    nulls: Option<NullBuffer>,
}

/// Vectors that are being written, to new memory or the caller's.
pub(crate) struct Writer<'o> {
    values: Values<'o>,
    /// Numbers of a vector.
    dimensions: usize,
    /// The start of the next vector.
    row: usize,
    /// The scale of each vector's codes, for bytes.
    pub(crate) scales: Vec<f32>,
}

enum Values<'o> {
    F32(Memory<'o, f32>),
    F16(Memory<'o, f16>),
    Int8(Memory<'o, i8>),
    Binary(Memory<'o, u8>),
}

enum Memory<'o, T> {
    Own(Vec<T>),
    Lent(&'o mut [T]),
}

impl<T> Memory<'_, T> {
    fn row(&mut self, row: usize, width: usize) -> &mut [T] {
        let all = match self {
            Self::Own(values) => &mut values[..],
            Self::Lent(values) => values,
        };
        all.get_mut(row * width..(row + 1) * width).unwrap_or_default()
    }
}

fn own<'o, T: Copy>(value: T, count: usize) -> PyResult<Memory<'o, T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(count).map_err(|_| {
        let bytes = count.saturating_mul(size_of::<T>());
        pyo3::exceptions::PyMemoryError::new_err(format!("no memory for {bytes} bytes of vectors"))
    })?;
    values.resize(count, value);
    Ok(Memory::Own(values))
}

impl<'o> Writer<'o> {
    /// Memory for so many vectors: `out`, or its own.
    pub(crate) fn new(
        precision: Precision,
        (rows, dimensions): (usize, usize),
        out: Option<Lent>,
    ) -> PyResult<Self> {
        let width = precision.width(dimensions);
        let count = rows.checked_mul(width);
        let count = count.ok_or_else(|| PyValueError::new_err("too many vectors"))?;
        let values = match out {
            None => match precision {
                Precision::F32 => Values::F32(own(f32::NAN, count)?),
                Precision::F16 => Values::F16(own(f16::NAN, count)?),
                Precision::Int8 => Values::Int8(own(0, count)?),
                Precision::Binary => Values::Binary(own(0, count)?),
            },
            Some(out) => {
                out.check(precision, (rows, width))?;
                // SAFETY: the array has this type, so many elements and may be written to, as its
                // interface says; the caller keeps it for as long as this lives.
                unsafe {
                    match precision {
                        Precision::F32 => Values::F32(out.slice(count)),
                        Precision::F16 => Values::F16(out.slice(count)),
                        Precision::Int8 => Values::Int8(out.slice(count)),
                        Precision::Binary => Values::Binary(out.slice(count)),
                    }
                }
            }
        };
        Ok(Self { values, dimensions, row: 0, scales: Vec::new() })
    }

    /// Writes the next vector.
    pub(crate) fn push(&mut self, vector: &[f32]) {
        let (row, width) = (self.row, self.dimensions);
        match &mut self.values {
            Values::F32(values) => values.row(row, width).copy_from_slice(vector),
            Values::F16(values) => to_f16(vector, values.row(row, width)),
            Values::Int8(values) => self.scales.push(to_int8(vector, values.row(row, width))),
            Values::Binary(values) => {
                to_binary(vector, values.row(row, Precision::Binary.width(width)));
            }
        }
        self.row += 1;
    }

    /// Leaves a row without a vector: not a number, or zeros.
    pub(crate) fn skip(&mut self) {
        let (row, width) = (self.row, self.dimensions);
        match &mut self.values {
            Values::F32(values) => values.row(row, width).fill(f32::NAN),
            Values::F16(values) => values.row(row, width).fill(f16::NAN),
            Values::Int8(values) => {
                self.scales.push(0.0);
                values.row(row, width).fill(0);
            }
            Values::Binary(values) => values.row(row, Precision::Binary.width(width)).fill(0),
        }
        self.row += 1;
    }

    /// The rows, if the memory is its own; those that `is_null` names have no vector.
    pub(crate) fn finish(self, is_null: impl Fn(usize) -> bool) -> Option<Rows> {
        let (precision, buffer) = match self.values {
            Values::F32(Memory::Own(values)) => (Precision::F32, Buffer::from_vec(values)),
            Values::F16(Memory::Own(values)) => (Precision::F16, Buffer::from_vec(values)),
            Values::Int8(Memory::Own(values)) => (Precision::Int8, Buffer::from_vec(values)),
            Values::Binary(Memory::Own(values)) => (Precision::Binary, Buffer::from_vec(values)),
            _ => return None,
        };
        let nulls = NullBuffer::new(BooleanBuffer::collect_bool(self.row, |row| !is_null(row)));
        let nulls = (nulls.null_count() > 0).then_some(nulls);
        let width = precision.width(self.dimensions);
        Some(Rows { buffer, precision, rows: self.row, width, nulls })
    }
}

/// NumPy's name for the type of an element.
const fn type_name(precision: Precision) -> &'static str {
    match precision {
        Precision::F32 => "<f4",
        Precision::F16 => "<f2",
        Precision::Int8 => "|i1",
        Precision::Binary => "|u1",
    }
}

impl Rows {
    fn list<T: ArrowPrimitiveType>(&self) -> PyResult<ArrayRef> {
        let values = ScalarBuffer::new(self.buffer.clone(), 0, self.rows * self.width);
        let values: PrimitiveArray<T> = PrimitiveArray::new(values, None);
        let field = Arc::new(Field::new("item", values.data_type().clone(), false));
        let width = i32::try_from(self.width).map_err(|_| PyValueError::new_err("wide rows"))?;
        let nulls = self.nulls.clone();
        let list = FixedSizeListArray::try_new(field, width, Arc::new(values), nulls);
        list.map(|list| Arc::new(list) as ArrayRef)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn array(&self) -> PyResult<ArrayRef> {
        match self.precision {
            Precision::F32 => self.list::<Float32Type>(),
            Precision::F16 => self.list::<Float16Type>(),
            Precision::Int8 => self.list::<Int8Type>(),
            Precision::Binary => self.list::<UInt8Type>(),
        }
    }
}

#[pymethods]
impl Rows {
    fn __len__(&self) -> usize {
        self.rows
    }

    /// NumPy's array interface: the array shares this memory.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", type_name(self.precision))?;
        interface.set_item("shape", (self.rows, self.width))?;
        interface.set_item("data", (self.buffer.as_ptr().addr(), false))?;
        Ok(interface)
    }

    /// Arrow's C data interface: a list of fixed size for each row, null for rows without a vector.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // The interface allows to answer another schema than was requested.
        drop(requested_schema);
        let failed = |error: arrow_schema::ArrowError| PyValueError::new_err(error.to_string());
        let (array, schema) = to_ffi(&self.array()?.to_data()).map_err(failed)?;
        Ok((
            PyCapsule::new_with_value(py, schema, c"arrow_schema")?,
            PyCapsule::new_with_value(py, array, c"arrow_array")?,
        ))
    }
}

/// An array of the caller, by its array interface.
pub(crate) struct Lent {
    pointer: NonNull<u8>,
    type_name: String,
    shape: Vec<usize>,
}

// SAFETY: it is written to by one thread at a time, and Python's arrays may be written to by any.
unsafe impl Send for Lent {}

impl Lent {
    /// Looks at the array's interface.
    pub(crate) fn from_object(out: &Bound<'_, PyAny>) -> PyResult<Self> {
        let interface = out.getattr("__array_interface__").map_err(|_| {
            PyTypeError::new_err("out must be a numpy array, or have __array_interface__")
        })?;
        let interface = interface.cast_into::<PyDict>()?;
        let get = |key: &str| {
            let item = interface.get_item(key)?;
            item.ok_or_else(|| PyValueError::new_err(format!("out's interface has no {key}")))
        };
        let (address, is_read_only): (usize, bool) = get("data")?.extract()?;
        let shape: Vec<usize> = get("shape")?.extract()?;
        let type_name: String = get("typestr")?.extract()?;
        if is_read_only {
            return Err(PyValueError::new_err("out is read-only"));
        }
        if let Some(strides) = interface.get_item("strides")?
            && !strides.is_none()
        {
            return Err(PyValueError::new_err("out must be C-contiguous"));
        }
        let pointer = std::ptr::with_exposed_provenance_mut(address);
        let pointer = NonNull::new(pointer).unwrap_or_else(NonNull::dangling);
        Ok(Self { pointer, type_name, shape })
    }

    fn check(&self, precision: Precision, (rows, width): (usize, usize)) -> PyResult<()> {
        let expected = type_name(precision);
        if self.type_name != expected {
            return Err(PyTypeError::new_err(format!(
                "out has the type {}, and the vectors have {expected}",
                self.type_name
            )));
        }
        if self.shape != [rows, width] {
            return Err(PyValueError::new_err(format!(
                "out has the shape {:?}, and the vectors have [{rows}, {width}]",
                self.shape
            )));
        }
        let alignment = precision.element_bytes();
        if !self.pointer.addr().get().is_multiple_of(alignment) {
            return Err(PyValueError::new_err("out is not aligned"));
        }
        Ok(())
    }

    /// A copy of an array of f32 of this shape.
    pub(crate) fn to_f32(&self, (rows, width): (usize, usize)) -> PyResult<Vec<f32>> {
        self.check(Precision::F32, (rows, width))?;
        let count = rows.checked_mul(width);
        let count = count.ok_or_else(|| PyValueError::new_err("too many vectors"))?;
        // SAFETY: the array has this type and so many elements, as its interface says, and the
        // caller keeps it.
        let mut memory = unsafe { self.slice::<f32>(count) };
        Ok(memory.row(0, count).to_vec())
    }

    /// The memory as so many elements.
    ///
    /// # Safety
    ///
    /// The array has them, of this type, and stays for `'o`.
    unsafe fn slice<'o, T>(&self, count: usize) -> Memory<'o, T> {
        let pointer = self.pointer.cast::<T>();
        let pointer = if count == 0 { NonNull::dangling() } else { pointer };
        // SAFETY: as the caller says; the pointer is aligned and not null.
        Memory::Lent(unsafe { std::slice::from_raw_parts_mut(pointer.as_ptr(), count) })
    }
}

/// The type of a vector's numbers by its name.
pub(crate) fn precision(name: &str) -> PyResult<Precision> {
    use nanoembed::Choice;
    Precision::from_name(name).ok_or_else(|| {
        let message = format!("dtype={name:?} is not one of float32, float16, int8, binary");
        PyValueError::new_err(message)
    })
}

impl Rows {
    /// Rows of f32, each of `dimensions` numbers; `None` is a row without a vector.
    pub(crate) fn from_vectors(
        vectors: &[Option<Vec<f32>>],
        dimensions: usize,
    ) -> PyResult<Option<Self>> {
        let mut writer = Writer::new(Precision::F32, (vectors.len(), dimensions), None)?;
        for vector in vectors {
            match vector {
                Some(vector) => writer.push(vector),
                None => writer.skip(),
            }
        }
        Ok(writer.finish(|row| vectors.get(row).is_none_or(Option::is_none)))
    }
}
