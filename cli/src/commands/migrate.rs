//! `migrate`: weights between the generations of UQFF, and between UQFF, GGUF and safetensors,
//! without quantising anew.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use nanoembed_core::ErrorKind;
use nanoembed_core::event::Format;
use nanoembed_core::format::uqff::Generation;
use nanoembed_core::tensor::Encoding;

use crate::error::{Failure, Result};
use crate::layer_names::{Llama, NamesFile};
use crate::output::units;
use crate::stored::{Contents, FileSet, Values};
use crate::targets::Item;
use crate::writing::{Job, Target, Writing, residual};

/// Bring quantised weights into another format, without quantising them anew
///
/// Blocks stay bit by bit what they are where the other format has their type; all else becomes
/// f32.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed migrate old-0.uqff q4k-0.uqff --names layers.json
  nanoembed migrate old-0.uqff residual.safetensors q4k-0.uqff --config config.json
  nanoembed migrate q4k-0.uqff model.gguf --config config.json
  nanoembed migrate model.gguf q4_1-0.uqff
  nanoembed migrate q4_1-0.uqff again.gguf --like model.gguf
  nanoembed migrate q4k-0.uqff model.safetensors

The first of several shards or parts brings the others, and a UQFF file the
`residual.safetensors` beside it. UQFF 0.x has numbers instead of names: they are told by `--names`,
or, for Llama, Mistral and Qwen2, by the model's `config.json`; shapes are held against it.")]
pub(crate) struct Migrate {
    /// Files to read: UQFF of either generation, GGUF, safetensors; and, last, the file to write
    #[arg(value_name = "PATH", num_args = 2.., required = true)]
    paths: Vec<PathBuf>,

    #[command(flatten)]
    writing: Writing,
}

impl Migrate {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        let Some((output, inputs)) = self.paths.split_last() else {
            return Err(Failure::usage("name files to read and a file to write"));
        };
        let target = self.writing.target(output)?;
        let sets = open(inputs, target, quiet)?;
        let contents: Vec<Contents<'_>> =
            sets.iter().map(FileSet::contents).collect::<Result<_>>()?;
        let (Some(first), Some(set)) = (contents.first(), sets.first()) else {
            return Err(Failure::usage("name files to read and a file to write"));
        };
        let mut items = Vec::new();
        let mut names = HashSet::new();
        for (set, contents) in sets.iter().zip(&contents) {
            for item in self.items(set, contents, target)? {
                if !names.insert(item.name.clone()) {
                    let message = format!("the tensor `{}` is there twice", item.name);
                    return Err(Failure::input(ErrorKind::DuplicateName, message).at(set.name()));
                }
                items.push(item);
            }
        }
        let job = Job {
            target,
            output,
            from: first.format,
            gguf: contents.iter().find_map(|contents| contents.gguf.first().copied()),
            source: set.name(),
            folder: set.folder(),
            inputs: sets.iter().flat_map(FileSet::iter).map(|(path, _)| path.to_owned()).collect(),
            fallbacks: Vec::new(),
            requantized: false,
        };
        let written = self.writing.write(&job, items, quiet)?;
        if !quiet {
            for (path, bytes) in written.iter().filter(|(path, _)| path != Path::new("-")) {
                anstream::eprintln!("{}: {}", path.display(), units::bytes(*bytes));
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The tensors of a source, layers of UQFF under names if they need any.
    fn items<'a>(
        &self,
        set: &FileSet,
        contents: &Contents<'a>,
        target: Target,
    ) -> Result<Vec<Item<'a>>> {
        if contents.format != Format::Uqff {
            return contents
                .tensors
                .iter()
                .map(|tensor| match tensor.values {
                    Values::Weight(weight) if tensor.values.is_portable() => {
                        Ok(Item::new(tensor.name.clone(), weight))
                    }
                    _ => Err(Failure::bad_input(
                        "codes of `.weights` and `.amb` files have no place in other formats",
                    )
                    .at(set.name())
                    .hint("`nanoembed quantize` quantises them anew")),
                })
                .collect();
        }
        let numbers = contents.generation == Some(Generation::Blobs);
        let keep = !numbers || target == Target::Uqff02 || self.writing.keep_names;
        let names = if keep { None } else { Some(self.names(set, contents)?) };
        let mut items = Vec::new();
        for layer in &contents.layers {
            let name = match &names {
                None => layer.name.to_owned(),
                Some(names) => names.of(layer.name).ok_or_else(|| {
                    let message = format!("layer {} has no name", layer.name);
                    Failure::input(ErrorKind::BadMetadata, message).at(set.name())
                })?,
            };
            let mut item = Item::new(format!("{name}.weight"), layer.weight);
            item.layer = Some((layer.format, layer.extra));
            items.push(item);
            if let Some(bias) = &layer.bias {
                let header = bias.header();
                let plain = Encoding::Plain { dtype: header.dtype, data: bias.data() };
                let weight = nanoembed_core::tensor::Weight::new(header.shape, plain);
                let weight = weight.map_err(|kind| Failure::input(kind, kind.message()))?;
                items.push(Item::new(format!("{name}.bias"), weight));
            }
        }
        Ok(items)
    }

    /// How the numbered layers are called.
    fn names(&self, set: &FileSet, contents: &Contents<'_>) -> Result<Names> {
        if let Some(file) = &self.writing.names {
            return NamesFile::read(file).map(Names::File);
        }
        let beside = set.folder().join("config.json");
        let config = self.writing.config.clone().or_else(|| beside.exists().then_some(beside));
        let Some(config) = config else {
            return Err(Failure::input(
                ErrorKind::BadMetadata,
                "UQFF 0.x numbers its layers, and nothing here tells their names",
            )
            .at(set.name())
            .hint("give `--names FILE` (JSON `{\"0\": \"lm_head\", …}`), or, for Llama, Mistral and Qwen2, `--config config.json`"));
        };
        let llama = Llama::of_config(&config)?;
        let count = contents.layers.len() as u64;
        if count != llama.numbered() {
            let message =
                format!("there are {count} layers, but such a model has {}", llama.numbered());
            return Err(Failure::input(ErrorKind::BadMetadata, message)
                .at(set.name())
                .hint("name the layers with `--names FILE`"));
        }
        for layer in &contents.layers {
            let number = layer.name.parse().unwrap_or(u32::MAX);
            llama
                .check_shape(number, layer.weight.shape())
                .map_err(|failure| failure.at(set.name()))?;
        }
        Ok(Names::Llama(llama))
    }
}

/// Where names come from.
enum Names {
    File(NamesFile),
    Llama(Llama),
}

impl Names {
    fn of(&self, number: &str) -> Option<String> {
        let number = number.parse().ok()?;
        match self {
            Self::File(names) => names.name(number).map(str::to_owned),
            Self::Llama(llama) => llama.name(number),
        }
    }
}

/// Opens the sources, and what lies beside a UQFF file and belongs to it.
fn open(inputs: &[PathBuf], target: Target, quiet: bool) -> Result<Vec<FileSet>> {
    let mut sets: Vec<FileSet> = Vec::new();
    for input in inputs {
        // A shard that an earlier one has brought.
        if sets.iter().any(|set| set.iter().any(|(path, _)| path == input)) {
            continue;
        }
        sets.push(FileSet::open(input)?);
    }
    let uqff = sets.iter().find(|set| set.format() == Some(Format::Uqff));
    let alone = !sets.iter().any(|set| set.format() == Some(Format::Safetensors));
    if let Some(set) = uqff.filter(|_| alone) {
        sets.extend(residual(set, target, quiet)?);
    }
    Ok(sets)
}
