//! The blob of one layer of 0.x, item by item.

use super::MAX_MINOR;
use super::codes::{FP8_CODE, LayerFormat, ggml_dtype, tensor_dtype};
use crate::bytes::{Item, Parse, le_u8, le_u32, parse, refuse};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Mode, Value, Version};
use crate::tensor::{Dtype, F8Q8_BLOCK_BYTES, F8Q8_BLOCK_ELEMENTS, MAX_DIMS, Shape, TensorHeader};

/// An item of a blob, after version, type and bias flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A tensor with its own header.
    Tensor(&'static str),
    /// The header of ggml blocks, which contains the bias flag.
    Ggml,
    /// The header of F8Q8 blocks.
    F8q8,
    /// The weight's dimensions.
    Shape,
    U8(&'static str),
    U32(&'static str),
    F32(&'static str),
    /// The code of an FP8 weight's type.
    Fp8Dtype,
    /// A tensor, if the layer has a bias.
    Bias,
}

const WEIGHT: Part = Part::Tensor("weight");
const SCALES: Part = Part::Tensor("scales");

fn parts(format: LayerFormat) -> &'static [Part] {
    match format {
        LayerFormat::Gguf => &[Part::Ggml, Part::Bias],
        LayerFormat::Unquantized => &[WEIGHT, Part::Bias],
        LayerFormat::Hqq => &[
            WEIGHT,
            SCALES,
            Part::Tensor("zeros"),
            Part::Shape,
            Part::U8("bits"),
            Part::U32("group_size"),
            Part::U8("axis"),
            Part::U32("optimization_steps"),
            Part::U8("round_zeros"),
            Part::U8("channel_wise"),
            Part::Bias,
        ],
        LayerFormat::Fp8 => &[
            WEIGHT,
            Part::F32("dequant_w_scale"),
            Part::F32("dequant_x_scale"),
            Part::F32("quant_scale"),
            Part::Fp8Dtype,
            Part::Bias,
        ],
        LayerFormat::Afq => &[
            WEIGHT,
            SCALES,
            Part::Tensor("biases"),
            Part::U8("bits"),
            Part::U8("group_size"),
            Part::Bias,
        ],
        LayerFormat::F8q8 => &[Part::F8q8, Part::Bias],
        LayerFormat::Mxfp4 => &[WEIGHT, SCALES, Part::Bias],
    }
}

/// The result of a step through a blob.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Found {
    NeedMore {
        at_least: usize,
    },
    /// Version and type.
    Begin {
        used: usize,
    },
    /// A tensor; its data follows.
    Tensor {
        used: usize,
        tensor: TensorHeader<'static>,
    },
    /// The weight's dimensions.
    Shape {
        used: usize,
        shape: Shape,
    },
    /// A number.
    Value {
        used: usize,
        key: &'static str,
        value: Value<'static>,
    },
    End,
}

/// Steps through the blob that ends at the absolute offset `end`. The caller skips data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blob {
    mode: Mode,
    end: u64,
    begun: Option<Begun>,
}

#[derive(Clone, Copy, Debug)]
struct Begun {
    version: Version,
    format: LayerFormat,
    rest: &'static [Part],
    has_bias: bool,
}

impl Blob {
    pub(super) const fn new(mode: Mode, end: u64) -> Self {
        Self { mode, end, begun: None }
    }

    pub(super) fn format(&self) -> Option<LayerFormat> {
        self.begun.map(|begun| begun.format)
    }

    /// The item of the next step; `None` before the first and after the last.
    pub(super) fn next_part(&self) -> Option<Part> {
        self.begun.and_then(|begun| begun.rest.first().copied())
    }

    pub(super) fn version(&self) -> Option<Version> {
        self.begun.map(|begun| begun.version)
    }

