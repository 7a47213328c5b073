//! Inspecting 100 MB with random access reads under 1 MB, in every container of weights.

use std::cell::Cell;

use nanoembed_core::error::Result;
use nanoembed_core::event::{Decode, Event, Mode};
use nanoembed_core::format::uqff::{Extra, LayerFormat, UqffLayer, write_blobs, write_tensors};
use nanoembed_core::format::{gguf, safetensors, uqff};
use nanoembed_core::read::{ReadAt, Seek};
use nanoembed_core::tensor::{Dtype, Encoding, Shape, TensorSpec, Weight};

/// The layers of a model with 30 blocks.
const LAYERS: u32 = 210;
const SHAPE: [u64; 2] = [448, 1024];

/// A file that counts the bytes read.
struct Counted {
    file: Vec<u8>,
    bytes: Cell<u64>,
}

impl ReadAt for &Counted {
    fn len(&self) -> u64 {
        self.file.len() as u64
    }

    fn read_at(&self, offset: u64, destination: &mut [u8]) -> Result<usize> {
        let read = self.file.as_slice().read_at(offset, destination)?;
        self.bytes.set(self.bytes.get() + read as u64);
        Ok(read)
    }
}

fn check(file: Vec<u8>, decoder: impl Decode, tensors: usize) {
    assert!(file.len() > 100_000_000, "{}", file.len());
    let counted = Counted { file, bytes: Cell::new(0) };
    let mut buffer = vec![0; 4096];
    let mut source = Seek::new(&counted, decoder, &mut buffer).without_data();
    let mut seen = 0;
    let mut count = |event: Event<'_>| {
        let Event::Tensor(tensor) = event else { return Ok(()) };
        seen += usize::from(tensor.bytes > 400_000);
        Ok(())
    };
    while source.next_event(&mut count).unwrap() {}
    assert_eq!(seen, tensors);
    assert_eq!(counted.bytes.get(), source.bytes_read());
    println!("{} bytes of {}", source.bytes_read(), counted.file.len());
    assert!(source.bytes_read() < 1_000_000, "{}", source.bytes_read());
}

fn names() -> Vec<String> {
    (0..LAYERS).map(|layer| format!("model.layers.{layer}.mlp.up_proj")).collect()
}

fn layers<'a>(names: &'a [String], data: &'a [u8]) -> Vec<UqffLayer<'a>> {
    let shape = Shape::new(&SHAPE).unwrap();
    let weight = Weight::new(shape, Encoding::Plain { dtype: Dtype::Q8_0, data }).unwrap();
    let layer = |name| UqffLayer {
        name,
        format: LayerFormat::Gguf,
        weight,
        bias: None,
        extra: Extra::default(),
    };
    names.iter().map(|name| layer(name.as_str())).collect()
}

fn blocks() -> Vec<u8> {
    vec![0; 448 * 1024 / 32 * 34]
}

#[test]
fn uqff_1_x() {
    let (names, data) = (names(), blocks());
    let mut file = Vec::new();
    write_tensors(&layers(&names, &data), &[], true, &mut file).unwrap();
    let mut entries = vec![safetensors::Entry::default(); 1000];
    check(file, uqff::UqffDecoder::new(Mode::Lenient, &mut entries), 210);
}

#[test]
fn uqff_0_x() {
    let (names, data) = (names(), blocks());
    let numbered: Vec<_> = (0..).zip(layers(&names, &data)).collect();
    let mut file = Vec::new();
    write_blobs(&numbered, &[], &mut file).unwrap();
    let mut entries = vec![safetensors::Entry::default(); 1000];
    // Each layer is a tensor of the container and contains another one.
    check(file, uqff::UqffDecoder::new(Mode::Lenient, &mut entries), 420);
}

#[test]
fn containers() {
    let names = names();
    let shape = Shape::new(&SHAPE).unwrap();
    let specs = |dtype| -> Vec<TensorSpec<'_>> {
        names.iter().map(|name| TensorSpec { name, dtype, shape }).collect()
    };
    let tensors = specs(Dtype::F16);
    let plan = safetensors::SafetensorsPlan { metadata: &[], tensors: &tensors };
    let mut writer = safetensors::SafetensorsWriter::new(&plan, Vec::new()).unwrap();
    let data = vec![0; 448 * 1024 * 2];
    names.iter().for_each(|_| writer.data(&data).unwrap());
    let mut entries = vec![safetensors::Entry::default(); 1000];
    let decoder = safetensors::SafetensorsDecoder::new(Mode::Lenient, &mut entries);
    check(writer.finish().unwrap(), decoder, 210);

    let tensors = specs(Dtype::Q8_0);
    let plan = gguf::GgufPlan { metadata: &[], tensors: &tensors, alignment: 32 };
    let mut writer = gguf::GgufWriter::new(plan, Vec::new()).unwrap();
    let data = blocks();
    names.iter().for_each(|_| writer.data(&data).unwrap());
    check(writer.finish().unwrap(), gguf::GgufDecoder::<1000>::new(Mode::Lenient), 210);
}
