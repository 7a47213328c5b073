//! Every implementation of dequantisation against the reference, bit for bit.

use nanoembed_core::kernel::Dequantizer;
use nanoembed_core::quant::{dequantize, dequantize_weight, supports};
use nanoembed_core::tensor::{Dtype, Encoding, Shape, Weight};
use nanoembed_tests::data::{read, read_f32};
use nanoembed_tests::values::bits;

/// Types with a fixed size per element or block, and numbers.
fn dtypes() -> impl Iterator<Item = Dtype> {
    Dtype::ALL.iter().copied().filter(|dtype| supports(*dtype))
}

fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    std::iter::repeat_with(next).take(bytes).collect()
}

/// Returns true for equal bits; for blocks whose factors are NaN, both must be NaN.
fn same(left: &[f32], right: &[f32]) -> bool {
    let equal = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
    left.len() == right.len() && left.iter().zip(right).all(equal)
}

/// The starts and lengths of ranges: around lanes, blocks, and several of them.
const FIRSTS: [usize; 12] = [0, 1, 15, 16, 17, 31, 32, 33, 255, 256, 257, 300];
const LENGTHS: [usize; 14] = [0, 1, 2, 15, 16, 17, 31, 32, 33, 200, 256, 257, 513, 724];

#[test]
fn this_cpu_has_more_than_the_reference_where_its_instructions_are_known() {
    let names: Vec<_> = Dequantizer::available().map(|way| way.name()).collect();
    assert_eq!(names.first(), Some(&"portable"));
    #[cfg(target_arch = "x86_64")]
    assert_eq!(names.contains(&"avx2"), is_x86_feature_detected!("avx2"), "{names:?}");
    assert_eq!(Some(&Dequantizer::detect().name()), names.last());
}

#[test]
fn blocks_written_by_ggml_are_dequantised_as_ggml_does() {
    for way in Dequantizer::available() {
        for dtype in dtypes().filter(|dtype| dtype.is_block()) {
            if matches!(dtype, Dtype::Q8_1 | Dtype::Q8K) {
                continue; // types of activations: ggml has no files of them
            }
            for (blocks, expected) in
                [("blocks", "expected.f32"), ("random", "random.expected.f32")]
            {
                let blocks = read(&format!("quant/{}.{blocks}", dtype.name()));
                let expected = read_f32(&format!("quant/{}.{expected}", dtype.name()));
                let mut out = vec![0.0; expected.len()];
                way.dequantize(dtype, &blocks, 0, &mut out).unwrap();
                assert_eq!(bits(&out), bits(&expected), "{} {dtype:?}", way.name());
            }
        }
    }
}

#[test]
fn any_range_of_any_type_is_what_the_reference_says() {
    let mut checked = 0;
    for dtype in dtypes() {
        let elements = 1280;
        let data = noise(elements / dtype.block_elements() * dtype.block_bytes());
        for way in Dequantizer::available() {
            for first in FIRSTS {
                for length in LENGTHS {
                    let (mut expected, mut out) = (vec![0.0; length], vec![1.0; length]);
                    dequantize(dtype, &data, first, &mut expected).unwrap();
                    way.dequantize(dtype, &data, first, &mut out).unwrap();
                    assert!(same(&out, &expected), "{} {dtype:?} {first}+{length}", way.name());
                    checked += length;
                }
            }
            for (first, length) in [(0, 1281), (1280, 1), (1, 1280), (2000, 1), (usize::MAX, 1)] {
                let answer = way.dequantize(dtype, &data, first, &mut vec![0.0; length]);
                assert!(answer.is_err(), "{} {dtype:?} {first}+{length}", way.name());
            }
            assert!(way.dequantize(dtype, &data, 1280, &mut []).is_ok());
        }
    }
    assert!(checked > 100_000);
}

#[test]
fn every_half_and_every_bfloat_has_the_same_bits_infinities_subnormals_and_no_numbers_too() {
    let data: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    for dtype in [Dtype::F16, Dtype::BF16] {
        let mut expected = vec![0.0; 65536];
        dequantize(dtype, &data, 0, &mut expected).unwrap();
        assert!(expected.iter().any(|value| value.is_infinite()));
        assert!(expected.iter().any(|value| value.is_nan()));
        assert!(dtype == Dtype::BF16 || expected[1] == 2.0_f32.powi(-24));
        for way in Dequantizer::available() {
            let mut out = vec![0.0; 65536];
            way.dequantize(dtype, &data, 0, &mut out).unwrap();
            assert_eq!(bits(&out), bits(&expected), "{} {dtype:?}", way.name());
        }
    }
}

