//! Parquet files as record batches: a few hundred rows are decoded at a time.

use std::fs::File;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::input::Batches;
use crate::error::{Error, Result, name_of};
use crate::files::whole_file;

/// Rows that are decoded at a time.
const BATCH_ROWS: usize = 512;

/// A file whose footer has been read.
pub(super) struct ParquetFile {
    builder: ParquetRecordBatchReaderBuilder<File>,
    name: String,
}

impl ParquetFile {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let name = name_of(path);
        let file = whole_file::open(path).map_err(|error| Error::reading(&name, &error))?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file);
        let builder = builder.map_err(|error| super::unreadable_parquet(&name, &error))?;
        Ok(Self { builder, name })
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.builder.schema().clone()
    }

    pub(super) fn rows(&self) -> u64 {
        let groups = self.builder.metadata().row_groups().iter();
        groups.map(|group| u64::try_from(group.num_rows()).unwrap_or(0)).sum()
    }

    /// The rows behind the first `skip`.
    pub(super) fn batches(self, skip: usize) -> Result<ParquetBatches> {
        let Self { builder, name } = self;
        let reader = builder.with_batch_size(BATCH_ROWS).with_offset(skip).build();
        let reader = reader.map_err(|error| super::unreadable_parquet(&name, &error))?;
        Ok(ParquetBatches { reader, name })
    }
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
