//! From the names and row orders of one format to those of another.

use std::path::PathBuf;

use nanoembed_core::event::{Format, Mode};
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::tensor::{Dtype, Encoding, Weight};
use nanoembed_core::{ErrorKind, limit};

use super::decoder_keys::DecoderKeys;
use super::{Changed, Job, Places, Target, Writing, spooled};
use crate::checkpoint::tensor::le_bytes;
use crate::convert::targets::Item;
use crate::error::{Error, Result, name_of, passed_over};
use crate::files::mapped_file::MappedFile;
use crate::files::spool::Spool;
use crate::layer_names::rows::{To, reorder};
use crate::layer_names::{Llama, NamesFile};

/// The changes of names and rows.
pub struct Plan {
    change: Change,
    /// The model, where it is known.
    pub(super) llama: Option<Llama>,
    /// The GGUF keys of the decoder, by a `config.json`.
    pub(super) keys: Option<DecoderKeys>,
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
    if writing.keep_names || from_gguf && to_gguf {
        return Ok(Plan { change: Change::None, llama: None, keys: None, names });
    }
    if let Some(gguf) = job.gguf.as_ref().filter(|_| from_gguf) {
        let llama = Llama::from_gguf(gguf, &job.source)
            .map_err(|failure| failure.with_hint("`--keep-names` keeps the names of GGUF"))?;
        let (change, llama) = (Change::ToHuggingFace, Some(llama));
        return Ok(Plan { change, llama, keys: None, names });
    }
    let llama = known_model(writing, job)?;
    let like_llama = items.iter().any(|item| item.name.starts_with("model.layers."));
    let change = if to_gguf && like_llama { Change::ToGgml } else { Change::None };
    if change == Change::ToGgml && llama.is_none() {
        let config = config_path(writing, job);
        if config.exists() {
            // It tells why the model is not known.
            Llama::from_config(&config)
                .map_err(|failure| failure.with_hint("`--keep-names` leaves all as it is"))?;
        }
        return Err(Error::input(
            ErrorKind::MissingMetadata,
            "GGUF wants to know the sizes of the model, and orders rows by its heads",
        )
        .at(&job.source)
        .with_hint("name the model's config.json with `--config`, or a GGUF file of it with `--like`; `--keep-names` leaves all as it is"));
    }
    let mut keys = None;
    if llama.is_some() && writing.like.is_none() && to_gguf {
        let config = config_path(writing, job);
        keys = Some(DecoderKeys::from_config(&config)?);
    }
    if let (Some(llama), Change::ToGgml) = (&llama, change) {
        refuse_nameless(llama, items, &job.source)?;
    }
    Ok(Plan { change, llama, keys, names })
}

