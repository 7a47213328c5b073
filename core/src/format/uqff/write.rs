//! Writes both generations without allocating: the layers, which borrow their data, determine
//! everything.

use super::codes::{FP8_CODE, LayerFormat, ggml_number, tensor_code};
use super::layer::UqffLayer;
use crate::error::{Error, ErrorKind, Result};
use crate::format::safetensors::fields::DTYPES;
use crate::format::safetensors::write::{Header, Length, WriteHeader, write_header};
use crate::sink::Sink;
use crate::tensor::identity::{check_distinct, check_unique};
use crate::tensor::{Dtype, Encoding, Shape, Weight};

/// The versions written: the bytes of the 0.x word, and major, minor, patch of 1.x.
const BLOB_VERSION: [u8; 4] = [0, 2, 0, 0];
const TENSOR_VERSION: [(&str, u32); 3] =
    [("uqff.version.major", 1), ("uqff.version.minor", 2), ("uqff.version.patch", 0)];

fn invalid() -> Error {
    Error::without_offset(ErrorKind::InvalidArgument)
}

fn word(value: u64) -> Result<[u8; 4]> {
    u32::try_from(value).map(u32::to_le_bytes).map_err(|_| invalid())
}

/// The size in bytes of the 0.2.0 blob of `layer`.
///
/// # Errors
///
/// As [`write_blob`].
pub fn blob_bytes(layer: &UqffLayer<'_>) -> Result<u64> {
    let mut length = Length(0);
    write_blob(layer, &mut length)?;
    Ok(length.0)
}

/// Writes `layer` as a blob of UQFF 0.2.0.
///
/// # Errors
///
/// [`ErrorKind::InvalidArgument`] for arrays beyond 4 GiB, which 0.x cannot hold, or a weight that
/// does not suit the layer's format; [`ErrorKind::UnsupportedDtype`]; any error from the sink.
pub fn write_blob(layer: &UqffLayer<'_>, sink: &mut impl Sink) -> Result<()> {
    let has_bias = u8::from(layer.bias.is_some());
    sink.write(&BLOB_VERSION)?;
    sink.write(&[layer.format.code()])?;
    let weight = &layer.weight;
    match (layer.format, *weight.encoding()) {
        (LayerFormat::Gguf, Encoding::Plain { dtype, data }) => {
            let unsupported = Error::without_offset(ErrorKind::UnsupportedDtype);
            sink.write(&word(data.len() as u64)?)?;
            sink.write(&[has_bias])?;
            sink.write(&ggml_number(dtype).ok_or(unsupported)?.to_le_bytes())?;
            dims(weight.shape(), sink)?;
            sink.write(data)?;
        }
        (LayerFormat::Unquantized, Encoding::Plain { dtype, data }) => {
            sink.write(&[has_bias])?;
            tensor(dtype, weight.shape(), data, sink)?;
        }
        (LayerFormat::F8q8, Encoding::F8q8 { blocks }) => {
            sink.write(&[has_bias])?;
            sink.write(&word(blocks.len() as u64 / 33)?)?;
            dims(weight.shape(), sink)?;
            sink.write(blocks)?;
        }
        (format, _) if format == encoding_format(weight) => {
            sink.write(&[has_bias])?;
            for part in parts(weight)?.into_iter().flatten() {
                tensor(part.dtype, &part.shape, part.data, sink)?;
            }
            parameters(layer, sink)?;
        }
        _ => return Err(invalid()),
    }
    match &layer.bias {
        Some(bias) => tensor(bias.header().dtype, &bias.header().shape, bias.data(), sink),
        None => Ok(()),
    }
}

/// The fields of a blob between the weight's arrays and the bias.
fn parameters(layer: &UqffLayer<'_>, sink: &mut impl Sink) -> Result<()> {
    let extra = &layer.extra;
    match *layer.weight.encoding() {
        Encoding::Hqq(hqq) => {
            dims(layer.weight.shape(), sink)?;
            sink.write(&[hqq.bits])?;
            sink.write(&hqq.group_size.to_le_bytes())?;
            sink.write(&[hqq.axis])?;
            sink.write(&extra.optimization_steps.to_le_bytes())?;
            sink.write(&[extra.round_zeros.into(), hqq.channel_wise.into()])
        }
        Encoding::Fp8 { scale, .. } => {
            sink.write(&scale.to_le_bytes())?;
            sink.write(&extra.dequant_x_scale.to_le_bytes())?;
            sink.write(&extra.quant_scale.to_le_bytes())?;
            sink.write(&FP8_CODE.to_le_bytes())
        }
        Encoding::Afq(afq) => sink.write(&[afq.bits, afq.group_size]),
        _ => Ok(()),
    }
}

