//! Columns of vectors and of their statuses.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeBinaryArray, FixedSizeListArray, Float16Array, Float32Array,
    Int8Array, UInt32Array,
};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::{ArrowError, DataType, Field, FieldRef};

use crate::encoder::precision::{to_binary, to_f16, to_int8};
use crate::encoder::{Length, Precision};

/// The columns of vectors of this size and precision, their names in front of those of their
/// statuses.
pub(super) fn fields(name: &str, precision: Precision, dimensions: usize) -> Vec<Field> {
    let mut fields = vec![Field::new(name, vector_type(precision, dimensions), true)];
    if precision == Precision::Int8 {
        fields.push(Field::new(format!("{name}_scale"), DataType::Float32, true));
    }
    fields.push(Field::new(format!("{name}_tokens"), DataType::UInt32, false));
    fields.push(Field::new(format!("{name}_truncated"), DataType::Boolean, false));
    fields.push(Field::new(format!("{name}_error"), DataType::Utf8, true));
    fields
}

/// The type of an element, where a vector is a list.
fn item(precision: Precision) -> Option<FieldRef> {
    let data_type = match precision {
        Precision::F32 => DataType::Float32,
        Precision::F16 => DataType::Float16,
        Precision::Int8 => DataType::Int8,
        Precision::Binary => return None,
    };
    // Nullable, as pyarrow's own lists are: the types are the same, and no element is null.
    Some(Arc::new(Field::new("item", data_type, true)))
}

fn vector_type(precision: Precision, dimensions: usize) -> DataType {
    let width = i32::try_from(precision.width(dimensions)).unwrap_or(i32::MAX);
    match item(precision) {
        Some(item) => DataType::FixedSizeList(item, width),
        None => DataType::FixedSizeBinary(width),
    }
}

/// Vectors of rows, some of which have none.
pub(super) struct VectorColumns {
    precision: Precision,
    dimensions: usize,
    f32: Vec<f32>,
    f16: Vec<half::f16>,
    codes: Vec<i8>,
    bits: Vec<u8>,
    scales: Vec<Option<f32>>,
    tokens: Vec<u32>,
    truncated: Vec<bool>,
    are_there: Vec<bool>,
    errors: StringBuilder,
}

impl VectorColumns {
    pub(super) fn new(precision: Precision, dimensions: usize) -> Self {
        Self {
            precision,
            dimensions,
            f32: Vec::new(),
            f16: Vec::new(),
            codes: Vec::new(),
            bits: Vec::new(),
            scales: Vec::new(),
            tokens: Vec::new(),
            truncated: Vec::new(),
            are_there: Vec::new(),
            errors: StringBuilder::new(),
        }
    }

    /// Adds a row's vector.
    pub(super) fn push(&mut self, vector: &[f32], length: Length) {
        let scale = self.store(vector);
        self.scales.push(scale);
        self.are_there.push(true);
        self.tokens.push(u32::try_from(length.tokens).unwrap_or(u32::MAX));
        self.truncated.push(length.truncated);
        self.errors.append_null();
    }

    /// Adds a row without a vector, and says why.
    pub(super) fn push_null(&mut self, why: &str) {
        self.store(&vec![0.0; self.dimensions]);
        self.scales.push(None);
        self.are_there.push(false);
        self.tokens.push(0);
        self.truncated.push(false);
        self.errors.append_value(why);
    }

    /// Adds the numbers of a vector, and returns the scale of codes of 8 bits.
    fn store(&mut self, vector: &[f32]) -> Option<f32> {
        let width = self.precision.width(self.dimensions);
        match self.precision {
            Precision::F32 => self.f32.extend_from_slice(vector),
            Precision::F16 => to_f16(vector, grown(&mut self.f16, width)),
            Precision::Int8 => return Some(to_int8(vector, grown(&mut self.codes, width))),
            Precision::Binary => to_binary(vector, grown(&mut self.bits, width)),
        }
        None
    }

    /// The columns, as [`fields`] has them.
    pub(super) fn finish(mut self) -> Result<Vec<ArrayRef>, ArrowError> {
        let width = i32::try_from(self.precision.width(self.dimensions))
            .map_err(|_| ArrowError::InvalidArgumentError("vectors are too long".into()))?;
        let nulls = Some(NullBuffer::from(self.are_there)).filter(|nulls| nulls.null_count() > 0);
        let values: ArrayRef = match self.precision {
            Precision::F32 => Arc::new(Float32Array::from(self.f32)),
            Precision::F16 => Arc::new(Float16Array::from(self.f16)),
            Precision::Int8 => Arc::new(Int8Array::from(self.codes)),
            Precision::Binary => Arc::new(Int8Array::from(Vec::<i8>::new())),
        };
        let vectors: ArrayRef = match item(self.precision) {
            Some(item) => Arc::new(FixedSizeListArray::try_new(item, width, values, nulls)?),
            None => Arc::new(FixedSizeBinaryArray::try_new(width, Buffer::from(self.bits), nulls)?),
        };
        let mut columns = vec![vectors];
        if self.precision == Precision::Int8 {
            columns.push(Arc::new(Float32Array::from(self.scales)));
        }
        columns.push(Arc::new(UInt32Array::from(self.tokens)));
        columns.push(Arc::new(BooleanArray::from(self.truncated)));
        columns.push(Arc::new(self.errors.finish()));
        Ok(columns)
    }
}

/// Room for `width` more elements.
fn grown<T: Default + Clone>(values: &mut Vec<T>, width: usize) -> &mut [T] {
    let start = values.len();
    values.resize(start + width, T::default());
    values.get_mut(start..).unwrap_or_default()
}
