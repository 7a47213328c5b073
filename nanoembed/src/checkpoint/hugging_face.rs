//! A Hugging Face folder: `model.safetensors` (or its parts) or UQFF, `config.json`, a vocabulary.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use nanoembed_core::event::Mode;
use nanoembed_core::format::safetensors::Safetensors;
use nanoembed_core::owned::folder::{CONFIG, MODULES, WEIGHTS};
use nanoembed_core::tensor::Dtype;
use nanoembed_core::text::json::chars;
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use super::model_files::ModelFiles;
use super::settings::Settings;
use super::tensor::{Elements, OwnedTensor, Tensor, le_bytes, sizes};
use super::wordpiece::FolderTokenizer;
use super::{Checkpoint, EMBEDDING_TENSORS, tensor_names};
use crate::error::{Error, Result, name_of};
use crate::files::mapped_file::MappedFile;
use crate::folder::texts::Allowed;
use crate::hashed;
use crate::layer_names::tensorflow::present_name;
use crate::stored::entries::room;
use crate::stored::file_names::{folder_of, is_uqff_name};
use crate::stored::files::uqff_in;
use crate::stored::folder_weights::{only_foreign, safetensors_in};

/// The files of a folder, open.
pub struct Folder {
    path: PathBuf,
    weights: Weights,
}

enum Weights {
    Safetensors(Vec<(PathBuf, MappedFile)>),
    /// All that UQFF files hold, in f32, and the first of them.
    Dequantized(PathBuf, Vec<OwnedTensor>),
}

/// A tensor under the source's name.
struct Found<'a> {
    name: String,
    /// Another type is not converted.
    elements: std::result::Result<Elements, Dtype>,
    shape: Vec<usize>,
    data: &'a [u8],
}

impl<'a> Found<'a> {
    /// True if it may be part of a model: integers of other tensors than weights are positions and
    /// the like.
    fn is_float_or_weight(&self) -> bool {
        self.elements.is_ok() || self.name.ends_with(".weight")
    }

    fn into_tensor(self) -> Result<Tensor<'a>> {
        const NONE: &[u8] = &[];
        let Self { name, elements, shape, data } = self;
        let elements = elements.map_err(|dtype| {
            let dtype = dtype.name();
            let message = format!("`{name}` is stored as {dtype}, which is not converted");
            Error::input(ErrorKind::UnsupportedDtype, message)
                .with_hint("take the model in f32, f16 or bf16")
        })?;
        let (scales, columns, zeros) = (NONE, NONE, NONE);
        Ok(Tensor { name, shape, elements, data, scales, columns, zeros, transposed: false })
    }
}

impl Folder {
    /// Opens the folder `path`, or the folder of the safetensors or UQFF file `path`.
    pub fn open(path: &Path) -> Result<Self> {
        if is_uqff_name(path) {
            return Self::from_uqff(path);
        }
        if path.is_file() {
            let weights = Weights::Safetensors(vec![(path.to_owned(), MappedFile::open(path)?)]);
            return Ok(Self { path: folder_of(path), weights });
        }
        let Some(names) = safetensors_in(path)? else {
            if let Some(uqff) = uqff_in(path)? {
                return Self::from_uqff(&uqff);
            }
            let missing = || {
                let single = path.join(WEIGHTS);
                Error::reading(single.display(), &std::io::ErrorKind::NotFound.into())
                    .with_hint("IN is a folder as on Hugging Face, with `model.safetensors`, `config.json` and `vocab.txt` or `tokenizer.json`")
            };
            return Err(only_foreign(path).unwrap_or_else(missing));
        };
        let mut parts = Vec::new();
        for name in names {
            let file = MappedFile::open_regular(&name)?;
            limit::push(&mut parts, (name, file))
                .map_err(|error| Error::in_file(name_of(path), error))?;
        }
        Ok(Self { path: path.to_owned(), weights: Weights::Safetensors(parts) })
    }

    /// Opens a UQFF file, with the unquantised tensors beside it, and dequantises all of it.
    fn from_uqff(path: &Path) -> Result<Self> {
        let files = ModelFiles::open(path)?;
        let folder = files.folder();
        let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
        let failed = |error| Error::in_file(name_of(path), error);
        let mut tensors: Vec<OwnedTensor> = Vec::new();
        let mut names: HashSet<String> = HashSet::new();
        for (_, contents) in files.contents(&folder.join("config.json"))? {
            for stored in &contents.tensors {
                let name = limit::copied(&stored.name).map_err(failed)?;
                let known = limit::copied(&name).map_err(failed)?;
                if hashed::add(&mut names, known).map_err(failed)? {
                    let shape = sizes(stored.values.shape()).map_err(|kind| {
                        Error::input(kind, kind.message()).at(path.display()).at(&name)
                    })?;
                    let data = le_bytes(&stored.all()?).map_err(failed)?;
                    let tensor = OwnedTensor { name, shape, data };
                    limit::push(&mut tensors, tensor).map_err(failed)?;
                }
            }
        }
        Ok(Self { path: folder, weights: Weights::Dequantized(path.to_owned(), tensors) })
    }