fn dims(shape: &Shape, sink: &mut impl Sink) -> Result<()> {
    sink.write(&word(shape.dims().len() as u64)?)?;
    shape.dims().iter().try_for_each(|dim| sink.write(&word(*dim)?))
}

fn tensor(dtype: Dtype, shape: &Shape, data: &[u8], sink: &mut impl Sink) -> Result<()> {
    let unsupported = Error::without_offset(ErrorKind::UnsupportedDtype);
    sink.write(&word(data.len() as u64)?)?;
    sink.write(&tensor_code(dtype).ok_or(unsupported)?.to_le_bytes())?;
    dims(shape, sink)?;
    sink.write(data)
}

/// An array of a weight, stored as a separate tensor.
#[derive(Clone, Copy)]
struct Part<'a> {
    suffix: &'static str,
    dtype: Dtype,
    shape: Shape,
    data: &'a [u8],
}

/// The format of weights whose arrays are tensors in both generations.
fn encoding_format(weight: &Weight<'_>) -> LayerFormat {
    match weight.encoding() {
        Encoding::Hqq(_) => LayerFormat::Hqq,
        Encoding::Fp8 { .. } => LayerFormat::Fp8,
        Encoding::Afq(_) => LayerFormat::Afq,
        Encoding::F8q8 { .. } => LayerFormat::F8q8,
        Encoding::Mxfp4 { .. } => LayerFormat::Mxfp4,
        Encoding::Plain { .. } => LayerFormat::Gguf,
    }
}

/// The arrays of a weight.
fn parts<'a>(weight: &Weight<'a>) -> Result<[Option<Part<'a>>; 3]> {
    let shape = weight.shape();
    let part = |suffix, dtype, shape: Option<Shape>, data| {
        Ok(Some(Part { suffix, dtype, shape: shape.ok_or(invalid())?, data }))
    };
    let flat = |data: &[u8]| Shape::new(&[data.len() as u64]);
    Ok(match *weight.encoding() {
        Encoding::Plain { dtype, data } if dtype.is_block() => {
            [part(".weight", Dtype::U8, flat(data), data)?, None, None]
        }
        Encoding::Plain { dtype, data } => {
            [part(".weight", dtype, Some(*shape), data)?, None, None]
        }
        Encoding::Hqq(hqq) => {
            let matrix = hqq.matrix(shape).ok_or(invalid())?;
            let codes = if hqq.bits == 3 { Dtype::I32 } else { Dtype::U8 };
            let groups = |floats| match hqq.axis {
                _ if hqq.is_shared(floats) => Some(Shape::SCALAR),
                0 => Shape::new(&[1, matrix.cols]),
                _ => Shape::new(&[matrix.rows, 1]),
            };
            [
                part(".weight", codes, Shape::new(&[matrix.packed_rows, matrix.cols]), hqq.codes)?,
                part(".weight.scales", hqq.scales.dtype, groups(&hqq.scales), hqq.scales.data)?,
                part(".weight.zeros", hqq.zeros.dtype, groups(&hqq.zeros), hqq.zeros.data)?,
            ]
        }
        Encoding::Fp8 { data, .. } => {
            [part(".weight", Dtype::F8E4M3, Some(*shape), data)?, None, None]
        }
        Encoding::Afq(afq) => {
            let groups = with_row(shape, |row| row / u64::from(afq.group_size));
            let words = with_row(shape, |row| row * u64::from(afq.bits) / 32);
            [
                part(".weight", Dtype::U32, words, afq.codes)?,
                part(".weight.scales", afq.scales.dtype, groups, afq.scales.data)?,
                part(".weight.biases", afq.biases.dtype, groups, afq.biases.data)?,
            ]
        }
        Encoding::F8q8 { blocks } => {
            [part(".weight", Dtype::U8, flat(blocks), blocks)?, None, None]
        }
        Encoding::Mxfp4 { codes, scales } => [
            part(".weight", Dtype::U8, with_row(shape, |row| row / 2), codes)?,
            part(".weight.scales", Dtype::U8, with_row(shape, |row| row / 32), scales)?,
            None,
        ],
    })
}

