//! Quantisers of HQQ, AFQ, FP8, F8Q8 and MXFP4: they lose no more than the reference on the same
//! weights.

use nanoembed_core::event::Mode;
use nanoembed_core::format::safetensors::Entry;
use nanoembed_core::format::uqff::Uqff;
use nanoembed_core::quant::{afq, dequantize_weight, f8q8, fp8, hqq, mxfp4};
use nanoembed_core::tensor::{Afq, Dtype, Encoding, Floats, Hqq, Shape, Weight};
use nanoembed_tests::data::{read, read_f32};
use nanoembed_tests::values::{bits, mean_squared_error};

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn dequantized(shape: &[u64], encoding: Encoding<'_>) -> Vec<f32> {
    let weight = Weight::new(Shape::new(shape).unwrap(), encoding).unwrap();
    let mut out = vec![0.0; usize::try_from(weight.elements()).unwrap()];
    dequantize_weight(&weight, 0, &mut out).unwrap();
    out
}

/// The weight from which the reference's test layers were quantised, as computed in f32.
fn source(count: usize) -> Vec<f32> {
    let exact = read_f32("uqff/legacy_0.2.0/gguf_f32.expected.f32");
    exact[..count].to_vec()
}

fn reference(name: &str) -> Vec<f32> {
    read_f32(&format!("uqff/legacy_0.2.0/{name}.expected.f32"))
}

fn check(name: &str, ours: &[f32], theirs: &[f32], values: &[f32]) {
    let (ours, theirs) = (mean_squared_error(ours, values), mean_squared_error(theirs, values));
    println!("{name}: {ours:.4e} against {theirs:.4e}");
    // Rounding of sums may differ in the last place.
    assert!(ours <= theirs * 1.000_001, "{name}: {ours:e} against {theirs:e}");
}

#[test]
fn hqq_loses_no_more_than_the_reference() {
    for (name, bits) in [("hqq_8", 8), ("hqq_4", 4)] {
        let values = source(6 * 64);
        let mut codes = vec![0; 64 * usize::from(bits) / 8 * 6];
        let (mut scales, mut zeros) = ([0.0; 6], [0.0; 6]);
        let mut out = hqq::HqqOutput { codes: &mut codes, scales: &mut scales, zeros: &mut zeros };
        hqq::quantize(&values, bits, 64, &mut out).unwrap();
        let (scales, zeros) = (bytes(&scales), bytes(&zeros));
        let hqq = Hqq {
            bits,
            group_size: 64,
            axis: 0,
            channel_wise: true,
            codes: &codes,
            scales: Floats { dtype: Dtype::F32, data: &scales },
            zeros: Floats { dtype: Dtype::F32, data: &zeros },
        };
        check(name, &dequantized(&[6, 64], Encoding::Hqq(hqq)), &reference(name), &values);
    }
}

#[test]
fn afq_loses_no_more_than_the_reference() {
    let values = source(3 * 256);
    for (bits, group_size) in [
        (2, 32),
        (2, 64),
        (3, 32),
        (3, 128),
        (4, 32),
        (4, 64),
        (4, 128),
        (6, 64),
        (6, 128),
        (8, 32),
        (8, 64),
        (8, 128),
    ] {
        let groups = values.len() / usize::from(group_size);
        let mut codes = vec![0; values.len() * usize::from(bits) / 8];
        let (mut scales, mut biases) = (vec![0; groups * 4], vec![0; groups * 4]);
        let (s, b) = (&mut scales, &mut biases);
        afq::quantize(&values, bits, group_size, Dtype::F32, &mut codes, s, b).unwrap();
        let afq = Afq {
            bits,
            group_size,
            codes: &codes,
            scales: Floats { dtype: Dtype::F32, data: &scales },
            biases: Floats { dtype: Dtype::F32, data: &biases },
        };
        let name = format!("afq{bits}_g{group_size}");
        check(&name, &dequantized(&[3, 256], Encoding::Afq(afq)), &reference(&name), &values);
    }
}

#[test]
fn fp8_loses_no_more_than_the_reference() {
    let values = source(64);
    let mut data = vec![0; 64];
    let scale = fp8::quantize(&values, &mut data).unwrap();
    let ours = dequantized(&[4, 16], Encoding::Fp8 { data: &data, scale });
    check("fp8", &ours, &reference("fp8"), &values);
}

