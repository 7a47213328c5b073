//! Record batches of a file, whatever its format.

use arrow_array::RecordBatch;

use crate::error::Result;

/// A file of record batches, from a row on. Strings of the column of texts are bytes there.
pub(super) trait Batches {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>>;
}
