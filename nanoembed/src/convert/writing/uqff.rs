//! UQFF: quantised tensors become layers, all else goes into a file beside it.

use std::collections::HashMap;

use nanoembed_core::ErrorKind;
use nanoembed_core::format::uqff::{Extra, LayerFormat, UqffLayer, ggml_number};
use nanoembed_core::tensor::{Encoding, TensorHeader, TensorView};

use super::names::{Plan, config_path};
use super::residual::Residual;
use super::{Job, Target, Writing, WrittenFile, companion_files, size_of};
use crate::convert::targets::Item;
use crate::convert::targets::uqff::{Layers, Shards, report};
use crate::error::{Error, Result};
use crate::files::new_file::{commit_set, keep_inputs};
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
    let mut layers: Vec<UqffLayer<'_>> = Vec::new();
    let mut rest: Vec<&Item<'_>> = Vec::new();
    for item in items {
        check_type(item).map_err(|error| error.at(&job.source))?;
        match layer_of(item) {
            Some(layer) => layers.push(layer),
            None => rest.push(item),
        }
    }
    let places: HashMap<&str, usize> = layers.iter().map(|layer| layer.name).zip(0..).collect();
    rest.retain(|item| {
        let owner = item.name.strip_suffix(".bias").and_then(|owner| places.get(owner));
        let layer = owner.and_then(|place| layers.get_mut(*place));
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
            layers.sort_by(|a, b| in_number_order(a.name, b.name));
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
    let residual = residual.map(|residual| {
        files.push(residual.file);
        residual.path
    });
    commit_set(files)?;
    if writing.report && numbered.is_none() {
        report(&shards.paths, &layers, job.fallbacks.clone())?;
    }
    let mut written: Vec<WrittenFile> = shards.paths.iter().map(|path| size_of(path)).collect();
    written.extend(residual.as_deref().map(size_of));
    written.extend(companion_files::bring(job, observer)?);
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
            rest.extend(items.iter().find(|item| item.name == weight));
            if layer.name == EMBEDDINGS && !has_output && tied {
                numbered.push((0, *layer));
            }
            continue;
        }
        let number = number(layer.name).ok_or_else(|| {
            let message = format!("the number of layer `{}` in UQFF 0.x is not known", layer.name);
            Error::input(ErrorKind::BadMetadata, message).at(&job.source).with_hint(
                "give the model's config.json with `--config` (Llama, Mistral, Qwen2, EmbeddingGemma, Qwen3-Embedding), or all numbers with `--names FILE`",
            )
        })?;
        numbered.push((number, *layer));
    }
    // The reference orders by the decimal names as texts.
    numbered.sort_by_key(|(number, _)| number.to_string());
    let mut pairs = numbered.iter().zip(numbered.iter().skip(1));
    if let Some(((number, _), _)) = pairs.find(|((a, _), (b, _))| a == b) {
        let message = format!("two layers have the number {number}");
        return Err(Error::input(ErrorKind::DuplicateName, message).at(&job.source));
    }
    Ok(numbered)
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
