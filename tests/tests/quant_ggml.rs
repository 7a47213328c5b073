//! ggml's block types against ggml's own code and against candle, bit for bit.

use nanoembed_core::quant::{dequantize, quantize};
use nanoembed_core::tensor::{Dtype, DtypeKind};
use nanoembed_tests::data::{read, read_f32};
use nanoembed_tests::schemes::written;
use nanoembed_tests::values::{bits, mean_squared_error};

/// The block types except for those of activations, which do not occur in files.
fn block_types() -> impl Iterator<Item = Dtype> {
    let is_stored = |dtype: &Dtype| !matches!(dtype, Dtype::Q8_1 | Dtype::Q8K);
    let blocks = Dtype::ALL.iter().copied().filter(|dtype| dtype.kind() == DtypeKind::Blocks);
    blocks.filter(is_stored)
}

/// Types whose quantisers search for scales, and find others than ggml's.
const SEARCHING: [Dtype; 2] = [Dtype::Q4K, Dtype::Q6K];

fn all(dtype: Dtype, data: &[u8]) -> Vec<f32> {
    let mut out = vec![0.0; data.len() / dtype.block_bytes() * dtype.block_elements()];
    dequantize(dtype, data, 0, &mut out).unwrap();
    out
}

#[test]
fn blocks_written_by_ggml_are_dequantised_as_ggml_does() {
    for dtype in block_types() {
        for (blocks, expected) in [("blocks", "expected.f32"), ("random", "random.expected.f32")] {
            let blocks = read(&format!("quant/{}.{blocks}", dtype.name()));
            let expected = read_f32(&format!("quant/{}.{expected}", dtype.name()));
            assert_eq!(bits(&all(dtype, &blocks)), bits(&expected), "{dtype:?}");
        }
    }
}

#[test]
fn blocks_written_by_candle_are_dequantised_as_candle_does() {
    let files = [
        ("bf16", Dtype::BF16),
        ("f16", Dtype::F16),
        ("f32", Dtype::F32),
        ("q2k", Dtype::Q2K),
        ("q4_0", Dtype::Q4_0),
        ("q4_1", Dtype::Q4_1),
        ("q4k", Dtype::Q4K),
        ("q5_0", Dtype::Q5_0),
        ("q8_0", Dtype::Q8_0),
        ("q8k", Dtype::Q8K),
    ];
    for (name, dtype) in files {
        let blocks = read(&format!("uqff/legacy_0.2.0/gguf_{name}.rawblocks"));
        let expected = read_f32(&format!("uqff/legacy_0.2.0/gguf_{name}.expected.f32"));
        assert_eq!(bits(&all(dtype, &blocks)), bits(&expected), "{name}");
    }
}

#[test]
fn any_range_is_the_same_part_of_the_whole() {
    for dtype in block_types() {
        let blocks = read(&format!("quant/{}.random", dtype.name()));
        let whole = all(dtype, &blocks);
        for first in [0, 1, 15, 16, 31, 32, 33, 255, 256, 257, 300, 1023, 1024] {
            for length in [0, 1, 2, 31, 32, 33, 200, 256, 257, 513, 724] {
                let mut part = vec![f32::NAN; length];
                let answer = dequantize(dtype, &blocks, first, &mut part);
                match whole.get(first..first + length) {
                    Some(expected) => {
                        assert_eq!(bits(&part), bits(expected), "{dtype:?} {first}+{length}");
                    }
                    None => assert!(answer.is_err(), "{dtype:?} {first}+{length}"),
                }
            }
        }
        let error = dequantize(dtype, &blocks, usize::MAX, &mut [0.0]);
        assert!(error.is_err());
    }
}

#[test]
fn simple_quantisers_write_the_blocks_that_ggml_writes() {
    let weights = read_f32("quant/weights.f32");
    let simple = written(DtypeKind::Blocks).filter(|dtype| !SEARCHING.contains(dtype));
    for dtype in simple {
        let expected = read(&format!("quant/{}.blocks", dtype.name()));
        let mut blocks = vec![0; expected.len()];
        quantize(dtype, &weights, &mut blocks).unwrap();
        assert_eq!(blocks, expected, "{dtype:?}");
    }
}

#[test]
fn searching_quantisers_lose_no_more_than_those_of_ggml() {
    let weights = read_f32("quant/weights.f32");
    for dtype in SEARCHING {
        let reference = read(&format!("quant/{}.blocks", dtype.name()));
        let mut blocks = vec![0; reference.len()];
        quantize(dtype, &weights, &mut blocks).unwrap();
        for (row, values) in weights.chunks(512).enumerate() {
            let part = |blocks: &[u8]| all(dtype, blocks)[512 * row..][..512].to_vec();
            let ours = mean_squared_error(&part(&blocks), values);
            let theirs = mean_squared_error(&part(&reference), values);
            println!("{dtype:?} row {row}: {ours:.3e} against {theirs:.3e}");
            assert!(ours <= theirs, "{dtype:?} row {row}: {ours:e} against {theirs:e}");
        }
    }
}

#[test]
fn values_that_are_no_numbers_do_not_stop_a_quantiser() {
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE / 8.0, f32::MAX] {
        let mut values = vec![0.25; 256];
        values[7] = value;
        for dtype in written(DtypeKind::Blocks) {
            let bytes = usize::try_from(dtype.data_bytes(256).unwrap()).unwrap();
            quantize(dtype, &values, &mut vec![0; bytes]).unwrap();
        }
    }
}

#[test]
fn zeros_stay_zeros() {
    for dtype in written(DtypeKind::Blocks) {
        let mut blocks = vec![0; usize::try_from(dtype.data_bytes(256).unwrap()).unwrap()];
        quantize(dtype, &[0.0; 256], &mut blocks).unwrap();
        assert!(all(dtype, &blocks).iter().all(|&x| x == 0.0), "{dtype:?}");
    }
}

#[test]
fn lengths_that_do_not_fit_are_refused() {
    assert!(quantize(Dtype::Q4K, &[0.0; 255], &mut [0; 144]).is_err());
    assert!(quantize(Dtype::Q4K, &[0.0; 256], &mut [0; 143]).is_err());
    assert!(quantize(Dtype::Q2K, &[0.0; 256], &mut [0; 84]).is_err());
}
