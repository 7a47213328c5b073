//! Quantisers of AMB: their output can be read, is as close as the grid allows, and beats the plain
//! scale.

use half::f16;
use nanoembed_core::event::Mode;
use nanoembed_core::format::amb::{Amb, AmbTensorSpec};
use nanoembed_core::quant::amb_block::{Bytes, ScaledTensor};
use nanoembed_core::quant::unstable::amb_unpack;
use nanoembed_core::quant::unstable::groups::Unpacked;
use nanoembed_core::quant::{adaptive, amb_block, dequantize_weight};
use nanoembed_core::tensor::{
    Arrangement, CodeBits, Dtype, Encoding, ScaleType, ScaledCodes, Shape, Weight,
};
use nanoembed_core::{Error, ErrorKind};
use nanoembed_tests::amb::file_with_tensors;
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

/// The scale required by the largest magnitude, without a search.
fn plain(values: &[f32], codes: ScaledCodes) -> Vec<f32> {
    let top = f32::from((1_i16 << (codes.bits.bits() - 1)) - 1);
    let block = if codes.block == 0 { values.len().max(1) } else { codes.block.into() };
    let mut out = values.to_vec();
    for block in out.chunks_mut(block) {
        let largest = block.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
        let scale = match codes.scales {
            ScaleType::F16 => f16::from_f32(largest / top).to_f32(),
            ScaleType::F32 => largest / top,
            other => panic!("{other:?}"),
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
        // In a file, at any offset.
        let shape = Shape::new(&[values.len() as u64]).unwrap();
        let spec = AmbTensorSpec { name: "w", dtype: Dtype::Scaled(codes), shape, full_blocks: 0 };
        let file = file_with_tensors(&[spec], &data).unwrap();
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
fn weights_follow_the_columns_through_blocks_of_any_length() {
    const COLS: usize = 300;
    let values: Vec<f32> = (0..4 * COLS).map(|i| ((i * 37 % 641) as f32 - 320.0) / 99.0).collect();
    let weights: Vec<f32> = (0..COLS).map(|i| if i % 50 < 5 { 100.0 } else { 0.01 }).collect();
    let cost = |back: &[f32]| {
        let costs = values.iter().zip(back).zip(weights.iter().cycle());
        costs.map(|((a, b), weight)| f64::from(weight * (a - b) * (a - b))).sum::<f64>()
    };
    let arrangements = [Arrangement::Separate, Arrangement::Interleaved, Arrangement::Adaptive];
    for (block, arrangement) in
        [64, 400, 512, 1024].into_iter().flat_map(|block| arrangements.map(|it| (block, it)))
    {
        let codes =
            ScaledCodes { bits: CodeBits::Four, block, scales: ScaleType::F16, arrangement };
        let quantized = |weights: &[f32]| {
            let bytes = codes.data_bytes(values.len() as u64, 0).unwrap();
            let mut data = vec![0; usize::try_from(bytes).unwrap()];
            let error = match arrangement {
                Arrangement::Adaptive => {
                    adaptive::quantize(&codes, &values, weights, |_| false, &mut data)
                }
                _ => amb_block::quantize(&codes, &values, weights, &mut data),
            };
            (error.unwrap(), cost(&read(codes, values.len(), &data)))
        };
        let (error, weighted) = quantized(&weights);
        assert!((error - weighted).abs() < 1e-3 * weighted, "{block}: {error} for {weighted}");
        let (_, alike) = quantized(&[]);
        assert!(weighted < 0.95 * alike, "{block}: {weighted}, {alike} without weights");
    }
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

/// Data available only a few bytes at a time, as from storage through a small tile.
struct Pieces<'a>(&'a [u8], usize);

impl Bytes for Pieces<'_> {
    fn bytes(&mut self, offset: u64, length: usize) -> Result<&[u8], Error> {
        assert!(length <= self.1, "{length} bytes at once");
        self.0.bytes(offset, length)
    }

    fn most(&self) -> usize {
        self.1
    }
}

#[test]
fn data_may_be_had_in_small_pieces() {
    for name in ["int8", "int4", "int5", "interleaved", "adaptive"] {
        let file = nanoembed_tests::data::read(&format!("amb/{name}.amb"));
        for tensor in Amb::parse(&file, Mode::Strict).unwrap().tensors() {
            let header = tensor.header();
            let Dtype::Scaled(codes) = header.dtype else { continue };
            let elements = header.shape.elements().unwrap();
            let count = usize::try_from(elements).unwrap();
            let expected = read(codes, count, tensor.data());
            let whole = ScaledTensor { codes, elements, bytes: header.bytes };
            for most in [8, 9, 13, 64] {
                for first in [0, 1, 5, 17].into_iter().filter(|first| *first <= count) {
                    let mut values = vec![f32::NAN; count - first];
                    let mut data = Pieces(tensor.data(), most);
                    amb_block::dequantize(&whole, first as u64, &mut values, &mut data).unwrap();
                    assert_eq!(values, expected[first..], "{}", header.name);
                }
            }
        }
    }
}

#[test]
fn unpacked_rows_are_what_they_dequantise_to() {
    const COLS: usize = 192;
    const ROWS: usize = 5;
    const STRIDE: usize = 7;
    let values: Vec<f32> = (0..COLS * ROWS).map(|i| (i as f32 * 0.7).sin() * 0.2).collect();
    let all = [CodeBits::Four, CodeBits::Five, CodeBits::Eight].into_iter().flat_map(|bits| {
        [(Arrangement::Separate, 32, ScaleType::F32), (Arrangement::Separate, 192, ScaleType::F16)]
            .into_iter()
            .chain([(Arrangement::Interleaved, 32, ScaleType::F16)])
            .chain([(Arrangement::Adaptive, 64, ScaleType::F16)])
            .map(move |(arrangement, block, scales)| ScaledCodes {
                bits,
                block,
                scales,
                arrangement,
            })
    });
    for codes in all {
        assert!(amb_unpack::has_groups(&codes, COLS));
        let elements = values.len() as u64;
        let is_full = |block: usize| block % 4 == 1 || block > 11;
        let adaptive = codes.arrangement == Arrangement::Adaptive;
        let full = if adaptive { (0..15).filter(|&block| is_full(block)).count() } else { 0 };
        let bytes = codes.data_bytes(elements, full as u64).unwrap();
        let mut data = vec![0; usize::try_from(bytes).unwrap()];
        if adaptive {
            adaptive::quantize(&codes, &values, &[], is_full, &mut data).unwrap();
        } else {
            amb_block::quantize(&codes, &values, &[], &mut data).unwrap();
        }
        let expected = read(codes, values.len(), &data);
        let tensor = ScaledTensor { codes, elements, bytes };
        for (most, first) in [(8, 0), (13, 1), (64, 2), (usize::MAX, 4)] {
            let groups = COLS / amb_unpack::GROUP_COLS;
            let mut out = vec![0; (ROWS - first) * COLS];
            let (mut scales, mut minima) =
                (vec![f32::NAN; groups * STRIDE], vec![0.0; groups * STRIDE]);
            let mut unpacked = Unpacked {
                codes: &mut out,
                scales: &mut scales,
                minima: &mut minima,
                stride: STRIDE,
            };
            let (place, mut data) = (((first * COLS) as u64, COLS), Pieces(&data, most));
            let unpack = amb_unpack::unpack;
            amb_unpack::unpack_rows(&tensor, place, &mut unpacked, &mut data, unpack).unwrap();
            for (i, &code) in out.iter().enumerate() {
                let lane = i % COLS / amb_unpack::GROUP_COLS * STRIDE + i / COLS;
                let value = f32::from(code) * scales[lane] + minima[lane];
                let exact = expected[first * COLS + i];
                // Halves are rounded once more to codes of at most 127.
                let halves = adaptive && is_full((first * COLS + i) / 64);
                let error = if halves { scales[lane] * 0.501 } else { 1e-5 };
                assert!((value - exact).abs() <= error, "{codes:?} {most} {i}: {value} {exact}");
                assert!(!halves || code < 128);
            }
        }
    }
}

#[test]
fn a_bad_scale_is_found_where_it_lies() {
    let arrangement = Arrangement::Separate;
    let codes =
        ScaledCodes { bits: CodeBits::Four, block: 32, scales: ScaleType::F16, arrangement };
    let mut data = [0; 4 * 18];
    data[5] = 0x7c;
    let tensor = ScaledTensor { codes, elements: 128, bytes: 72 };
    let (mut out, mut scales, mut minima) = ([0; 128], [0.0; 4], [0.0; 4]);
    let (scales, minima) = (&mut scales[..], &mut minima[..]);
    let mut unpacked = Unpacked { codes: &mut out, scales, minima, stride: 1 };
    let unpack = amb_unpack::unpack;
    let found = amb_unpack::unpack_rows(&tensor, (0, 128), &mut unpacked, &mut &data[..], unpack);
    assert_eq!(found, Err(Error::new(4, ErrorKind::BadScale)));
    let found = amb_block::dequantize(&tensor, 0, &mut [0.0; 128], &mut &data[..]);
    assert_eq!(found, Err(Error::new(4, ErrorKind::BadScale)));
}

#[test]
fn rows_without_whole_groups_or_room_are_refused() {
    let arrangement = Arrangement::Separate;
    let unpack = |block, cols, stride, room: usize| {
        let codes =
            ScaledCodes { bits: CodeBits::Four, block, scales: ScaleType::F16, arrangement };
        let bytes = codes.data_bytes(128, 0).unwrap();
        let data = vec![0; usize::try_from(bytes).unwrap()];
        let (mut out, mut factors) = ([0; 128], [[0.0; 8]; 2]);
        let [scales, minima] = &mut factors;
        let (scales, minima) = (&mut scales[..room], &mut minima[..room]);
        let mut unpacked = Unpacked { codes: &mut out, scales, minima, stride };
        let (tensor, unpack) = (ScaledTensor { codes, elements: 128, bytes }, amb_unpack::unpack);
        let done =
            amb_unpack::unpack_rows(&tensor, (0, cols), &mut unpacked, &mut &data[..], unpack);
        done.map_err(|error| error.kind())
    };
    assert_eq!(unpack(32, 64, 2, 4), Ok(()));
    for (block, cols, stride, room) in
        [(16, 64, 2, 4), (64, 32, 4, 4), (0, 64, 2, 4), (32, 64, 1, 4), (32, 64, 2, 3)]
    {
        assert_eq!(unpack(block, cols, stride, room), Err(ErrorKind::InvalidArgument), "{block}");
    }
}
