//! Only reads what files say, of all formats: for the size table.

#![no_std]
#![no_main]

use core::hint::black_box;
use core::ptr::{null, null_mut};

use nanoembed::reader::*;
use nanoembed_cortex_m::exit;

#[unsafe(no_mangle)]
extern "C" fn start() -> ! {
    let mut reader = null_mut();
    // SAFETY: never run.
    unsafe {
        nanoembed_reader_init(black_box(null()), black_box(null()), black_box(null_mut()), 0, &mut reader);
        nanoembed_reader_next(reader, black_box(null_mut()), null_mut());
    }
    exit(0)
}
