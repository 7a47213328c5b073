//! The bytes of a row, by the row alone: arrays of the same rows may share buffers, and be cut in
//! any way.

use arrow_array::cast::AsArray;
use arrow_array::{Array, OffsetSizeTrait, RecordBatch};
use arrow_schema::DataType;

/// Bytes of a value that points to nothing, whatever its type.
const VALUE_BYTES: usize = 16;

/// Bytes of all columns of a row.
pub(super) fn row_bytes(batch: &RecordBatch, row: usize) -> usize {
    batch.columns().iter().map(|column| bytes(column, row)).fold(0, usize::saturating_add)
}

/// Bytes of a value. Nulls count as others do: arrays of fixed width keep as much for them.
fn bytes(array: &dyn Array, row: usize) -> usize {
    match array.data_type() {
        DataType::Utf8 | DataType::Binary => spelled::<i32>(array, row),
        DataType::LargeUtf8 | DataType::LargeBinary => spelled::<i64>(array, row),
        DataType::Utf8View => array.as_string_view().value(row).len(),
        DataType::BinaryView => array.as_binary_view().value(row).len(),
        DataType::FixedSizeBinary(bytes) => usize::try_from(*bytes).unwrap_or_default(),
        DataType::FixedSizeList(..) => all(&array.as_fixed_size_list().value(row)),
        DataType::List(_) => all(&array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => all(&array.as_list::<i64>().value(row)),
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            (0..entries.len()).map(|entry| members(&entries, entry)).fold(0, usize::saturating_add)
        }
        DataType::Struct(_) => members(array, row),
        _ => VALUE_BYTES,
    }
}

fn spelled<O: OffsetSizeTrait>(array: &dyn Array, row: usize) -> usize {
    let offsets = match array.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => array.as_string::<O>().value_offsets(),
        _ => array.as_binary::<O>().value_offsets(),
    };
    match offsets.get(row..).unwrap_or_default() {
        [start, end, ..] => end.as_usize().saturating_sub(start.as_usize()),
        _ => 0,
    }
}

fn members(array: &dyn Array, row: usize) -> usize {
    let columns = array.as_struct().columns().iter();
    columns.map(|column| bytes(column, row)).fold(0, usize::saturating_add)
}

fn all(items: &dyn Array) -> usize {
    match items.data_type().is_primitive() {
        true => items.len().saturating_mul(VALUE_BYTES),
        false => (0..items.len()).map(|item| bytes(items, item)).fold(0, usize::saturating_add),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::builder::{ListBuilder, StringBuilder};
    use arrow_array::types::Float32Type;
    use arrow_array::{ArrayRef, FixedSizeListArray, LargeStringArray, StringViewArray};

    use super::*;

    #[test]
    fn a_row_has_the_same_bytes_however_its_batch_is_cut() {
        let mut lists = ListBuilder::new(StringBuilder::new());
        lists.append_value([Some("one"), Some("three")]);
        lists.append_null();
        lists.append_value([None, Some("a")]);
        let vectors = [Some([Some(1.0)]), None, Some([Some(2.0)])];
        let columns: [(&str, ArrayRef); 4] = [
            ("text", Arc::new(LargeStringArray::from(vec!["cats", "", "dogs!"]))),
            ("view", Arc::new(StringViewArray::from(vec!["", "x", "longer than twelve"]))),
            ("list", Arc::new(lists.finish())),
            (
                "vector",
                Arc::new(FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(vectors, 1)),
            ),
        ];
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.map(|(name, column)| (name, column, true)),
        )
        .unwrap();
        let expected = [4 + 8 + 16, 1 + 16, 5 + 18 + 1 + 16];
        for (row, expected) in expected.into_iter().enumerate() {
            assert_eq!(row_bytes(&batch, row), expected);
            assert_eq!(row_bytes(&batch.slice(row, 1), 0), expected);
        }
    }
}
