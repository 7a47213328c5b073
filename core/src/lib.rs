//! # nanoembed-core
//!
//! Opens embedding and quantised-weight files and runs them: `no_std`, no allocation, bytes as they
//! arrive.
//!
//! From the bottom up:
//!
//! 1. [`error`] says what is wrong and at which byte; `bytes` holds the primitives that grammars
//!    are made of; [`tensor`] describes types, shapes and borrowed data. [`text`] reads the texts
//!    inside binary files. [`limit`] bounds what a file may ask for.
//! 2. [`event`] is the seam: a format's decoder turns bytes into events, a source feeds it.
//! 3. [`format`](mod@format) has one folder a format, each with `grammar`, `decoder`, `view` and
//!    `write`.
//! 4. [`read`] has one file a source: a slice, pushed chunks, random access; and re-assembles rows
//!    from pieces.
//! 5. [`quant`] turns the blocks of quantised weights into numbers and back.
//! 6. [`token`] turns text into token ids.
//! 7. [`kernel`] computes on rows and tiles.
//! 8. [`model`] runs a transformer over weights where they lie, in memory that the caller lends.
//! 9. `words` looks words up in word vectors and finds their neighbours.
//! 10. `owned` (feature `alloc`) puts these together for hosts with a heap: a file in, texts in,
//!     vectors out.
//!
//! Nothing here opens files, starts threads or keeps global state.

#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]
// What reads hostile bytes can neither panic nor wrap.
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::cast_possible_truncation,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::unwrap_used,
    )
)]

#[cfg(feature = "alloc")]
extern crate alloc;

#[cfg_attr(not(all(feature = "embd", feature = "finalfusion", feature = "gguf")), allow(dead_code))]
mod bytes;
#[cfg(any(feature = "amb", feature = "embd"))]
mod crc32;
pub mod error;
pub mod event;
pub mod format;
pub mod kernel;
pub mod limit;
pub mod model;
#[cfg(feature = "alloc")]
pub mod owned;
pub mod quant;
pub mod read;
pub mod sink;
pub mod subword;
pub mod tensor;
pub mod text;
pub mod token;
pub mod top;
#[cfg(feature = "finalfusion")]
pub mod words;

pub use error::{Error, ErrorKind};
