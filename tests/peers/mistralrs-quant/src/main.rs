//! Opens a UQFF 0.x file with mistralrs-quant 0.8.1 and writes each layer dequantised: `peer FILE
//! FOLDER`.
//!
//! `FOLDER/N.f32` has the weight of layer N and `FOLDER/N.bias.f32` its bias, as little-endian f32
//! in row-major order. The crate dequantises ggml blocks to f16 and widens that.

use std::borrow::Cow;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use candle_core::{DType, Device, Tensor};
use mistralrs_quant::{
    AfqLayer, F8Q8Linear, FP8Linear, GgufMatMul, HqqLayer, MXFP4Layer, QuantMethod,
    QuantizeOntoGuard, QuantizedSerde, UnquantLinear,
};
use safetensors::SafeTensors;

type Opened = candle_core::Result<(Arc<dyn QuantMethod>, Option<Tensor>)>;
type Open = fn(Cow<[u8]>, &Device, QuantizeOntoGuard) -> Opened;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, file, folder] = arguments.as_slice() else { bail!("usage: peer FILE FOLDER") };
    let bytes = fs::read(file)?;
    fs::create_dir_all(folder)?;
    for (name, view) in SafeTensors::deserialize(&bytes)?.tensors() {
        let blob = view.data();
        let open: Open = match blob.get(4) {
            Some(0) => GgufMatMul::deserialize_ext_bias,
            Some(1) => UnquantLinear::deserialize_ext_bias,
            Some(2) => HqqLayer::deserialize_ext_bias,
            Some(3) => FP8Linear::deserialize_ext_bias,
            Some(4) => AfqLayer::deserialize_ext_bias,
            Some(5) => F8Q8Linear::deserialize_ext_bias,
            Some(6) => MXFP4Layer::deserialize_ext_bias,
            other => bail!("layer {name}: type {other:?}"),
        };
        let (layer, bias) = open(Cow::Borrowed(blob), &Device::Cpu, QuantizeOntoGuard::new())
            .with_context(|| format!("layer {name}"))?;
        let weight = layer.dequantize_w().with_context(|| format!("layer {name}"))?;
        println!("{name}: {:?}, {:?}", weight.dims(), bias.as_ref().map(Tensor::dims));
        write(&Path::new(folder).join(format!("{name}.f32")), &weight)?;
        if let Some(bias) = bias {
            write(&Path::new(folder).join(format!("{name}.bias.f32")), &bias)?;
        }
    }
    Ok(())
}

fn write(path: &Path, tensor: &Tensor) -> Result<()> {
    let values: Vec<f32> = tensor.to_dtype(DType::F32)?.flatten_all()?.to_vec1()?;
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    Ok(fs::write(path, bytes)?)
}
