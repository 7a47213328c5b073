//! Accepted GGUF files can be iterated and dequantised.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nanoembed_tests::fuzz::gguf(input));
