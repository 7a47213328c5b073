//! Only looks words up: for the size table.

#![no_std]
#![no_main]

use nanoembed_cortex_m::{exit, linked};

#[unsafe(no_mangle)]
extern "C" fn start() -> ! {
    linked::words();
    exit(0)
}
