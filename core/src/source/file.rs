//! A file that holds a model, parsed once, whichever its format: what its settings, its tensors and
//! its tokenizer are.

use super::amb::{amb_config_value, amb_llama_config, amb_member, read_amb_config};
use super::byte_pairs::BpeSource;
use super::embd::{embd_is_decoder, embd_llama_config};
use super::pieces::SentencePieceSource;
use super::tokenizer::{TokenizerKind, TokenizerSource};
use super::word_pieces::WordPieceSource;
use super::{POOLING, POOLS_LAST_TOKEN};
use crate::describe::BertConfig;
use crate::describe::folder::{CONFIG, MODULES};
use crate::describe::gguf::{
    GgufModel, Key, gguf_architecture, gguf_bert_config, gguf_bert_tensor, gguf_id,
    gguf_is_encoder, gguf_is_known_encoder, gguf_llama_config, gguf_model, gguf_pools_last_token,
};
use crate::error::{Error, ErrorKind, Result};
use crate::event::SpecialRole;
use crate::event::Value;
use crate::event::{Format, Mode};
use crate::format::amb::{self, Amb};
use crate::format::embd::{self, Embd};
use crate::format::gguf::Gguf;
use crate::format::sniff;
use crate::model::config::LlamaConfig;
use crate::tensor::TensorHeader;

const OTHER_MODEL: Error = Error::without_offset(ErrorKind::OtherModel);