/// `shape` with another last dimension.
fn with_row(shape: &Shape, row: impl Fn(u64) -> u64) -> Option<Shape> {
    let mut dims = [0; crate::tensor::MAX_DIMS];
    let dims = dims.get_mut(..shape.dims().len())?;
    dims.copy_from_slice(shape.dims());
    let last = dims.last_mut()?;
    *last = row(*last);
    Shape::new(dims)
}

/// Writes a UQFF 0.2.0 file: `layers` with their indices, in the given order, and `metadata`, which
/// the reference leaves empty. The reference orders layers by the decimal names of their indices.
///
/// # Errors
///
/// As [`write_blob`]; [`ErrorKind::DuplicateName`] for two layers with one index; any error from
/// the sink.
pub fn write_blobs(
    layers: &[(u32, UqffLayer<'_>)],
    metadata: &[(&str, &str)],
    sink: &mut impl Sink,
) -> Result<()> {
    check_distinct(layers.iter().map(|(index, _)| (*index).into()))?;
    write_header(sink, &Blobs { layers, metadata })?;
    layers.iter().try_for_each(|(_, layer)| write_blob(layer, sink))
}

struct Blobs<'l, 'a> {
    layers: &'l [(u32, UqffLayer<'a>)],
    metadata: &'l [(&'l str, &'l str)],
}

impl WriteHeader for Blobs<'_, '_> {
    fn write(&self, sink: &mut impl Sink) -> Result<()> {
        let mut header = Header::begin(sink, self.metadata)?;
        for (index, layer) in self.layers {
            let shape = Shape::new(&[blob_bytes(layer)?]).ok_or(invalid())?;
            let mut digits = [0; 10];
            header.tensor([decimal(*index, &mut digits), ""], Dtype::U8, &shape)?;
        }
        header.end()
    }
}

