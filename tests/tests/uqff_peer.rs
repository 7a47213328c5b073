//! Files written here, read by the reference reader of UQFF 0.x, crate mistralrs-quant 0.8.1:
//! `data/uqff/peer` has its values of each layer. The recipe is in
//! `peers/mistralrs-quant/README.md`.

use half::f16;
use nanoembed_core::event::Mode;
use nanoembed_core::format::safetensors::Entry;
use nanoembed_core::format::uqff::{LayerFormat, Uqff};
use nanoembed_core::quant::{dequantize, dequantize_weight};
use nanoembed_tests::data::{read, read_f32};
use nanoembed_tests::uqff::every_layer;
use nanoembed_tests::values::bits;

#[test]
fn the_file_that_the_reference_opened_is_the_one_we_write() {
    assert_eq!(every_layer(), read("uqff/peer/every-layer-0.uqff"));
}

#[test]
fn the_reference_reads_the_values_that_we_read() {
    let file = read("uqff/peer/every-layer-0.uqff");
    let mut entries = [Entry::default(); 64];
    let uqff = Uqff::parse(&file, Mode::Strict, &mut entries).unwrap();
    let (mut formats, mut biases) = (Vec::new(), 0);
    for layer in uqff.layers() {
        let layer = layer.unwrap();
        let mut values = vec![0.0; usize::try_from(layer.weight.elements()).unwrap()];
        dequantize_weight(&layer.weight, 0, &mut values).unwrap();
        if layer.format == LayerFormat::Gguf {
            // The reference's output of these layers passes through f16.
            values.iter_mut().for_each(|x| *x = f16::from_f32(*x).to_f32());
        }
        if layer.format == LayerFormat::Mxfp4 {
            // And that of these through bf16.
            values.iter_mut().for_each(|x| *x = half::bf16::from_f32(*x).to_f32());
        }
        let expected = read_f32(&format!("uqff/peer/{}.f32", layer.name));
        assert_eq!(bits(&values), bits(&expected), "layer {}", layer.name);
        if let Some(bias) = &layer.bias {
            let mut values = [0.0; 2];
            dequantize(bias.header().dtype, bias.data(), 0, &mut values).unwrap();
            let expected = read_f32(&format!("uqff/peer/{}.bias.f32", layer.name));
            assert_eq!(bits(&values), bits(&expected), "bias of layer {}", layer.name);
            biases += 1;
        }
        formats.push(layer.format.code());
    }
    formats.sort_unstable();
    let count = formats.len();
    formats.dedup();
    assert_eq!((formats, count, biases), ((0..7).collect(), 29, 10));
}
