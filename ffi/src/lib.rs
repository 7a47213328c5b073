//! # nanoembed-ffi
//!
//! The C interface to `nanoembed-core`. `include/nanoembed.h` is generated from this crate; the
//! guide is `README.md`.
//!
//! Conventions, the same for every function:
//!
//! * the answer is a [`nanoembed_status`](status::nanoembed_status), 0 for success; results go to
//!   out-parameters, which come last and are written only on success;
//! * every pointer is checked: NULL where something is needed is a status, never a crash; every
//!   pointer to several things has a length, every output a capacity;
//! * the last parameter of a function that reads files is a
//!   [`nanoembed_error`](status::nanoembed_error), which may be NULL: it says which byte of the
//!   file is wrong;
//! * memory is the caller's: handles lie at the front of memory that the caller lends and has no
//!   more to do with until he stops using the handle. Nothing has to be closed. Nothing is global.
//!
//! One file a part: `status`, `source`, `format`, `event` (what a file says) and `reader`, `tensor`
//! and `uqff` (dequantising), `model` (with `opening`), `tokenize`, `embed`, `batch` (Arrow),
//! `words` (opening), `lookup`, `similar`, `decoder_model` and `session` (continuing texts),
//! `owned` (handles on the heap).

#![no_std]
#![allow(non_camel_case_types)]
// What every part shares is not used by each of them alone.
#![cfg_attr(not(feature = "all"), allow(dead_code))]

#[cfg(feature = "std")]
extern crate std;

#[cfg(all(feature = "tokenizer", not(any(feature = "amb", feature = "embd", feature = "gguf"))))]
compile_error!("the part `tokenizer` needs a format of models: amb, embd or gguf");

#[cfg(feature = "embd")]
pub mod batch;
mod decoder;
#[cfg(feature = "generate")]
pub mod decoder_model;
#[cfg(feature = "embd")]
pub mod embed;
pub mod event;
pub mod format;
#[cfg(feature = "finalfusion")]
pub mod lookup;
pub mod memory;
#[cfg(feature = "embd")]
pub mod model;
#[cfg(feature = "embd")]
mod opening;
#[cfg(feature = "std")]
pub mod owned;
#[cfg(any(feature = "amb", feature = "gguf", feature = "tokenizer"))]
mod parsed;
mod pointer;
pub mod reader;
#[cfg(feature = "generate")]
pub mod session;
#[cfg(feature = "finalfusion")]
pub mod similar;
pub mod source;
pub mod status;
pub mod tensor;
#[cfg(feature = "embd")]
pub mod tokenize;
#[cfg(any(feature = "embd", feature = "tokenizer"))]
pub mod tokenized;
#[cfg(feature = "tokenizer")]
pub mod tokenizer;
#[cfg(feature = "tokenizer")]
mod tokenizer_memory;
#[cfg(feature = "uqff")]
pub mod uqff;
pub mod version;
#[cfg(feature = "finalfusion")]
mod word_index;
#[cfg(all(feature = "embd", any(feature = "amb", feature = "gguf")))]
mod word_pieces;
#[cfg(feature = "finalfusion")]
pub mod words;

#[cfg(all(feature = "panic-handler", not(feature = "std"), not(test)))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
