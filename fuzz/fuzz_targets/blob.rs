//! A blob of UQFF 0.x with arbitrary bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nanoembed_tests::fuzz::blob(input));
