//! Any tokenizer.json over any text.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nanoembed_tests::fuzz::pipeline(input));
