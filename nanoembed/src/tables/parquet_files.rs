//! Parquet files as record batches: row group by row group, a few hundred rows at a time.

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

use super::batches::Batches;
use super::raw_text::raw_schema;
use super::row_group_memory::batch_rows;
use crate::error::{Error, Result, name_of};
use crate::files::whole_file;

/// A file whose footer has been read.
pub(super) struct ParquetFile {
    file: Arc<File>,
    footer: ArrowReaderMetadata,
    name: String,
}

impl ParquetFile {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let name = name_of(path);
        let file = whole_file::open(path).map_err(|error| Error::reading(&name, &error))?;
        let footer = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new());
        let footer = footer.map_err(|error| super::unreadable_parquet(&name, &error))?;
        Ok(Self { file: Arc::new(file), footer, name })
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

    /// The rows after the first `skip`.
    pub(super) const fn batches(self, skip: usize) -> ParquetBatches {
        ParquetBatches { file: self, skip, next_group: 0, group: None }
    }
}

/// A footer by which a column of strings has bytes: the reader does not check columns that are not
/// declared as UTF-8. `None` if the column is read as it is.
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
    file: ParquetFile,
    /// Rows that are still to be left out.
    skip: usize,
    next_group: usize,
    /// The group that is being read.
    group: Option<ParquetRecordBatchReader>,
}

impl ParquetBatches {
    /// The reader of the next group that has rows to be read.
    fn open_next(&mut self) -> Result<Option<ParquetRecordBatchReader>> {
        let ParquetFile { file, footer, name } = &self.file;
        while let Some(group) = footer.metadata().row_groups().get(self.next_group) {
            let at = self.next_group;
            self.next_group += 1;
            let rows = usize::try_from(group.num_rows()).unwrap_or(0);
            if let Some(skip) = self.skip.checked_sub(rows) {
                self.skip = skip;
                continue;
            }
            let batch_rows = batch_rows(file, group, footer.schema(), name)?;
            let failed = |error: ParquetError| super::unreadable_parquet(name, &error);
            let file = file.try_clone().map_err(|error| Error::reading(name, &error))?;
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, footer.clone());
            let builder = builder.with_row_groups(vec![at]).with_batch_size(batch_rows);
            let reader = builder.with_offset(self.skip).build().map_err(failed)?;
            self.skip = 0;
            return Ok(Some(reader));
        }
        Ok(None)
    }
}

impl Batches for ParquetBatches {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let group = match &mut self.group {
                Some(group) => group,
                None => match self.open_next()? {
                    Some(group) => self.group.insert(group),
                    None => return Ok(None),
                },
            };
            if let Some(batch) = group.next() {
                return batch.map(Some).map_err(|error| super::unreadable(&self.file.name, &error));
            }
            self.group = None;
        }
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
            assert!(ParquetFile::open(&path).unwrap().batches(0).next_batch().is_err());
            let opened = ParquetFile::open(&path).unwrap();
            let expected = opened.schema();
            let mut batches = opened.raw(1).unwrap().batches(0);
            let batch = batches.next_batch().unwrap().unwrap();
            assert_eq!(batch.schema().field(0), expected.field(0));
            assert_eq!(batch.num_rows(), 2);
            let texts = TextColumn::from_array(batch.column(1)).unwrap();
            assert_eq!(texts.cell(0, false), Cell::Text("sound and long enough".into()));
            assert_eq!(texts.cell(1, false), Cell::Invalid(7));
        }
    }
}
