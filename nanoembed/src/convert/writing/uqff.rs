//! UQFF: quantised tensors become layers, all else goes into a file beside it.

use std::path::PathBuf;

use nanoembed_core::format::uqff::{Extra, LayerFormat, UqffLayer, ggml_number};
use nanoembed_core::tensor::{Encoding, TensorHeader, TensorView};
use nanoembed_core::{ErrorKind, limit};

use super::names::{Plan, config_path};
use super::residual::Residual;
use super::{Job, Target, Writing, WrittenFile, companion_files, size_of};
use crate::convert::targets::Item;
use crate::convert::targets::uqff::{Layers, Shards, prepare_report};
use crate::error::{Error, Result};
use crate::files::new_file::{NewFile, commit_set, keep_inputs};
use crate::hashed;
use crate::layer_names::{Embedder, embedder, llama};
use crate::progress::Observer;
use crate::stored::files::in_number_order;

pub(super) fn write(
    writing: &Writing,
    job: &Job<'_, '_>,
    plan: &Plan,
    items: &[Item<'_>],
    observer: &dyn Observer,
) -> Result<Vec<WrittenFile>> {
    let failed = |error| Error::in_file(&job.source, error);
    let mut layers: Vec<UqffLayer<'_>> = Vec::new();
    let mut rest: Vec<&Item<'_>> = Vec::new();
    for item in items {
        check_type(item).map_err(|error| error.at(&job.source))?;
        match layer_of(item) {
            Some(layer) => limit::push(&mut layers, layer),
            None => limit::push(&mut rest, item),
        }
        .map_err(failed)?;
    }
    let places = hashed::map(layers.iter().map(|layer| layer.name).zip(0..)).map_err(failed)?;
    rest.retain(|item| {
        let owner = item.name.strip_suffix(".bias").and_then(|owner| places.get(owner));
        let layer = owner.and_then(|place| layers.get_mut::<usize>(*place));
        match (layer, view(item)) {
            (Some(layer), Some(view)) => {
                layer.bias = Some(view);
                false
            }
            _ => true,
        }
    });
    if layers.is_empty() {
        let message = "nothing here is a layer that UQFF could hold";
        return Err(Error::input(ErrorKind::MissingTensor, message).at(&job.source));
    }
    let numbered = match job.target {
        Target::Uqff12 => {
            layers.sort_unstable_by(|a, b| in_number_order(a.name, b.name));
            None
        }
        _ => Some(numbered(writing, plan, job, &layers, items, &mut rest)?),
    };
    let named_or_numbered = numbered.as_deref().map_or(Layers::Tensors(&layers), Layers::Blobs);
    let shards = Shards::new(job.output, &named_or_numbered, writing.shard_size)?;
    keep_inputs(&job.inputs, &shards.paths)?;
    let residual =
        (!rest.is_empty()).then(|| Residual::prepare(writing, job, &rest)).transpose()?;
    let mut files = shards.prepare()?;
    let mut paths = limit::exactly(shards.paths.iter().map(PathBuf::as_path)).map_err(failed)?;
    let residual = match residual {
        Some(Residual { path, file }) => {
            limit::push(&mut files, file).map_err(failed)?;
            Some(path)
        }
        None => None,
    };
    limit::extend(&mut paths, residual.as_deref()).map_err(failed)?;
    let has_report = writing.report && numbered.is_none();
    let report = match has_report {
        true => prepare_report(&shards.paths, &layers, &job.fallbacks)?,
        false => None,
    };
    // All that takes memory comes before the files appear.
    let companions = companion_files::plan(job, &paths)?;
    let mut written = limit::reserved(paths.len() + companions.count()).map_err(failed)?;
    commit_set(files)?;
    report.map_or(Ok(()), NewFile::commit)?;
    written.extend(paths.into_iter().map(size_of));
    companion_files::bring(&companions, &mut written, observer)?;
    Ok(written)
}

/// Rejects blocks of types that UQFF has no number for.
fn check_type(item: &Item<'_>) -> Result<()> {
    match item.weight.encoding() {
        Encoding::Plain { dtype, .. } if dtype.is_block() && ggml_number(*dtype).is_none() => {
            let message =
                format!("`{}` is {}, which UQFF files do not hold", item.name, dtype.name());
            Err(Error::input(ErrorKind::UnsupportedDtype, message)
                .with_hint("`nanoembed quantize` stores it in another type"))
        }
        _ => Ok(()),
    }
}

/// The layer that an item makes, if it is one: it was one, it is quantised, or it is called like
/// one.
fn layer_of<'i>(item: &'i Item<'_>) -> Option<UqffLayer<'i>> {
    let name = item.name.strip_suffix(".weight").unwrap_or(&item.name);
    let matrix = item.weight.shape().dims().len() > 1;
    let (format, extra) = match (item.layer, item.weight.encoding()) {
        (Some(layer), _) => layer,
        (None, Encoding::Plain { dtype, .. }) if dtype.is_block() => {
            (LayerFormat::Gguf, Extra::default())
        }
        (None, Encoding::Plain { .. }) => {
            if !(matrix && item.is_float() && llama::is_layer(name)) {
                return None;
            }
            (LayerFormat::Unquantized, Extra::default())
        }
        (None, Encoding::Hqq(_)) => {
            let steps = nanoembed_core::quant::hqq::STEPS;
            (LayerFormat::Hqq, Extra { optimization_steps: steps, ..Extra::default() })
        }
        (None, Encoding::Fp8 { scale, .. }) => {
            // As in the reference: activations have no scale of their own, the inverse is that of
            // the weight's.
            let inverse = if *scale == 0.0 { 0.0 } else { 1.0 / scale };
            (
                LayerFormat::Fp8,
                Extra { dequant_x_scale: *scale, quant_scale: inverse, ..Extra::default() },
            )
        }
        (None, Encoding::Afq(_)) => (LayerFormat::Afq, Extra::default()),
        (None, Encoding::F8q8 { .. }) => (LayerFormat::F8q8, Extra::default()),
        (None, _) => (LayerFormat::Mxfp4, Extra::default()),
    };
    Some(UqffLayer { name, format, weight: item.weight, bias: None, extra })
}

/// A float tensor as a bias.
fn view<'a>(item: &Item<'a>) -> Option<TensorView<'a>> {
    let dtype = item.dtype().filter(|_| item.is_float())?;
    let data = item.data();
    let header = TensorHeader {
        name: "bias",
        dtype,
        shape: *item.weight.shape(),
        offset: 0,
        bytes: data.len() as u64,
    };
    TensorView::new(header, data)
}

