//! `embed(text)`: texts to vectors.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, FixedSizeListArray, Float32Array};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DataFusionError, Result, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use nanoembed::{Encoder, Role};

/// A function that embeds.
#[derive(Debug)]
pub(crate) struct Embed {
    name: String,
    encoder: Arc<Encoder>,
    role: Role,
    signature: Signature,
}

impl Embed {
    pub(crate) fn new(name: &str, encoder: Arc<Encoder>, role: Role) -> Self {
        // The same text has the same vector, so a question is embedded once, when it is planned.
        let signature = Signature::user_defined(Volatility::Immutable);
        Self { name: name.to_owned(), encoder, role, signature }
    }

    fn item() -> FieldRef {
        Arc::new(Field::new("item", DataType::Float32, true))
    }

    fn dimensions(&self) -> Result<i32> {
        i32::try_from(self.encoder.dimensions()).map_err(|error| external(&error.to_string()))
    }

    fn vector_type(&self) -> Result<DataType> {
        Ok(DataType::FixedSizeList(Self::item(), self.dimensions()?))
    }

    /// The vectors of texts; nulls have none.
    fn vectors(&self, texts: &[Option<&str>]) -> Result<ArrayRef> {
        let given: Vec<&str> = texts.iter().copied().flatten().collect();
        let embedded = self.encoder.embed_all_as(self.role, &given);
        let (vectors, _) = embedded.map_err(|error| external(&error.to_string()))?;
        if given.len() == texts.len() {
            return self.list(vectors.into_values(), None);
        }
        let nothing = vec![0.0; self.encoder.dimensions()];
        let mut rows = vectors.rows();
        let mut values = Vec::with_capacity(texts.len() * nothing.len());
        for text in texts {
            let row = text.and_then(|_| rows.next());
            values.extend_from_slice(row.unwrap_or(&nothing));
        }
        self.list(values, Some(texts.iter().map(Option::is_some).collect()))
    }

    fn list(&self, values: Vec<f32>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
        let values = Arc::new(Float32Array::from(values));
        let list = FixedSizeListArray::try_new(Self::item(), self.dimensions()?, values, nulls)?;
        Ok(Arc::new(list))
    }
}

/// Models cannot be compared: functions are equal if they have one and the same.
impl PartialEq for Embed {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.role == other.role
            && Arc::ptr_eq(&self.encoder, &other.encoder)
    }
}

impl Eq for Embed {}

impl Hash for Embed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        self.encoder.dimensions().hash(state);
    }
}

impl ScalarUDFImpl for Embed {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [given] = types else {
            return plan_err!("{} takes one text, not {} values", self.name, types.len());
        };
        Ok(vec![match given {
            given if is_text(given) => given.clone(),
            DataType::Null => DataType::Utf8,
            DataType::Dictionary(_, values) if is_text(values) => (**values).clone(),
            other => return plan_err!("{} takes a text, not {other}", self.name),
        }])
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        self.vector_type()
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match arguments.args.as_slice() {
            [ColumnarValue::Scalar(text)] => {
                let array = self.vectors(&strings(&text.to_array()?)?)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?))
            }
            [ColumnarValue::Array(texts)] => {
                Ok(ColumnarValue::Array(self.vectors(&strings(texts)?)?))
            }
            _ => exec_err!("{} takes one text", self.name),
        }
    }
}

/// Whether a column of this type may hold texts, as strings or as bytes.
fn is_text(given: &DataType) -> bool {
    use DataType::{Binary, BinaryView, LargeBinary};
    given.is_string() || matches!(given, Binary | LargeBinary | BinaryView)
}

/// The texts of a column; none for nulls, and for bytes that are not UTF-8.
fn strings(array: &ArrayRef) -> Result<Vec<Option<&str>>> {
    let decoded = |bytes: Option<_>| bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
    Ok(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().collect(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().collect(),
        DataType::Utf8View => array.as_string_view().iter().collect(),
        DataType::Binary => array.as_binary::<i32>().iter().map(decoded).collect(),
        DataType::LargeBinary => array.as_binary::<i64>().iter().map(decoded).collect(),
        DataType::BinaryView => array.as_binary_view().iter().map(decoded).collect(),
        other => return exec_err!("a text was expected, not {other}"),
    })
}

fn external(message: &str) -> DataFusionError {
    DataFusionError::Execution(message.to_owned())
}
