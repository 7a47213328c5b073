//! A layer assembled from its parts, the same for both generations.

use super::blob::{Blob, Found};
use super::codes::{FP8_CODE, LayerFormat, ggml_dtype};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Mode, Value, Version};
use crate::tensor::{Afq, Dtype, Encoding, Floats, Hqq, Shape, TensorHeader, TensorView, Weight};

/// Further fields of a layer, which do not affect its values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Extra {
    /// HQQ: the number of the quantiser's optimisation steps; 0 if not stated.
    pub optimization_steps: u32,
    /// HQQ: true if the quantiser rounded zeros.
    pub round_zeros: bool,
    /// FP8: the scale of activations.
    pub dequant_x_scale: f32,
    /// FP8: the inverse scale.
    pub quant_scale: f32,
}

/// A layer: its weight, ready to be dequantised, and its bias.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UqffLayer<'a> {
    /// The name in 1.x, the decimal index in 0.x.
    pub name: &'a str,
    /// Its quantisation.
    pub format: LayerFormat,
    /// The weight, usually `[out, in]`.
    pub weight: Weight<'a>,
    /// The bias, of any float type.
    pub bias: Option<TensorView<'a>>,
    /// Further fields.
    pub extra: Extra,
}

/// The parts of a layer found so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parts<'a> {
    pub(super) weight: Option<TensorView<'a>>,
    pub(super) scales: Option<TensorView<'a>>,
    /// HQQ's zeros or AFQ's biases.
    pub(super) zeros: Option<TensorView<'a>>,
    pub(super) bias: Option<TensorView<'a>>,
    /// The weight's own shape, if it differs from that of its tensor.
    pub(super) shape: Option<Shape>,
    /// The ggml type of blocks, or the type of FP8.
    pub(super) dtype: Option<Dtype>,
    pub(super) bits: u64,
    pub(super) group_size: u64,
    pub(super) axis: u64,
    pub(super) channel_wise: u64,
    pub(super) dequant_w_scale: f32,
    pub(super) extra: Extra,
}

impl<'a> Parts<'a> {
    /// Assembles the layer; `at` is the offset for errors about the layer as a whole.
    pub(super) fn layer(
        &self,
        name: &'a str,
        format: LayerFormat,
        at: u64,
    ) -> Result<UqffLayer<'a>> {
        let missing = Error::new(at, ErrorKind::MissingTensor);
        let weight = self.weight.ok_or(missing)?;
        let own = *weight.header();
        let is = |dtype: Dtype| {
            let wrong = Error::new(own.offset, ErrorKind::BadDtype);
            if own.dtype == dtype { Ok(()) } else { Err(wrong) }
        };
        let data = weight.data();
        let field = Error::new(at, ErrorKind::BadField);
        let (shape, encoding) = match format {
            LayerFormat::Gguf => {
                let shape = self.shape.ok_or(missing)?;
                (shape, Encoding::Plain { dtype: self.dtype.ok_or(missing)?, data })
            }
            LayerFormat::Unquantized => (own.shape, Encoding::Plain { dtype: own.dtype, data }),
            LayerFormat::Hqq => {
                is(if self.bits == 3 { Dtype::I32 } else { Dtype::U8 })?;
                let hqq = Hqq {
                    bits: u8::try_from(self.bits).map_err(|_| field)?,
                    group_size: u32::try_from(self.group_size).map_err(|_| field)?,
                    axis: u8::try_from(self.axis).map_err(|_| field)?,
                    channel_wise: self.channel_wise != 0,
                    codes: data,
                    scales: floats(self.scales.ok_or(missing)?),
                    zeros: floats(self.zeros.ok_or(missing)?),
                };
                (self.shape.ok_or(missing)?, Encoding::Hqq(hqq))
            }
            LayerFormat::Fp8 => {
                is(Dtype::F8E4M3)?;
                (own.shape, Encoding::Fp8 { data, scale: self.dequant_w_scale })
            }
            LayerFormat::Afq => {
                is(Dtype::U32)?;
                let afq = Afq {
                    bits: u8::try_from(self.bits).map_err(|_| field)?,
                    group_size: u8::try_from(self.group_size).map_err(|_| field)?,
                    codes: data,
                    scales: floats(self.scales.ok_or(missing)?),
                    biases: floats(self.zeros.ok_or(missing)?),
                };
                let shape = unpacked(&own.shape, 32, self.bits);
                (shape.ok_or(Error::new(own.offset, ErrorKind::SizeMismatch))?, Encoding::Afq(afq))
            }
            LayerFormat::F8q8 => {
                is(Dtype::U8)?;
                (self.shape.ok_or(missing)?, Encoding::F8q8 { blocks: data })
            }
            LayerFormat::Mxfp4 => {
                is(Dtype::U8)?;
                let scales = self.scales.ok_or(missing)?;
                if scales.header().dtype != Dtype::U8 {
                    return Err(Error::new(scales.header().offset, ErrorKind::BadDtype));
                }
                let shape = unpacked(&own.shape, 8, 4);
                let wrong = Error::new(own.offset, ErrorKind::SizeMismatch);
                (shape.ok_or(wrong)?, Encoding::Mxfp4 { codes: data, scales: scales.data() })
            }
        };
        let weight = Weight::new(shape, encoding).map_err(|kind| Error::new(own.offset, kind))?;
        if weight.shape().dims().is_empty() && format != LayerFormat::Unquantized {
            return Err(Error::new(own.offset, ErrorKind::BadDimensions));
        }
        Ok(UqffLayer { name, format, weight, bias: self.bias, extra: self.extra })
    }
}

