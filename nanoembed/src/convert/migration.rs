//! Weights between the generations of UQFF, and between UQFF, GGUF and safetensors, without
//! requantising.

use std::collections::HashSet;
use std::path::PathBuf;

use nanoembed_core::event::Format;
use nanoembed_core::format::uqff::Generation;
use nanoembed_core::tensor::{Encoding, Weight};
use nanoembed_core::{ErrorKind, limit};

use super::targets::Item;
use super::writing::{Job, Target, Writing, WrittenFile, check_beside, residual};
use crate::error::{Error, Result};
use crate::hashed;
use crate::layer_names::{LayerNumbering, NamesFile};
use crate::progress::Observer;
use crate::stored::{Contents, FileSet, Values};

/// Weights of UQFF, GGUF or safetensors files on their way into another of these formats: blocks
/// are copied bit by bit where the other format has their type, all else becomes f32.
///
/// ```
/// use nanoembed::Silent;
/// use nanoembed::convert::Migration;
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let output = folder.path().join("model.safetensors");
/// for file in Migration::new(["../tests/data/llama/tiny.gguf"], &output).run(&Silent)? {
///     println!("{}: {} bytes", file.path.display(), file.bytes);
/// }
/// # Ok::<(), nanoembed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Migration {
    inputs: Vec<PathBuf>,
    output: PathBuf,
    writing: Writing,
}

impl Migration {
    /// A migration of the weights in `inputs`. The first of several shards or parts stands for all,
    /// and a UQFF file includes the `residual.safetensors` beside it.
    pub fn new<P: Into<PathBuf>>(
        inputs: impl IntoIterator<Item = P>,
        output: impl Into<PathBuf>,
    ) -> Self {
        Self {
            inputs: inputs.into_iter().map(Into::into).collect(),
            output: output.into(),
            writing: Writing::default(),
        }
    }

    /// The options for writing the output.
    #[must_use]
    pub fn writing(self, writing: Writing) -> Self {
        Self { writing, ..self }
    }

    /// Writes the output; returns which files it is.
    ///
    /// # Errors
    ///
    /// Fails if the input is invalid, the output's format cannot hold it, or the output cannot be
    /// written.
    pub fn run(&self, observer: &dyn Observer) -> Result<Vec<WrittenFile>> {
        let Self { inputs, output, writing } = self;
        let target = writing.target(output)?;
        let sets = open(inputs, target, observer)?;
        let mut contents: Vec<Contents<'_>> = Vec::new();
        for set in &sets {
            limit::push(&mut contents, set.contents()?)
                .map_err(|error| Error::in_file(set.name(), error))?;
        }
        let (Some(first), Some(set)) = (contents.first(), sets.first()) else {
            return Err(Error::usage("name files to read and a file to write"));
        };
        let mut items = Vec::new();
        let mut names: HashSet<String> = HashSet::new();
        for (set, contents) in sets.iter().zip(&contents) {
            let failed = |error| Error::in_file(set.name(), error);
            for item in self.items(set, contents, target)? {
                let name = limit::copied(&item.name).map_err(failed)?;
                if !hashed::add(&mut names, name).map_err(failed)? {
                    let message = format!("the tensor `{}` is there twice", item.name);
                    return Err(Error::input(ErrorKind::DuplicateName, message).at(set.name()));
                }
                limit::push(&mut items, item).map_err(failed)?;
            }
        }
        let inputs = sets.iter().flat_map(FileSet::iter).map(|(path, _)| path.to_owned());
        let inputs = limit::collected(inputs);
        let job = Job {
            target,
            output,
            from: first.format,
            gguf: contents.iter().find_map(|contents| contents.gguf.first().copied()),
            source: set.name(),
            folder: set.folder(),
            inputs: inputs.map_err(|error| Error::in_file(set.name(), error))?,
            fallbacks: Vec::new(),
            requantized: false,
        };
        writing.write(&job, items, observer)
    }

