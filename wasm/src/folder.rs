//! A Hugging Face folder on its way in: which texts and weights are wanted, and those that are
//! there.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::mem;

use nanoembed_core::event::Format;
use nanoembed_core::limit::push;
use nanoembed_core::owned::folder::{FolderFault, FolderModel, FolderResult};
use nanoembed_core::owned::{Encoder, FileWeights};
use nanoembed_core::{Error, ErrorKind};
use wasm_bindgen::prelude::*;

use crate::failure::Result;
use crate::reader::Reader;

/// A folder.
#[wasm_bindgen]
#[derive(Default)]
pub struct Folder {
    /// Texts by their paths; `None` for those that are not there.
    texts: BTreeMap<String, Option<String>>,
    /// Files of weights with their paths.
    weights: Vec<(String, Vec<u8>)>,
    /// Names of unknown settings that are ignored.
    allowed: Vec<String>,
    /// A warning for each that was.
    warnings: Vec<String>,
}

#[wasm_bindgen]
impl Folder {
    /// A folder of which nothing is there yet.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ignores unknown settings of this name.
    pub fn allow(&mut self, name: String) {
        self.allowed.push(name);
    }

    /// A warning for each unknown setting that is ignored, for the first call.
    #[must_use]
    pub fn warnings(&mut self) -> Vec<String> {
        mem::take(&mut self.warnings)
    }

    /// Adds the text at a path, or that there is none. Of a safetensors file any text says that it
    /// is there.
    pub fn put(&mut self, path: String, text: Option<String>) {
        self.texts.insert(path, text);
    }

    /// The path of a text that is wanted, or of a safetensors file of which it is asked whether it
    /// is there; nothing if all is known.
    ///
    /// # Errors
    ///
    /// The fault of a text that is present.
    pub fn wanted(&mut self) -> Result<Option<String>> {
        loop {
            match self.read() {
                Err(fault) if fault.is_allowed(&self.allowed) => self.ignore(&fault)?,
                wanted => return Ok(wanted?),
            }
        }
    }

    /// The paths of the weights, in the order in which they are wanted.
    ///
    /// # Errors
    ///
    /// The fault of a text.
    pub fn files(&self) -> Result<Vec<String>> {
        let texts = |path: &str| self.text(path);
        let is_there = |path: &str| self.texts.get(path).is_some_and(Option::is_some);
        Ok(FolderModel::read(&texts)?.weight_files(&texts, &is_there)?)
    }

    /// Adds the weights at a path.
    ///
    /// # Errors
    ///
    /// `unknown_format` if it is no safetensors file.
    pub fn push(&mut self, path: String, reader: Reader) -> Result<()> {
        self.weights.push((path, reader.into_file(&[Format::Safetensors])?));
        Ok(())
    }
}

impl Folder {
    /// Reads the texts that are there; returns the path of one that is wanted.
    fn read(&self) -> FolderResult<Option<String>> {
        let wanted = RefCell::new(None);
        let known = |path: &str| {
            let known = self.texts.get(path);
            if known.is_none() {
                wanted.borrow_mut().get_or_insert_with(|| String::from(path));
            }
            known
        };
        let texts = |path: &str| match known(path) {
            Some(text) => Ok(text.as_deref().map(Cow::Borrowed)),
            None => Err(Error::without_offset(ErrorKind::ReadFailed)),
        };
        let is_there = |path: &str| known(path).is_some_and(Option::is_some);
        let read = || -> FolderResult<()> {
            let model = FolderModel::read(&texts)?;
            model.prompts(&texts)?;
            model.weight_files(&texts, &is_there)?;
            model.tokenizer(&texts)?;
            Ok(())
        };
        let read = read();
        match wanted.into_inner() {
            Some(path) => Ok(Some(path)),
            None => read.map(|()| None),
        }
    }

    /// Puts null in place of an unknown setting's value: it then counts as absent.
    fn ignore(&mut self, fault: &FolderFault) -> Result<()> {
        let text = self.texts.get_mut(&fault.file).and_then(Option::as_mut);
        let text = text.ok_or(ErrorKind::ReadFailed)?;
        *text = fault.without_value(text)?;
        Ok(push(&mut self.warnings, fault.warning()?)?)
    }

    fn text(&self, path: &str) -> core::result::Result<Option<Cow<'_, str>>, Error> {
        Ok(self.texts.get(path).and_then(Option::as_deref).map(Cow::Borrowed))
    }

    /// The model.
    pub(crate) fn open(mut self) -> Result<Encoder<FileWeights<Vec<u8>>>> {
        let weights = mem::take(&mut self.weights);
        Ok(Encoder::open_folder(&|path: &str| self.text(path), weights)?)
    }
}
