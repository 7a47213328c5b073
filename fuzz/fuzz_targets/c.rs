//! Any file through the C interface.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nanoembed_host_tests::c::run(input));
