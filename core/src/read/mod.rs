//! Sources, which bring a file's bytes to a decoder.
//!
//! | source | bytes are | copies |
//! |---|---|---|
//! | [`Slice`] | all in memory: read, mapped, in flash | none |
//! | [`Push`] | arriving in chunks: a download, a pipe | only items cut by a chunk's end |
//! | [`Seek`] | accessed through [`ReadAt`]: a file, an SD card, HTTP ranges | into the caller's buffer; unneeded data is skipped |
//!
//! All three drive a [`Decode`] and accept and reject exactly the same files with the same error.

mod blocks;
mod push;
mod seek;
mod slice;

pub use blocks::{Block, Blocks};
pub use push::Push;
pub use seek::{ReadAt, Seek};
pub use slice::Slice;

use crate::error::{Error, ErrorKind};
use crate::event::Decode;

/// The error of a source that ends before the content is complete.
fn unexpected_end(decoder: &impl Decode) -> Error {
    Error::new(decoder.offset(), ErrorKind::UnexpectedEnd)
}