/// Refuses tensors of layers that GGUF has no name for: its readers would not find them, and run
/// another model.
fn refuse_nameless(llama: &Llama, items: &[Item<'_>], source: &str) -> Result<()> {
    let is_lost = |name: &str| {
        name.starts_with("model.layers.") && llama.ggml_name(name).is_none() && !is_table(name)
    };
    match items.iter().find(|item| is_lost(&item.name)) {
        Some(item) => {
            let message = format!("GGUF has no name for the tensor `{}` in such models", item.name);
            Err(Error::input(ErrorKind::UnsupportedSetting, message).at(source))
        }
        None => Ok(()),
    }
}

/// True if a tensor is a table that follows from the settings.
pub(super) fn is_table(name: &str) -> bool {
    name.ends_with(".rotary_emb.inv_freq")
}

pub(super) fn config_path(writing: &Writing, job: &Job<'_, '_>) -> PathBuf {
    writing.config.clone().unwrap_or_else(|| job.folder.join("config.json"))
}

/// The model that the user's options describe, else the `config.json` beside the source.
fn known_model(writing: &Writing, job: &Job<'_, '_>) -> Result<Option<Llama>> {
    if let Some(config) = &writing.config {
        return Llama::from_config(config).map(Some);
    }
    if let Some(like) = &writing.like {
        let file = MappedFile::open(like)?;
        let gguf = Gguf::parse(&file, Mode::Lenient)
            .map_err(|error| Error::in_file(name_of(like), error))?;
        return passed_over(Llama::from_gguf(&gguf, &name_of(like)));
    }
    let beside = config_path(writing, job);
    // A config of another kind of model is no error as long as nobody needs it.
    if beside.exists() { passed_over(Llama::from_config(&beside)) } else { Ok(None) }
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

    /// Puts the items whose rows have another order in the target, or whose values are others, into
    /// `spool`.
    pub(super) fn changed(&self, items: &[Item<'_>], spool: &mut Spool) -> Result<Places> {
        let mut places = Vec::new();
        for item in items {
            let changed = self.changed_item(item, spool)?;
            limit::push(&mut places, changed).map_err(|error| Error::in_file(&item.name, error))?;
        }
        Ok(places)
    }

    fn changed_item(&self, item: &Item<'_>, spool: &mut Spool) -> Result<Option<Changed>> {
        let (Some(llama), false) = (&self.llama, self.change == Change::None) else {
            return Ok(None);
        };
        let translated;
        let name = match self.change {
            Change::ToHuggingFace => {
                translated = llama.hugging_face_name(&item.name);
                translated.as_deref()
            }
            _ => Some(&*item.name),
        };
        let Some(name) = name else { return Ok(None) };
        if let Some(added) = llama.added_for_ggml(name) {
            let added = if self.change == Change::ToGgml { added } else { -added };
            let mut values = item.floats()?;
            values.iter_mut().for_each(|value| *value += added);
            let bytes = le_bytes(&values).map_err(|error| Error::in_file(&item.name, error))?;
            return Ok(Some(Changed { place: spool.push(&bytes)?, dtype: Dtype::F32 }));
        }
        match llama.reordered_heads(name) {
            Some(heads) => self.reordered_item(item, heads, spool).map(Some),
            None => Ok(None),
        }
    }

    fn reordered_item(&self, item: &Item<'_>, heads: usize, spool: &mut Spool) -> Result<Changed> {
        let to = if self.change == Change::ToGgml { To::Ggml } else { To::HuggingFace };
        let refuse = |message: &str| {
            Error::input(ErrorKind::WrongShape, format!("`{}` {message}", item.name))
        };
        // Other encodings than ggml's have rows that are not apart from each other: GGUF gets
        // floats for them.
        let failed = |error| Error::in_file(&item.name, error);
        let bytes;
        let (dtype, data) = match item.dtype() {
            Some(dtype) => (dtype, item.data()),
            None => {
                bytes = le_bytes(&item.floats()?).map_err(failed)?;
                (Dtype::F32, bytes.as_slice())
            }
        };
        let shape = item.weight.shape();
        let row = if shape.dims().len() < 2 { Some(1) } else { shape.cols() };
        let row_bytes =
            row.and_then(|row| dtype.data_bytes(row)).and_then(|n| usize::try_from(n).ok());
        let rows = row_bytes.map(|row_bytes| reorder(data, row_bytes, heads, to));
        let rows = rows.transpose().map_err(failed)?.flatten();
        let rows = rows.ok_or_else(|| refuse("cannot be divided into the model's heads"))?;
        Ok(Changed { place: spool.push(&rows)?, dtype })
    }

    /// The items under their names in the target, with what [`changed`](Self::changed) wrote.
    pub(super) fn renamed<'a>(
        &self,
        items: Vec<Item<'a>>,
        places: &Places,
        bytes: &'a MappedFile,
    ) -> Result<Vec<Item<'a>>> {
        let mut renamed = Vec::new();
        for (mut item, place) in items.into_iter().zip(places) {
            if let Some(Changed { place, dtype }) = place {
                let dtype = *dtype;
                let encoding = Encoding::Plain { dtype, data: spooled(bytes, place) };
                item.weight = Weight::new(*item.weight.shape(), encoding)
                    .map_err(|kind| Error::input(kind, kind.message()))?;
            }
            let name = self.llama.as_ref().and_then(|llama| match self.change {
                Change::None => None,
                Change::ToHuggingFace => llama.hugging_face_name(&item.name),
                Change::ToGgml => llama.ggml_name(&item.name),
            });
            item.name = name.unwrap_or(item.name);
            limit::push(&mut renamed, item).map_err(|error| Error::in_file("the model", error))?;
        }
        Ok(renamed)
    }
}
