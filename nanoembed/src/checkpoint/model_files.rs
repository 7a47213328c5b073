//! All weights of a model: safetensors, or UQFF with the unquantised tensors beside it, under the
//! names of Hugging Face.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use nanoembed_core::event::Format;
use nanoembed_core::format::uqff::Generation;
use nanoembed_core::{ErrorKind, limit};

use super::adapted::merge;
use crate::error::{Error, Result};
use crate::folder::adapter::FolderAdapter;
use crate::hashed;
use crate::layer_names::LayerNumbering;
use crate::stored::folder_weights::{RESIDUAL, own_folder};
use crate::stored::{Contents, FileSet};

/// The open files.
pub struct ModelFiles {
    weights: FileSet,
    residual: Option<FileSet>,
    /// Tensors in place of those of the same names in `weights`.
    merged: Option<FileSet>,
}

impl ModelFiles {
    /// Opens the files that `path` names, see [`FileSet::open`], and with UQFF the
    /// `residual.safetensors` beside it.
    pub fn open(path: &Path) -> Result<Self> {
        let weights = FileSet::open(path)?;
        let residual = weights.folder().join(RESIDUAL);
        let takes_residual = weights.format() == Some(Format::Uqff) && residual.exists();
        let residual = takes_residual.then(|| FileSet::open(&residual)).transpose()?;
        Ok(Self { weights, residual, merged: None })
    }

    /// Opens the files of the model that an adapter is for, and merges the adapter into them.
    pub(crate) fn adapted(adapter: &FolderAdapter) -> Result<Self> {
        let own = own_folder(&adapter.base)?;
        let opened = Self::open(&own)?;
        let merged = merge(adapter, &opened.weights)?;
        Ok(Self { merged: Some(merged), ..opened })
    }

    /// All sets of files.
    pub(crate) fn sets(&self) -> impl Iterator<Item = &FileSet> {
        std::iter::once(&self.weights).chain(&self.residual).chain(&self.merged)
    }

    /// The name that messages give to all files together.
    pub fn name(&self) -> String {
        self.weights.name()
    }

    /// The bytes of all files together.
    pub fn bytes(&self) -> u64 {
        self.sets().map(FileSet::bytes).sum()
    }

    /// True if a `residual.safetensors` should be there and is not.
    pub fn lacks_residual(&self) -> bool {
        self.weights.format() == Some(Format::Uqff) && self.residual.is_none()
    }

    /// When the newest of them was changed.
    pub fn modified(&self) -> Option<SystemTime> {
        self.sets()
            .flat_map(FileSet::iter)
            .filter_map(|(path, _)| path.metadata().ok()?.modified().ok())
            .max()
    }

    /// The folder of the files.
    pub fn folder(&self) -> PathBuf {
        self.weights.folder()
    }

    /// The contents of the files. Layers of UQFF 0.x, which have numbers, get the names that the
    /// model of `config` gives them.
    pub fn contents(&self, config: &Path) -> Result<Vec<(&FileSet, Contents<'_>)>> {
        let mut contents = self.weights.contents()?;
        if contents.generation == Some(Generation::Blobs) {
            self.name_layers(&mut contents, config)?;
        }
        let failed = |error| Error::in_file(self.name(), error);
        let merged = self.merged.as_ref().map(|set| Ok((set, set.contents()?))).transpose()?;
        if let Some((_, merged)) = &merged {
            let names = hashed::set(merged.tensors.iter().map(|tensor| tensor.name.as_str()));
            let names = names.map_err(failed)?;
            contents.tensors.retain(|tensor| !names.contains(tensor.name.as_str()));
        }
        let mut all = limit::collected([(&self.weights, contents)]).map_err(failed)?;
        if let Some(merged) = merged {
            limit::push(&mut all, merged).map_err(failed)?;
        }
        if let Some(residual) = &self.residual {
            limit::push(&mut all, (residual, residual.contents()?)).map_err(failed)?;
        }
        Ok(all)
    }

    fn name_layers(&self, contents: &mut Contents<'_>, config: &Path) -> Result<()> {
        let names = LayerNumbering::from_config(config, contents.layers.len())?;
        for tensor in &mut contents.tensors {
            let (number, part) = tensor.name.split_once('.').unwrap_or((&tensor.name, "weight"));
            let number: Option<u32> = number.parse().ok();
            let layer = number.and_then(|number| Some((number, names.name(number)?)));
            let (number, layer) = layer.ok_or_else(|| {
                let message = format!("the model of config.json has no layer `{}`", tensor.name);
                Error::input(ErrorKind::BadMetadata, message).at(self.name())
            })?;
            if part == "weight" {
                let checked = names.check_shape(number, tensor.values.shape());
                checked.map_err(|failure| failure.at(self.name()))?;
            }
            tensor.name = limit::joined(&[&layer, ".", part])
                .map_err(|error| Error::in_file(self.name(), error))?;
        }
        Ok(())
    }
}
