//! Writing a model as an `.amb` file.

use std::io::Write;

use nanoembed_core::format::amb::{AmbPlan, AmbTensorSpec, AmbTokenizerSpec, AmbWriter, Payload};
use nanoembed_core::model::requantize::COLUMN_SCALES;
use nanoembed_core::owned::IoSink;
use nanoembed_core::quant::{self, adaptive, amb_block};
use nanoembed_core::tensor::{Arrangement, Dtype, Encoding, ScaledCodes, Shape, Weight};
use nanoembed_core::{Error as CoreError, ErrorKind, limit};
use serde_json::{Map, Value, json};

use super::AmbOptions;
use super::budget::{Candidate, share_out};
use super::energy::{Energies, Inputs};
use super::feedback::Feedback;
use crate::checkpoint::Checkpoint;
use crate::checkpoint::tensor::Tensor;
use crate::checkpoint::vocabulary::WordPieceVocabulary;
use crate::convert::naming::Naming;
use crate::convert::weights_file::{Tally, WrittenModel};
use crate::error::{Error, Result};
use crate::json_float::json_float;
use crate::parallel;
use crate::progress::Progress;

/// A model to be written.
pub struct AmbSource<'a> {
    /// The model's name in messages.
    pub name: &'a str,
    pub tensors: &'a [Tensor<'a>],
    /// The purposes of the tensors, by their names.
    pub naming: Naming,
    /// The members of the configuration, without `quant`.
    pub config: Value,
    pub tokenizer: Option<AmbTokenizerSpec<'a>>,
    /// Words about the model's origin.
    pub metadata: Vec<(String, String)>,
}

/// Writes `source` to `file`, whose name in messages is `name`.
pub fn write(
    source: AmbSource<'_>,
    options: &AmbOptions,
    energies: &Energies,
    (name, file): (&str, &mut dyn Write),
    progress: &Progress<'_>,
) -> Result<WrittenModel> {
    let options = &if energies.is_empty() { options.uncalibrated() } else { *options };
    let failed = |error| Error::in_file(source.name, error);
    let config = with_quantization(source.config, (source.tensors, source.naming), options);
    let config = config.map_err(failed)?;
    // One after the other: a map asks for little memory where there is not much.
    let mut metadata = Map::new();
    for (key, value) in source.metadata {
        metadata.insert(key, Value::from(value));
    }
    let metadata = limit::formatted(format_args!("{}", Value::Object(metadata))).map_err(failed)?;
    let stored = stored((source.tensors, source.naming), options, energies)?;
    let mut tensors = specs(source.name, source.tensors, &stored)?;
    let scales = column_scales(energies)?;
    tensors.extend(scales.as_ref().map(|(spec, _)| *spec));
    let tokenizer = source.tokenizer;
    let plan = AmbPlan {
        metadata: &metadata,
        config: &config,
        tokenizer,
        tensors: &tensors,
        checksum: true,
    };
    let mut sink = IoSink::new(file);
    let mut tally = Tally::default();
    let written = (|| {
        let file_bytes = plan.file_bytes()?;
        let mut writer = AmbWriter::new(plan, &mut sink)?;
        for ((tensor, spec), stored) in source.tensors.iter().zip(&tensors).zip(&stored) {
            let values = tensor.to_f32()?;
            let bytes = encode(spec, &values, energies.inputs(&tensor.name), &stored.full)?;
            count(&mut tally, tensor, spec, &bytes, &values)?;
            writer.data(&bytes)?;
            progress.advance(tensor.data.len() as u64);
        }
        if let Some((_, bytes)) = &scales {
            writer.data(bytes)?;
        }
        writer.finish()?;
        Ok(file_bytes)
    })();
    let file_bytes = Error::from_written(written, sink.take_error(), name, source.name)?;
    Ok(WrittenModel { file_bytes, tally })
}

/// An encoder's tokenizer.
pub fn wordpiece<'a>(
    checkpoint: &Checkpoint<'_>,
    tokens: &'a [&'a [u8]],
) -> Option<AmbTokenizerSpec<'a>> {
    checkpoint.vocabulary.as_ref().map(|vocabulary| {
        let [pad, unknown, classify, separate, mask] = vocabulary.special.map(Some);
        let special = [classify, separate, pad, unknown, mask];
        AmbTokenizerSpec { special, payload: Payload::WordPiece(tokens) }
    })
}