#[test]
fn f8q8_loses_no_more_than_the_reference() {
    let values = source(3 * 64);
    let mut blocks = vec![0; 6 * 33];
    f8q8::quantize(&values, &mut blocks).unwrap();
    let ours = dequantized(&[3, 64], Encoding::F8q8 { blocks: &blocks });
    check("f8q8", &ours, &reference("f8q8"), &values);
    // A tail of 21 values is padded to a block.
    let mut block = vec![0; 33];
    f8q8::quantize(&values[..21], &mut block).unwrap();
    let tail = dequantized(&[3, 7], Encoding::F8q8 { blocks: &block });
    assert!(mean_squared_error(&tail, &values[..21]) < 1e-4);
}

#[test]
fn mxfp4_loses_no_more_than_the_reference() {
    let values = source(3 * 64);
    let (mut codes, mut scales) = (vec![0; 96], vec![0; 6]);
    mxfp4::quantize(&values, &mut codes, &mut scales).unwrap();
    let ours = dequantized(&[3, 64], Encoding::Mxfp4 { codes: &codes, scales: &scales });
    check("mxfp4", &ours, &reference("mxfp4"), &values);
}

#[test]
fn every_byte_of_e4m3_is_decoded_as_the_reference_does() {
    let expected = read_f32("uqff/legacy_0.2.0/e4m3_decode.f32");
    for (byte, expected) in (0..=255).zip(expected) {
        let ours = fp8::decode(byte);
        assert!(ours.to_bits() == expected.to_bits() || ours.is_nan() && expected.is_nan());
    }
}

#[test]
fn extreme_powers_of_two_are_the_references() {
    let factors: Vec<_> = [0, 1, 127, 254, 255].map(mxfp4::factor).to_vec();
    let expected = [0.0, f32::MIN_POSITIVE, 1.0, 2.0_f32.powi(127), f32::INFINITY];
    assert_eq!(bits(&factors), bits(&expected));
}

#[test]
fn lengths_that_do_not_fit_are_refused() {
    let values = [0.0; 64];
    let (mut a, mut b) = ([0; 8], [0; 8]);
    assert!(afq::quantize(&values, 5, 32, Dtype::F32, &mut [0; 40], &mut a, &mut b).is_none());
    assert!(afq::quantize(&values, 4, 32, Dtype::F32, &mut [0; 31], &mut a, &mut b).is_none());
    assert!(afq::quantize(&values, 4, 0, Dtype::F32, &mut [0; 32], &mut a, &mut b).is_none());
    assert!(mxfp4::quantize(&values, &mut [0; 31], &mut [0; 2]).is_none());
    assert!(mxfp4::quantize(&values[..33], &mut [0; 16], &mut [0; 1]).is_none());
    assert!(f8q8::quantize(&values, &mut [0; 65]).is_none());
    assert!(fp8::quantize(&values, &mut [0; 63]).is_none());
    let mut out = hqq::HqqOutput { codes: &mut [0; 32], scales: &mut [0.0; 2], zeros: &mut [0.0] };
    assert!(hqq::quantize(&values, 4, 64, &mut out).is_none());
}

#[test]
fn values_that_are_no_numbers_do_not_stop_a_quantiser() {
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX] {
        let mut values = [0.25; 64];
        values[7] = value;
        let mut out = hqq::HqqOutput { codes: &mut [0; 32], scales: &mut [0.0], zeros: &mut [0.0] };
        hqq::quantize(&values, 4, 64, &mut out).unwrap();
        let (mut a, mut b) = ([0; 4], [0; 4]);
        afq::quantize(&values, 4, 32, Dtype::BF16, &mut [0; 32], &mut a, &mut b).unwrap();
        mxfp4::quantize(&values, &mut [0; 32], &mut [0; 2]).unwrap();
        f8q8::quantize(&values, &mut [0; 66]).unwrap();
        fp8::quantize(&values, &mut [0; 64]).unwrap();
    }
}

#[test]
fn rows_that_are_no_whole_groups_are_refused() {
    let file = read("uqff/containers/all-0.uqff");
    let mut entries = [Entry::default(); 64];
    let uqff = Uqff::parse(&file, Mode::Strict, &mut entries).unwrap();
    for layer in uqff.layers().map(Result::unwrap) {
        let dims = layer.weight.shape().dims();
        let longer = Shape::new(&[dims[0] + 1, dims[1]]).unwrap();
        assert!(Weight::new(longer, *layer.weight.encoding()).is_err(), "{}", layer.name);
        let huge = Shape::new(&[u64::MAX, dims[1]]).unwrap();
        assert!(Weight::new(huge, *layer.weight.encoding()).is_err(), "{}", layer.name);
    }
}
