//! Blocks may hold any bits, values may be any.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nanoembed_tests::fuzz::blocks(input));
