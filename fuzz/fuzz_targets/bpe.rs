//! Byte-level BPE spells every text and gives it back.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nanoembed_tests::fuzz::bpe(input));