/// An encoder's configuration: the specification's keys where it has some, and ours for the rest.
///
/// # Errors
///
/// [`ErrorKind::NoMemory`].
pub fn encoder_config(checkpoint: &Checkpoint<'_>) -> Result<Value> {
    let settings = &checkpoint.settings;
    let mut config = json!({
        "architecture": "custom",
        "model_type": "bert",
        "n_vocab": settings.vocabulary,
        "n_embd": settings.hidden,
        "n_layers": settings.layers,
        "n_heads": settings.heads,
        "n_kv_heads": settings.heads,
        "max_seq_len": settings.positions,
        "is_rope": false,
        "activation_fn": "gelu",
        "intermediate_size": settings.intermediate,
        "layer_norm_eps": json_float(settings.layer_norm_eps),
        "pooling": settings.pooling,
        "normalize": settings.normalize,
        "do_lower_case": settings.do_lower_case,
        "max_tokens": settings.max_tokens,
    });
    if let Some(strip) = settings.strip_accents.filter(|&strip| strip != settings.do_lower_case) {
        config["strip_accents"] = strip.into();
    }
    if !settings.split_ideographs {
        config["split_ideographs"] = false.into();
    }
    let failed = |error| Error::in_file(&checkpoint.name, error);
    let added = checkpoint.vocabulary.as_ref().map(WordPieceVocabulary::added_metadata);
    let added = added.transpose().map_err(failed)?.flatten();
    let prompts = settings.prompts.metadata().map_err(failed)?;
    for (key, value) in added.into_iter().chain(prompts) {
        config[key] = value.into();
    }
    Ok(config)
}

