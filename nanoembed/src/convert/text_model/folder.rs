//! The folders of models of texts that need more than BERT's settings.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use nanoembed_core::limit;
use nanoembed_core::model::{Activation, BERT_NAMES, FeedForward, Prefixed};
use nanoembed_core::owned::folder::{Described, FolderModel, Prompts};
use nanoembed_core::text::json::Value;

use super::checkpoint::{TensorForm, TextModel};
use super::layout;
use crate::checkpoint::sentence_transformer::bert_pooling;
use crate::checkpoint::settings::license_in;
use crate::convert::naming::Naming;
use crate::error::{Error, Result};
use crate::folder::texts::Allowed;
use crate::open::described_model::DescribedModel;
use crate::open::folder::files::EncoderFolder;
use crate::role::Role;

/// The folder that `path` names, if the model in it is described in files by its folder's texts:
/// `None` for a BERT encoder, whose settings have keys of their own in the files that are written,
/// and for folders without a model of texts.
pub(crate) fn open(
    path: &Path,
    role: Role,
    allowed: &Arc<Allowed>,
) -> Result<Option<EncoderFolder>> {
    let is_other = is_other(path, role, allowed);
    is_other.then(|| EncoderFolder::open_for(path, role, allowed)).transpose()
}

impl<'f> TextModel<'f> {
    /// The model in a folder.
    pub(crate) fn from_folder(folder: &'f EncoderFolder) -> Result<Self> {
        let (naming, prefix) = naming(folder)?;
        let card = folder.texts().get("README.md").ok().flatten();
        Ok(Self {
            source: DescribedModel::Folder(folder),
            family: folder.model().family(),
            texts: texts(folder)?,
            naming,
            tensors: TensorForm::Prefixed(prefix),
            license: card.and_then(|card| license_in(&card)),
            modified: folder.modified(),
        })
    }
}

/// The texts that the model is described by, by their paths, without the members that are passed
/// over.
fn texts(source: &EncoderFolder) -> Result<Vec<(String, String)>> {
    let read = RefCell::new(BTreeMap::new());
    source.texts().read(|texts| {
        let recording = |path: &str| {
            let text = texts(path)?;
            if let Some(text) = &text {
                read.borrow_mut().insert(path.to_owned(), limit::copied(text)?);
            }
            Ok(text)
        };
        FolderModel::read(&recording)?;
        Prompts::read(&recording)?;
        source.model().labels(&recording).map(drop)
    })?;
    let mut texts = Vec::new();
    for (path, text) in read.into_inner() {
        let reduced = layout::reduced(&path, &text);
        let reduced = reduced.map_err(|error| Error::in_file(&path, error))?;
        if let Some(text) = reduced {
            texts.push((path, text));
        }
    }
    Ok(texts)
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
fn is_other(path: &Path, role: Role, allowed: &Arc<Allowed>) -> bool {
    let Some(texts) = EncoderFolder::texts_of(path) else { return false };
    let texts = texts.allowing(allowed).for_role(role);
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
