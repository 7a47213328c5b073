//! A UQFF 0.2.0 file with every kind of layer that the project's quantisers produce.

use nanoembed_core::format::uqff::{Extra, LayerFormat, UqffLayer, write_blobs};
use nanoembed_core::quant::{afq, f8q8, fp8, hqq, mxfp4, quantize};
use nanoembed_core::tensor::{
    Afq, Dtype, Encoding, Floats, Hqq, Shape, TensorHeader, TensorView, Weight,
};

/// Rows and columns of all weights except for those of HQQ and FP8.
const SHAPE: [u64; 2] = [2, 512];
const ELEMENTS: usize = 1024;

/// A layer that owns its arrays.
struct Owned {
    format: LayerFormat,
    arrays: Vec<Vec<u8>>,
    kind: Kind,
    bias: Option<(Dtype, Vec<u8>)>,
}

enum Kind {
    Plain(Dtype),
    Hqq(u8),
    Fp8(f32),
    Afq(u8, u8, Dtype),
    F8q8,
    Mxfp4,
}

/// The weights before quantisation: waves, some outliers, a stretch of zeros.
#[must_use]
pub fn source() -> Vec<f32> {
    (0..1024_u16)
        .map(|i| {
            let x = f32::from(i);
            let wave = (x * 0.7).sin() * 0.05 + (x * 0.011).cos() * 0.02;
            match i {
                300..=363 => 0.0,
                _ if i % 97 == 0 => wave * 9.0,
                _ => wave,
            }
        })
        .collect()
}

fn floats(values: &[f32], dtype: Dtype) -> Vec<u8> {
    let mut bytes = vec![0; values.len() * dtype.block_bytes()];
    quantize(dtype, values, &mut bytes).expect("floats");
    bytes
}

fn layers() -> Vec<Owned> {
    let values = source();
    let bias = |dtype| Some((dtype, floats(&[0.5, -1.25], dtype)));
    let mut all = Vec::new();
    let mut add = |format, kind, arrays, bias| all.push(Owned { format, arrays, kind, bias });
    for (dtype, bias) in [
        (Dtype::Q8_0, bias(Dtype::F32)),
        (Dtype::Q5_0, None),
        (Dtype::Q4_0, bias(Dtype::F16)),
        (Dtype::Q4_1, None),
        (Dtype::Q4K, bias(Dtype::BF16)),
        (Dtype::Q6K, None),
    ] {
        let blocks = ELEMENTS / dtype.block_elements() * dtype.block_bytes();
        let mut data = vec![0; blocks];
        quantize(dtype, &values, &mut data).expect("whole blocks");
        add(LayerFormat::Gguf, Kind::Plain(dtype), vec![data], bias);
    }
    for dtype in [Dtype::F32, Dtype::F16, Dtype::BF16] {
        let data = floats(&values, dtype);
        add(LayerFormat::Unquantized, Kind::Plain(dtype), vec![data], bias(dtype));
    }
    for bits in [8, 4] {
        let mut codes = vec![0; ELEMENTS * usize::from(bits) / 8];
        let (mut scales, mut zeros) = ([0.0; 16], [0.0; 16]);
        let mut out = hqq::HqqOutput { codes: &mut codes, scales: &mut scales, zeros: &mut zeros };
        hqq::quantize(&values, bits, 64, &mut out).expect("whole groups");
        let arrays = vec![codes, floats(&scales, Dtype::F32), floats(&zeros, Dtype::F32)];
        let bias = if bits == 4 { bias(Dtype::F32) } else { None };
        add(LayerFormat::Hqq, Kind::Hqq(bits), arrays, bias);
    }
    let mut data = vec![0; ELEMENTS];
    let scale = fp8::quantize(&values, &mut data).expect("equal lengths");
    add(LayerFormat::Fp8, Kind::Fp8(scale), vec![data], bias(Dtype::F32));
    for bits in [2, 3, 4, 6, 8] {
        for (group, dtype) in [(32, Dtype::F32), (64, Dtype::F16), (128, Dtype::BF16)] {
            let groups = ELEMENTS / usize::from(group);
            let mut codes = vec![0; ELEMENTS * usize::from(bits) / 8];
            let mut scales = vec![0; groups * dtype.block_bytes()];
            let mut biases = scales.clone();
            afq::quantize(&values, bits, group, dtype, &mut codes, &mut scales, &mut biases)
                .expect("whole groups");
            let arrays = vec![codes, scales, biases];
            add(LayerFormat::Afq, Kind::Afq(bits, group, dtype), arrays, None);
        }
    }
    let mut blocks = vec![0; ELEMENTS / 32 * 33];
    f8q8::quantize(&values, &mut blocks).expect("whole blocks");
    add(LayerFormat::F8q8, Kind::F8q8, vec![blocks], bias(Dtype::F32));
    let (mut codes, mut scales) = (vec![0; ELEMENTS / 2], vec![0; ELEMENTS / 32]);
    mxfp4::quantize(&values, &mut codes, &mut scales).expect("whole groups");
    add(LayerFormat::Mxfp4, Kind::Mxfp4, vec![codes, scales], bias(Dtype::F32));
    all
}

impl Owned {
    fn layer(&self) -> UqffLayer<'_> {
        let arrays = |index: usize| self.arrays[index].as_slice();
        let mut extra = Extra::default();
        let encoding = match self.kind {
            Kind::Plain(dtype) => Encoding::Plain { dtype, data: arrays(0) },
            Kind::Hqq(bits) => {
                extra.optimization_steps = hqq::STEPS;
                let floats = |index| Floats { dtype: Dtype::F32, data: arrays(index) };
                Encoding::Hqq(Hqq {
                    bits,
                    group_size: 64,
                    axis: 0,
                    channel_wise: true,
                    codes: arrays(0),
                    scales: floats(1),
                    zeros: floats(2),
                })
            }
            Kind::Fp8(scale) => {
                (extra.dequant_x_scale, extra.quant_scale) = (scale, 1.0 / scale);
                Encoding::Fp8 { data: arrays(0), scale }
            }
            Kind::Afq(bits, group_size, dtype) => Encoding::Afq(Afq {
                bits,
                group_size,
                codes: arrays(0),
                scales: Floats { dtype, data: arrays(1) },
                biases: Floats { dtype, data: arrays(2) },
            }),
            Kind::F8q8 => Encoding::F8q8 { blocks: arrays(0) },
            Kind::Mxfp4 => Encoding::Mxfp4 { codes: arrays(0), scales: arrays(1) },
        };
        let shape = Shape::new(&SHAPE).expect("two dimensions");
        let weight = Weight::new(shape, encoding).expect("arrays that fit");
        let bias = self.bias.as_ref().map(|(dtype, data)| {
            let shape = Shape::new(&[2]).expect("one dimension");
            let header = TensorHeader {
                name: "bias",
                dtype: *dtype,
                shape,
                offset: 0,
                bytes: data.len() as u64,
            };
            TensorView::new(header, data).expect("as long as it says")
        });
        UqffLayer { name: "", format: self.format, weight, bias, extra }
    }
}

/// The file.
///
/// # Panics
///
/// If a quantiser or the writer fails.
#[must_use]
pub fn every_layer() -> Vec<u8> {
    let layers = layers();
    let mut numbered: Vec<(u32, UqffLayer<'_>)> =
        (0..).zip(layers.iter().map(Owned::layer)).collect();
    numbered.sort_by_key(|(number, _)| number.to_string());
    let mut file = Vec::new();
    write_blobs(&numbered, &[], &mut file).expect("what 0.2.0 can hold");
    file
}
