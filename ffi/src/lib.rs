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
//! and `uqff` (dequantising), `verify`, `model` (with `model_options`, `model_handle` and `opening`),
//! `tokenize`, `workspace`, `embed`, `batch` (Arrow), `top_k`, `words` (opening), `lookup`,
//! `similar`, `decoder_model` and `session` (continuing texts), `tokenizer`, `prompt`, `score`; and on hosts `owned` (handles on the heap, with
//! `hosted`: models of every family), `limits` and `source_file`.

#![no_std]
#![allow(non_camel_case_types)]
// What every part shares is not used by each of them alone.
#![cfg_attr(not(feature = "all"), allow(dead_code))]

#[cfg(feature = "std")]
extern crate std;

#[cfg(all(
    feature = "tokenizer",
    not(any(feature = "amb", feature = "weights", feature = "gguf"))
))]
compile_error!("the part `tokenizer` needs a format of models: amb, embd or gguf");

#[cfg(feature = "models")]
pub mod batch;
#[cfg(feature = "models")]
mod chosen;
mod decoder;
#[cfg(feature = "generate")]
pub mod decoder_handle;
#[cfg(feature = "generate")]
pub mod decoder_model;
#[cfg(feature = "models")]
pub mod embed;
#[cfg(feature = "bert")]
mod encoder_model;
pub mod event;
pub mod failure;
#[cfg(feature = "families")]
mod folder_tokenizer;
pub mod format;
#[cfg(feature = "std")]
mod host_file;
#[cfg(feature = "std")]
mod hosted;
#[cfg(feature = "std")]
pub mod limits;
#[cfg(feature = "finalfusion")]
pub mod lookup;
pub mod memory;
#[cfg(feature = "models")]
pub mod model;
#[cfg(feature = "models")]
pub mod model_handle;
#[cfg(feature = "models")]
pub mod model_options;
#[cfg(feature = "models")]
mod model_tokenizer;
#[cfg(feature = "models")]
mod opening;
#[cfg(feature = "std")]
pub mod owned;
#[cfg(any(feature = "amb", feature = "gguf", feature = "tokenizer"))]
mod parsed;
mod pointer;
#[cfg(feature = "families")]
pub mod prompt;
pub mod reader;
#[cfg(feature = "families")]
pub mod score;
#[cfg(feature = "models")]
mod scratch;
#[cfg(feature = "generate")]
pub mod session;
#[cfg(feature = "finalfusion")]
pub mod similar;
pub mod source;
#[cfg(feature = "std")]
pub mod source_file;
pub mod status;
#[cfg(feature = "static-models")]
mod table_model;
pub mod tensor;
#[cfg(feature = "models")]
pub mod tokenize;
#[cfg(any(feature = "models", feature = "tokenizer"))]
pub mod tokenized;
#[cfg(feature = "tokenizer")]
pub mod tokenizer;
#[cfg(any(
    feature = "families",
    feature = "tokenizer",
    all(feature = "bert", any(feature = "amb", feature = "gguf"))
))]
mod tokenizer_index;
#[cfg(feature = "tokenizer")]
mod tokenizer_memory;
pub mod top_k;
#[cfg(feature = "uqff")]
pub mod uqff;
pub mod verify;
pub mod version;
mod versioned;
#[cfg(feature = "finalfusion")]
mod word_index;
#[cfg(feature = "finalfusion")]
pub mod words;
#[cfg(feature = "finalfusion")]
pub mod words_options;
#[cfg(feature = "models")]
pub mod workspace;

#[cfg(all(feature = "panic-handler", not(feature = "std"), not(test)))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