/// The layers under the numbers that UQFF 0.x has for them, in the order of the reference's files.
/// The table of embeddings is none of them: it goes to the rest, and is the output layer of models
/// that have no other.
fn numbered<'l, 'i>(
    writing: &Writing,
    plan: &Plan,
    job: &Job<'_, '_>,
    layers: &[UqffLayer<'l>],
    items: &'i [Item<'i>],
    rest: &mut Vec<&'i Item<'i>>,
) -> Result<Vec<(u32, UqffLayer<'l>)>> {
    const EMBEDDINGS: &str = "model.embed_tokens";
    let failed = |error| Error::in_file(&job.source, error);
    let embedder = embedder_of(writing, job, layers)?;
    let number = |name: &str| {
        let decimal = name.bytes().all(|byte| byte.is_ascii_digit());
        let own = decimal.then(|| name.parse().ok()).flatten();
        let named = plan.names.as_ref().map(|names| names.number(name));
        let known = || match &embedder {
            Some(embedder) => embedder.number(name),
            None => plan.llama.as_ref().and_then(|llama| llama.number(name)),
        };
        own.or(named.unwrap_or_else(known))
    };
    let has_output = layers.iter().any(|layer| number(layer.name) == Some(0));
    let tied = plan.llama.as_ref().is_some_and(llama::Llama::is_tied);
    let mut numbered = Vec::new();
    for layer in layers {
        if embedder::is_table(layer.name) && number(layer.name).is_none() {
            let weight = format!("{}.weight", layer.name);
            limit::extend(rest, items.iter().find(|item| item.name == weight)).map_err(failed)?;
            if layer.name == EMBEDDINGS && !has_output && tied {
                limit::push(&mut numbered, (0, *layer)).map_err(failed)?;
            }
            continue;
        }
        let number = number(layer.name).ok_or_else(|| {
            let message = format!("the number of layer `{}` in UQFF 0.x is not known", layer.name);
            Error::input(ErrorKind::BadMetadata, message).at(&job.source).with_hint(
                "give the model's config.json with `--config` (Llama, Mistral, Qwen2, EmbeddingGemma, Qwen3-Embedding), or all numbers with `--names FILE`",
            )
        })?;
        limit::push(&mut numbered, (number, *layer)).map_err(failed)?;
    }
    // The reference orders by the decimal names as texts.
    numbered.sort_unstable_by(|(a, _), (b, _)| in_decimal_order(*a, *b));
    let mut pairs = numbered.iter().zip(numbered.iter().skip(1));
    if let Some(((number, _), _)) = pairs.find(|((a, _), (b, _))| a == b) {
        let message = format!("two layers have the number {number}");
        return Err(Error::input(ErrorKind::DuplicateName, message).at(&job.source));
    }
    Ok(numbered)
}

/// The order of the decimal names of two numbers as texts.
fn in_decimal_order(a: u32, b: u32) -> std::cmp::Ordering {
    let digits = |number: u32| number.checked_ilog10().unwrap_or(0);
    let places = digits(a).max(digits(b));
    // As many digits as the longer one has; the shorter of two with the same ones comes first.
    let padded = |number: u32| u64::from(number) * 10_u64.pow(places - digits(number));
    padded(a).cmp(&padded(b)).then(a.cmp(&b))
}

/// The embedding model whose layers these are, if they are called like those of one.
fn embedder_of(
    writing: &Writing,
    job: &Job<'_, '_>,
    layers: &[UqffLayer<'_>],
) -> Result<Option<Embedder>> {
    let config = config_path(writing, job);
    if !config.exists() || !layers.iter().any(|layer| embedder::is_name(layer.name)) {
        return Ok(None);
    }
    Embedder::from_config(&config)
}
