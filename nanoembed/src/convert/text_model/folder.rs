//! The folders of models of texts that need more than BERT's settings.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use nanoembed_core::limit;
use nanoembed_core::model::{Activation, BERT_NAMES, FeedForward, Prefixed};
use nanoembed_core::owned::folder::{Described, FolderModel, Prompts};
use nanoembed_core::text::json::Value;

use super::checkpoint::{TensorForm, TextModel};
use super::layout;
use crate::checkpoint::sentence_transformer::bert_pooling;
use crate::checkpoint::settings::license;
use crate::convert::naming::Naming;
use crate::error::{Error, Result, passed_over};
use crate::folder::texts::Allowed;
use crate::open::described_model::DescribedModel;
use crate::open::folder::files::EncoderFolder;
use crate::pairs::{self, Pairs};
use crate::role::Role;

/// The folder that `path` names, if the model in it is described in files by its folder's texts:
/// `None` for a BERT encoder, whose settings have keys of their own in the files that are written,
/// and for folders without a model of texts.
pub(crate) fn open(
    path: &Path,
    role: Role,
    allowed: &Arc<Allowed>,
) -> Result<Option<EncoderFolder>> {
    let is_other = is_other(path, role, allowed)?;
    is_other.then(|| EncoderFolder::open_for(path, None, role, allowed)).transpose()
}

impl<'f> TextModel<'f> {
    /// The model in a folder.
    pub(crate) fn from_folder(folder: &'f EncoderFolder) -> Result<Self> {
        let (naming, prefix) = naming(folder)?;
        Ok(Self {
            source: DescribedModel::Folder(folder),
            family: folder.model().family(),
            texts: texts(folder)?,
            naming,
            tensors: TensorForm::Prefixed(prefix),
            license: license(folder.texts())?,
            modified: folder.modified(),
        })
    }
}

/// The texts that the model is described by, by their paths, without the members that are passed
/// over.
fn texts(source: &EncoderFolder) -> Result<Pairs> {
    let read = RefCell::new(Pairs::new());
    source.texts().read(|texts| {
        let recording = |path: &str| {
            let text = texts(path)?;
            if let Some(text) = &text {
                let mut read = read.borrow_mut();
                // Read again, it is without what is passed over.
                match read.iter_mut().find(|(known, _)| known == path) {
                    Some((_, known)) => *known = limit::copied(text)?,
                    None => pairs::add(&mut read, path, text)?,
                }
            }
            Ok(text)
        };
        FolderModel::read(&recording)?;
        Prompts::read(&recording)?;
        source.model().labels(&recording).map(drop)
    })?;
    let (mut read, mut texts) = (read.into_inner(), Pairs::new());
    read.sort_unstable();
    for (path, text) in read {
        let reduced = layout::reduced(&path, &text);
        if let Some(text) = reduced.map_err(|error| Error::in_file(&path, error))? {
            limit::push(&mut texts, (path, text))
                .map_err(|error| Error::in_file(source.name(), error))?;
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
fn is_other(path: &Path, role: Role, allowed: &Arc<Allowed>) -> Result<bool> {
    let Some(texts) = EncoderFolder::texts_of(path)? else { return Ok(false) };
    let texts = texts.allowing(allowed).for_role(role);
    let text = |path: &str| passed_over(texts.get(path)).map(Option::flatten);
    let Some(model) = passed_over(texts.read(|texts| FolderModel::read(texts)))? else {
        let config = text("config.json")?.unwrap_or_default();
        let family = Value::parse(&config, 0).ok().and_then(|config| config.member("model_type"));
        return Ok(family.is_some_and(|family| !family.is_text("bert")));
    };
    let Described::Transformer(family) = &model.described else { return Ok(true) };
    let tokenizer = text("tokenizer.json")?;
    let kind = tokenizer.as_deref().and_then(|text| Value::parse(text, 0).ok());
    let kind = kind.and_then(|file| file.member("model")?.member("type"));
    let has_words = kind.is_none_or(|kind| kind.is_text("WordPiece"));
    Ok(*family.names != BERT_NAMES
        || family.family != "bert"
        || family.config.feed_forward != FeedForward::Plain(Activation::Gelu)
        || model.compares()
        || !has_words
        || !model.pools_prompt()
        || model.modules.as_ref().is_some_and(|modules| bert_pooling(modules).is_err()))
}
