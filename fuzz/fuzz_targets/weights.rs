//! Tensors that the views of UQFF and GGUF accept are dequantised, written and read back.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nanoembed_tests::fuzz::weights(input));
