//! Blocks with arbitrary bits, and arbitrary values.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nanoembed_tests::fuzz::blocks(input));