    /// The next item; `input` is at the absolute `offset`.
    pub(super) fn next(&mut self, input: &[u8], offset: u64) -> Result<Found> {
        let Some(begun) = self.begun else { return self.begin(input, offset) };
        let Some((part, rest)) = begun.rest.split_first() else { return self.end(offset) };
        let mut after = Begun { rest, ..begun };
        let found = match *part {
            Part::Bias if !begun.has_bias => {
                self.begun = Some(after);
                return self.end(offset);
            }
            Part::Bias => self.tensor("bias", input, offset)?,
            Part::Tensor(name) => self.tensor(name, input, offset)?,
            Part::Ggml => match self.item(ggml(self.mode), input, offset)? {
                Item::Parsed { item: (header, has_bias), used } => {
                    after.has_bias = has_bias;
                    self.placed("weight", header, used, offset)?
                }
                Item::NeedMore { at_least } => Found::NeedMore { at_least },
            },
            Part::F8q8 => match self.item(f8q8, input, offset)? {
                Item::Parsed { item, used } => self.placed("weight", item, used, offset)?,
                Item::NeedMore { at_least } => Found::NeedMore { at_least },
            },
            Part::Shape => match self.item(shape, input, offset)? {
                Item::Parsed { item: shape, used } => Found::Shape { used, shape },
                Item::NeedMore { at_least } => Found::NeedMore { at_least },
            },
            Part::U8(key) => {
                self.value(key, le_u8, |n| Value::Unsigned(n.into()), input, offset)?
            }
            Part::U32(key) => {
                self.value(key, le_u32, |n| Value::Unsigned(n.into()), input, offset)?
            }
            Part::F32(key) => {
                let float = |bits| Value::Float(f32::from_bits(bits).into());
                self.value(key, le_u32, float, input, offset)?
            }
            Part::Fp8Dtype => {
                self.value("dtype", fp8_dtype, |n| Value::Unsigned(n.into()), input, offset)?
            }
        };
        if !matches!(found, Found::NeedMore { .. }) {
            self.begun = Some(after);
        }
        Ok(found)
    }

    fn begin(&mut self, input: &[u8], offset: u64) -> Result<Found> {
        let ((version, format, has_bias), used) =
            match self.item(prefix(self.mode), input, offset)? {
                Item::Parsed { item, used } => (item, used),
                Item::NeedMore { at_least } => return Ok(Found::NeedMore { at_least }),
            };
        self.begun = Some(Begun { version, format, rest: parts(format), has_bias });
        Ok(Found::Begin { used })
    }

    fn end(&self, offset: u64) -> Result<Found> {
        if self.mode == Mode::Strict && offset < self.end {
            return Err(Error::new(offset, ErrorKind::TrailingBytes));
        }
        Ok(Found::End)
    }

    fn tensor(&self, name: &'static str, input: &[u8], offset: u64) -> Result<Found> {
        match self.item(tensor, input, offset)? {
            Item::Parsed { item, used } => self.placed(name, item, used, offset),
            Item::NeedMore { at_least } => Ok(Found::NeedMore { at_least }),
        }
    }

    fn value<T>(
        &self,
        key: &'static str,
        grammar: impl FnOnce(&[u8]) -> Parse<'_, T>,
        value: impl FnOnce(T) -> Value<'static>,
        input: &[u8],
        offset: u64,
    ) -> Result<Found> {
        Ok(match self.item(grammar, input, offset)? {
            Item::Parsed { item, used } => Found::Value { used, key, value: value(item) },
            Item::NeedMore { at_least } => Found::NeedMore { at_least },
        })
    }

    /// A tensor whose data follows its header of `used` bytes; it must end inside the blob.
    fn placed(
        &self,
        name: &'static str,
        header: Header,
        used: usize,
        offset: u64,
    ) -> Result<Found> {
        let data = offset.saturating_add(used as u64);
        if header.bytes > self.end.saturating_sub(data) {
            return Err(Error::new(offset, ErrorKind::OutOfBounds));
        }
        let Header { dtype, shape, bytes } = header;
        let tensor = TensorHeader { name, dtype, shape, offset: data, bytes };
        Ok(Found::Tensor { used, tensor })
    }

    /// Parses an item that must end inside the blob.
    fn item<'a, T>(
        &self,
        grammar: impl FnOnce(&'a [u8]) -> Parse<'a, T>,
        input: &'a [u8],
        offset: u64,
    ) -> Result<Item<T>> {
        let left = self.end.saturating_sub(offset);
        let room = usize::try_from(left).unwrap_or(usize::MAX);
        match parse(grammar, input.get(..room).unwrap_or(input), offset)? {
            Item::NeedMore { at_least } if at_least as u64 > left => {
                Err(Error::new(offset, ErrorKind::OutOfBounds))
            }
            item => Ok(item),
        }
    }
}

/// `[patch, minor, major, 0]`: the topmost byte must be 0 as the major version must.
fn version(input: &[u8]) -> Parse<'_, Version> {
    let (rest, word) = le_u32(input)?;
    let [_, minor, major, top] = word.to_le_bytes();
    if major != 0 || top != 0 || u16::from(minor) > MAX_MINOR {
        return refuse(input, ErrorKind::UnsupportedVersion);
    }
    Ok((rest, Version::new(0, minor.into())))
}

fn flag(mode: Mode) -> impl Fn(&[u8]) -> Parse<'_, bool> {
    move |input| match le_u8(input)? {
        (_, 2..) if mode == Mode::Strict => refuse(input, ErrorKind::BadField),
        (rest, flag) => Ok((rest, flag != 0)),
    }
}

/// Version, type, and the bias flag, if it is at this position.
type Prefix = (Version, LayerFormat, bool);

