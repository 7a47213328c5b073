//! Looks words up and embeds sentences: for the size table.

#![no_std]
#![no_main]

use nanoembed_cortex_m::{exit, linked};

#[unsafe(no_mangle)]
extern "C" fn start() -> ! {
    linked::words();
    linked::model();
    exit(0)
}
