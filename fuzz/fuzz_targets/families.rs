//! Converted models of all families.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nanoembed_tests::fuzz::encoder(input));
