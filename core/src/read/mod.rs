//! Sources, which bring a file's bytes to a decoder from wherever they are.
//!
//! | source | bytes are | copies |
//! |---|---|---|
//! | [`Slice`] | all in memory: read, mapped, in flash | none |
//! | [`Push`] | arriving in chunks: a download, a pipe | only items cut by a chunk's end |
//! | [`Seek`] | behind [`ReadAt`]: a file, an SD card, HTTP ranges | into a lent buffer, skipping what nobody asks for |
//!
//! All three drive a [`Decode`] and accept and refuse exactly the same files with the same error.

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

/// The error of a source that ends before the decoder is satisfied.
fn unexpected_end(decoder: &impl Decode) -> Error {
    Error::new(decoder.offset(), ErrorKind::UnexpectedEnd)
}