/// A file that holds a model.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ModelSource<'a> {
    /// An `.amb` file.
    Amb(Amb<'a>),
    /// A `.weights` file.
    Embd(Embd<'a>),
    /// A GGUF file.
    Gguf(Gguf<'a>),
}

impl<'a> ModelSource<'a> {
    /// Parses a file by what its first bytes tell, of the formats that the build has.
    ///
    /// # Errors
    ///
    /// Errors of the file; [`ErrorKind::UnknownFormat`] for files of other formats.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        match sniff(bytes) {
            Some(Format::Amb) => Amb::parse(bytes, Mode::Lenient).map(Self::Amb),
            Some(Format::Embd) => Embd::parse(bytes, Mode::Lenient).map(Self::Embd),
            Some(Format::Gguf) => Gguf::parse(bytes, Mode::Lenient).map(Self::Gguf),
            _ => Err(Error::new(0, ErrorKind::UnknownFormat)),
        }
    }

    /// Returns true if the model says that it continues texts.
    #[must_use]
    pub fn is_causal(&self) -> bool {
        match self {
            Self::Amb(amb) => {
                !matches!(amb_config_value(amb, "architecture"), None | Some("custom" | "bert"))
            }
            Self::Embd(embd) => embd_is_decoder(embd),
            Self::Gguf(gguf) => gguf_architecture(gguf).is_some() && !gguf_is_encoder(gguf),
        }
    }

    /// Returns true if the file keeps the texts of a Hugging Face folder, by their paths, in place
    /// of settings of its own: `config.json` or `modules.json`.
    #[must_use]
    pub fn has_folder_texts(&self) -> bool {
        let mut paths = [CONFIG, MODULES].into_iter();
        match self {
            Self::Amb(amb) => paths.any(|path| amb_config_value(amb, path).is_some()),
            Self::Embd(embd) => paths.any(|path| embd.metadata_value(path).is_some()),
            Self::Gguf(_) => false,
        }
    }

    /// Returns true if the file has prompts by their names: `prompt.NAME` in `.weights` and `.amb`.
    #[must_use]
    pub fn has_prompts(&self) -> bool {
        match self {
            Self::Amb(amb) => {
                amb.config().as_bytes().windows(8).any(|window| window == b"\"prompt.")
            }
            Self::Embd(embd) => embd.metadata().any(|(key, _)| key.starts_with("prompt.")),
            Self::Gguf(_) => false,
        }
    }

    /// The settings of an encoder.
    ///
    /// # Errors
    ///
    /// As [`BertConfig::from_metadata`]; of an `.amb` file [`ErrorKind::DuplicateName`] for a member
    /// that is there twice and [`ErrorKind::BadMetadata`] for an array or an object, where they stand;
    /// [`ErrorKind::OtherModel`] if the model continues texts;
    /// [`ErrorKind::UnsupportedArchitecture`] if the file
    /// [keeps the texts of a folder](Self::has_folder_texts).
    pub fn encoder_config(&self) -> Result<BertConfig> {
        match self {
            _ if self.has_folder_texts() => {
                Err(Error::without_offset(ErrorKind::UnsupportedArchitecture))
            }
            Self::Amb(amb) => read_amb_config(amb, |value| BertConfig::from_metadata(value))
                .map_err(|error| if self.is_causal() { OTHER_MODEL } else { error }),
            Self::Embd(embd) if embd_is_decoder(embd) => Err(OTHER_MODEL),
            Self::Embd(embd) => BertConfig::from_metadata(|key| embd.metadata_value(key)),
            Self::Gguf(gguf) => match gguf_model(gguf)? {
                GgufModel::Encoder => gguf_bert_config(gguf),
                GgufModel::Decoder => Err(OTHER_MODEL),
            },
        }
    }

    /// The key of the metadata that keeps [`encoder_config`](Self::encoder_config) from succeeding,
    /// as the file calls it; `None` for GGUF files.
    #[must_use]
    pub fn encoder_key_at_fault(&self) -> Option<&'static str> {
        let fault: Option<(&'static str, ErrorKind)> = match self {
            Self::Amb(amb) => BertConfig::key_at_fault(|key| amb_config_value(amb, key))
                .map(|(key, kind)| (amb_member(key), kind)),
            Self::Embd(embd) => BertConfig::key_at_fault(|key| embd.metadata_value(key)),
            Self::Gguf(_) => None,
        };
        fault.map(|(key, _)| key)
    }

    /// Returns true if the model is of an architecture that is known.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnsupportedArchitecture`], [`ErrorKind::MissingMetadata`] or
    /// [`ErrorKind::SplitFile`], for GGUF files.
    pub fn check_architecture(&self) -> Result<()> {
        match self {
            Self::Gguf(gguf) if gguf.split().is_none() && gguf_is_known_encoder(gguf) => Ok(()),
            Self::Gguf(gguf) => gguf_model(gguf).map(|_| ()),
            _ => Ok(()),
        }
    }

    /// The settings of a model that continues texts.
    ///
    /// # Errors
    ///
    /// As [`LlamaConfig::read`]; [`ErrorKind::OtherModel`] if the model is an encoder; what a
    /// format's own settings are refused for.
    pub fn causal_config(&self) -> Result<LlamaConfig> {
        match self {
            Self::Amb(amb) if amb_config_value(amb, "architecture") == Some("bert") => {
                Err(OTHER_MODEL)
            }
            Self::Amb(amb) => {
                amb_llama_config(amb).map_err(|error| match amb_config_value(amb, "model_type") {
                    Some("bert") => OTHER_MODEL,
                    _ => error,
                })
            }
            Self::Embd(embd) if !embd_is_decoder(embd) => Err(OTHER_MODEL),
            Self::Embd(embd) => embd_llama_config(embd),
            Self::Gguf(gguf) => match gguf_model(gguf)? {
                GgufModel::Decoder => gguf_llama_config(gguf),
                GgufModel::Encoder => Err(OTHER_MODEL),
            },
        }
    }

    /// True if a decoder's embedding of a text is the state of its last token: a GGUF file says so or
    /// does not say how states are pooled, another file says so under [`POOLING`](super::POOLING).
    #[must_use]
    pub fn pools_last_token(&self) -> bool {
        match self {
            Self::Gguf(gguf) => gguf_pools_last_token(gguf),
            Self::Amb(amb) => amb_config_value(amb, POOLING) == Some(POOLS_LAST_TOKEN),
            Self::Embd(embd) => embd.metadata_value(POOLING) == Some(POOLS_LAST_TOKEN),
        }
    }

    /// The tensor that the file calls so.
    #[must_use]
    pub fn tensor(&self, name: &str) -> Option<TensorHeader<'a>> {
        match self {
            Self::Amb(amb) => amb.tensor(name).map(|tensor| *tensor.header()),
            Self::Embd(embd) => embd.tensor(name).map(|tensor| *tensor.header()),
            Self::Gguf(gguf) => gguf.tensor(name).map(|tensor| *tensor.header()),
        }
    }

    /// Calls `take` with every tensor, in the order of the file.
    pub fn each_tensor(&self, take: &mut dyn FnMut(&TensorHeader<'a>)) {
        match self {
            Self::Amb(amb) => amb.tensors().for_each(|tensor| take(tensor.header())),
            Self::Embd(embd) => embd.tensors().for_each(|tensor| take(tensor.header())),
            Self::Gguf(gguf) => gguf.tensors().for_each(|tensor| take(tensor.header())),
        }
    }

    /// The tensor of an encoder that Hugging Face calls so, whatever the file calls it.
    #[must_use]
    pub fn encoder_tensor(&self, name: &str) -> Option<TensorHeader<'a>> {
        match self {
            Self::Gguf(_) => gguf_bert_tensor(name, |name| self.tensor(name)),
            _ => self.tensor(name),
        }
    }

    /// The tokenizer, whichever it is.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingVocabulary`] without a tokenizer; [`ErrorKind::UnsupportedTokenizer`]
    /// for one that is not known; what the settings of the model are refused for, as far as its
    /// tokenizer needs them.
    pub fn tokenizer(&self) -> Result<TokenizerSource<'a>> {
        Ok(match (self.tokenizer_kind()?, self) {
            (TokenizerKind::BytePairs, _) => TokenizerSource::BytePairs(self.byte_pairs()?),
            (TokenizerKind::WordPiece, _) if self.is_causal() => {
                return Err(Error::without_offset(ErrorKind::UnsupportedTokenizer));
            }
            (TokenizerKind::WordPiece, _) => {
                TokenizerSource::WordPiece(self.word_pieces(&self.encoder_config()?)?)
            }
            (TokenizerKind::SentencePiece, Self::Amb(amb)) => {
                TokenizerSource::SentencePiece(SentencePieceSource::amb(amb)?)
            }
            (TokenizerKind::SentencePiece, Self::Embd(embd)) => {
                TokenizerSource::SentencePiece(SentencePieceSource::embd(embd)?)
            }
            (TokenizerKind::SentencePiece, Self::Gguf(gguf)) => {
                TokenizerSource::SentencePiece(SentencePieceSource::gguf(gguf)?)
            }
        })
    }

    /// The token that the file calls the beginning of a text, whether it is put before every text
    /// or not.
    #[must_use]
    pub fn begin_token(&self) -> Option<u32> {
        match self {
            Self::Amb(amb) => amb.tokenizer()?.special(SpecialRole::Classify),
            Self::Embd(embd) => embd.metadata_value("bos_token_id")?.parse().ok(),
            Self::Gguf(gguf) => gguf_id(gguf, Key::BeginId),
        }
    }

    fn tokenizer_kind(&self) -> Result<TokenizerKind> {
        Ok(match self {
            Self::Amb(amb) => match amb.tokenizer().map(|tokenizer| tokenizer.kind()) {
                None => return Err(Error::without_offset(ErrorKind::MissingVocabulary)),
                Some(amb::AmbTokenizerKind::WordPiece) => TokenizerKind::WordPiece,
                Some(amb::AmbTokenizerKind::Bpe) => TokenizerKind::BytePairs,
                Some(amb::AmbTokenizerKind::SentencePiece) => TokenizerKind::SentencePiece,
                Some(amb::AmbTokenizerKind::Custom) => {
                    return Err(Error::without_offset(ErrorKind::UnsupportedTokenizer));
                }
            },
            Self::Embd(embd) if embd.tensor(embd::SENTENCEPIECE).is_some() => {
                TokenizerKind::SentencePiece
            }
            Self::Embd(embd) if embd_is_decoder(embd) || embd.tensor(embd::MERGES).is_some() => {
                TokenizerKind::BytePairs
            }
            Self::Embd(_) => TokenizerKind::WordPiece,
            Self::Gguf(gguf) => match gguf.value(Key::TokenizerModel.name()) {
                Some(Value::Text("bert")) => TokenizerKind::WordPiece,
                Some(Value::Text("llama")) => TokenizerKind::SentencePiece,
                // What is none of these is refused there.
                _ => TokenizerKind::BytePairs,
            },
        })
    }

    /// The WordPiece tokenizer of an encoder with these settings.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingVocabulary`] without one.
    pub fn word_pieces(&self, config: &BertConfig) -> Result<WordPieceSource<'a>> {
        match self {
            Self::Amb(amb) => WordPieceSource::amb(amb, config),
            Self::Embd(embd) => WordPieceSource::embd(embd, config),
            Self::Gguf(gguf) => WordPieceSource::gguf(gguf, config),
        }
    }

    /// The byte-level BPE tokenizer.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingVocabulary`] without a tokenizer; [`ErrorKind::UnsupportedVersion`] if
    /// it is another one.
    pub fn byte_pairs(&self) -> Result<BpeSource<'a>> {
        match self {
            Self::Amb(amb) => BpeSource::amb(amb),
            Self::Embd(embd) => BpeSource::embd(embd),
            Self::Gguf(gguf) => BpeSource::gguf(gguf),
        }
    }
}