/// The configuration with what most of the weights are stored as.
fn with_quantization(
    mut config: Value,
    (tensors, naming): (&[Tensor<'_>], Naming),
    options: &AmbOptions,
) -> std::result::Result<String, CoreError> {
    let large = tensors.iter().filter(|tensor| !naming.is_small(&tensor.name));
    let largest = large.max_by_key(|tensor| tensor.count());
    if let Some(Dtype::Scaled(codes)) = largest.map(|tensor| options.dtype(tensor, naming)) {
        let name = match codes.name() {
            "int4block" => "int4_block",
            "int5block" => "int5_block",
            name => name,
        };
        config["quant"] = json!({"type": name, "block_size": codes.block, "scale_type": "fp16"});
    }
    limit::formatted(format_args!("{config}"))
}

/// The form of a tensor in the file.
struct Stored {
    dtype: Dtype,
    /// The blocks that are kept in full precision; none unless it is adaptive.
    full: Vec<bool>,
}

fn stored(
    (tensors, naming): (&[Tensor<'_>], Naming),
    options: &AmbOptions,
    energies: &Energies,
) -> Result<Vec<Stored>> {
    let no_memory = |error| Error::in_file("the model", error);
    let of_dtype = |tensor| Stored { dtype: options.dtype(tensor, naming), full: Vec::new() };
    let mut stored: Vec<Stored> =
        limit::exactly(tensors.iter().map(of_dtype)).map_err(no_memory)?;
    let measured = |(tensor, stored): (&Tensor<'_>, &Stored)| match stored.dtype {
        Dtype::Scaled(codes) if codes.arrangement == Arrangement::Adaptive => {
            Candidate::new(codes, &tensor.to_f32()?, energies.inputs(&tensor.name)).map(Some)
        }
        _ => Ok(None),
    };
    let all = parallel::gathered(tensors.iter().zip(&stored), &measured);
    let mut candidates: Vec<Candidate> = limit::reserved(tensors.len()).map_err(no_memory)?;
    let mut places: Vec<&mut Stored> = limit::reserved(tensors.len()).map_err(no_memory)?;
    for (candidate, stored) in all.map_err(no_memory)?.into_iter().zip(&mut stored) {
        if let Some(candidate) = candidate {
            candidates.push(candidate);
            places.push(stored);
        }
    }
    if !candidates.is_empty() {
        for (stored, share) in places.into_iter().zip(share_out(&candidates, options.bits)?) {
            *stored = Stored { dtype: Dtype::Scaled(share.codes), full: share.full };
        }
    }
    Ok(stored)
}

fn specs<'p>(
    name: &str,
    tensors: &'p [Tensor<'_>],
    stored: &[Stored],
) -> Result<Vec<AmbTensorSpec<'p>>> {
    let spec = |(tensor, stored): (&'p Tensor<'_>, &Stored)| {
        let dims: Vec<u64> = tensor.shape.iter().map(|&dim| dim as u64).collect();
        let shape = Shape::new(&dims).filter(|_| tensor.count() > 0).ok_or_else(|| {
            let message = format!("`{}` has the shape {:?}", tensor.name, tensor.shape);
            Error::input(ErrorKind::WrongShape, message).at(name)
        })?;
        let full_blocks = stored.full.iter().filter(|full| **full).count() as u64;
        Ok(AmbTensorSpec { name: &tensor.name, dtype: stored.dtype, shape, full_blocks })
    };
    // One more for the column scales.
    let mut specs = limit::reserved(tensors.len().saturating_add(1))
        .map_err(|error| Error::in_file(name, error))?;
    for pair in tensors.iter().zip(stored) {
        specs.push(spec(pair)?);
    }
    Ok(specs)
}

/// The tensor [`COLUMN_SCALES`], which is none of the model's, and its bytes; `None` if nothing is
/// known of activations.
fn column_scales(energies: &Energies) -> Result<Option<(AmbTensorSpec<'static>, Vec<u8>)>> {
    let scales = energies.column_scales();
    let Some(shape) = Shape::new(&[scales.len() as u64]).filter(|_| !scales.is_empty()) else {
        return Ok(None);
    };
    let failed = |error| Error::in_file(COLUMN_SCALES, error);
    let mut bytes = limit::filled(2 * scales.len(), 0_u8).map_err(failed)?;
    quant::quantize(Dtype::F16, scales, &mut bytes).map_err(failed)?;
    let spec = AmbTensorSpec { name: COLUMN_SCALES, dtype: Dtype::F16, shape, full_blocks: 0 };
    Ok(Some((spec, bytes)))
}

/// Blocks that one thread quantises at a time.
const BLOCKS_AT_ONCE: usize = 1024;

fn encode(
    spec: &AmbTensorSpec<'_>,
    values: &[f32],
    inputs: &Inputs,
    full: &[bool],
) -> std::result::Result<Vec<u8>, CoreError> {
    let energy = inputs.energy.as_slice();
    let size = usize::try_from(spec.data_bytes()?);
    let size = size.map_err(|_| CoreError::without_offset(ErrorKind::SizeOverflow))?;
    let mut bytes = limit::filled(size, 0_u8)?;
    let is_full = |block: usize| full.get(block).copied().unwrap_or(false);
    if let Dtype::Scaled(codes) = spec.dtype
        && energy.len().checked_rem(codes.block.into()) == Some(0)
        && let Some(feedback) = Feedback::new(&inputs.gram, energy.len())?
    {
        let mut rounded = limit::exactly(values.iter().copied())?;
        let scales = feedback.round(&codes, &mut rounded, &is_full)?;
        amb_block::store(&codes, &rounded, &scales, is_full, &mut bytes)?;
        return Ok(bytes);
    }
    match spec.dtype {
        Dtype::Scaled(codes) if codes.arrangement == Arrangement::Adaptive => {
            adaptive::quantize(&codes, values, energy, is_full, &mut bytes)?;
        }
        Dtype::Scaled(codes) => quantize(&codes, values, energy, &mut bytes)?,
        dtype => quant::quantize(dtype, values, &mut bytes)?,
    }
    Ok(bytes)
}

/// Quantises separate or interleaved blocks on all threads.
fn quantize(
    codes: &ScaledCodes,
    values: &[f32],
    energy: &[f32],
    out: &mut [u8],
) -> std::result::Result<(), CoreError> {
    // Weights repeat with the columns, so threads take whole rows; interleaved blocks of whole rows
    // lie together.
    let block = usize::from(codes.block);
    let rows = energy.len().max(1);
    let piece = block.saturating_mul(rows).saturating_mul(BLOCKS_AT_ONCE.div_ceil(rows));
    let piece_bytes =
        codes.data_bytes(piece as u64, 0).and_then(|bytes| usize::try_from(bytes).ok());
    match piece_bytes {
        Some(piece_bytes) if codes.arrangement == Arrangement::Interleaved && piece > 0 => {
            let pieces = values.chunks(piece).zip(out.chunks_mut(piece_bytes));
            parallel::try_each(pieces, &|(values, out)| {
                amb_block::quantize(codes, values, energy, out).map(|_| ())
            })
        }
        _ => amb_block::quantize(codes, values, energy, out).map(|_| ()),
    }
}

fn count(
    tally: &mut Tally,
    tensor: &Tensor<'_>,
    spec: &AmbTensorSpec<'_>,
    bytes: &[u8],
    values: &[f32],
) -> std::result::Result<(), CoreError> {
    let fail = CoreError::without_offset;
    let encoding = Encoding::Plain { dtype: spec.dtype, data: bytes };
    let weight = Weight::new(spec.shape, encoding).map_err(fail)?;
    let mut back = limit::filled(values.len(), 0.0)?;
    quant::dequantize_weight(&weight, 0, &mut back)?;
    let error = parallel::squared_error(values, &back)?;
    let power = parallel::power(values)?;
    if !error.is_finite() || !power.is_finite() {
        return Err(fail(ErrorKind::NotFinite));
    }
    tally.add(tensor, spec.dtype.name(), bytes.len() as u64, (error, power))
}
