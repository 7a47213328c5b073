//! Links the readers without std or allocator. The panic handler calls a function that does not
//! exist, so linking fails if a panic can be reached.

#![no_std]
#![no_main]

mod amb;
mod containers;
mod embd;
mod sentencepiece;
mod tokens;
mod words;

use core::hint::black_box;

use nanoembed_core::Error;
use nanoembed_core::event::Event;

unsafe extern "C" {
    safe fn a_panic_can_be_reached() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    a_panic_can_be_reached()
}

const ALL: &[fn(&[u8]) -> Result<(), Error>] = &[
    embd::by_push,
    embd::by_seek,
    embd::by_slice,
    embd::by_view,
    tokens::by_tokens,
    tokens::by_sorted_tokens,
    words::by_words,
    amb::by_push,
    amb::by_view,
    amb::by_bpe,
    sentencepiece::by_sentencepiece,
    containers::by_safetensors,
    containers::by_uqff,
    containers::by_gguf,
];

fn count(event: Event<'_>) -> Result<(), Error> {
    black_box(&event);
    Ok(())
}

/// # Safety
///
/// `file` must point to `length` readable bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn probe(file: *const u8, length: usize) -> bool {
    // SAFETY: guaranteed by the caller.
    let file = unsafe { core::slice::from_raw_parts(file, length) };
    ALL.iter().all(|read| read(file).is_ok())
}

#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    // SAFETY: no bytes are read.
    let done = unsafe { probe(black_box(core::ptr::dangling()), black_box(0)) };
    black_box(done);
    loop {}
}
