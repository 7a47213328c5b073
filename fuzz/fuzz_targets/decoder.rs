//! All sources agree on any file, wherever it is cut.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nanoembed_tests::fuzz::decoder(input));
