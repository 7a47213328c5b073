//! Tables of texts in, the same tables with vectors out: Parquet and Arrow IPC.
//!
//! ```text
//! Tables ──▶ Groups ──▶ embed ──▶ Output
//! record     some        vectors   Parquet that can be resumed,
//! batches    thousand    beside    or Arrow IPC
//!            rows        columns
//! ```
//!
//! | file | role |
//! |---|---|
//! | `input` | record batches of files, in order: `ipc` of `ipc_message`, `parquet_files` |
//! | `row_group_memory` | memory that decoding takes, by `page_header`, before anything is decoded |
//! | `rows` | where rows come from, and rows of lines as a table |
//! | `text` | the texts of a column, and their errors |
//! | `raw_text` | columns of strings read as bytes |
//! | `cell` | values beside texts as JSON |
//! | `fingerprint` | hashes that tell inputs apart |
//! | `group` | rows that become one row group, by `row_bytes` |
//! | `vectors` | columns of vectors and of their statuses |
//! | `schema` | the columns of the output, and their metadata |
//! | `job` | all of it together |
//! | `output` | files being written: `unfinished_file` goes on where a run was interrupted |
//! | `row_group` | rows as the bytes of a row group, and many of these as a file |
//!
//! Memory is bounded by a group: [`GROUP_ROWS`](group::GROUP_ROWS) rows, or fewer with long texts
//! or with wide columns. Groups are cut by rows and bytes of values alone, so the same input gives the same file, also in
//! several runs.

mod batches;
mod cell;
mod fingerprint;
mod group;
mod input;
mod ipc;
mod ipc_message;
mod job;
mod output;
mod page_header;
mod parquet_files;
mod raw_text;
mod row_bytes;
mod row_group;
mod row_group_memory;
mod rows;
mod schema;
mod text;
mod unfinished_file;
mod vectors;

pub use arrow_schema::SchemaRef;
pub use input::{TableRow, Tables, fingerprint_of};
pub use job::{Counted, TableJob, TableSummary};
pub use output::{TableForm, TableOutput};
pub use rows::{LineRows, RowSource, Rows};

use std::cell::Cell;
use std::io;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use crate::error::{Error, Result};
use arrow_schema::ArrowError;
use parquet::errors::ParquetError;

thread_local! {
    /// True if a panic of this thread is caught and returned as an error.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Reads from the file called `name`. Arrow's readers panic at some damaged files, which is caught
/// here and nowhere else: after an error no more is read. The panic's message is dropped, as it is
/// of no use to the user.
fn guarded<T>(name: &str, read: impl FnOnce() -> Result<T>) -> Result<T> {
    static SILENCE: Once = Once::new();
    SILENCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !IS_GUARDED.get() {
                usual(panic);
            }
        }));
    });
    let was_guarded = IS_GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(read));
    IS_GUARDED.set(was_guarded);
    result.unwrap_or_else(|_| Err(Error::bad_input("the file is damaged").at(name)))
}

/// Arrow's error about the file called `name`, which is read.
fn unreadable(name: &str, error: &ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, error) => Error::reading(name, error),
        ArrowError::ExternalError(inner) => match inner.downcast_ref::<ParquetError>() {
            Some(error) => unreadable_parquet(name, error),
            None => Error::bad_input(inner.to_string()).at(name),
        },
        ArrowError::ParquetError(message) => Error::bad_input(message.clone()).at(name),
        error => Error::bad_input(error.to_string()).at(name),
    }
}

/// The error of Parquet's reader about the file called `name`.
fn unreadable_parquet(name: &str, error: &ParquetError) -> Error {
    if let ParquetError::External(inner) = error
        && let Some(error) = inner.downcast_ref::<io::Error>()
    {
        return unread(name, error);
    }
    Error::bad_input(error.to_string()).at(name)
}

/// An error met while the file called `name` was read: the system's, or a decoder's about the
/// bytes.
fn unread(name: &str, error: &io::Error) -> Error {
    match error.raw_os_error() {
        None => Error::bad_input(error.to_string()).at(name),
        Some(_) => Error::reading(name, error),
    }
}

/// Arrow's error about the file called `name`, which is written.
fn unwritable(name: &str, error: &ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, error) => Error::writing(name, error),
        error => Error::bad_input(error.to_string()).at(name),
    }
}

/// The error of Parquet's writer about the file called `name`.
fn unwritable_parquet(name: &str, error: &ParquetError) -> Error {
    Error::bad_input(error.to_string()).at(name)
}
