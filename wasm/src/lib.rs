//! The WebAssembly side of the npm package: core, made callable from JavaScript.
//!
//! * [`reader`] takes a file's bytes, as they arrive or as it asks for them, and lets core's
//!   decoders look at them;
//! * [`encoder`] embeds and compares texts, with models of the kinds that the module is
//!   built with, [`causal`] continues them, [`words`] looks words up, all in bytes that a reader
//!   kept; [`folder`] takes a model's texts and weights apart; its `shared` has one model for
//!   several threads;
//! * [`scan`] compares a vector with many, [`ranking`] finds passages by their words, too;
//! * [`report`] tells what a file says of itself, as JSON; [`dequantize`] turns parts of tensors
//!   into numbers.
//!
//! JavaScript owns every decision about sources, caches, workers and time. Features choose what a
//! module can do: the package ships one for BERT, one for static models, one for encoders of all
//! families, one for those in `.weights` and AMB files, one for those in GGUF files, one that
//! continues texts, one for words, one that inspects, one that dequantises, which is loaded when
//! somebody wants to see numbers, and two for search, which lie within the JavaScript that calls
//! them; of those for BERT and for `.weights` and AMB files a second one, for threads that share its
//! memory.

#![cfg_attr(target_family = "wasm", no_std)]
// All parts share what each of them alone does not use.
#![cfg_attr(
    not(all(feature = "causal", feature = "embed", feature = "inspect", feature = "static")),
    allow(dead_code, unused_imports)
)]

extern crate alloc;

#[cfg(all(target_family = "wasm", feature = "inspect", not(feature = "shared")))]
mod allocator;
#[cfg(feature = "causal")]
pub mod causal;
#[cfg(feature = "reading")]
mod decoder;
#[cfg(feature = "values")]
pub mod dequantize;
#[cfg(any(feature = "embed", feature = "encoders", feature = "static"))]
pub mod encoder;
#[cfg(feature = "bindgen")]
pub mod failure;
#[cfg(feature = "reading")]
mod file_summary;
#[cfg(all(
    target_family = "wasm",
    any(feature = "encoder-weights", feature = "static"),
    not(any(feature = "inspect", feature = "shared"))
))]
mod first_fit;
#[cfg(feature = "encoder-files")]
pub mod folder;
#[cfg(feature = "bindgen")]
mod leaf;
#[cfg(feature = "shared")]
mod lock;
#[cfg(all(target_family = "wasm", feature = "shared"))]
mod locked_allocator;
#[cfg(feature = "ranking")]
pub mod ranking;
#[cfg(feature = "reading")]
pub mod reader;
#[cfg(feature = "inspect")]
pub mod report;
#[cfg(feature = "scan")]
pub mod scan;
#[cfg(feature = "words")]
pub mod words;

#[cfg(target_family = "wasm")]
mod host {
    //! The allocator and panic handler of a module without the standard library.

    #[cfg(not(any(
        feature = "encoder-weights",
        feature = "inspect",
        feature = "shared",
        feature = "static"
    )))]
    #[global_allocator]
    static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

    #[cfg(feature = "shared")]
    #[global_allocator]
    static ALLOCATOR: crate::locked_allocator::LockedAllocator =
        crate::locked_allocator::LockedAllocator::new();

    #[cfg(all(
        any(feature = "encoder-weights", feature = "static"),
        not(any(feature = "inspect", feature = "shared"))
    ))]
    #[global_allocator]
    static ALLOCATOR: crate::first_fit::FirstFit = crate::first_fit::FirstFit::new();

    #[cfg(all(feature = "inspect", not(feature = "shared")))]
    #[global_allocator]
    static ALLOCATOR: crate::allocator::PowersOfTwo = crate::allocator::PowersOfTwo::new();

    /// Traps; JavaScript sees a `RuntimeError`. Messages would double the inspector's size.
    #[panic_handler]
    fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
        core::arch::wasm32::unreachable()
    }
}
