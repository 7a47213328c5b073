//! Sources of rows, and lines as rows.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::error::{Error, Result};

/// Some rows that follow each other.
#[derive(Debug)]
pub struct Rows {
    pub(super) batch: RecordBatch,
    /// The reasons that texts of rows could not be read, one a row; empty if all could.
    pub(super) errors: Vec<Option<String>>,
    /// The origin of the rows, for messages.
    pub(super) name: Arc<str>,
    /// The number of the first of them there, from 0.
    pub(super) first: u64,
}

impl Rows {
    /// True if there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.batch.num_rows()
    }

    /// Takes the first `count` of them.
    pub(super) fn take(&mut self, count: usize) -> Self {
        let count = count.min(self.len());
        let rest = self.errors.split_off(count.min(self.errors.len()));
        let taken = Self {
            batch: self.batch.slice(0, count),
            errors: std::mem::replace(&mut self.errors, rest),
            name: Arc::clone(&self.name),
            first: self.first,
        };
        self.batch = self.batch.slice(count, self.len() - count);
        self.first += count as u64;
        taken
    }
}

/// Rows of a table, in their order.
pub trait RowSource {
    /// The table's columns.
    fn schema(&self) -> SchemaRef;

    /// The next rows; `None` at the end.
    ///
    /// # Errors
    ///
    /// Fails if the input is invalid.
    fn next_rows(&mut self) -> Result<Option<Rows>>;

    /// Leaves out the next `count` rows, which another run has done.
    ///
    /// # Errors
    ///
    /// Fails if the input is invalid.
    fn skip(&mut self, count: u64) -> Result<()> {
        read_past(self, count)
    }

    /// Takes back rows, which come next again.
    fn put_back(&mut self, rows: Rows);

    /// The number of rows, where that is known.
    fn total(&self) -> Option<u64>;

    /// A fingerprint of the input; `None` if nothing identifies it, as with a pipe.
    fn fingerprint(&self) -> Option<u32>;
}

/// Reads the next `count` rows for nothing.
pub(super) fn read_past<S: RowSource + ?Sized>(source: &mut S, count: u64) -> Result<()> {
    let mut left = count;
    while left > 0 {
        let Some(mut rows) = source.next_rows()? else {
            return Err(Error::bad_input("there are fewer rows than the other run has done"));
        };
        if rows.len() as u64 > left {
            rows.take(usize::try_from(left).unwrap_or(usize::MAX));
            source.put_back(rows);
            return Ok(());
        }
        left -= rows.len() as u64;
    }
    Ok(())
}

/// Lines as rows of a table, all of whose columns are strings.
#[derive(Debug)]
pub struct LineRows {
    schema: SchemaRef,
    columns: Vec<Vec<Option<String>>>,
    errors: Vec<Option<String>>,
}

impl LineRows {
    /// Rows with these columns.
    #[must_use]
    pub fn new(columns: &[String]) -> Self {
        let fields = columns.iter().map(|name| Field::new(name, DataType::Utf8, true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Self { schema, columns: vec![Vec::new(); columns.len()], errors: Vec::new() }
    }

    /// The columns.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Adds a row: a value for each column, and why there is no text.
    pub fn push(
        &mut self,
        values: impl IntoIterator<Item = Option<String>>,
        error: Option<String>,
    ) {
        for (column, value) in self.columns.iter_mut().zip(values) {
            column.push(value);
        }
        self.errors.push(error);
    }

    /// The rows so far, the first of which is the input's row `first`.
    ///
    /// # Errors
    ///
    /// If the columns are too large for Arrow.
    pub fn finish(&mut self, name: &str, first: u64) -> Result<Rows> {
        let column = |values: &mut Vec<Option<String>>| -> ArrayRef {
            Arc::new(StringArray::from_iter(std::mem::take(values)))
        };
        let columns = self.columns.iter_mut().map(column).collect();
        let batch = RecordBatch::try_new(self.schema(), columns);
        let batch = batch.map_err(|error| super::unreadable(name, &error))?;
        Ok(Rows { batch, errors: std::mem::take(&mut self.errors), name: name.into(), first })
    }
}
