//! The files of a model's folder: settings, modules, weights.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use nanoembed_core::owned::folder::{CONFIG, FolderModel, Labels, MODULES, Modules, WEIGHTS};
use nanoembed_core::owned::{Encoder, Pipeline};
use nanoembed_core::{ErrorKind, limit};

use super::{tensor_fault, tokenizer};
use crate::causal::weights::ModelWeights;
use crate::checkpoint::model_files::ModelFiles;
use crate::error::{Error, Kind, Result};
use crate::folder::adapter::FolderAdapter;
use crate::folder::prompts::Prompts;
use crate::folder::texts::{Allowed, FolderTexts};
use crate::role::Role;
use crate::stored::file_names::folder_of;
use crate::stored::folder_weights::{model_folder, only_foreign};
use crate::stored::{Stored, Values};

/// A folder with a model that embeds texts or compares them.
pub(crate) struct EncoderFolder {
    texts: FolderTexts,
    /// The folder of the encoder itself.
    own_folder: PathBuf,
    model: FolderModel,
    files: ModelFiles,
    /// The files of modules after the pooling and of layers beside the modules, each with the prefix
    /// of its tensors' names.
    head: Vec<(String, ModelFiles)>,
}

impl EncoderFolder {
    /// The model that `path` names: a folder, one of its safetensors files, or its UQFF file.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Self::open_for(path, None, Role::Text, &Arc::default())
    }

    /// The same for texts of a role, and some unknown members of its texts are passed over; with the
    /// adapter in the folder `adapter`, wherever that is, or else the one in its own folder.
    pub(crate) fn open_for(
        path: &Path,
        adapter: Option<&Path>,
        role: Role,
        allowed: &Arc<Allowed>,
    ) -> Result<Self> {
        let folder = model_folder(&folder_of(path))?;
        if let Some(adapter) = adapter {
            let texts = FolderTexts::new(adapter).allowing(allowed).for_role(role);
            let found = FolderAdapter::for_model(&texts, folder)?;
            return Self::from_texts(adapter, texts, Some(found));
        }
        let texts = FolderTexts::new(&folder).allowing(allowed).for_role(role);
        let adapter = FolderAdapter::among(&texts)?;
        Self::from_texts(path, texts, adapter)
    }

    fn from_texts(path: &Path, texts: FolderTexts, adapter: Option<FolderAdapter>) -> Result<Self> {
        let folder = texts.path().to_owned();
        let texts = texts.adapting(adapter.as_ref().map(|adapter| adapter.base.clone()));
        let model = texts.read(|texts| FolderModel::read(texts))?;
        let inner = model.folder();
        let own_folder = if inner.is_empty() { folder.clone() } else { folder.join(inner) };
        // A file of one route says nothing of another's weights.
        let is_named =
            !path.is_dir() && (texts.route()?.is_none() || folder_of(path) == own_folder);
        let files = match &adapter {
            Some(adapter) => ModelFiles::adapted(adapter),
            None => ModelFiles::open(if is_named { path } else { &own_folder }),
        };
        let files = files.map_err(|failure| without_weights(failure, &own_folder))?;
        let mut head = Vec::new();
        for module in model.modules.iter().flat_map(Modules::weight_folders) {
            let module = module.map_err(|error| Error::in_file(MODULES, error))?;
            let weights = texts.file(&format!("{module}{WEIGHTS}"));
            let own = folder_of(&weights);
            if !weights.exists()
                && let Some(foreign) = only_foreign(&own)
            {
                return Err(foreign);
            }
            limit::push(&mut head, (module, ModelFiles::open(&weights)?))
                .map_err(|error| Error::in_file(MODULES, error))?;
        }
        for layer in model.layers_beside() {
            let weights = own_folder.join(layer_file(layer));
            if weights.exists() {
                limit::push(&mut head, (layer_prefix(layer), ModelFiles::open(&weights)?))
                    .map_err(|error| Error::in_file(layer, error))?;
            }
        }
        let opened = Self { texts, own_folder, model, files, head };
        if !opened.texts.allowed().is_empty() {
            // So that all that is passed over is known.
            opened.prompts()?;
        }
        Ok(opened)
    }

    /// The name that messages give to the model.
    pub(crate) fn name(&self) -> String {
        self.files.name()
    }

    /// The bytes of the files that hold weights.
    pub(crate) fn bytes(&self) -> u64 {
        self.all_files().map(ModelFiles::bytes).sum()
    }

    /// The texts of the folder that `path` names, or of the file's folder.
    pub(crate) fn texts_of(path: &Path) -> Result<Option<FolderTexts>> {
        let folder = model_folder(&folder_of(path))?;
        Ok(folder.is_dir().then(|| FolderTexts::new(&folder)))
    }

    /// The texts of the folder.
    pub(crate) const fn texts(&self) -> &FolderTexts {
        &self.texts
    }

    /// The names of the layers beside the modules.
    pub(crate) fn layers_beside(&self) -> impl Iterator<Item = &str> {
        let layers = self.model.layers_beside().iter().copied();
        layers.filter(|layer| self.head.iter().any(|(prefix, _)| *prefix == layer_prefix(layer)))
    }

    /// The file of a layer beside the modules whose weights are pickled, which is not read.
    pub(crate) fn pickled(&self, layer: &str) -> Option<String> {
        let name = format!("{layer}.pt");
        let is_known = self.model.layers_beside().contains(&layer);
        (is_known && self.own_folder.join(&name).exists()).then_some(name)
    }

    /// The name of the route through a model with a Router.
    pub(crate) fn route(&self) -> Option<&str> {
        let route = self.texts.route().ok().flatten();
        route.map(|route| &*route.name)
    }

    /// The name of the route that texts of a role take.
    pub(crate) fn route_for(&self, role: Role) -> Result<Option<String>> {
        let texts = self.texts.for_module(self.texts.path());
        Ok(texts.for_role(role).route()?.map(|route| route.name.clone()))
    }

    /// The same model for texts of another role.
    pub(crate) fn reopened_for(&self, role: Role) -> Result<Self> {
        let (folder, allowed) = (self.texts.path(), self.texts.allowed());
        match self.texts.base() {
            Some(base) => Self::open_for(base, Some(folder), role, allowed),
            None => Self::open_for(folder, None, role, allowed),
        }
    }

    /// The folder of the encoder itself.
    pub(crate) fn own_folder(&self) -> &Path {
        &self.own_folder
    }

    /// The encoder's own weights.
    pub(crate) const fn files(&self) -> &ModelFiles {
        &self.files
    }

    /// The weights of the encoder and of its other modules.
    pub(crate) fn all_files(&self) -> impl Iterator<Item = &ModelFiles> {
        std::iter::once(&self.files).chain(self.head.iter().map(|(_, files)| files))
    }

    /// When the newest of the files that matter was changed.
    pub(crate) fn modified(&self) -> Option<SystemTime> {
        let of_weights = self.all_files().filter_map(ModelFiles::modified);
        let folder = self.texts.path();
        let texts = [CONFIG, "tokenizer.json", MODULES].into_iter();
        let texts = texts.filter_map(|name| folder.join(name).metadata().ok()?.modified().ok());
        of_weights.chain(texts).max()
    }

    /// Calls `take` with every tensor and its name.
    pub(crate) fn each_tensor<'f>(
        &'f self,
        take: &mut dyn FnMut(&str, &Stored<'f>) -> Result<()>,
    ) -> Result<()> {
        let own = (&self.files, self.own_folder.join(CONFIG), "");
        let head = self.head.iter();
        let head = head.map(|(folder, files)| (files, PathBuf::from(CONFIG), &**folder));
        for (files, config, folder) in std::iter::once(own).chain(head) {
            for (_, contents) in files.contents(&config)? {
                for tensor in &contents.tensors {
                    let name = limit::joined(&[folder, &tensor.name]);
                    take(&name.map_err(|error| Error::in_file(self.name(), error))?, tensor)?;
                }
            }
        }
        Ok(())
    }

    /// The values of the tensor called `name`, row by row.
    pub(crate) fn values(&self, name: &str) -> Result<Vec<f32>> {
        let mut values = None;
        self.each_tensor(&mut |known, stored| {
            if known == name {
                values = Some(stored.all()?);
            }
            Ok(())
        })?;
        let missing = || {
            let message = format!("there is no tensor `{name}`");
            Error::input(ErrorKind::MissingTensor, message).at(self.name())
        };
        values.ok_or_else(missing)
    }

    /// The model as the folder's texts describe it.
    pub(crate) const fn model(&self) -> &FolderModel {
        &self.model
    }

    /// The prompts that the folder has.
    pub(crate) fn prompts(&self) -> Result<Prompts> {
        Prompts::from_folder(&self.texts, &self.model)
    }

    /// The tokenizer.
    pub(crate) fn pipeline(&self) -> Result<Pipeline> {
        tokenizer::read(&self.texts.for_module(&self.own_folder), &self.model)
    }

    /// The names of classes.
    pub(crate) fn labels(&self) -> Result<Labels> {
        self.texts.read(|texts| self.model.labels(texts))
    }

    /// The model, ready to run.
    pub(crate) fn open_model(&self) -> Result<Encoder<ModelWeights>> {
        let opened = Encoder::new(&self.model, self.weights()?, self.pipeline()?);
        opened.map_err(|fault| tensor_fault::failure(&self.name(), &fault))
    }

    /// All weights; those of modules after the pooling have the paths of their folders as prefixes.
    pub(crate) fn weights(&self) -> Result<ModelWeights> {
        let mut weights = ModelWeights::default();
        add_weights(&mut weights, &self.files, &self.own_folder.join(CONFIG), "")?;
        for (folder, files) in &self.head {
            add_weights(&mut weights, files, Path::new(CONFIG), folder)?;
        }
        Ok(weights)
    }
}