/// The shape of elements of `bits` bits each, packed along the last dimension in words of
/// `word_bits`.
fn unpacked(packed: &Shape, word_bits: u64, bits: u64) -> Option<Shape> {
    let mut dims = [0; crate::tensor::MAX_DIMS];
    let dims = dims.get_mut(..packed.dims().len())?;
    dims.copy_from_slice(packed.dims());
    let last = dims.last_mut()?;
    let row_bits = last.checked_mul(word_bits)?;
    *last = row_bits.checked_div(bits)?;
    (last.checked_mul(bits) == Some(row_bits)).then(|| Shape::new(dims)).flatten()
}

const fn floats<'a>(tensor: TensorView<'a>) -> Floats<'a> {
    Floats { dtype: tensor.header().dtype, data: tensor.data() }
}

/// The layer in the blob `bytes`, which is at the absolute `offset`, and its version.
pub(super) fn from_blob<'a>(
    name: &'a str,
    bytes: &'a [u8],
    offset: u64,
    mode: Mode,
) -> Result<(UqffLayer<'a>, Version)> {
    let end = offset.saturating_add(bytes.len() as u64);
    let mut blob = Blob::new(mode, end);
    let mut parts = Parts::default();
    let mut at = offset;
    loop {
        let seen = usize::try_from(at.saturating_sub(offset)).unwrap_or(usize::MAX);
        let found = blob.next(bytes.get(seen..).unwrap_or(&[]), at)?;
        let used = match found {
            Found::NeedMore { .. } => return Err(Error::new(at, ErrorKind::UnexpectedEnd)),
            Found::Begin { used } => used as u64,
            Found::Tensor { used, tensor } => {
                take_tensor(&mut parts, tensor, bytes, offset)?;
                (used as u64).saturating_add(tensor.bytes)
            }
            Found::Shape { used, shape } => {
                parts.shape = Some(shape);
                used as u64
            }
            Found::Value { used, key, value } => {
                take_value(&mut parts, key, value);
                used as u64
            }
            Found::End => break,
        };
        at = at.saturating_add(used);
    }
    let incomplete = Error::new(offset, ErrorKind::UnexpectedEnd);
    let format = blob.format().ok_or(incomplete)?;
    let version = blob.version().ok_or(incomplete)?;
    Ok((parts.layer(name, format, offset)?, version))
}

fn take_tensor<'a>(
    parts: &mut Parts<'a>,
    tensor: TensorHeader<'static>,
    bytes: &'a [u8],
    offset: u64,
) -> Result<()> {
    let start = usize::try_from(tensor.offset.saturating_sub(offset)).unwrap_or(usize::MAX);
    let length = usize::try_from(tensor.bytes).unwrap_or(usize::MAX);
    let data = bytes.get(start..start.saturating_add(length));
    let view = data.and_then(|data| TensorView::new(tensor, data));
    let view = view.ok_or(Error::new(tensor.offset, ErrorKind::UnexpectedEnd))?;
    match tensor.name {
        "weight" => {
            parts.weight = Some(view);
            // Blocks have their logical shape and type; those of other weights are stored as
            // parameters.
            if parts.shape.is_none() {
                parts.shape = Some(tensor.shape);
            }
            parts.dtype = Some(tensor.dtype);
        }
        "scales" => parts.scales = Some(view),
        "zeros" | "biases" => parts.zeros = Some(view),
        _ => parts.bias = Some(view),
    }
    Ok(())
}

#[allow(clippy::cast_possible_truncation, reason = "the values were stored as f32 and u32")]
fn take_value(parts: &mut Parts<'_>, key: &str, value: Value<'_>) {
    match (key, value) {
        ("bits", Value::Unsigned(bits)) => parts.bits = bits,
        ("group_size", Value::Unsigned(size)) => parts.group_size = size,
        ("axis", Value::Unsigned(axis)) => parts.axis = axis,
        ("channel_wise", Value::Unsigned(flag)) => parts.channel_wise = flag,
        ("round_zeros", Value::Unsigned(flag)) => parts.extra.round_zeros = flag != 0,
        ("optimization_steps", Value::Unsigned(steps)) => {
            parts.extra.optimization_steps = u32::try_from(steps).unwrap_or(u32::MAX);
        }
        ("dequant_w_scale", Value::Float(scale)) => parts.dequant_w_scale = scale as f32,
        ("dequant_x_scale", Value::Float(scale)) => parts.extra.dequant_x_scale = scale as f32,
        ("quant_scale", Value::Float(scale)) => parts.extra.quant_scale = scale as f32,
        _ => {}
    }
}

/// The type of a `K.weight.dtype` tensor: ggml's, or FP8.
pub(super) fn stored_dtype(format: LayerFormat, code: u32) -> Option<Dtype> {
    match format {
        LayerFormat::Fp8 => (code == FP8_CODE).then_some(Dtype::F8E4M3),
        _ => ggml_dtype(code),
    }
}
