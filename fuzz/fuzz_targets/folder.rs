//! A folder with arbitrary settings and its original weights.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nanoembed_tests::fuzz::folder(input));
