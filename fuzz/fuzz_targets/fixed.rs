//! Encoders in integer arithmetic.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nanoembed_host_tests::models::fixed(input));