#[test]
fn every_byte_at_every_place_of_a_block_gives_what_the_reference_says() {
    for dtype in dtypes().filter(|dtype| dtype.is_block()) {
        let (elements, size) = (dtype.block_elements(), dtype.block_bytes());
        let mut block = noise(size);
        let (mut expected, mut out) = (vec![0.0; elements], vec![0.0; elements]);
        for at in 0..size {
            let before = block[at];
            for byte in 0..=u8::MAX {
                block[at] = byte;
                dequantize(dtype, &block, 0, &mut expected).unwrap();
                for way in Dequantizer::available() {
                    way.dequantize(dtype, &block, 0, &mut out).unwrap();
                    assert!(same(&out, &expected), "{} {dtype:?} {at} {byte:#x}", way.name());
                }
            }
            block[at] = before;
        }
    }
}

#[test]
fn every_half_as_a_scale_gives_what_the_reference_says() {
    for half in 0..=u16::MAX {
        let [low, high] = half.to_le_bytes();
        let mut block = [0x9e; 34];
        (block[0], block[1]) = (low, high);
        let mut expected = [0.0; 32];
        dequantize(Dtype::Q8_0, &block, 0, &mut expected).unwrap();
        for way in Dequantizer::available() {
            let mut out = [1.0; 32];
            way.dequantize(Dtype::Q8_0, &block, 0, &mut out).unwrap();
            assert!(same(&out, &expected), "{} {half:#x}", way.name());
        }
    }
}

#[test]
fn weights_that_are_no_plain_blocks_are_what_the_reference_says() {
    let (codes, scales) = (noise(640), noise(40));
    let encodings = [
        Encoding::Mxfp4 { codes: &codes, scales: &scales },
        Encoding::F8q8 { blocks: &noise(40 * 33) },
        Encoding::Fp8 { data: &noise(1280), scale: 0.37 },
        Encoding::Plain { dtype: Dtype::Q4K, data: &noise(5 * 144) },
    ];
    for encoding in encodings {
        let weight = Weight::new(Shape::new(&[5, 256]).unwrap(), encoding).unwrap();
        for way in Dequantizer::available() {
            for first in FIRSTS {
                for length in LENGTHS {
                    let (mut expected, mut out) = (vec![0.0; length], vec![1.0; length]);
                    dequantize_weight(&weight, first, &mut expected).unwrap();
                    way.dequantize_weight(&weight, first, &mut out).unwrap();
                    let name = encoding.name();
                    assert!(same(&out, &expected), "{} {name} {first}+{length}", way.name());
                }
            }
            for (first, length) in [(0, 1281), (1280, 1), (usize::MAX, 1)] {
                let answer = way.dequantize_weight(&weight, first, &mut vec![0.0; length]);
                assert!(answer.is_err());
            }
        }
    }
}

#[test]
fn results_that_are_written_past_the_caches_are_the_same() {
    let elements = (4 << 20) + 5 * 256;
    for dtype in [Dtype::Q8_0, Dtype::Q4K, Dtype::F16] {
        let size = elements / dtype.block_elements() * dtype.block_bytes();
        let data: Vec<u8> = noise(size).iter().map(|byte| byte & 0x7b).collect();
        let mut expected = vec![0.0; elements];
        dequantize(dtype, &data, 0, &mut expected).unwrap();
        for way in Dequantizer::available() {
            // Cache lines begin at different elements.
            for (first, from) in [(0, 0), (37, 3), (256, 13)] {
                let mut out = vec![-1.0; elements - first + from];
                way.dequantize(dtype, &data, first, &mut out[from..]).unwrap();
                assert!(out[..from].iter().all(|value| *value == -1.0));
                assert!(bits(&out[from..]) == bits(&expected[first..]), "{} {dtype:?}", way.name());
            }
        }
    }
}
