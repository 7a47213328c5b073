//! Word vectors of other programs.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nanoembed_host_tests::words::run(input));
