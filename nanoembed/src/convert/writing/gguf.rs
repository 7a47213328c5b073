//! GGUF: ggml's types as they are, all other quantised tensors as f32.

use nanoembed_core::describe::gguf::Key;
use nanoembed_core::event::{Mode, Value};
use nanoembed_core::format::gguf::{DEFAULT_ALIGNMENT, Gguf, WriteValue};
use nanoembed_core::tensor::{Dtype, Encoding, Weight};
use nanoembed_core::{ErrorKind, limit};

use super::encoder::{Encoder, model_type};
use super::family::{Family, Prepared};
use super::metadata::Metadata;
use super::names::{Plan, is_table};
use super::{Job, Writing, WrittenFile, decoder_tokenizer, note_left_out, size_of};
use crate::convert::quantizer::encode::Encoded;
use crate::convert::quantizer::{QuantType, encode};
use crate::convert::targets::Item;
use crate::convert::targets::gguf::write as write_file;
use crate::error::{Error, Result, name_of};
use crate::files::mapped_file::MappedFile;
use crate::files::spool::Spool;
use crate::hashed;
use crate::progress::{Observer, Progress};

/// The keys of the alignment and of the type that most tensors have.
const ALIGNMENT_KEY: &str = "general.alignment";
const FILE_TYPE_KEY: &str = "general.file_type";
/// The keys of a split model's parts, which become one file here.
const SPLIT_KEYS: &str = "split.";

