//! Columns of strings read as bytes: readers of Arrow and Parquet refuse a whole batch for one
//! string that is not UTF-8. [`TextColumn`](super::text::TextColumn) looks at every row instead.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, GenericStringArray, OffsetSizeTrait, StringViewArray};
use arrow_schema::{DataType, Schema, SchemaRef};

/// The type of bytes in the same layout; `None` if a column of this type is read as it is.
pub(super) fn raw_type(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::Utf8 => Some(DataType::Binary),
        DataType::LargeUtf8 => Some(DataType::LargeBinary),
        DataType::Utf8View => Some(DataType::BinaryView),
        _ => None,
    }
}

/// The columns if the one at `column` is read as bytes; `None` if it is read as it is.
pub(super) fn raw_schema(schema: &Schema, column: usize) -> Option<SchemaRef> {
    let mut fields = schema.fields().to_vec();
    let field = fields.get_mut(column)?;
    let raw = raw_type(field.data_type())?;
    *field = Arc::new(field.as_ref().clone().with_data_type(raw));
    Some(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
}

/// A column that was read as bytes, as the strings that it is declared to hold. Invalid UTF-8 is
/// replaced by U+FFFD, and a column of another type is left as it is.
pub(super) fn strings(column: &ArrayRef, wanted: &DataType) -> ArrayRef {
    match (column.data_type(), wanted) {
        (DataType::Binary, DataType::Utf8) => strings_from_offsets::<i32>(column),
        (DataType::LargeBinary, DataType::LargeUtf8) => strings_from_offsets::<i64>(column),
        (DataType::BinaryView, DataType::Utf8View) => strings_from_views(column),
        _ => Arc::clone(column),
    }
}

fn strings_from_offsets<O: OffsetSizeTrait>(column: &ArrayRef) -> ArrayRef {
    let bytes = column.as_binary::<O>();
    if let Ok(strings) = GenericStringArray::<O>::try_from_binary(bytes.clone()) {
        return Arc::new(strings);
    }
    let strings = bytes.iter().map(|cell| cell.map(String::from_utf8_lossy));
    Arc::new(strings.collect::<GenericStringArray<O>>())
}

fn strings_from_views(column: &ArrayRef) -> ArrayRef {
    let bytes = column.as_binary_view();
    if let Ok(strings) = bytes.clone().to_string_view() {
        return Arc::new(strings);
    }
    let strings = bytes.iter().map(|cell| cell.map(String::from_utf8_lossy));
    Arc::new(strings.map(|text| text.map(Cow::into_owned)).collect::<StringViewArray>())
}

#[cfg(test)]
mod tests {
    use arrow_array::{BinaryArray, BinaryViewArray, LargeBinaryArray};

    use super::*;
    use crate::tables::text::{Cell, TextColumn};

    #[test]
    fn bytes_become_strings_again_and_broken_ones_are_replaced() {
        let sound = [Some(&b"cats"[..]), None, Some("größer als zwölf Bytes".as_bytes())];
        let broken = [Some(&b"cats"[..]), None, Some(b"more than twelve b\xfftes")];
        for (cells, last) in
            [(sound, "größer als zwölf Bytes"), (broken, "more than twelve b\u{fffd}tes")]
        {
            let columns: [(ArrayRef, DataType); 3] = [
                (Arc::new(BinaryArray::from_iter(cells)), DataType::Utf8),
                (Arc::new(LargeBinaryArray::from_iter(cells)), DataType::LargeUtf8),
                (Arc::new(BinaryViewArray::from_iter(cells)), DataType::Utf8View),
            ];
            for (column, wanted) in columns {
                assert_eq!(raw_type(&wanted).as_ref(), Some(column.data_type()));
                let found = strings(&column, &wanted);
                assert_eq!(found.data_type(), &wanted);
                let texts = TextColumn::from_array(&found).unwrap();
                let cells = [0, 1, 2].map(|row| texts.cell(row, false));
                let expected = [Cell::Text("cats".into()), Cell::Null, Cell::Text(last.into())];
                assert_eq!(cells, expected, "{wanted}");
            }
        }
    }
}