    /// Reads settings and vocabulary, and finds the encoder's tensors.
    pub(crate) fn checkpoint(
        &self,
        config: Option<&Path>,
        pooler: bool,
        allowed: &Arc<Allowed>,
    ) -> Result<Checkpoint<'_>> {
        let tokenizer = FolderTokenizer::read(&self.path, allowed)?;
        let settings = Settings::from_folder(&self.path, config, &tokenizer, allowed)?;
        let vocabulary = tokenizer.vocabulary;
        let failed = |error| Error::in_file(self.name(), error);
        let mut all = self.tensors()?;
        strip_prefix(&mut all).map_err(failed)?;
        let mut found: HashMap<String, Found<'_>> = HashMap::new();
        for tensor in all {
            let name = limit::copied(&tensor.name).map_err(failed)?;
            hashed::insert(&mut found, name, tensor).map_err(failed)?;
        }
        let mut tensors = Vec::new();
        for name in tensor_names(settings.layers, pooler).map_err(failed)? {
            let tensor = found.remove(&name).ok_or_else(|| {
                Error::input(ErrorKind::MissingTensor, format!("there is no tensor `{name}`"))
                    .at(self.name())
            })?;
            let tensor = tensor.into_tensor().map_err(|failure| failure.at(self.name()))?;
            limit::push(&mut tensors, tensor).map_err(failed)?;
        }
        let mut left_out = limit::exactly(found.into_keys()).map_err(failed)?;
        left_out.sort_unstable();
        Ok(Checkpoint {
            name: self.name(),
            settings,
            vocabulary: Some(vocabulary),
            tensors,
            left_out,
            modified: self.modified(),
        })
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All tensors of weights under the names that they have.
    pub fn all_tensors(&self) -> Result<Vec<Tensor<'_>>> {
        let mut tensors = Vec::new();
        for found in self.tensors()?.into_iter().filter(Found::is_float_or_weight) {
            limit::push(&mut tensors, found.into_tensor()?)
                .map_err(|error| Error::in_file(self.name(), error))?;
        }
        Ok(tensors)
    }

    /// The folder's name, as a name for the model in it.
    pub fn model_name(&self) -> Option<String> {
        let path = self.path.canonicalize().ok()?;
        Some(path.file_name()?.to_string_lossy().into_owned())
    }

    /// The name that messages give to the model.
    pub fn name(&self) -> String {
        match &self.weights {
            Weights::Safetensors(parts) => match parts.as_slice() {
                [(only, _)] => name_of(only),
                _ => name_of(&self.path),
            },
            Weights::Dequantized(file, _) => name_of(file),
        }
    }

    fn tensors(&self) -> Result<Vec<Found<'_>>> {
        let parts = match &self.weights {
            Weights::Safetensors(parts) => parts,
            Weights::Dequantized(_, tensors) => {
                let found = tensors.iter().map(|OwnedTensor { name, shape, data }| {
                    let (name, elements) = (limit::copied(name)?, Ok(Elements::F32));
                    Ok(Found { name, elements, shape: shape.clone(), data })
                });
                let found = limit::gathered(found);
                return found.map_err(|error| Error::in_file(self.name(), error));
            }
        };
        let mut all: Vec<Found<'_>> = Vec::new();
        let mut names: HashSet<String> = HashSet::new();
        for (path, bytes) in parts {
            let failed = |error| Error::in_file(name_of(path), error);
            let refuse = |kind, message| Error::input(kind, message).at(name_of(path));
            let mut room = room(bytes).map_err(failed)?;
            let file = Safetensors::parse(bytes, Mode::Lenient, &mut room).map_err(failed)?;
            for view in file.tensors() {
                let header = *view.header();
                let name = limit::spelled(chars(header.name)).map_err(failed)?;
                let elements = match header.dtype {
                    Dtype::F64 => Ok(Elements::F64),
                    Dtype::F32 => Ok(Elements::F32),
                    Dtype::F16 => Ok(Elements::F16),
                    Dtype::BF16 => Ok(Elements::BF16),
                    // Position ids and the like are not weights.
                    other => Err(other),
                };
                let known = limit::copied(&name).map_err(failed)?;
                if !hashed::add(&mut names, known).map_err(failed)? {
                    let message = format!("the tensor `{name}` is there twice");
                    return Err(refuse(ErrorKind::DuplicateName, message));
                }
                let shape = sizes(&header.shape)
                    .map_err(|kind| refuse(kind, format!("`{name}`: {}", kind.message())))?;
                let found = Found { name, elements, shape, data: view.data() };
                limit::push(&mut all, found).map_err(failed)?;
            }
        }
        Ok(all)
    }

    /// When the newest of the files that matter was changed.
    pub fn modified(&self) -> Option<SystemTime> {
        let settings = [
            CONFIG,
            "vocab.txt",
            "tokenizer.json",
            "tokenizer_config.json",
            "special_tokens_map.json",
            "added_tokens.json",
            MODULES,
            "1_Pooling/config.json",
            "sentence_bert_config.json",
            "config_sentence_transformers.json",
        ];
        let settings = settings.iter().map(|name| self.path.join(name));
        let weights: Vec<PathBuf> = match &self.weights {
            Weights::Safetensors(parts) => parts.iter().map(|(path, _)| path.clone()).collect(),
            Weights::Dequantized(file, _) => vec![file.clone()],
        };
        let files = weights.into_iter().chain(settings);
        files.filter_map(|file| file.metadata().ok()?.modified().ok()).max()
    }
}

/// Gives the tensors the specification's names: without the prefix of a larger model (`bert.`), and
/// without TensorFlow's names of layer norm parameters.
fn strip_prefix(tensors: &mut [Found<'_>]) -> std::result::Result<(), CoreError> {
    let [words, ..] = EMBEDDING_TENSORS;
    let prefix = tensors.iter().find_map(|tensor| tensor.name.strip_suffix(words));
    let prefix = limit::copied(prefix.unwrap_or_default())?;
    for tensor in tensors {
        if let Some(name) = tensor.name.strip_prefix(&prefix) {
            tensor.name = present_name(name)?;
        }
    }
    Ok(())
}
