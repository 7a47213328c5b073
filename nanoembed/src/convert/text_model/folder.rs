//! The folders of models of texts that need more than BERT's settings, and the parts of them that
//! go into a file.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use nanoembed_core::model::{Activation, BERT_NAMES, FeedForward, Prefixed};
use nanoembed_core::owned::folder::{Described, FolderModel, Prompts};
use nanoembed_core::owned::{Encoder, Pipeline};
use nanoembed_core::text::json::Value;

use super::layout::{self, Beside};
use super::tensors::{Loaded, integers};
use crate::causal::weights::ModelWeights;
use crate::checkpoint::sentence_transformer::bert_pooling;
use crate::checkpoint::settings::license_in;
use crate::checkpoint::tensor::Tensor;
use crate::convert::naming::Naming;
use crate::error::{Error, Result};
use crate::folder::texts::Allowed;
use crate::open::folder::files::EncoderFolder;
use crate::open::folder::tensor_fault;

/// A folder with a model of texts.
pub(crate) struct TextFolder {
    source: EncoderFolder,
    pipeline: Pipeline,
}

/// The parts of a folder that go into a file.
pub(crate) struct TextCheckpoint<'f> {
    /// The name that messages give to the model.
    pub(crate) name: String,
    /// Texts, tokenizer and settings.
    pub(crate) beside: Beside,
    /// The naming scheme of the tensors.
    pub(crate) naming: Naming,
    loaded: Vec<Loaded<'f>>,
    /// Tensors that the model does not need.
    pub(crate) left_out: Vec<String>,
    /// When the newest file was changed.
    pub(crate) modified: Option<SystemTime>,
}

impl TextFolder {
    /// The model in the folder that `path` names; `None` for a BERT encoder, whose settings have
    /// their own keys in the files that are written, and for folders without a model of texts.
    pub(crate) fn open(path: &Path, allowed: &Arc<Allowed>) -> Result<Option<Self>> {
        if !is_other(path, allowed) {
            return Ok(None);
        }
        let source = EncoderFolder::open_allowing(path, allowed)?;
        let pipeline = source.pipeline()?;
        Ok(Some(Self { source, pipeline }))
    }

    /// Reads the parts that go into a file.
    pub(crate) fn checkpoint(&self) -> Result<TextCheckpoint<'_>> {
        let (source, name) = (&self.source, self.source.name());
        let weights = source.weights()?;
        let (opened, found) = Encoder::listing(source.model(), weights, self.pipeline.clone())
            .map_err(|fault| tensor_fault::failure(&name, &fault))?;
        let dimensions = opened.dimensions();
        drop(opened);
        let (naming, prefix) = naming(source)?;
        let (mut left_out, mut mapping) = (Vec::new(), None);
        let mut slots: Vec<Option<Loaded<'_>>> = found.iter().map(|_| None).collect();
        source.each_tensor(&mut |name_there, stored| {
            let Some(at) = found.iter().position(|known| known == name_there) else {
                left_out.push(name_there.to_owned());
                return Ok(());
            };
            if let (Naming::Table, "mapping") = (naming, name_there) {
                mapping = integers(stored);
                return Ok(());
            }
            if let Some(slot) = slots.get_mut(at).filter(|slot| slot.is_none()) {
                let own = name_there.strip_prefix(prefix).unwrap_or(name_there);
                *slot = Some(Loaded::from_stored(stored, layout::tensor_name(own), &name)?);
            }
            Ok(())
        })?;
        let loaded = slots.into_iter().flatten().collect();
        left_out.sort_unstable();
        let beside = Beside {
            family: source.model().family(),
            dimensions,
            texts: self.texts()?,
            pipeline: self.pipeline.clone(),
            mapping,
            license: source.texts().get("README.md").ok().flatten().and_then(|it| license_in(&it)),
        };
        let modified = source.modified();
        Ok(TextCheckpoint { name, beside, naming, loaded, left_out, modified })
    }

    /// The model for calibration; `None` for a table.
    pub(crate) fn transformer(&self) -> Result<Option<Encoder<ModelWeights<'static>>>> {
        let model = self.source.open_model()?;
        Ok(Some(model).filter(|model| !model.is_table()))
    }

    /// The texts that the model is described by, by their paths, without the members that are passed
    /// over.
    fn texts(&self) -> Result<Vec<(String, String)>> {
        let read = RefCell::new(BTreeMap::new());
        self.source.texts().read(|texts| {
            let recording = |path: &str| {
                let text = texts(path)?;
                if let Some(text) = &text {
                    read.borrow_mut().insert(path.to_owned(), text.as_ref().to_owned());
                }
                Ok(text)
            };
            FolderModel::read(&recording)?;
            Prompts::read(&recording)?;
            self.source.model().labels(&recording).map(drop)
        })?;
        let mut texts = Vec::new();
        for (path, text) in read.into_inner() {
            if let Some(text) = layout::reduced(&path, &text) {
                texts.push((path, text));
            }
        }
        Ok(texts)
    }
}

impl TextCheckpoint<'_> {
    /// The tensors, under the names that they have in files.
    pub(crate) fn tensors(&self) -> Vec<Tensor<'_>> {
        self.loaded.iter().map(Loaded::borrow).collect()
    }
}

/// The naming scheme of a folder's model, and the prefix of its names.
pub(in crate::convert) fn naming(source: &EncoderFolder) -> Result<(Naming, &'static str)> {
    let Described::Transformer(family) = &source.model().described else {
        return Ok((Naming::Table, ""));
    };
    let weights = source.weights()?;
    let prefixed = Prefixed::new(&weights, family.names)
        .map_err(|error| Error::in_file(source.name(), error))?;
    Ok((Naming::Family(family.names), prefixed.prefix()))
}

/// True if the model that `path` names is described in files by its folder's texts. Faults of these
/// are reported by their readers.
fn is_other(path: &Path, allowed: &Arc<Allowed>) -> bool {
    let Some(texts) = EncoderFolder::texts_of(path) else { return false };
    let texts = texts.allowing(allowed);
    let text = |path: &str| texts.get(path).ok().flatten();
    let model = texts.read(|texts| FolderModel::read(texts));
    let Ok(model) = model else {
        let config = text("config.json").unwrap_or_default();
        let family = Value::parse(&config, 0).ok().and_then(|config| config.member("model_type"));
        return family.is_some_and(|family| !family.is_text("bert"));
    };
    let Described::Transformer(family) = &model.described else { return true };
    let tokenizer = text("tokenizer.json");
    let kind = tokenizer.as_deref().and_then(|text| Value::parse(text, 0).ok());
    let kind = kind.and_then(|file| file.member("model")?.member("type"));
    let has_words = kind.is_none_or(|kind| kind.is_text("WordPiece"));
    *family.names != BERT_NAMES
        || family.family != "bert"
        || family.config.feed_forward != FeedForward::Plain(Activation::Gelu)
        || model.compares()
        || !has_words
        || !model.pools_prompt()
        || model.modules.as_ref().is_some_and(|modules| bert_pooling(modules).is_err())
}
