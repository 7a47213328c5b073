//! Writing a model as an EMBD `.weights` file of the section variant: aligned, with checksums, one
//! tensor in memory at a time.

use std::io::Write;

use half::f16;
use nanoembed_core::format::embd::{
    self, EmbdPlan, EmbdWriter, SORTED_IDS, TOKEN_OFFSETS, TensorSpec,
};
use nanoembed_core::owned::IoSink;
use nanoembed_core::quant::int8::{CodeRange, groups};
use nanoembed_core::sink::Sink;
use nanoembed_core::tensor::{Dtype, Shape};
use nanoembed_core::{Error as CoreError, ErrorKind, limit};
use serde::Serialize;

use crate::checkpoint::Checkpoint;
use crate::checkpoint::tensor::{Tensor, le_bytes};
use crate::choice::choices;
use crate::convert::calibration::Calibration;
use crate::convert::int8;
use crate::convert::naming::Naming;
use crate::error::{Error, Result};
use crate::parallel;
use crate::progress::Progress;

choices! {
    /// A type of weights.
    #[non_exhaustive]
    pub enum WeightType {
        /// 32-bit floats, exactly as most models are published
        F32 = "f32",
        /// 16-bit floats: half the size
        F16 = "f16",
        /// 8-bit integers with scales for rows and columns: a quarter of the size, and the fastest
        Int8 = "int8",
        /// The upper halves of 32-bit floats, in `.amb` files
        Bf16 = "bf16",
        /// 4-bit integers, scales before the codes, in `.amb` files
        Int4 = "int4",
        /// 5-bit integers, scales before the codes, in `.amb` files
        Int5 = "int5",
        /// 4-bit integers in blocks with their scales, in `.amb` files
        Int4block = "int4block",
        /// 5-bit integers in blocks with their scales, in `.amb` files
        Int5block = "int5block",
        /// Blocks of few bits, and of 16 where that matters, in `.amb` files
        Adaptive = "adaptive",
    }
}

impl WeightType {
    /// True if numbers are kept as floats.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F16 | Self::Bf16)
    }

    /// True if `.weights` files can store it.
    pub const fn is_of_weights(self) -> bool {
        matches!(self, Self::F32 | Self::F16 | Self::Int8)
    }

    /// The type that `tensor` is stored as. Biases and norms are a thousandth of a model and stay
    /// as they are; positions and token types are added to every token's vector and keep 16 bits.
    fn dtype(self, tensor: &Tensor<'_>, naming: Naming) -> Dtype {
        match self {
            _ if tensor.shape.len() < 2 => Dtype::F32,
            Self::F32 => Dtype::F32,
            Self::F16 => Dtype::F16,
            Self::Int8 if naming.stays_float(&tensor.name) => Dtype::F32,
            Self::Int8 if naming.is_small(&tensor.name) => Dtype::F16,
            // Others have been refused.
            _ => Dtype::I8,
        }
    }
}

/// A model to be written.
pub struct WeightsSource<'a> {
    /// The model's name in messages.
    pub name: &'a str,
    pub tensors: &'a [Tensor<'a>],
    /// The purposes of the tensors, by their names.
    pub naming: Naming,
    pub vocabulary: Option<embd::EmbdVocabulary<'a>>,
    /// Further tensors of the vocabulary, stored as they are.
    pub further: Vec<Further>,
}

/// A tensor of one dimension that no model computes with.
pub struct Further {
    pub name: &'static str,
    pub dtype: Dtype,
    pub bytes: Vec<u8>,
}

