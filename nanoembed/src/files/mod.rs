//! Files: read whole, mapped or piece by piece, and written so that they are whole or not there.

use std::borrow::Cow;
use std::path::Path;

pub mod hub_cache;
pub mod mapped_file;
pub mod new_file;
pub mod on_disk;
pub mod promise;
pub(crate) mod scratch;
pub(crate) mod spool;
pub mod user_folders;
pub mod whole_file;
pub(crate) mod zeros;

/// The UTF-8 byte order mark, which some editors put at a text's start.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Endings of files that hold tables.
const TABLES: [&str; 6] = ["parquet", "pq", "arrow", "arrows", "feather", "ipc"];

/// True if a file's name is that of a table: Parquet or Arrow IPC.
#[must_use]
pub fn is_table(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| TABLES.iter().any(|known| ending.eq_ignore_ascii_case(known)))
}

/// A file's path, though it may be called `-`, which is stdin to jobs that a command line asks for.
pub(crate) fn literal(path: &Path) -> Cow<'_, Path> {
    match path == Path::new("-") {
        true => Path::new("./-").into(),
        false => path.into(),
    }
}
