//! The JSON lexer does not depend on cuts.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nanoembed_tests::fuzz::json(input));
