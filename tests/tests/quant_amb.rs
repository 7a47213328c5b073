//! Quantisers of AMB: what they write can be read, is as near as the grid allows, and beats the plain scale.

use half::f16;
use nanoembed_core::event::Mode;
use nanoembed_core::format::amb::{Amb, TensorSpec};
use nanoembed_core::quant::{adaptive, amb_block, dequantize_weight};
use nanoembed_core::tensor::{
    Arrangement, CodeBits, Dtype, Encoding, ScaleType, ScaledCodes, Shape, Weight,
};
use nanoembed_tests::amb::of_tensors;
use proptest::prelude::*;

fn read(codes: ScaledCodes, count: usize, data: &[u8]) -> Vec<f32> {
    let encoding = Encoding::Plain { dtype: Dtype::Scaled(codes), data };
    let weight = Weight::new(Shape::new(&[count as u64]).unwrap(), encoding).unwrap();
    let mut values = vec![0.0; count];
    dequantize_weight(&weight, 0, &mut values).unwrap();
    values
}

fn squared(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum()
}

/// The scale that the largest magnitude asks for, and nothing better.
fn plain(values: &[f32], codes: ScaledCodes) -> Vec<f32> {
    let top = f32::from((1_i16 << (codes.bits.bits() - 1)) - 1);
    let block = if codes.block == 0 { values.len().max(1) } else { codes.block.into() };
    let mut out = values.to_vec();
    for block in out.chunks_mut(block) {
        let largest = block.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
        let scale = match codes.scales {
            ScaleType::F16 => f16::from_f32(largest / top).to_f32(),
            ScaleType::F32 => largest / top,
        };
        for x in block {
            let code = if scale > 0.0 { (*x / scale).round().clamp(-top, top) } else { 0.0 };
            *x = code * scale;
        }
    }
    out
}

fn any_codes() -> impl Strategy<Value = ScaledCodes> {
    let bits = prop_oneof![Just(CodeBits::Four), Just(CodeBits::Five), Just(CodeBits::Eight)];
    let scales = prop_oneof![Just(ScaleType::F32), Just(ScaleType::F16)];
    let separate =
        prop_oneof![Just(0_u16), 1..70_u16].prop_map(|block| (Arrangement::Separate, block));
    let eights = (1..9_u16).prop_map(|n| n * 8);
    let interleaved = eights.prop_map(|block| (Arrangement::Interleaved, block));
    (bits, scales, prop_oneof![separate, interleaved]).prop_map(
        |(bits, scales, (arrangement, block))| {
            let bits = if arrangement == Arrangement::Interleaved && bits == CodeBits::Eight {
                CodeBits::Five
            } else {
                bits
            };
            ScaledCodes { bits, block, scales, arrangement }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn values_come_back_nearer_than_by_the_plain_scale(
        codes in any_codes(),
        values in prop::collection::vec(-3.0_f32..3.0, 0..200),
    ) {
        let bytes = codes.data_bytes(values.len() as u64, 0).unwrap();
        let mut data = vec![0xAA; usize::try_from(bytes).unwrap()];
        let error = amb_block::quantize(&codes, &values, &[], &mut data).unwrap();
        let back = read(codes, values.len(), &data);
        let ours = squared(&values, &back);
        prop_assert!((ours - error).abs() <= 1e-3 * ours + 1e-6, "{ours} is not {error}");
        prop_assert!(ours <= squared(&values, &plain(&values, codes)) * 1.0001 + 1e-9);
        // In a file, whatever its place.
        let shape = Shape::new(&[values.len() as u64]).unwrap();
        let spec = TensorSpec { name: "w", dtype: Dtype::Scaled(codes), shape, full_blocks: 0 };
        let file = of_tensors(&[spec], &data).unwrap();
        let amb = Amb::parse(&file, Mode::Strict).unwrap();
        prop_assert_eq!(amb.tensor("w").unwrap().data(), &data[..]);
    }

    #[test]
    fn adaptive_blocks_are_halves_or_codes(
        five in any::<bool>(),
        block in (1..5_u16).prop_map(|n| n * 8),
        values in prop::collection::vec(-3.0_f32..3.0, 0..300),
        seed in any::<u64>(),
    ) {
        let bits = if five { CodeBits::Five } else { CodeBits::Four };
        let arrangement = Arrangement::Adaptive;
        let codes = ScaledCodes { bits, block, scales: ScaleType::F16, arrangement };
        let is_full = |index: usize| (seed >> (index % 64)) & 1 == 1;
        let blocks = values.len().div_ceil(block.into());
        let full = (0..blocks).filter(|&index| is_full(index)).count() as u64;
        let bytes = codes.data_bytes(values.len() as u64, full).unwrap();
        let mut data = vec![0xAA; usize::try_from(bytes).unwrap()];
        adaptive::quantize(&codes, &values, &[], is_full, &mut data).unwrap();
        let back = read(codes, values.len(), &data);
        let parts = values.chunks(block.into()).zip(back.chunks(block.into()));
        for (index, (values, back)) in parts.enumerate() {
            if is_full(index) {
                let halves: Vec<f32> = values.iter().map(|x| f16::from_f32(*x).to_f32()).collect();
                prop_assert_eq!(&halves[..], back);
            } else {
                let interleaved = ScaledCodes { arrangement: Arrangement::Interleaved, ..codes };
                let mut padded = values.to_vec();
                padded.resize(block.into(), 0.0);
                let size = interleaved.data_bytes(values.len() as u64, 0).unwrap();
                let mut alone = vec![0; usize::try_from(size).unwrap()];
                amb_block::quantize(&interleaved, values, &[], &mut alone).unwrap();
                prop_assert_eq!(&read(interleaved, values.len(), &alone)[..], back);
            }
        }
    }
}

#[test]
fn weights_of_columns_move_the_error_to_where_it_costs_less() {
    let values: Vec<f32> = (0..64).map(|i| ((i * 37 % 64) as f32 - 31.0) / 20.0).collect();
    let codes = ScaledCodes {
        bits: CodeBits::Four,
        block: 32,
        scales: ScaleType::F16,
        arrangement: Arrangement::Interleaved,
    };
    let weights: Vec<f32> = (0..32).map(|i| if i < 4 { 100.0 } else { 0.01 }).collect();
    let error_in_front = |weights: &[f32]| {
        let mut data = vec![0; 36];
        amb_block::quantize(&codes, &values, weights, &mut data).unwrap();
        let back = read(codes, 64, &data);
        squared(&values[..4], &back[..4]) + squared(&values[32..36], &back[32..36])
    };
    assert!(error_in_front(&weights) < 0.5 * error_in_front(&[]));
}

#[test]
fn zeros_and_what_is_no_number_do_no_harm() {
    for values in
        [[0.0; 32], [f32::NAN; 32], [f32::INFINITY; 32], [f32::MIN_POSITIVE; 32], [3e38; 32]]
    {
        for bits in [CodeBits::Four, CodeBits::Five, CodeBits::Eight] {
            let arrangement = Arrangement::Separate;
            let codes = ScaledCodes { bits, block: 32, scales: ScaleType::F16, arrangement };
            let mut data = vec![0; usize::try_from(codes.data_bytes(32, 0).unwrap()).unwrap()];
            amb_block::quantize(&codes, &values, &[], &mut data).unwrap();
            assert!(read(codes, 32, &data).iter().all(|x| x.is_finite()));
        }
    }
}
