//! finalfusion files that open are rewritten, looked up and searched.
#![no_main]

libfuzzer_sys::fuzz_target!(|file: &[u8]| nanoembed_tests::fuzz::finalfusion(file));
