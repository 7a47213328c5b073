//! Byte-level BPE spells every text, and decoding returns it.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nanoembed_tests::fuzz::bpe(input));
