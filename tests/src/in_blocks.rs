//! The default model as an `.amb` file whose linear layers are in blocks.

use nanoembed_core::error::Result;
use nanoembed_core::event::{Mode, SpecialRole};
use nanoembed_core::format::amb::{AmbPlan, AmbTensorSpec, AmbTokenizerSpec, Payload};
use nanoembed_core::format::embd::Embd;
use nanoembed_core::model::requantize::COLUMN_SCALES;
use nanoembed_core::quant::amb_block;
use nanoembed_core::tensor::{Arrangement, CodeBits, Dtype, ScaleType, ScaledCodes, Shape};

use crate::amb;

/// Elements that share a scale.
const BLOCK: u16 = 32;

const CODES: ScaledCodes = ScaledCodes {
    bits: CodeBits::Eight,
    block: BLOCK,
    scales: ScaleType::F32,
    arrangement: Arrangement::Separate,
};

const CONFIG: &str = r#"{"architecture": "custom", "model_type": "bert", "n_vocab": 30522, "n_embd": 384, "n_layers": 6,
    "n_heads": 12, "n_kv_heads": 12, "max_seq_len": 512, "intermediate_size": 1536, "layer_norm_eps": 1e-12,
    "pooling": "mean", "normalize": true, "do_lower_case": true, "max_tokens": 256}"#;

/// The model in `file`, a `.weights` file of all-MiniLM-L6-v2 in 8 bits, with the matrices of
/// layers in 8-bit blocks, which are almost lossless, everything else in f32, and the first
/// `scales` column scales.
///
/// # Errors
///
/// Any fault of the file.
pub fn in_blocks(file: &[u8], scales: usize) -> Result<Vec<u8>> {
    let model = Embd::parse(file, Mode::Strict)?;
    let (mut specs, mut data) = (Vec::new(), Vec::new());
    for tensor in model.tensors() {
        let header = *tensor.header();
        if header.name.ends_with("scale") {
            continue;
        }
        let values = values(&model, header.name)?;
        let is_coded = header.name.starts_with("encoder.") && header.shape.dims().len() == 2;
        let dtype = if is_coded { Dtype::Scaled(CODES) } else { Dtype::F32 };
        let spec = AmbTensorSpec { name: header.name, dtype, shape: header.shape, full_blocks: 0 };
        let start = data.len();
        if is_coded {
            data.resize(start + usize::try_from(spec.data_bytes()?).expect("in memory"), 0);
            let scales: Vec<f32> = values.chunks(usize::from(BLOCK)).map(scale).collect();
            amb_block::store(&CODES, &values, &scales, |_| false, &mut data[start..])?;
        } else {
            data.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        }
        specs.push(spec);
    }
    if scales > 0 {
        let all = column_scales(&model)?;
        data.extend(all[..scales].iter().flat_map(|scale| scale.to_le_bytes()));
        let shape = Shape::new(&[scales as u64]).expect("a shape");
        specs.push(AmbTensorSpec { name: COLUMN_SCALES, dtype: Dtype::F32, shape, full_blocks: 0 });
    }
    let tokens: Vec<&[u8]> = model.tokens().collect();
    let special = model.special().expect("special tokens");
    let roles = [
        SpecialRole::Classify,
        SpecialRole::Separate,
        SpecialRole::Pad,
        SpecialRole::Unknown,
        SpecialRole::Mask,
    ];
    let tokenizer = AmbTokenizerSpec {
        special: roles.map(|role| Some(special.id(role))),
        payload: Payload::WordPiece(&tokens),
    };
    let tokenizer = Some(tokenizer);
    let plan =
        AmbPlan { metadata: "{}", config: CONFIG, tokenizer, tensors: &specs, checksum: true };
    amb::write(plan, &data)
}

/// The scale of a block.
fn scale(values: &[f32]) -> f32 {
    let largest = values.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
    largest / 127.0
}

/// The scales of the columns of all layers, where layers with the same input have the same scales.
fn column_scales(model: &Embd<'_>) -> Result<Vec<f32>> {
    let mut all = Vec::new();
    for layer in 0..6 {
        for matrix in ["attention.self.value", "intermediate.dense", "output.dense"] {
            let name = format!("encoder.layer.{layer}.{matrix}.weight.column_scale");
            all.extend(floats(model, &name)?.expect("scales"));
        }
    }
    Ok(all)
}

/// The elements of a tensor, if it exists.
fn floats(model: &Embd<'_>, name: &str) -> Result<Option<Vec<f32>>> {
    let Some(tensor) = model.tensor(name) else { return Ok(None) };
    let count = tensor.header().shape.elements().expect("a shape");
    let mut values = vec![0.0; usize::try_from(count).expect("in memory")];
    tensor.dequantize(0, &mut values)?;
    Ok(Some(values))
}

/// The elements of a tensor, with the scales of its rows, groups and columns.
fn values(model: &Embd<'_>, name: &str) -> Result<Vec<f32>> {
    let mut values = floats(model, name)?.expect("a tensor");
    let Some(scales) = floats(model, &format!("{name}.scale"))? else { return Ok(values) };
    let columns = floats(model, &format!("{name}.column_scale"))?;
    let width = values.len() / scales.len();
    for (values, scale) in values.chunks_mut(width).zip(&scales) {
        values.iter_mut().for_each(|value| *value *= scale);
    }
    if let Some(columns) = columns {
        for row in values.chunks_mut(columns.len()) {
            row.iter_mut().zip(&columns).for_each(|(value, column)| *value *= column);
        }
    }
    Ok(values)
}
