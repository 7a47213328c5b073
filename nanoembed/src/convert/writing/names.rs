//! From the names and row orders of one format to those of another.

use std::path::PathBuf;

use nanoembed_core::ErrorKind;
use nanoembed_core::event::{Format, Mode};
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::tensor::{Dtype, Encoding, Weight};

use super::rotary::GgufRotary;
use super::{Job, Places, Target, Writing, spooled};
use crate::convert::layer_names::llama::{ggml_name, hugging_face_name};
use crate::convert::layer_names::rows::{To, reorder};
use crate::convert::layer_names::{Llama, NamesFile};
use crate::convert::quantizer::Spool;
use crate::convert::targets::Item;
use crate::error::{Error, Result, name_of};
use crate::files::mapped::Mapped;
use crate::stored::{Stored, Values};

/// How names and rows change.
pub struct Plan {
    change: Change,
    /// The model, where it is known.
    pub(super) llama: Option<Llama>,
    /// How it turns heads, where GGUF is to say so by a `config.json`.
    pub(super) rotary: Option<GgufRotary>,
    pub(super) names: Option<NamesFile>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    None,
    ToHuggingFace,
    ToGgml,
}

/// Decides it for the job.
pub(super) fn plan(writing: &Writing, job: &Job<'_, '_>, items: &[Item<'_>]) -> Result<Plan> {
    let names = writing.names.as_ref().map(|path| NamesFile::read(path)).transpose()?;
    let to_gguf = job.target == Target::Gguf;
    let from_gguf = job.from == Format::Gguf;
    if writing.keep_names || from_gguf == to_gguf && to_gguf {
        return Ok(Plan { change: Change::None, llama: None, rotary: None, names });
    }
    if let Some(gguf) = job.gguf.as_ref().filter(|_| from_gguf) {
        let llama = Llama::of_gguf(gguf, &job.source)
            .map_err(|failure| failure.with_hint("`--keep-names` keeps the names of GGUF"))?;
        let (change, llama) = (Change::ToHuggingFace, Some(llama));
        return Ok(Plan { change, llama, rotary: None, names });
    }
    let llama = known_model(writing, job)?;
    let like_llama = items.iter().any(|item| item.name.starts_with("model.layers."));
    let change = if to_gguf && like_llama { Change::ToGgml } else { Change::None };
    if change == Change::ToGgml && llama.is_none() {
        let config = config_path(writing, job);
        if config.exists() {
            // It tells why the model is not known.
            Llama::of_config(&config)
                .map_err(|failure| failure.with_hint("`--keep-names` leaves all as it is"))?;
        }
        return Err(Error::input(
            ErrorKind::MissingMetadata,
            "GGUF wants to know the sizes of the model, and orders rows by its heads",
        )
        .at(&job.source)
        .with_hint("name the model's config.json with `--config`, or a GGUF file of it with `--like`; `--keep-names` leaves all as it is"));
    }
    let mut rotary = None;
    if let (Some(llama), None, true) = (&llama, &writing.like, to_gguf) {
        let config = config_path(writing, job);
        rotary = Some(GgufRotary::of_config(&config, llama.architecture)?);
    }
    if change == Change::ToGgml {
        refuse_nameless(items, &job.source)?;
    }
    Ok(Plan { change, llama, rotary, names })
}

/// Refuses tensors of layers that GGUF has no name for: its readers would not find them, and run
/// another model.
fn refuse_nameless(items: &[Item<'_>], source: &str) -> Result<()> {
    let is_lost = |name: &str| {
        name.starts_with("model.layers.") && ggml_name(name).is_none() && !is_table(name)
    };
    match items.iter().find(|item| is_lost(&item.name)) {
        Some(item) => {
            let message = format!("GGUF has no name for the tensor `{}` in such models", item.name);
            Err(Error::input(ErrorKind::UnsupportedSetting, message).at(source))
        }
        None => Ok(()),
    }
}

/// Whether a tensor is a table that follows from the settings.
pub(super) fn is_table(name: &str) -> bool {
    name.ends_with(".rotary_emb.inv_freq")
}

fn config_path(writing: &Writing, job: &Job<'_, '_>) -> PathBuf {
    writing.config.clone().unwrap_or_else(|| job.folder.join("config.json"))
}

/// The model by what the user names, else by the `config.json` beside the source.
fn known_model(writing: &Writing, job: &Job<'_, '_>) -> Result<Option<Llama>> {
    if let Some(config) = &writing.config {
        return Llama::of_config(config).map(Some);
    }
    if let Some(like) = &writing.like {
        let file = Mapped::open(like)?;
        let gguf = Gguf::parse(&file, Mode::Lenient)
            .map_err(|error| Error::in_file(name_of(like), error))?;
        return Ok(Llama::of_gguf(&gguf, &name_of(like)).ok());
    }
    let beside = config_path(writing, job);
    // A config of another kind of model is no error as long as nobody needs it.
    Ok(beside.exists().then(|| Llama::of_config(&beside).ok()).flatten())
}

impl Plan {
    /// The items without the output of a model whose `config.json` ties it to the embeddings. Some
    /// files have one all the same, which is not used, whatever its values are; but what UQFF has
    /// quantised is.
    pub(super) fn without_copies<'a>(
        &self,
        job: &Job<'_, '_>,
        mut items: Vec<Item<'a>>,
    ) -> Vec<Item<'a>> {
        let was_layer =
            |item: &Item<'_>| job.from == Format::Uqff && (job.requantized || item.layer.is_some());
        if self.llama.as_ref().is_some_and(Llama::is_tied) {
            items.retain(|item| item.name != "lm_head.weight" || was_layer(item));
        }
        items
    }

    /// Puts the items whose rows have another order in the target into `spool`.
    pub(super) fn reordered(&self, items: &[Item<'_>], spool: &mut Spool) -> Result<Places> {
        items.iter().map(|item| self.reordered_item(item, spool)).collect()
    }

    fn reordered_item(
        &self,
        item: &Item<'_>,
        spool: &mut Spool,
    ) -> Result<Option<crate::convert::quantizer::spool::Place>> {
        let (Some(llama), false) = (&self.llama, self.change == Change::None) else {
            return Ok(None);
        };
        let name = match self.change {
            Change::ToHuggingFace => hugging_face_name(&item.name),
            _ => Some(item.name.clone()),
        };
        let Some(heads) = name.and_then(|name| llama.reordered_heads(&name)) else {
            return Ok(None);
        };
        let to = if self.change == Change::ToGgml { To::Ggml } else { To::HuggingFace };
        let refuse = |message: &str| {
            Error::input(ErrorKind::WrongShape, format!("`{}` {message}", item.name))
        };
        // Other encodings than ggml's have rows that are not apart from each other: GGUF gets
        // floats for them.
        let mut floats = Vec::new();
        let (dtype, data) = match item.dtype() {
            Some(dtype) => (dtype, item.data()),
            None => {
                let values = Values::Weight(item.weight);
                let stored = Stored { name: item.name.clone(), values, offset: 0, file: 0 };
                floats.extend(stored.all()?.iter().flat_map(|value| value.to_le_bytes()));
                (Dtype::F32, floats.as_slice())
            }
        };
        let shape = item.weight.shape();
        let row = if shape.dims().len() < 2 { Some(1) } else { shape.cols() };
        let row_bytes =
            row.and_then(|row| dtype.data_bytes(row)).and_then(|n| usize::try_from(n).ok());
        let rows = row_bytes.and_then(|row_bytes| reorder(data, row_bytes, heads, to));
        let rows = rows.ok_or_else(|| refuse("cannot be divided into the model's heads"))?;
        spool.push(&rows).map(Some)
    }

    /// The items under their names in the target, with the rows that [`reordered`](Self::reordered)
    /// wrote.
    pub(super) fn renamed<'a>(
        &self,
        items: Vec<Item<'a>>,
        places: &Places,
        bytes: &'a Mapped,
    ) -> Result<Vec<Item<'a>>> {
        let changed = items.into_iter().zip(places).map(|(mut item, place)| {
            if let Some(place) = place {
                let dtype = item.dtype().unwrap_or(Dtype::F32);
                let encoding = Encoding::Plain { dtype, data: spooled(bytes, place) };
                item.weight = Weight::new(*item.weight.shape(), encoding)
                    .map_err(|kind| Error::input(kind, kind.message()))?;
            }
            let name = match self.change {
                Change::None => None,
                Change::ToHuggingFace => hugging_face_name(&item.name),
                Change::ToGgml => ggml_name(&item.name),
            };
            item.name = name.unwrap_or(item.name);
            Ok(item)
        });
        changed.collect()
    }
}
