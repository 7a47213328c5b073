//! A folder's settings, and the model that they make of its weights.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nanoembed_tests::fuzz::folder(input));
