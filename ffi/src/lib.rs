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
//! `similar`, `decoder_model` and `session` (continuing texts), `tokenizer`, `prompt`, `score`; and
//! on hosts `owned` (handles on the heap, with `hosted`: models of every family, and `hosted_vectors`:
//! their sparse vectors and those of tokens), `limits` and
//! `source_file`.

#![no_std]
#![allow(non_camel_case_types)]
// All parts share what each of them alone does not use.
#![cfg_attr(not(feature = "std"), allow(dead_code, unused_imports, unused_mut, unused_variables))]

#[cfg(feature = "std")]
extern crate std;

#[cfg(not(any(feature = "embd", feature = "static-models")))]
compile_error!(
    "build in at least one kind of models, embd, static-models or families; what a program does not \
     call, the linker leaves out"
);

pub mod batch;
mod chosen;
mod decoder;
#[cfg(feature = "families")]
pub mod decoder_handle;
#[cfg(feature = "families")]
pub mod decoder_model;
pub mod embed;
mod encoder_model;
pub mod event;
pub mod failure;
mod folder_tokenizer;
pub mod format;
#[cfg(feature = "std")]
mod host_file;
#[cfg(feature = "std")]
mod hosted;
#[cfg(feature = "std")]
mod hosted_vectors;
mod leaf;
#[cfg(feature = "std")]
pub mod limits;
pub mod lookup;
pub mod memory;
mod memory_file;
pub mod model;
pub mod model_handle;
pub mod model_options;
mod model_tokenizer;
mod opening;
#[cfg(feature = "std")]
pub mod owned;
mod pointer;
#[cfg(feature = "families")]
pub mod prompt;
pub mod reader;
#[cfg(feature = "families")]
pub mod score;
mod scratch;
#[cfg(feature = "families")]
pub mod session;
pub mod similar;
pub mod source;
#[cfg(feature = "std")]
pub mod source_file;
pub mod status;
mod table_model;
pub mod tensor;
pub mod tokenize;
pub mod tokenized;
#[cfg(feature = "families")]
pub mod tokenizer;
mod tokenizer_index;
mod tokenizer_memory;
pub mod top_k;
#[cfg(feature = "safetensors")]
pub mod uqff;
pub mod verify;
pub mod version;
mod versioned;
mod word_index;
pub mod words;
pub mod words_options;
pub mod workspace;

#[cfg(all(feature = "panic-handler", not(feature = "std"), not(test)))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
