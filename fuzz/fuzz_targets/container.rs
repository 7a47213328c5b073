//! safetensors containers that we accept the reference accepts too, with the same tensors.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nanoembed_tests::fuzz::container(input));
