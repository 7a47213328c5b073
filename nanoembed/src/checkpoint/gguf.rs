//! A GGUF file of a BERT encoder as a source: its tensors dequantised, its tokens spelled as
//! WordPiece spells them.

use std::path::{Path, PathBuf};

use nanoembed_core::describe::BertConfig;
use nanoembed_core::describe::gguf::{
    Key, gguf_architecture, gguf_bert_tensor, gguf_has_described_encoder, gguf_is_known_encoder,
};
use nanoembed_core::event::{Mode, Value};
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::model::{ModelSource, Respelled, WordPieceSource};
use nanoembed_core::owned::{AddedWord, Encoder, WordPieces};
use nanoembed_core::token::AddedRules;
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use super::settings::Settings;
use super::tensor::{OwnedTensor, le_bytes, sizes};
use super::vocabulary::WordPieceVocabulary;
use super::{Checkpoint, tensor_names};
use crate::error::{Error, Result, name_of};
use crate::files::mapped_file::MappedFile;
use crate::folder::prompts::Prompts;
use crate::stored::{diagnosis, gguf_parts};

/// An open file and the tensors of its encoder.
pub struct GgufEncoderFile {
    path: PathBuf,
    bytes: MappedFile,
    config: BertConfig,
    tensors: Vec<OwnedTensor>,
}

impl GgufEncoderFile {
    /// Opens the file at `path`; `None` if its model continues texts.
    pub fn open(path: &Path) -> Result<Option<Self>> {
        let bytes = gguf_parts::whole(path, MappedFile::open(path)?)?;
        let failed = |error| diagnosis::failure(&name_of(path), &bytes, error);
        let file = Gguf::parse(&bytes, Mode::Lenient).map_err(failed)?;
        if !gguf_is_known_encoder(&file) {
            return Ok(None);
        }
        if gguf_has_described_encoder(&file) {
            return Err(is_final(path, &file));
        }
        // Settings, tensors and tokens are checked as where the model is run.
        Encoder::open(&bytes[..]).map_err(|fault| failed(fault.error()))?;
        let config = ModelSource::Gguf(file).encoder_config().map_err(failed)?;
        let names = tensor_names(config.layers, false);
        let tensors = names.into_iter().map(|name| dequantized(&file, name).map_err(failed));
        let tensors = tensors.collect::<Result<_>>()?;
        Ok(Some(Self { path: path.to_owned(), config, tensors, bytes }))
    }

    fn parse(&self) -> Result<Gguf<'_>> {
        Gguf::parse(&self.bytes, Mode::Lenient).map_err(|error| self.failure(error))
    }

    fn failure(&self, error: CoreError) -> Error {
        diagnosis::failure(&name_of(&self.path), &self.bytes, error)
    }

    /// The model's name, if the file has one.
    pub fn model_name(&self) -> Option<String> {
        self.text(Key::Name)
    }

    fn text(&self, key: Key) -> Option<String> {
        match self.parse().ok()?.value(key.name())? {
            Value::Text(text) => Some(text.to_owned()),
            _ => None,
        }
    }

    /// The encoder.
    pub fn checkpoint(&self) -> Result<Checkpoint<'_>> {
        let file = self.parse()?;
        let prompts = Prompts::from_source(&ModelSource::Gguf(file));
        let prompts = prompts.map_err(|error| self.failure(error))?;
        let license = self.text(Key::License);
        Ok(Checkpoint {
            name: name_of(&self.path),
            settings: Settings { license, ..Settings::from_bert(&self.config, prompts) },
            vocabulary: Some(self.vocabulary(&file)?),
            tensors: self.tensors.iter().map(OwnedTensor::borrow).collect(),
            left_out: Vec::new(),
            modified: self.path.metadata().ok().and_then(|metadata| metadata.modified().ok()),
        })
    }

    fn vocabulary(&self, file: &Gguf<'_>) -> Result<WordPieceVocabulary> {
        let source = WordPieceSource::gguf(file, &self.config);
        let source = source.map_err(|error| self.failure(error))?;
        let opened = WordPieces::new(&self.bytes, &source).map_err(|error| self.failure(error))?;
        let opened = *opened.special();
        // A text that spells no such token is the same with another one in its role.
        let pad = opened.pad.unwrap_or(opened.unknown);
        let mask = opened.mask.unwrap_or(opened.unknown);
        let special = [pad, opened.unknown, opened.classify, opened.separate, mask];
        let (mut tokens, mut added) = (Vec::new(), Vec::new());
        source.each_respelled(&mut |Respelled { id, before, rest, normalized, .. }| {
            let Some(normalized) = normalized else { return tokens.push([before, rest].concat()) };
            // Words are not spelled with it.
            tokens.push(Vec::new());
            let spelling = String::from_utf8_lossy(rest).into_owned();
            added.push(AddedWord { id, spelling, normalized, rules: AddedRules::default() });
        });
        let vocabulary = WordPieceVocabulary { tokens, special, added: Vec::new() };
        let listed = self.text(Key::OwnAddedTokens);
        let mut vocabulary = vocabulary.with_added(listed.as_deref())?;
        for word in &vocabulary.added {
            let place = usize::try_from(word.id).ok().and_then(|id| vocabulary.tokens.get_mut(id));
            place.into_iter().for_each(Vec::clear);
            added.retain(|other| other.id != word.id);
        }
        vocabulary.added.extend(added);
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

/// Refuses an encoder whose settings only a folder says in words that files keep.
fn is_final(path: &Path, file: &Gguf<'_>) -> Error {
    let architecture = gguf_architecture(file).unwrap_or_default();
    let message = format!(
        "an encoder of the architecture `{architecture}` with these settings in a GGUF file is not converted"
    );
    Error::input(ErrorKind::UnsupportedArchitecture, message).at(name_of(path)).with_hint(
        "`nanoembed embed` runs it; a `.weights` or `.amb` file is made of the model's folder",
    )
}