    /// The tensors of a source, layers of UQFF under names if they need any.
    fn items<'a>(
        &self,
        set: &FileSet,
        contents: &Contents<'a>,
        target: Target,
    ) -> Result<Vec<Item<'a>>> {
        let failed = |error| Error::in_file(set.name(), error);
        let mut items = Vec::new();
        if contents.format != Format::Uqff {
            for tensor in &contents.tensors {
                let Values::Weight(weight) = tensor.values else { return Err(no_place(set)) };
                if !tensor.values.is_portable() {
                    return Err(no_place(set));
                }
                let name = limit::copied(&tensor.name).map_err(failed)?;
                limit::push(&mut items, Item::new(name, weight)).map_err(failed)?;
            }
            return Ok(items);
        }
        let numbers = contents.generation == Some(Generation::Blobs);
        let keep = !numbers || target == Target::Uqff02 || self.writing.keep_names;
        let names = if keep { None } else { Some(self.names(set, contents)?) };
        for layer in &contents.layers {
            let numbered;
            let name = match &names {
                None => layer.name,
                Some(names) => {
                    numbered = name_of_number(names, layer.name).ok_or_else(|| {
                        let message = format!("layer {} has no name", layer.name);
                        Error::input(ErrorKind::BadMetadata, message).at(set.name())
                    })?;
                    &*numbered
                }
            };
            let joined = |ending| limit::joined(&[name, ending]).map_err(failed);
            let mut item = Item::new(joined(".weight")?, layer.weight);
            item.layer = Some((layer.format, layer.extra));
            limit::push(&mut items, item).map_err(failed)?;
            if let Some(bias) = &layer.bias {
                let header = bias.header();
                let plain = Encoding::Plain { dtype: header.dtype, data: bias.data() };
                let weight = Weight::new(header.shape, plain);
                let weight = weight.map_err(|kind| Error::input(kind, kind.message()))?;
                let item = Item::new(joined(".bias")?, weight);
                limit::push(&mut items, item).map_err(failed)?;
            }
        }
        Ok(items)
    }

    /// The names of the numbered layers.
    fn names(&self, set: &FileSet, contents: &Contents<'_>) -> Result<LayerNumbering> {
        if let Some(file) = &self.writing.names {
            return NamesFile::read(file).map(LayerNumbering::Named);
        }
        let beside = set.folder().join("config.json");
        let config = self.writing.config.clone().or_else(|| beside.exists().then_some(beside));
        let Some(config) = config else {
            return Err(Error::input(
                ErrorKind::BadMetadata,
                "UQFF 0.x numbers its layers, and nothing here tells their names",
            )
            .at(set.name())
            .with_hint("give `--names FILE` (JSON `{\"0\": \"lm_head\", …}`), or, for Llama, Mistral, Qwen2, EmbeddingGemma and Qwen3-Embedding, `--config config.json`"));
        };
        let count = contents.layers.len();
        let names = LayerNumbering::from_config(&config, count)?;
        names.check_count(count).map_err(|failure| failure.at(set.name()))?;
        for layer in &contents.layers {
            let number = layer.name.parse().unwrap_or(u32::MAX);
            names
                .check_shape(number, layer.weight.shape())
                .map_err(|failure| failure.at(set.name()))?;
        }
        Ok(names)
    }
}

/// The error for codes without a place in other formats.
fn no_place(set: &FileSet) -> Error {
    Error::bad_input("codes of `.weights` and `.amb` files have no place in other formats")
        .at(set.name())
        .with_hint("`nanoembed quantize` quantises them anew")
}

fn name_of_number(names: &LayerNumbering, number: &str) -> Option<String> {
    names.name(number.parse().ok()?)
}

/// Opens the sources, and the files that belong to a UQFF file.
fn open(inputs: &[PathBuf], target: Target, observer: &dyn Observer) -> Result<Vec<FileSet>> {
    let mut sets: Vec<FileSet> = Vec::new();
    for input in inputs {
        // A shard that an earlier one has brought.
        if sets.iter().any(|set| set.iter().any(|(path, _)| path == input)) {
            continue;
        }
        let set = FileSet::open(input)?;
        check_beside(&set)?;
        let name = set.name();
        limit::push(&mut sets, set).map_err(|error| Error::in_file(name, error))?;
    }
    let uqff = sets.iter().find(|set| set.format() == Some(Format::Uqff));
    let alone = !sets.iter().any(|set| set.format() == Some(Format::Safetensors));
    if let Some(set) = uqff.filter(|_| alone) {
        let name = set.name();
        let further = residual(set, target, observer)?;
        limit::extend(&mut sets, further).map_err(|error| Error::in_file(name, error))?;
    }
    Ok(sets)
}