impl<'a> WeightsSource<'a> {
    /// An encoder, whose tokens are `tokens`, with an index over them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub fn from_checkpoint(checkpoint: &'a Checkpoint<'_>, tokens: &'a [&'a [u8]]) -> Result<Self> {
        let special = checkpoint.vocabulary.as_ref().map(|vocabulary| vocabulary.special);
        let index = checkpoint.vocabulary.as_ref().map(|it| index(&it.tokens)).transpose();
        let failed = |error| Error::in_file(&checkpoint.name, error);
        let index = index.map_err(failed)?;
        Ok(Self {
            name: &checkpoint.name,
            tensors: &checkpoint.tensors,
            naming: Naming::Bert,
            vocabulary: special.map(|special| embd::EmbdVocabulary { tokens, special }),
            further: limit::collected(index.into_iter().flatten()).map_err(failed)?,
        })
    }
}

/// The form that a model is stored in.
pub struct Storage<'s> {
    pub weight_type: WeightType,
    /// For 8 bits: what activations look like.
    pub calibration: &'s Calibration,
    /// For 8 bits: how large the codes of linear layers are.
    pub range: CodeRange,
}

/// The size and losses of a model that was written.
#[derive(Debug)]
pub struct WrittenModel {
    pub file_bytes: u64,
    pub tally: Tally,
}

/// The loss of storing tensors.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Tally {
    /// For all tensors of one type together.
    pub by_type: Vec<ByType>,
    /// For each tensor.
    pub tensors: Vec<TensorLoss>,
}

/// The loss of storing one tensor. The fields' names are those of `quantize --json`.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct TensorLoss {
    /// The tensor's name.
    pub tensor: String,
    /// The type it is stored as.
    pub dtype: &'static str,
    /// Its sizes, the outermost first.
    pub shape: Vec<usize>,
    /// Bits a number takes.
    pub bits: f64,
    /// The mean squared error as a share of the mean square.
    pub nmse: f64,
}

/// The tensors that were stored as one type.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ByType {
    /// The type's name.
    pub name: &'static str,
    /// The number of tensors.
    pub tensors: u64,
    /// The number of their elements.
    pub parameters: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Sum of the squared differences to the source, and of the source's squares.
    error: f64,
    power: f64,
    /// The tensor that lost most, and its share.
    pub worst: Option<(String, f64)>,
}

impl ByType {
    /// The mean squared error as a share of the mean square.
    #[must_use]
    pub fn nmse(&self) -> f64 {
        if self.power > 0.0 { self.error / self.power } else { 0.0 }
    }
}

impl Tally {
    /// Adds a tensor, stored as the type called `name`: its bytes, and its squared error and power.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub fn add(
        &mut self,
        tensor: &Tensor<'_>,
        name: &'static str,
        bytes: u64,
        (error, power): (f64, f64),
    ) -> std::result::Result<(), CoreError> {
        let by_type = &mut self.by_type;
        if by_type.iter().all(|entry| entry.name != name) {
            let (error, power, worst) = (0.0, 0.0, None);
            let entry = ByType { name, tensors: 0, parameters: 0, bytes: 0, error, power, worst };
            limit::push(by_type, entry)?;
        }
        let entry = by_type.iter_mut().find(|entry| entry.name == name);
        let Some(entry) = entry else { return Ok(()) };
        entry.tensors += 1;
        entry.parameters += tensor.count() as u64;
        entry.bytes += bytes;
        entry.error += error;
        entry.power += power;
        let share = if power > 0.0 { error / power } else { 0.0 };
        if entry.worst.as_ref().is_none_or(|(_, worst)| share > *worst) {
            entry.worst = Some((limit::copied(&tensor.name)?, share));
        }
        #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
        let bits = bytes as f64 * 8.0 / tensor.count().max(1) as f64;
        let loss = TensorLoss {
            tensor: limit::copied(&tensor.name)?,
            dtype: name,
            shape: tensor.shape.clone(),
            bits: (bits * 1000.0).round() / 1000.0,
            nmse: share,
        };
        limit::push(&mut self.tensors, loss)
    }
}

