//! Only looks words up: for the size table.

#![no_std]
#![no_main]

use core::hint::black_box;
use core::ptr::{null, null_mut};

use nanoembed::words::*;
use nanoembed_cortex_m::exit;

#[unsafe(no_mangle)]
extern "C" fn start() -> ! {
    let mut words = null_mut();
    // SAFETY: never run.
    unsafe {
        nanoembed_words_init(black_box(null()), null(), black_box(null_mut()), 0, null_mut(), 0, &mut words, null_mut());
        nanoembed_words_vector(words, black_box(null()), 0, null_mut(), 0, black_box(null_mut()), 0, null_mut(), null_mut());
    }
    exit(0)
}
