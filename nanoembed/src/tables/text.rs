//! The texts of a column: strings of any layout, bytes that may be none, dictionaries of both.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, BinaryViewArray, LargeBinaryArray};
use arrow_array::{LargeStringArray, StringArray, StringViewArray};
use arrow_schema::DataType;

/// A cell of the column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cell<'c> {
    Text(Cow<'c, str>),
    Null,
    /// Bytes that are no text, valid up to here.
    Invalid(usize),
}

/// A column of texts.
pub(super) enum TextColumn<'c> {
    Utf8(&'c StringArray),
    LargeUtf8(&'c LargeStringArray),
    Utf8View(&'c StringViewArray),
    Binary(&'c BinaryArray),
    LargeBinary(&'c LargeBinaryArray),
    BinaryView(&'c BinaryViewArray),
    Dictionary {
        values: Box<TextColumn<'c>>,
        /// The index of each row's value; meaningless where the row is null.
        keys: Vec<usize>,
        array: &'c dyn Array,
    },
}

/// True if a column of this type has texts.
pub(super) fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView => true,
        DataType::Dictionary(_, values) => {
            is_text(values) && !matches!(**values, DataType::Dictionary(..))
        }
        _ => false,
    }
}

impl<'c> TextColumn<'c> {
    /// The texts of an array; `None` if its type is not [that of texts](is_text).
    pub(super) fn from_array(array: &'c ArrayRef) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Utf8 => Self::Utf8(array.as_string()),
            DataType::LargeUtf8 => Self::LargeUtf8(array.as_string()),
            DataType::Utf8View => Self::Utf8View(array.as_string_view()),
            DataType::Binary => Self::Binary(array.as_binary()),
            DataType::LargeBinary => Self::LargeBinary(array.as_binary()),
            DataType::BinaryView => Self::BinaryView(array.as_binary_view()),
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary_opt()?;
                // An empty dictionary has no keys to normalise: all its rows are null.
                let keys = match dictionary.values().is_empty() {
                    true => vec![0; array.len()],
                    false => dictionary.normalized_keys(),
                };
                let values = Box::new(Self::from_array(dictionary.values())?);
                Self::Dictionary { values, keys, array }
            }
            _ => return None,
        })
    }

    /// The bytes of a row's text, before anybody has looked whether they are one.
    fn bytes(&self, row: usize) -> Option<&'c [u8]> {
        let valid = |array: &dyn Array| array.is_valid(row);
        match self {
            Self::Utf8(array) => valid(array).then(|| array.value(row).as_bytes()),
            Self::LargeUtf8(array) => valid(array).then(|| array.value(row).as_bytes()),
            Self::Utf8View(array) => valid(array).then(|| array.value(row).as_bytes()),
            Self::Binary(array) => valid(array).then(|| array.value(row)),
            Self::LargeBinary(array) => valid(array).then(|| array.value(row)),
            Self::BinaryView(array) => valid(array).then(|| array.value(row)),
            Self::Dictionary { values, keys, array } => {
                if array.is_null(row) {
                    return None;
                }
                values.bytes(*keys.get(row)?)
            }
        }
    }

    /// The bytes of a row's text.
    pub(super) fn len_of(&self, row: usize) -> usize {
        self.bytes(row).map_or(0, <[u8]>::len)
    }

    /// The cell of a row; `lossy` replaces bytes that are not UTF-8.
    pub(super) fn cell(&self, row: usize, lossy: bool) -> Cell<'c> {
        let Some(bytes) = self.bytes(row) else { return Cell::Null };
        match str::from_utf8(bytes) {
            Ok(text) => Cell::Text(Cow::Borrowed(text)),
            Err(_) if lossy => Cell::Text(String::from_utf8_lossy(bytes)),
            Err(error) => Cell::Invalid(error.valid_up_to()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int8Type;
    use arrow_array::{DictionaryArray, Int32Array};

    use super::*;

    #[test]
    fn every_layout_has_the_same_texts() {
        let texts = [Some("a"), None, Some(""), Some("größer als zwölf Bytes")];
        let bytes = texts.map(|text| text.map(str::as_bytes));
        let arrays: [ArrayRef; 7] = [
            Arc::new(StringArray::from_iter(texts)),
            Arc::new(LargeStringArray::from_iter(texts)),
            Arc::new(StringViewArray::from_iter(texts)),
            Arc::new(BinaryArray::from_iter(bytes)),
            Arc::new(LargeBinaryArray::from_iter(bytes)),
            Arc::new(BinaryViewArray::from_iter(bytes)),
            Arc::new(texts.into_iter().collect::<DictionaryArray<Int8Type>>()),
        ];
        for array in arrays {
            assert!(is_text(array.data_type()));
            let sliced = array.slice(1, 3);
            let column = TextColumn::from_array(&sliced).unwrap();
            assert_eq!(column.cell(0, false), Cell::Null, "{}", array.data_type());
            assert_eq!(column.cell(1, false), Cell::Text("".into()));
            assert_eq!(column.cell(2, false), Cell::Text("größer als zwölf Bytes".into()));
            assert_eq!([0, 1, 2].map(|row| column.len_of(row)), [0, 0, 25]);
        }
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1]));
        assert!(TextColumn::from_array(&numbers).is_none() && !is_text(numbers.data_type()));
    }

    #[test]
    fn a_null_of_a_dictionary_is_one_wherever_it_stands() {
        let values: ArrayRef = Arc::new(StringArray::from_iter([Some("a"), None]));
        let keys = Int32Array::from(vec![Some(0), Some(1), None]);
        let array: ArrayRef = Arc::new(DictionaryArray::new(keys, values));
        let column = TextColumn::from_array(&array).unwrap();
        let cells = [0, 1, 2].map(|row| column.cell(row, false));
        assert_eq!(cells, [Cell::Text("a".into()), Cell::Null, Cell::Null]);
        let empty = DictionaryArray::<Int8Type>::from_iter([None::<&str>]);
        let empty: ArrayRef = Arc::new(empty);
        assert_eq!(TextColumn::from_array(&empty).unwrap().cell(0, false), Cell::Null);
    }

    #[test]
    fn bytes_that_are_no_text_say_where() {
        let array: ArrayRef = Arc::new(BinaryArray::from_vec(vec![b"ab\xffc"]));
        let column = TextColumn::from_array(&array).unwrap();
        assert_eq!(column.cell(0, false), Cell::Invalid(2));
        assert_eq!(column.cell(0, true), Cell::Text("ab\u{fffd}c".into()));
    }
}