/// Writes `source` to `out`, called `name` in messages, with the metadata given.
pub fn write(
    source: &WeightsSource<'_>,
    storage: &Storage<'_>,
    metadata: &[(String, String)],
    out: &mut dyn Write,
    name: &str,
    progress: &Progress<'_>,
) -> Result<WrittenModel> {
    let failed = |error| Error::in_file(source.name, error);
    let stored = stored(source, storage).map_err(failed)?;
    let specs = specs(source, &stored)?;
    let metadata = metadata.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let metadata: Vec<(&str, &str)> = limit::exactly(metadata).map_err(failed)?;
    let plan = EmbdPlan {
        metadata: &metadata,
        vocabulary: source.vocabulary,
        tensors: &specs,
        aligned: true,
        checksums: true,
    };
    let mut sink = IoSink::new(out);
    let mut tally = Tally::default();
    let written = (|| {
        let file_bytes = plan.file_bytes()?;
        let mut writer = EmbdWriter::new(plan, &mut sink)?;
        for (tensor, stored) in source.tensors.iter().zip(&stored) {
            write_tensor(tensor, stored, &mut writer, &mut tally)?;
            progress.advance(tensor.data.len() as u64);
        }
        source.further.iter().try_for_each(|further| writer.data(&further.bytes))?;
        writer.finish()?;
        Ok(file_bytes)
    })();
    let file_bytes = Error::from_written(written, sink.take_error(), name, source.name)?;
    Ok(WrittenModel { file_bytes, tally })
}

/// The form of one tensor in the file.
struct Stored {
    dtype: Dtype,
    /// The names of the scales of rows and columns, for 8 bits.
    scale: String,
    column_scale: String,
    columns: Vec<f32>,
    range: CodeRange,
}

fn stored(
    source: &WeightsSource<'_>,
    storage: &Storage<'_>,
) -> std::result::Result<Vec<Stored>, CoreError> {
    let tensors = source.tensors;
    let stored = |tensor: &Tensor<'_>| {
        let dtype = storage.weight_type.dtype(tensor, source.naming);
        let columns = match dtype {
            Dtype::I8 => storage.calibration.column_scales(&tensor.name, tensors)?,
            _ => Vec::new(),
        };
        let name = &tensor.name;
        // Embeddings are looked up, not multiplied.
        let is_looked_up = source.naming.is_looked_up(name);
        let range = if is_looked_up { CodeRange::Full } else { storage.range };
        let scale = limit::joined(&[name, ".scale"])?;
        let column_scale = limit::joined(&[name, ".column_scale"])?;
        Ok(Stored { dtype, scale, column_scale, columns, range })
    };
    limit::gathered(tensors.iter().map(stored))
}

fn specs<'p>(source: &'p WeightsSource<'_>, stored: &'p [Stored]) -> Result<Vec<TensorSpec<'p>>> {
    let shape = |dims: &[usize]| {
        let dims: Vec<u64> = dims.iter().map(|&dim| dim as u64).collect();
        Shape::new(&dims).unwrap_or(Shape::SCALAR)
    };
    let floats =
        |name: &'p str, dims: &[usize]| TensorSpec { name, dtype: Dtype::F32, shape: shape(dims) };
    // Those of a tensor with 8-bit codes have scales of rows and of columns.
    let most = source.tensors.len().saturating_mul(3).saturating_add(source.further.len());
    let specs = limit::reserved(most);
    let mut specs = specs.map_err(|error| Error::in_file(source.name, error))?;
    for (tensor, stored) in source.tensors.iter().zip(stored) {
        if !(1..=2).contains(&tensor.shape.len()) || tensor.count() == 0 {
            let message = format!("`{}` has the shape {:?}", tensor.name, tensor.shape);
            return Err(Error::input(ErrorKind::WrongShape, message).at(source.name));
        }
        let dtype = stored.dtype;
        specs.push(TensorSpec { name: &tensor.name, dtype, shape: shape(&tensor.shape) });
        if dtype != Dtype::I8 {
            continue;
        }
        let rows = tensor.count() / tensor.cols();
        specs.push(match groups(tensor.cols()) {
            1 => floats(&stored.scale, &[rows]),
            groups => floats(&stored.scale, &[rows, groups]),
        });
        if !stored.columns.is_empty() {
            specs.push(floats(&stored.column_scale, &[stored.columns.len()]));
        }
    }
    for Further { name, dtype, bytes } in &source.further {
        let elements = bytes.len() / dtype.block_bytes();
        specs.push(TensorSpec { name, dtype: *dtype, shape: shape(&[elements]) });
    }
    Ok(specs)
}

