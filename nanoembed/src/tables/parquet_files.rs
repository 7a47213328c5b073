//! Parquet files as record batches: a few hundred rows are decoded at a time.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Type as PhysicalType;
use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, ParquetMetaData};
use parquet::schema::types::{SchemaDescriptor, Type};

use super::input::Batches;
use super::raw_text::raw_schema;
use crate::error::{Error, Result, name_of};
use crate::files::whole_file;

/// Rows that are decoded at a time.
const BATCH_ROWS: usize = 512;

/// A file whose footer has been read.
pub(super) struct ParquetFile {
    file: File,
    footer: ArrowReaderMetadata,
    name: String,
}

impl ParquetFile {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let name = name_of(path);
        let file = whole_file::open(path).map_err(|error| Error::reading(&name, &error))?;
        let footer = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new());
        let footer = footer.map_err(|error| super::unreadable_parquet(&name, &error))?;
        Ok(Self { file, footer, name })
    }

    /// Reads the column of texts as bytes, if it has strings.
    pub(super) fn raw(self, text_column: usize) -> Result<Self> {
        let footer = raw_footer(&self.footer, text_column);
        let footer = footer.map_err(|error| super::unreadable_parquet(&self.name, &error))?;
        Ok(match footer {
            Some(footer) => Self { footer, ..self },
            None => self,
        })
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.footer.schema().clone()
    }

    pub(super) fn rows(&self) -> u64 {
        let groups = self.footer.metadata().row_groups().iter();
        groups.map(|group| u64::try_from(group.num_rows()).unwrap_or(0)).sum()
    }

    /// The rows behind the first `skip`.
    pub(super) fn batches(self, skip: usize) -> Result<ParquetBatches> {
        let Self { file, footer, name } = self;
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, footer);
        let reader = builder.with_batch_size(BATCH_ROWS).with_offset(skip).build();
        let reader = reader.map_err(|error| super::unreadable_parquet(&name, &error))?;
        Ok(ParquetBatches { reader, name })
    }
}

/// A footer by which a column of strings has bytes: what is not said to be UTF-8 is not checked by
/// the reader. `None` if the column is read as it is.
fn raw_footer(
    footer: &ArrowReaderMetadata,
    column: usize,
) -> Result<Option<ArrowReaderMetadata>, ParquetError> {
    let Some(schema) = raw_schema(footer.schema(), column) else { return Ok(None) };
    let root = footer.parquet_schema().root_schema();
    let mut fields = root.get_fields().to_vec();
    let Some(field) = fields.get_mut(column).filter(|field| field.is_primitive()) else {
        return Ok(None);
    };
    let said = field.get_basic_info();
    let raw = Type::primitive_type_builder(field.name(), PhysicalType::BYTE_ARRAY)
        .with_repetition(said.repetition())
        .with_id(said.has_id().then(|| said.id()))
        .build()?;
    *field = Arc::new(raw);
    let root = Type::group_type_builder(root.name()).with_fields(fields).build()?;
    let file = footer.metadata().file_metadata();
    let file = FileMetaData::new(
        file.version(),
        file.num_rows(),
        file.created_by().map(str::to_owned),
        file.key_value_metadata().cloned(),
        Arc::new(SchemaDescriptor::new(Arc::new(root))),
        file.column_orders().cloned(),
    );
    let metadata = ParquetMetaData::new(file, footer.metadata().row_groups().to_vec());
    let options = ArrowReaderOptions::new().with_schema(schema);
    ArrowReaderMetadata::try_new(Arc::new(metadata), options).map(Some)
}

pub(super) struct ParquetBatches {
    reader: ParquetRecordBatchReader,
    name: String,
}

impl Batches for ParquetBatches {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let batch = self.reader.next().transpose();
        batch.map_err(|error| super::unreadable(&self.name, &error))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use arrow_array::{
        ArrayRef, LargeStringArray, StringArray, StringViewArray, TimestampSecondArray,
    };
    use parquet::arrow::ArrowWriter;

    use super::*;
    use crate::tables::text::{Cell, TextColumn};

    /// A file with these texts, and a column beside them whose type Arrow's schema alone tells.
    fn file(texts: ArrayRef) -> Vec<u8> {
        let times: ArrayRef = Arc::new(TimestampSecondArray::from(vec![1, 2]).with_timezone("UTC"));
        let columns = [("time", times), ("text", texts)];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        bytes
    }

    #[test]
    fn a_string_that_is_not_utf8_spoils_no_batch() {
        let texts = ["sound and long enough", "broken within here"];
        let columns: [ArrayRef; 3] = [
            Arc::new(StringArray::from_iter_values(texts)),
            Arc::new(LargeStringArray::from_iter_values(texts)),
            Arc::new(StringViewArray::from_iter_values(texts)),
        ];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("texts.parquet");
        for texts in columns {
            let mut bytes = file(texts);
            let at = bytes.windows(6).position(|bytes| bytes == b"within").unwrap();
            bytes[at] = 0xff;
            fs::write(&path, bytes).unwrap();
            assert!(ParquetFile::open(&path).unwrap().batches(0).unwrap().next_batch().is_err());
            let opened = ParquetFile::open(&path).unwrap();
            let expected = opened.schema();
            let mut batches = opened.raw(1).unwrap().batches(0).unwrap();
            let batch = batches.next_batch().unwrap().unwrap();
            assert_eq!(batch.schema().field(0), expected.field(0));
            assert_eq!(batch.num_rows(), 2);
            let texts = TextColumn::of(batch.column(1)).unwrap();
            assert_eq!(texts.cell(0, false), Cell::Text("sound and long enough".into()));
            assert_eq!(texts.cell(1, false), Cell::Invalid(7));
        }
    }
}
