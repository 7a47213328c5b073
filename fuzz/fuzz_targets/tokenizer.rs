//! Token ids of arbitrary text are those of the simple implementation, with every vocabulary.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nanoembed_tests::fuzz::tokenizer(input));
