//! A GGUF file of an encoder as a source; of BERT with WordPiece, its tensors dequantised, and its
//! tokens spelled as WordPiece spells them.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use nanoembed_core::describe::BertConfig;
use nanoembed_core::describe::gguf::{Key, gguf_bert_tensor, gguf_is_known_encoder};
use nanoembed_core::event::{Mode, Value};
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::limit::Growing;
use nanoembed_core::owned::{AddedWord, Encoder, WordPieces};
use nanoembed_core::source::{ModelSource, Respelled, WordPieceSource};
use nanoembed_core::token::AddedRules;
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use super::settings::Settings;
use super::tensor::{OwnedTensor, le_bytes, sizes};
use super::vocabulary::WordPieceVocabulary;
use super::{Checkpoint, tensor_names};
use crate::bytes::Bytes;
use crate::error::{Error, Result, name_of};
use crate::files::mapped_file::MappedFile;
use crate::folder::prompts::Prompts;
use crate::stored::{diagnosis, gguf_parts};

/// An open file with an encoder.
pub struct GgufEncoderFile {
    path: PathBuf,
    bytes: Bytes,
}

impl GgufEncoderFile {
    /// Opens the file at `path`; `None` if its model continues texts.
    pub fn open(path: &Path) -> Result<Option<Self>> {
        let bytes = gguf_parts::whole(path, MappedFile::open(path)?)?;
        let file = Self { path: path.to_owned(), bytes: bytes.into() };
        let has_encoder = gguf_is_known_encoder(&file.parse()?);
        Ok(has_encoder.then_some(file))
    }

    /// The file's name in messages.
    pub fn name(&self) -> String {
        name_of(&self.path)
    }

    /// When the file was changed.
    pub fn modified(&self) -> Option<SystemTime> {
        self.path.metadata().ok()?.modified().ok()
    }

    /// The file's bytes.
    pub(crate) const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    pub(crate) fn parse(&self) -> Result<Gguf<'_>> {
        Gguf::parse(&self.bytes, Mode::Lenient).map_err(|error| self.failure(error))
    }

    pub(crate) fn failure(&self, error: CoreError) -> Error {
        diagnosis::failure(&name_of(&self.path), &self.bytes, error)
    }

    /// The model's name, if the file has one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub fn model_name(&self) -> Result<Option<String>> {
        self.text(Key::Name)
    }

    fn text(&self, key: Key) -> Result<Option<String>> {
        match self.parse()?.value(key.name()) {
            Some(Value::Text(text)) => {
                limit::copied(text).map(Some).map_err(|error| self.failure(error))
            }
            _ => Ok(None),
        }
    }

    /// The model's licence, if the file names one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub fn license(&self) -> Result<Option<String>> {
        self.text(Key::License)
    }

    /// The tensors of a BERT encoder, dequantised.
    pub fn bert_tensors(&self) -> Result<Vec<OwnedTensor>> {
        // Settings, tensors and tokens are checked as where the model is run.
        Encoder::open(&self.bytes[..]).map_err(|fault| self.failure(fault.error()))?;
        let file = self.parse()?;
        let names = tensor_names(self.bert_config(&file)?.layers, false);
        let tensors = names.and_then(|names| {
            limit::gathered(names.into_iter().map(|name| dequantized(&file, name)))
        });
        tensors.map_err(|error| self.failure(error))
    }

    fn bert_config(&self, file: &Gguf<'_>) -> Result<BertConfig> {
        ModelSource::Gguf(*file).encoder_config().map_err(|error| self.failure(error))
    }

    /// The BERT encoder with these [tensors](Self::bert_tensors).
    pub fn bert<'t>(&self, tensors: &'t [OwnedTensor]) -> Result<Checkpoint<'t>> {
        let file = self.parse()?;
        let config = self.bert_config(&file)?;
        let prompts = Prompts::from_source(&ModelSource::Gguf(file));
        let prompts = prompts.map_err(|error| self.failure(error))?;
        let license = self.license()?;
        Ok(Checkpoint {
            name: self.name(),
            settings: Settings { license, ..Settings::from_bert(&config, prompts) },
            vocabulary: Some(self.vocabulary(&file, &config)?),
            tensors: limit::gathered(tensors.iter().map(OwnedTensor::borrow))
                .map_err(|error| self.failure(error))?,
            left_out: Vec::new(),
            modified: self.modified(),
        })
    }

    fn vocabulary(&self, file: &Gguf<'_>, config: &BertConfig) -> Result<WordPieceVocabulary> {
        let source = WordPieceSource::gguf(file, config);
        let source = source.map_err(|error| self.failure(error))?;
        let opened = WordPieces::new(&self.bytes, &source).map_err(|error| self.failure(error))?;
        let opened = *opened.special();
        // A text that spells no such token is the same with another one in its role.
        let pad = opened.pad.unwrap_or(opened.unknown);
        let mask = opened.mask.unwrap_or(opened.unknown);
        let special = [pad, opened.unknown, opened.classify, opened.separate, mask];
        let (mut tokens, mut added) = (Growing::new(), Growing::new());
        source.each_respelled(&mut |Respelled { id, before, rest, normalized, .. }| {
            let Some(normalized) = normalized else {
                let mut token = Vec::new();
                let joined = limit::append(&mut token, before)
                    .and_then(|()| limit::append(&mut token, rest));
                return if joined.is_ok() { tokens.push(token) } else { tokens.refuse() };
            };
            // Words are not spelled with it.
            tokens.push(Vec::new());
            match limit::copied(&String::from_utf8_lossy(rest)) {
                Ok(spelling) => {
                    added.push(AddedWord {
                        id,
                        spelling,
                        normalized,
                        rules: AddedRules::default(),
                    });
                }
                Err(_) => added.refuse(),
            }
        });
        let tokens = tokens.into_vec().map_err(|error| self.failure(error))?;
        let mut added = added.into_vec().map_err(|error| self.failure(error))?;
        let vocabulary = WordPieceVocabulary { tokens, special, added: Vec::new() };
        let listed = self.text(Key::OwnAddedTokens)?;
        let mut vocabulary = vocabulary.with_added(listed.as_deref())?;
        for word in &vocabulary.added {
            let place = usize::try_from(word.id).ok().and_then(|id| vocabulary.tokens.get_mut(id));
            place.into_iter().for_each(Vec::clear);
            added.retain(|other| other.id != word.id);
        }
        let extended = limit::extend(&mut vocabulary.added, added);
        extended.map_err(|error| self.failure(error))?;
        Ok(vocabulary)
    }
}

/// The tensor that Hugging Face calls `name`, in f32.
fn dequantized(file: &Gguf<'_>, name: String) -> std::result::Result<OwnedTensor, CoreError> {
    let missing = CoreError::without_offset(ErrorKind::MissingTensor);
    let view = gguf_bert_tensor(&name, |name| file.tensor(name)).ok_or(missing)?;
    let shape = sizes(view.shape()).map_err(|kind| CoreError::new(view.header().offset, kind))?;
    let mut values = limit::filled(shape.iter().product(), 0.0_f32)?;
    view.dequantize(0, &mut values)?;
    Ok(OwnedTensor { name, shape, data: le_bytes(&values)? })
}
