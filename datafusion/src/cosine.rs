//! `cosine(a, b)`: how alike two vectors are.

use std::sync::Arc;

use datafusion::arrow::array::types::Float32Type;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float32Array};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{Result, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Cosine {
    signature: Signature,
}

impl Cosine {
    pub(crate) fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

/// A list of the same kind whose elements are f32.
fn of_floats(given: &DataType) -> Result<DataType> {
    let is_number = |item: &Field| {
        matches!(
            item.data_type(),
            DataType::Float16 | DataType::Float32 | DataType::Float64 | DataType::Int8
        )
    };
    let item = || Arc::new(Field::new("item", DataType::Float32, true));
    Ok(match given {
        DataType::FixedSizeList(element, size) if is_number(element) => {
            DataType::FixedSizeList(item(), *size)
        }
        DataType::List(element) if is_number(element) => DataType::List(item()),
        DataType::LargeList(element) if is_number(element) => DataType::LargeList(item()),
        DataType::Null => DataType::List(item()),
        other => return plan_err!("cosine takes lists of floats or of Int8 codes, not {other}"),
    })
}

impl ScalarUDFImpl for Cosine {
    fn name(&self) -> &str {
        "cosine"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        if types.len() != 2 {
            return plan_err!("cosine takes two vectors, not {} values", types.len());
        }
        types.iter().map(of_floats).collect()
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float32)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [a, b] = arguments.args.as_slice() else {
            return exec_err!("cosine takes two vectors");
        };
        if let (ColumnarValue::Scalar(a), ColumnarValue::Scalar(b)) = (a, b) {
            let cosine = cosine(vector(&a.to_array()?, 0)?, vector(&b.to_array()?, 0)?)?;
            return Ok(ColumnarValue::Scalar(ScalarValue::Float32(cosine)));
        }
        let (a, b) = (Side::of(a)?, Side::of(b)?);
        let cosines = (0..arguments.number_rows).map(|row| cosine(a.vector(row)?, b.vector(row)?));
        let cosines = cosines.collect::<Result<Float32Array>>()?;
        Ok(ColumnarValue::Array(Arc::new(cosines)))
    }
}

/// One of both arguments: a column, or one vector for all rows.
struct Side {
    array: ArrayRef,
    is_same: bool,
}

impl Side {
    fn of(value: &ColumnarValue) -> Result<Self> {
        Ok(match value {
            ColumnarValue::Array(array) => Self { array: Arc::clone(array), is_same: false },
            ColumnarValue::Scalar(scalar) => Self { array: scalar.to_array()?, is_same: true },
        })
    }

    fn vector(&self, row: usize) -> Result<Option<ArrayRef>> {
        vector(&self.array, if self.is_same { 0 } else { row })
    }
}

/// The vector of a row; `None` if it is null.
fn vector(array: &ArrayRef, row: usize) -> Result<Option<ArrayRef>> {
    if array.is_null(row) {
        return Ok(None);
    }
    Ok(Some(match array.data_type() {
        DataType::FixedSizeList(..) => array.as_fixed_size_list().value(row),
        DataType::List(_) => array.as_list::<i32>().value(row),
        DataType::LargeList(_) => array.as_list::<i64>().value(row),
        other => return exec_err!("cosine takes lists, not {other}"),
    }))
}

/// The cosine of two vectors; null if one of them is, or has an element that is or is not a number.
fn cosine(a: Option<ArrayRef>, b: Option<ArrayRef>) -> Result<Option<f32>> {
    let (Some(a), Some(b)) = (a, b) else { return Ok(None) };
    if a.len() != b.len() {
        return exec_err!("a vector of {} numbers and one of {} have no cosine", a.len(), b.len());
    }
    if a.null_count() + b.null_count() > 0 {
        return Ok(None);
    }
    let (a, b) = (a.as_primitive::<Float32Type>(), b.as_primitive::<Float32Type>());
    match nanoembed::cosine(a.values(), b.values()) {
        Ok(cosine) => Ok(Some(cosine).filter(|cosine| !cosine.is_nan())),
        Err(error) => exec_err!("{error}"),
    }
}