fn prefix(mode: Mode) -> impl Fn(&[u8]) -> Parse<'_, Prefix> {
    move |input| {
        let (rest, version) = version(input)?;
        let at = rest;
        let (rest, code) = le_u8(rest)?;
        let Some(format) = LayerFormat::from_code(code) else {
            return refuse(at, ErrorKind::BadEncoding);
        };
        let (rest, has_bias) = match format {
            LayerFormat::Gguf => (rest, false),
            _ => flag(mode)(rest)?,
        };
        Ok((rest, (version, format, has_bias)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Header {
    dtype: Dtype,
    shape: Shape,
    bytes: u64,
}

/// `u32 ndim, u32 dims[]`
fn shape(input: &[u8]) -> Parse<'_, Shape> {
    let (mut rest, ndim) = le_u32(input)?;
    let mut dims = [0; MAX_DIMS];
    let used = usize::try_from(ndim).unwrap_or(usize::MAX);
    let Some(dims) = dims.get_mut(..used) else {
        return refuse(input, ErrorKind::BadDimensions);
    };
    for dim in dims.iter_mut() {
        let word;
        (rest, word) = le_u32(rest)?;
        *dim = word.into();
    }
    match Shape::new(dims) {
        Some(shape) if shape.elements().is_some() => Ok((rest, shape)),
        _ => refuse(input, ErrorKind::SizeOverflow),
    }
}

/// The size of rows of `dtype` in bytes; rows must consist of whole blocks.
fn data_bytes(dtype: Dtype, shape: &Shape) -> core::result::Result<u64, ErrorKind> {
    let row = shape.dims().last().copied().unwrap_or(1);
    if !row.is_multiple_of(dtype.block_elements() as u64) {
        return Err(ErrorKind::SizeMismatch);
    }
    let bytes = shape.elements().and_then(|elements| dtype.data_bytes(elements));
    bytes.ok_or(ErrorKind::SizeOverflow)
}

/// Rejects a declared size at `at` that does not match the shape.
fn sized<'a>(
    rest: &'a [u8],
    at: &'a [u8],
    declared: u32,
    dtype: Dtype,
    shape: Shape,
) -> Parse<'a, Header> {
    match data_bytes(dtype, &shape) {
        Ok(bytes) if bytes == u64::from(declared) => Ok((rest, Header { dtype, shape, bytes })),
        Ok(_) => refuse(at, ErrorKind::SizeMismatch),
        Err(kind) => refuse(at, kind),
    }
}

/// `u32 bytes, u32 dtype, u32 ndim, u32 dims[]`
fn tensor(input: &[u8]) -> Parse<'_, Header> {
    let (rest, bytes) = le_u32(input)?;
    let at = rest;
    let (rest, code) = le_u32(rest)?;
    let dtype = match tensor_dtype(code) {
        Ok(dtype) => dtype,
        Err(kind) => return refuse(at, kind),
    };
    let (rest, shape) = shape(rest)?;
    sized(rest, input, bytes, dtype, shape)
}

/// `u32 bytes, u8 has_bias, u32 ggml_dtype, u32 ndim, u32 dims[]`
fn ggml(mode: Mode) -> impl Fn(&[u8]) -> Parse<'_, (Header, bool)> {
    move |input| {
        let (rest, bytes) = le_u32(input)?;
        let (rest, has_bias) = flag(mode)(rest)?;
        let at = rest;
        let (rest, code) = le_u32(rest)?;
        let Some(dtype) = ggml_dtype(code) else {
            return refuse(at, ErrorKind::BadDtype);
        };
        let (rest, shape) = shape(rest)?;
        let (rest, header) = sized(rest, input, bytes, dtype, shape)?;
        Ok((rest, (header, has_bias)))
    }
}

/// `u32 num_blocks, u32 ndim, u32 dims[]`: blocks over the flattened tensor, the last one padded.
fn f8q8(input: &[u8]) -> Parse<'_, Header> {
    let (rest, blocks) = le_u32(input)?;
    let (rest, shape) = shape(rest)?;
    let (block_elements, block_bytes) = (F8Q8_BLOCK_ELEMENTS, F8Q8_BLOCK_BYTES);
    let wanted = shape.elements().map(|elements| elements.div_ceil(block_elements));
    if wanted != Some(blocks.into()) {
        return refuse(input, ErrorKind::SizeMismatch);
    }
    let bytes = u64::from(blocks).saturating_mul(block_bytes);
    Ok((rest, Header { dtype: Dtype::U8, shape, bytes }))
}

fn fp8_dtype(input: &[u8]) -> Parse<'_, u32> {
    match le_u32(input)? {
        (rest, FP8_CODE) => Ok((rest, FP8_CODE)),
        _ => refuse(input, ErrorKind::BadDtype),
    }
}