fn decimal(value: u32, digits: &mut [u8; 10]) -> &str {
    let mut rest = value;
    let mut first = digits.len();
    while first > 0 {
        first -= 1;
        if let (Some(digit), Ok(value)) = (digits.get_mut(first), u8::try_from(rest % 10)) {
            *digit = b'0' + value;
        }
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    digits.get(first..).and_then(|digits| core::str::from_utf8(digits).ok()).unwrap_or("")
}

/// Writes a UQFF 1.2.0 file, or one shard of several: `layers` under their names, and the version
/// if the shard `is_first`. Tensors are ordered by type as in the reference, so that each is
/// aligned to its elements, then by layer.
///
/// # Errors
///
/// [`ErrorKind::InvalidArgument`] for a weight that does not suit the layer's format;
/// [`ErrorKind::UnsupportedDtype`]; [`ErrorKind::DuplicateName`] for two layers with one name; any
/// error from the sink.
pub fn write_tensors(
    layers: &[UqffLayer<'_>],
    metadata: &[(&str, &str)],
    is_first: bool,
    sink: &mut impl Sink,
) -> Result<()> {
    check_unique(layers.iter().map(|layer| layer.name))?;
    let file = TensorFile { layers, metadata, is_first };
    write_header(sink, &file)?;
    file.each(|_, _, _, data| sink.write(data))
}

struct TensorFile<'l, 'a> {
    layers: &'l [UqffLayer<'a>],
    metadata: &'l [(&'l str, &'l str)],
    is_first: bool,
}

impl WriteHeader for TensorFile<'_, '_> {
    fn write(&self, sink: &mut impl Sink) -> Result<()> {
        let mut header = Header::begin(sink, self.metadata)?;
        self.each(|name, dtype, shape, _| header.tensor(name, dtype, shape))?;
        header.end()
    }
}

impl TensorFile<'_, '_> {
    /// Calls `take` with name, type, shape and data of each tensor, in the order of the file.
    fn each(
        &self,
        mut take: impl FnMut([&str; 2], Dtype, &Shape, &[u8]) -> Result<()>,
    ) -> Result<()> {
        for (_, wanted) in DTYPES {
            if wanted == Dtype::U32 && self.is_first {
                for (name, number) in TENSOR_VERSION {
                    take([name, ""], wanted, &Shape::SCALAR, &number.to_le_bytes())?;
                }
            }
            for layer in self.layers {
                each_tensor(layer, |suffix, dtype, shape, data| {
                    if dtype == wanted {
                        take([layer.name, suffix], dtype, shape, data)
                    } else {
                        Ok(())
                    }
                })?;
            }
        }
        Ok(())
    }
}

/// Calls `take` with suffix, type, shape and data of each tensor that a layer consists of.
fn each_tensor(
    layer: &UqffLayer<'_>,
    mut take: impl FnMut(&'static str, Dtype, &Shape, &[u8]) -> Result<()>,
) -> Result<()> {
    let scalar = &Shape::SCALAR;
    let weight = &layer.weight;
    take(".weight.format", Dtype::U8, scalar, &[layer.format.code()])?;
    if let (LayerFormat::Gguf, Encoding::Plain { dtype, data }) = (layer.format, *weight.encoding())
    {
        let unsupported = Error::without_offset(ErrorKind::UnsupportedDtype);
        let code = ggml_number(dtype).ok_or(unsupported)?;
        let flat = Shape::new(&[data.len() as u64]).ok_or(invalid())?;
        take(".weight", Dtype::U8, &flat, data)?;
        take(".weight.dtype", Dtype::U32, scalar, &code.to_le_bytes())?;
    } else {
        let suits = match weight.encoding() {
            Encoding::Plain { dtype, .. } => {
                layer.format == LayerFormat::Unquantized && !dtype.is_block()
            }
            _ => layer.format == encoding_format(weight),
        };
        if !suits {
            return Err(invalid());
        }
        for part in parts(weight)?.into_iter().flatten() {
            take(part.suffix, part.dtype, &part.shape, part.data)?;
        }
    }
    if matches!(layer.format, LayerFormat::Gguf | LayerFormat::Hqq | LayerFormat::F8q8) {
        let mut bytes = [0; 4 * crate::tensor::MAX_DIMS];
        let dims = weight.shape().dims();
        for (bytes, dim) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(dims) {
            *bytes = word(*dim)?;
        }
        let shape = Shape::new(&[dims.len() as u64]).ok_or(invalid())?;
        let bytes = bytes.get(..4 * dims.len()).ok_or(invalid())?;
        take(".weight.shape", Dtype::U32, &shape, bytes)?;
    }
    scalars(layer, &mut take)?;
    match &layer.bias {
        Some(bias) => take(".bias", bias.header().dtype, &bias.header().shape, bias.data()),
        None => Ok(()),
    }
}

/// The scalars of a layer except for format, type and shape.
fn scalars(
    layer: &UqffLayer<'_>,
    take: &mut impl FnMut(&'static str, Dtype, &Shape, &[u8]) -> Result<()>,
) -> Result<()> {
    let extra = &layer.extra;
    let mut u8 = |suffix, value: u8| take(suffix, Dtype::U8, &Shape::SCALAR, &[value]);
    match *layer.weight.encoding() {
        Encoding::Hqq(hqq) => {
            u8(".weight.bits", hqq.bits)?;
            u8(".weight.axis", hqq.axis)?;
            u8(".weight.round_zeros", extra.round_zeros.into())?;
            u8(".weight.channel_wise", hqq.channel_wise.into())?;
            let mut u32 =
                |suffix, value: u32| take(suffix, Dtype::U32, &Shape::SCALAR, &value.to_le_bytes());
            u32(".weight.group_size", hqq.group_size)?;
            u32(".weight.optimization_steps", extra.optimization_steps)
        }
        Encoding::Afq(afq) => {
            u8(".weight.bits", afq.bits)?;
            u8(".weight.group_size", afq.group_size)
        }
        Encoding::Fp8 { scale, .. } => {
            let mut f32 =
                |suffix, value: f32| take(suffix, Dtype::F32, &Shape::SCALAR, &value.to_le_bytes());
            f32(".weight.dequant_w_scale", scale)?;
            f32(".weight.dequant_x_scale", extra.dequant_x_scale)?;
            f32(".weight.quant_scale", extra.quant_scale)?;
            take(".weight.dtype", Dtype::U32, &Shape::SCALAR, &FP8_CODE.to_le_bytes())
        }
        Encoding::F8q8 { blocks } => {
            let count = word(blocks.len() as u64 / 33)?;
            take(".weight.num_blocks", Dtype::U32, &Shape::SCALAR, &count)
        }
        _ => Ok(()),
    }
}