/// The file of a layer beside the modules.
pub(crate) fn layer_file(layer: &str) -> String {
    format!("{layer}.safetensors")
}

/// The prefix of a layer's tensors: they are called as those of a Dense module in a folder of the
/// layer's name.
fn layer_prefix(layer: &str) -> String {
    format!("{layer}/linear.")
}

/// A better error for missing weights, where there is one.
fn without_weights(failure: Error, folder: &Path) -> Error {
    match failure.kind() {
        Kind::NotFound => only_foreign(folder).unwrap_or(failure),
        _ => failure,
    }
}

/// Adds the tensors of `files`, with `folder` before the names. Layers of old UQFF files get their
/// names from `config`.
fn add_weights(
    weights: &mut ModelWeights,
    files: &ModelFiles,
    config: &Path,
    folder: &str,
) -> Result<()> {
    for (files, contents) in files.contents(config)? {
        let failed = |error| Error::in_file(files.name(), error);
        let starts = limit::gathered(files.shared().map(|bytes| weights.add_file(bytes)));
        let starts = starts.map_err(failed)?;
        for tensor in &contents.tensors {
            if let (Some(start), Values::Weight(weight)) = (starts.get(tensor.file), &tensor.values)
            {
                let name = limit::joined(&[folder, &tensor.name]).map_err(failed)?;
                let added = weights.add_weight(&name, (*start, tensor.offset), weight);
                added.map_err(|error| Error::in_file(&name, error))?;
            }
        }
    }
    Ok(())
}
