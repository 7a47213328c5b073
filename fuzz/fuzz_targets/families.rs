//! Models of all families, as they are converted.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nanoembed_tests::fuzz::encoder(input));
