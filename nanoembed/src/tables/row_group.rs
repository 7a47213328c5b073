//! Rows as the bytes of a row group, and row groups as a Parquet file.
//!
//! Each group is encoded as a small file in memory. Its column chunks are copied to where the whole
//! file has got to; its footer says where they were, and is kept. The whole file's footer has the
//! same places, moved. So a file can be continued that has lost its end, and is the same bytes as
//! one that was written at a stretch.

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataReader,
    ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

/// The first bytes of a Parquet file.
pub(super) const MAGIC: &[u8; 4] = b"PAR1";

/// A footer's length and the magic number after it.
const TRAILER_BYTES: usize = 8;

/// A group's column chunks, and the footer of the small file that they were written in.
#[derive(Clone, Debug)]
pub(super) struct Encoded {
    pub(super) chunks: Vec<u8>,
    pub(super) footer: Vec<u8>,
}

/// A group that is part of a file.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    /// The start of its column chunks.
    pub(super) start: u64,
    pub(super) footer: Vec<u8>,
}

/// The properties of columns. Vectors are not compressed: their bits look like noise. Codes of 8
/// bits would take 32 without a dictionary, which is what Parquet has for them.
fn properties(schema: &Schema, vector_column: &str) -> WriterProperties {
    let vectors = schema.field_with_name(vector_column).map(arrow_schema::Field::data_type);
    let (path, is_bytes) = match vectors {
        Ok(DataType::FixedSizeList(item, _)) => (
            vec![vector_column.to_owned(), "list".into(), "item".into()],
            *item.data_type() == DataType::Int8,
        ),
        _ => (vec![vector_column.to_owned()], false),
    };
    let path = ColumnPath::new(path);
    let metadata = schema.metadata().iter();
    let metadata = metadata.map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
    WriterProperties::builder()
        .set_created_by(concat!("nanoembed ", env!("CARGO_PKG_VERSION")).into())
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(None)
        .set_key_value_metadata(Some(metadata))
        .set_column_compression(path.clone(), Compression::UNCOMPRESSED)
        .set_column_statistics_enabled(path.clone(), EnabledStatistics::None)
        .set_column_dictionary_enabled(path, is_bytes)
        .build()
}

/// The bytes of a whole file of these rows, which are one group; no group without any.
fn encode_file(
    schema: &SchemaRef,
    vector_column: &str,
    batch: Option<&RecordBatch>,
) -> Result<Vec<u8>> {
    let properties = properties(schema, vector_column);
    let mut writer = ArrowWriter::try_new(Vec::new(), schema.clone(), Some(properties))?;
    batch.map(|batch| writer.write(batch)).transpose()?;
    writer.into_inner()
}

/// Rows as a group.
pub(super) fn encode(
    schema: &SchemaRef,
    vector_column: &str,
    batch: &RecordBatch,
) -> Result<Encoded> {
    let mut chunks = encode_file(schema, vector_column, Some(batch))?;
    let footer = chunks.len().checked_sub(TRAILER_BYTES).ok_or_else(cut)?;
    let length = chunks.get(footer..).and_then(|end| end.first_chunk::<4>()).ok_or_else(cut)?;
    let start = footer.checked_sub(u32::from_le_bytes(*length) as usize).ok_or_else(cut)?;
    let mut footer = chunks.split_off(start);
    footer.truncate(footer.len() - TRAILER_BYTES);
    chunks.drain(..MAGIC.len());
    Ok(Encoded { chunks, footer })
}

fn cut() -> ParquetError {
    ParquetError::General("a footer is cut short".into())
}

/// The end of a file after these groups.
pub(super) fn end(groups: &[Placed], schema: &SchemaRef, vector_column: &str) -> Result<Vec<u8>> {
    match groups.is_empty() {
        true => Ok(encode_file(schema, vector_column, None)?.split_off(MAGIC.len())),
        false => footer(groups),
    }
}

/// The footer of a file with these groups, of which there are some.
fn footer(groups: &[Placed]) -> Result<Vec<u8>> {
    let mut file = None;
    let mut rows = 0;
    let mut moved = Vec::with_capacity(groups.len());
    for Placed { start, footer } in groups {
        let metadata = ParquetMetaDataReader::decode_metadata(footer)?;
        let by = i64::try_from(*start).map_err(|_| cut())? - MAGIC.len() as i64;
        for group in metadata.row_groups() {
            rows += group.num_rows();
            moved.push(move_group(group, by, moved.len())?);
        }
        file.get_or_insert_with(|| metadata.file_metadata().clone());
    }
    let file = file.ok_or_else(cut)?;
    let file = FileMetaData::new(
        file.version(),
        rows,
        file.created_by().map(str::to_owned),
        file.key_value_metadata().cloned(),
        file.schema_descr_ptr(),
        file.column_orders().cloned(),
    );
    let mut footer = Vec::new();
    ParquetMetaDataWriter::new(&mut footer, &ParquetMetaData::new(file, moved)).finish()?;
    Ok(footer)
}

fn move_group(group: &RowGroupMetaData, by: i64, ordinal: usize) -> Result<RowGroupMetaData> {
    let columns = group.columns().iter().map(|column| move_column(column, by));
    let mut builder = group.clone().into_builder();
    if let Some(offset) = group.file_offset() {
        builder = builder.set_file_offset(offset + by);
    }
    if let Ok(ordinal) = i16::try_from(ordinal) {
        builder = builder.set_ordinal(ordinal.into());
    }
    builder.set_column_metadata(columns.collect::<Result<_>>()?).build()
}

fn move_column(column: &ColumnChunkMetaData, by: i64) -> Result<ColumnChunkMetaData> {
    let moved = |offset: Option<i64>| offset.map(|offset| offset + by);
    column
        .clone()
        .into_builder()
        .set_data_page_offset(column.data_page_offset() + by)
        .set_dictionary_page_offset(moved(column.dictionary_page_offset()))
        .set_index_page_offset(moved(column.index_page_offset()))
        .build()
}
