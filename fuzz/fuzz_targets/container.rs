//! safetensors containers that are accepted here are accepted by the reference, with the same
//! tensors.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nanoembed_tests::fuzz::container(input));