pub(super) fn write(
    writing: &Writing,
    job: &Job<'_, '_>,
    plan: &Plan,
    items: Vec<Item<'_>>,
    (progress, observer): (&Progress<'_>, &dyn Observer),
) -> Result<Vec<WrittenFile>> {
    let failed = |error| Error::in_file(&job.source, error);
    let mut spool = Spool::new()?;
    let is_copy = writing.like.is_some() || job.gguf.is_some();
    let wants_float = |item: &Item<'_>| {
        // As llama.cpp wants it, which adds vectors to others as they are.
        !is_copy && item.is_float() && item.weight.shape().dims().len() == 1
    };
    let encoded = as_floats(&items, wants_float, &mut spool)?;
    let spooled = spool.finish()?;
    let mut held = held(items, &encoded, &spooled, observer)?;
    if let Some(keys) = &plan.keys {
        held.retain(|item| !is_table(&item.name) && !keys.has(&item.name));
        limit::extend(&mut held, keys.tensors()?).map_err(failed)?;
    }
    let like = writing.like.as_ref().map(|path| MappedFile::open(path)).transpose()?;
    let like = match (&like, &writing.like) {
        (Some(file), Some(path)) => Some(
            Gguf::parse(file, Mode::Lenient)
                .map_err(|error| Error::in_file(name_of(path), error))?,
        ),
        _ => None,
    };
    if let Some(like) = &like {
        held = chosen(like, &held)?;
    }
    let source = like.or(job.gguf);
    let mut own = None;
    let mut metadata: Vec<(&str, WriteValue<'_>)> = Vec::new();
    let mut alignment = u32::try_from(DEFAULT_ALIGNMENT).unwrap_or(32);
    match (&source, &plan.llama) {
        (Some(source), _) => {
            let pairs =
                source.metadata().filter_map(|(key, _)| Some((key, source.stored_value(key)?)));
            let copied = pairs.filter(|(key, _)| {
                *key != ALIGNMENT_KEY
                    && !key.starts_with(SPLIT_KEYS)
                    && !(job.requantized && *key == FILE_TYPE_KEY)
            });
            let copied = copied.map(|(key, value)| (key, WriteValue::Stored(value)));
            limit::extend(&mut metadata, copied).map_err(failed)?;
            if let Some(Value::Unsigned(own)) = source.value(ALIGNMENT_KEY) {
                alignment = u32::try_from(own).unwrap_or(alignment);
            }
        }
        (None, Some(llama)) => {
            if let Some(setting) = llama.unwritten() {
                let message = format!("{setting}, which is not written into GGUF files here");
                return Err(Error::input(ErrorKind::UnsupportedSetting, message)
                    .at(&job.source)
                    .with_hint(
                        "`--like ORIGINAL.gguf` takes all settings from a GGUF file of the model",
                    ));
            }
            let mut described = Metadata::new(llama.architecture);
            if let Some(keys) = &plan.keys {
                keys.add(&mut described)?;
            }
            decoder_tokenizer::add(&mut described, writing, job, llama.vocabulary())?;
            own = Some(described);
        }
        // Tensors alone, as was asked for.
        (None, None) if writing.keep_names => {
            observer.warn(&format!(
                "{} has the tensors alone, without settings and tokenizer: no program runs it",
                job.output.display()
            ));
            metadata.push((Key::Architecture.name(), WriteValue::Text("unknown")));
        }
        (None, None) => return Err(unknown_model(writing, job)?),
    }
    if let Some(own) = own {
        return write_described(job, &own, &held, progress);
    }
    write_whole(job, &metadata, alignment.max(8), &held, progress)
}

/// Writes a file with these keys and tensors.
fn write_whole(
    job: &Job<'_, '_>,
    metadata: &[(&str, WriteValue<'_>)],
    alignment: u32,
    held: &[Item<'_>],
    progress: &Progress<'_>,
) -> Result<Vec<WrittenFile>> {
    write_file(job.output, metadata, alignment, held, progress)?;
    Ok(vec![size_of(job.output)])
}

/// Writes a file of a model that `metadata` describes.
fn write_described(
    job: &Job<'_, '_>,
    metadata: &Metadata,
    held: &[Item<'_>],
    progress: &Progress<'_>,
) -> Result<Vec<WrittenFile>> {
    let failed = |error| Error::in_file(&job.source, error);
    let texts = metadata.texts().map_err(failed)?;
    let values = metadata.values(&texts).map_err(failed)?;
    let alignment = u32::try_from(DEFAULT_ALIGNMENT).unwrap_or(32);
    write_whole(job, &values, alignment, held, progress)
}

/// Writes an encoder, whose items have GGUF's names.
pub(super) fn write_encoder(
    job: &Job<'_, '_>,
    encoder: &Encoder,
    items: Vec<Item<'_>>,
    (progress, observer): (&Progress<'_>, &dyn Observer),
) -> Result<Vec<WrittenFile>> {
    let mut spool = Spool::new()?;
    let wants_float = |item: &Item<'_>| {
        let is_vector = item.weight.shape().dims().len() == 1;
        is_vector || Encoder::is_float(&item.name) || item.dtype() == Some(Dtype::F64)
    };
    let encoded = as_floats(&items, wants_float, &mut spool)?;
    let spooled = spool.finish()?;
    let held = held(items, &encoded, &spooled, observer)?;
    let types = held.iter().find(|item| item.name == TOKEN_TYPES);
    let types = types.map_or(0, |types| types.weight.shape().rows());
    let metadata = encoder.metadata(&job.source, types)?;
    write_described(job, &metadata, &held, progress)
}

/// Writes an encoder of any family.
pub(super) fn write_family(
    job: &Job<'_, '_>,
    family: &Family,
    items: Vec<Item<'_>>,
    (progress, observer): (&Progress<'_>, &dyn Observer),
) -> Result<Vec<WrittenFile>> {
    let mut spool = Spool::new()?;
    let prepared = family.prepared(items, &job.source, &mut spool)?;
    let metadata = family.metadata(&prepared).map_err(|failure| failure.at(&job.source))?;
    if !prepared.left_out.is_empty() {
        note_left_out(job, &prepared.left_out, observer)?;
    }
    let Prepared { items, mut encoded, dense, .. } = prepared;
    let not_held = |item: &Item<'_>| item.dtype() != Some(Dtype::F32) && !holds(item);
    for (item, place) in items.iter().zip(&mut encoded) {
        if place.is_none() && not_held(item) {
            *place = as_floats(std::slice::from_ref(item), |_| true, &mut spool)?.pop().flatten();
        }
    }
    let spooled = spool.finish()?;
    let mut held = held(items, &encoded, &spooled, observer)?;
    for (name, layer) in dense {
        let item = Item::new(name, layer.weight(&spooled)?);
        limit::push(&mut held, item).map_err(|error| Error::in_file(&job.source, error))?;
    }
    write_described(job, &metadata, &held, progress)
}

/// The table of the types of tokens.
const TOKEN_TYPES: &str = "token_types.weight";

/// Converts items that GGUF does not hold, and those that `wants_float`, to f32.
fn as_floats(
    items: &[Item<'_>],
    wants_float: impl Fn(&Item<'_>) -> bool,
    spool: &mut Spool,
) -> Result<Vec<Option<Encoded>>> {
    let mut all = Vec::new();
    for item in items {
        let is_kept = item.dtype() == Some(Dtype::F32) || holds(item) && !wants_float(item);
        let encoded = match is_kept {
            true => None,
            false => Some(encode(&item.floats()?, *item.weight.shape(), QuantType::F32, spool)?.0),
        };
        limit::push(&mut all, encoded).map_err(|error| Error::in_file(&item.name, error))?;
    }
    Ok(all)
}

/// The items with what [`as_floats`] put into `spooled`, without those whose shape GGUF does not
/// hold.
fn held<'a>(
    items: Vec<Item<'a>>,
    encoded: &[Option<Encoded>],
    spooled: &'a MappedFile,
    observer: &dyn Observer,
) -> Result<Vec<Item<'a>>> {
    let mut held: Vec<Item<'_>> = Vec::new();
    for (item, encoded) in items.into_iter().zip(encoded) {
        if item.weight.shape().dims().is_empty() || item.weight.elements() == 0 {
            let name = &item.name;
            observer.warn(&format!("`{name}` is left out: GGUF holds no tensor of this shape"));
            continue;
        }
        let item = match encoded {
            Some(encoded) => Item::new(item.name, encoded.weight(spooled)?),
            None => item,
        };
        limit::push(&mut held, item).map_err(|error| Error::in_file("the model", error))?;
    }
    Ok(held)
}

/// The error for a file whose tensors belong to no known model.
fn unknown_model(writing: &Writing, job: &Job<'_, '_>) -> Result<Error> {
    let beside = job.folder.join("config.json");
    let kind = model_type(writing.config.as_deref().unwrap_or(&beside))?;
    let message = match kind {
        Some(kind) => format!("a model of the type `{kind}` is not written as GGUF"),
        None => "nothing here says what model this is, and nobody can run a GGUF file without its architecture, sizes and tokenizer".into(),
    };
    let kind = ErrorKind::UnsupportedArchitecture;
    Ok(Error::input(kind, message).at(&job.source).with_hint(
        "`--like ORIGINAL.gguf` takes all that from a GGUF file of the model, `--config FILE` from its `config.json` and the tokenizer beside it; `--keep-names` writes the tensors alone, which no program runs",
    ))
}

/// True if GGUF has the type of an item.
fn holds(item: &Item<'_>) -> bool {
    item.dtype().and_then(Dtype::ggml_number).is_some()
}

/// The tensors of `like` in its order, from `items`.
fn chosen<'a>(like: &Gguf<'_>, items: &[Item<'a>]) -> Result<Vec<Item<'a>>> {
    let failed = |error| Error::in_file("the model", error);
    let named = hashed::map(items.iter().map(|item| (item.name.as_str(), item)));
    let named = named.map_err(failed)?;
    let find = |name: &str| named.get(name).copied();
    let is_tied = like.tensor("output.weight").is_none();
    let mut chosen = Vec::new();
    for tensor in like.tensors() {
        let header = tensor.header();
        let mut found = find(header.name);
        // A model whose output layer is its table of embeddings has the table's blocks there after
        // a way through 0.x.
        if header.name == "token_embd.weight" && is_tied {
            let output = find("output.weight").filter(|item| item.dtype() == Some(header.dtype));
            found = output.or(found);
        }
        let missing = || {
            let message = format!("there is no tensor `{}`, which the GGUF file has", header.name);
            Error::input(ErrorKind::MissingTensor, message)
        };
        let found = found.ok_or_else(missing)?;
        if *found.weight.shape() != header.shape {
            let message = format!(
                "`{}` is {:?} here and {:?} in the GGUF file",
                header.name,
                found.weight.shape(),
                header.shape
            );
            return Err(Error::input(ErrorKind::WrongShape, message));
        }
        let weight = match *found.weight.encoding() {
            Encoding::Plain { dtype, data } => {
                Weight::new(header.shape, Encoding::Plain { dtype, data })
            }
            _ => Ok(found.weight),
        };
        let weight = weight.map_err(|kind| Error::input(kind, kind.message()))?;
        let name = limit::copied(header.name).map_err(failed)?;
        limit::push(&mut chosen, Item::new(name, weight)).map_err(failed)?;
    }
    Ok(chosen)
}