fn write_tensor(
    tensor: &Tensor<'_>,
    stored: &Stored,
    writer: &mut EmbdWriter<'_, impl Sink>,
    tally: &mut Tally,
) -> std::result::Result<(), CoreError> {
    let values = tensor.to_f32()?;
    let mut bytes: Vec<u8>;
    let error = match stored.dtype {
        Dtype::I8 => {
            let codes = int8::quantize(&values, tensor.cols(), &stored.columns, stored.range)?;
            let error =
                parallel::squared_error(&values, &int8::dequantize(&codes, tensor.cols())?)?;
            let numbers = codes.scales.len().saturating_add(codes.columns.len());
            bytes = limit::reserved(codes.codes.len().saturating_add(numbers.saturating_mul(4)))?;
            bytes.extend(codes.codes.iter().map(|code| code.cast_unsigned()));
            let scales = codes.scales.iter().chain(codes.columns);
            bytes.extend(scales.flat_map(|scale| scale.to_le_bytes()));
            error
        }
        Dtype::F16 => {
            let halves = limit::exactly(values.iter().map(|&x| f16::from_f32(x)))?;
            let back = limit::exactly(halves.iter().map(|x| x.to_f32()))?;
            bytes = limit::reserved(halves.len().saturating_mul(2))?;
            bytes.extend(halves.iter().flat_map(|x| x.to_le_bytes()));
            parallel::squared_error(&values, &back)?
        }
        _ => {
            bytes = le_bytes(&values)?;
            0.0
        }
    };
    let power = parallel::power(&values)?;
    if !error.is_finite() || !power.is_finite() {
        return Err(CoreError::without_offset(ErrorKind::NotFinite));
    }
    let name = if stored.dtype == Dtype::I8 { "int8" } else { stored.dtype.name() };
    tally.add(tensor, name, bytes.len() as u64, (error, power))?;
    writer.data(&bytes)
}

/// The sorted index over a vocabulary: two tensors.
///
/// # Errors
///
/// [`ErrorKind::NoMemory`].
pub(super) fn index<T: AsRef<[u8]>>(tokens: &[T]) -> std::result::Result<[Further; 2], CoreError> {
    let mut order: Vec<(&[u8], u32)> = limit::reserved(tokens.len())?;
    order.extend(tokens.iter().map(T::as_ref).zip(0_u32..));
    order.sort_unstable();
    let id_dtype = if tokens.len() <= 1 << 16 { Dtype::U16 } else { Dtype::U32 };
    let width = id_dtype.block_bytes();
    let mut sorted_ids = limit::reserved(order.len().saturating_mul(width))?;
    sorted_ids.extend(order.iter().flat_map(|(_, id)| id.to_le_bytes().into_iter().take(width)));
    // An entry is a 16-bit length and the token's bytes.
    let ends = tokens.iter().map(T::as_ref).scan(0_u32, |end, token| {
        *end = end.saturating_add(u32::try_from(token.len()).unwrap_or(u32::MAX).saturating_add(2));
        Some(*end)
    });
    let mut offsets = limit::reserved(tokens.len().saturating_add(1).saturating_mul(4))?;
    offsets.extend(std::iter::once(0).chain(ends).flat_map(u32::to_le_bytes));
    Ok([
        Further { name: SORTED_IDS, dtype: id_dtype, bytes: sorted_ids },
        Further { name: TOKEN_OFFSETS, dtype: Dtype::U32, bytes: offsets },
    ])
}
