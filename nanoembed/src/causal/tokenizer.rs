//! A decoder's tokenizer, from an `.amb`, `.weights` or GGUF file, a folder, or a SentencePiece
//! model: byte-level BPE or SentencePiece.

use std::collections::BTreeMap;
use std::path::Path;

use nanoembed_core::event::{SpecialRole, Value};
use nanoembed_core::format::amb::{Amb, Payload, TokenizerKind, TokenizerSpec};
use nanoembed_core::format::embd::{self, Embd};
use nanoembed_core::format::gguf::Gguf;
use nanoembed_core::model::llama::{BpeSource, SentencePieceSource};
use nanoembed_core::model::{ModelSource, amb_text_ends, embd_text_ends, gguf_text_ends};
use nanoembed_core::owned::{SentencePieceModel, TokenSession};
use nanoembed_core::token::bpe;
use nanoembed_core::token::sentencepiece::{self, PieceKind, Spec};
use nanoembed_core::token::{SentencePiece, SpecialTokens, TextEnds};
use nanoembed_core::{Error as CoreError, ErrorKind};
use serde_json::json;

use super::byte_pairs::BytePairs;
use super::model_proto::{self, unsigned};

/// How texts become ids, and what they begin and end with.
pub struct Tokenizer<'f> {
    spelling: Spelling<'f>,
    /// What the model calls the beginning of a text, whether it is put before every text or not.
    begin: Option<u32>,
    ends: TextEnds,
}

/// What a folder of Hugging Face says beside the model.
pub struct AddedTokens {
    /// Tokens that are found in a text as they are, by id.
    pub tokens: BTreeMap<u32, String>,
    pub begin: Option<u32>,
    /// Where none ends a text, the model's own does.
    pub ends: TextEnds,
}

enum Spelling<'f> {
    Bytes(Box<BytePairs<'f>>),
    /// A model, and the ids of the tokens that are found in a text as they are.
    Pieces(Box<SentencePieceModel<Vec<u8>>>, Vec<u32>),
}

impl<'f> Tokenizer<'f> {
    /// The tokenizer in a model's file, whose bytes are `bytes`.
    pub(crate) fn of_source(bytes: &'f [u8], model: &ModelSource<'f>) -> Result<Self, CoreError> {
        match model {
            ModelSource::Amb(amb) => Self::of_amb(bytes, amb),
            ModelSource::Embd(embd) => Self::of_embd(bytes, embd),
            ModelSource::Gguf(gguf) => Self::of_gguf(bytes, gguf),
            _ => Err(CoreError::new(0, ErrorKind::UnknownFormat)),
        }
    }

    /// From a GGUF file, whose bytes are `bytes`.
    pub fn of_gguf(bytes: &'f [u8], file: &Gguf<'f>) -> Result<Self, CoreError> {
        let spelling = match file.value("tokenizer.ggml.model") {
            Some(Value::Text("llama")) => {
                // User-defined tokens of SentencePiece are found by its own rules.
                let types = file.elements("tokenizer.ggml.token_type").into_iter().flatten();
                let is_control = |kind| {
                    unsigned(kind).and_then(PieceKind::from_code) == Some(PieceKind::Control)
                };
                let added = (0..).zip(types).filter(|(_, kind)| is_control(*kind));
                let added = added.map(|(id, _)| id).collect();
                pieces(model_proto::of_gguf(file)?, 0, added)?
            }
            _ => byte_pairs(BytePairs::of_file(bytes, &BpeSource::gguf(file)?)?),
        };
        let ends = gguf_text_ends(file)?;
        let named = file.value("tokenizer.ggml.bos_token_id").and_then(unsigned);
        let named = named.and_then(|id| u32::try_from(id).ok());
        Ok(Self { spelling, begin: ends.begin.or(named), ends })
    }

    /// From an `.amb` file, whose configuration has `added_tokens`, `add_bos`, `add_eos`,
    /// `end_tokens`, and, for byte-level BPE, `pre_tokenizer` and `ignore_merges`; its bytes are
    /// `bytes`.
    pub fn of_amb(bytes: &'f [u8], file: &Amb<'f>) -> Result<Self, CoreError> {
        let missing = CoreError::without_offset(ErrorKind::MissingVocabulary);
        let found = file.tokenizer().ok_or(missing)?;
        let spelling = match found.kind() {
            TokenizerKind::Bpe => byte_pairs(BytePairs::of_file(bytes, &BpeSource::amb(file)?)?),
            TokenizerKind::SentencePiece => {
                let mut added = Vec::new();
                SentencePieceSource::amb(file)?.each_added(|id| {
                    added.push(id);
                    Ok(())
                })?;
                pieces(found.payload().to_vec(), found.payload_offset(), added)?
            }
            TokenizerKind::WordPiece | TokenizerKind::Custom => {
                return Err(CoreError::without_offset(ErrorKind::UnsupportedTokenizer));
            }
        };
        let begin = found.special(SpecialRole::Classify);
        Ok(Self { spelling, begin, ends: amb_text_ends(file, &found)? })
    }

    /// From a `.weights` file, whose metadata has `added_tokens`, `add_bos`, `add_eos`,
    /// `bos_token_id`, `eos_token_id`, `end_tokens`, and, for byte-level BPE, `pre_tokenizer` and
    /// `ignore_merges`; its bytes are `bytes`.
    pub fn of_embd(bytes: &'f [u8], file: &Embd<'f>) -> Result<Self, CoreError> {
        let spelling = match file.tensor(embd::SENTENCEPIECE) {
            Some(model) => {
                let added = file.metadata_value("added_tokens").unwrap_or_default();
                let bad = |_| CoreError::without_offset(ErrorKind::BadVocabulary);
                let ids = added.split(' ').filter(|id| !id.is_empty()).map(str::parse);
                let added = ids.collect::<Result<_, _>>().map_err(bad)?;
                pieces(model.data().to_vec(), model.header().offset, added)?
            }
            None => byte_pairs(BytePairs::of_file(bytes, &BpeSource::embd(file)?)?),
        };
        let begin = file.metadata_value("bos_token_id").and_then(|id| id.parse().ok());
        Ok(Self { spelling, begin, ends: embd_text_ends(file)? })
    }

    /// From a serialized SentencePiece model alone: as `sentencepiece` encodes, without tokens
    /// around the text.
    pub fn of_model(model: Vec<u8>) -> Result<Self, CoreError> {
        let spelling = SentencePieceModel::open(model, 0)?;
        let (begin, end) = (spelling.tokenizer().begin(), spelling.tokenizer().end());
        let mut ends = TextEnds::default();
        end.map_or(Ok(()), |id| ends.end.push(id))?;
        let spelling = Spelling::Pieces(Box::new(spelling), Vec::new());
        Ok(Self { spelling, begin, ends })
    }

    /// From a serialized SentencePiece model and the tokens that a folder of Hugging Face adds to
    /// it.
    pub fn of_hugging_face(model: Vec<u8>, added: AddedTokens) -> Result<Self, CoreError> {
        let pieces_before = Spec::read(&model, 0)?.pieces();
        let model = model_proto::with_added(model, pieces_before, &added.tokens)?;
        let spelling = SentencePieceModel::open(model, 0)?;
        let begin = added.begin.or(spelling.tokenizer().begin());
        let mut ends = added.ends;
        if let Some(end) = spelling.tokenizer().end().filter(|_| ends.end.first().is_none()) {
            ends.end.push(end)?;
        }
        Ok(Self {
            spelling: with_added(spelling, added.tokens.into_keys().collect())?,
            begin,
            ends,
        })
    }

    /// From byte pairs that know the tokens which are added to them; `begin` is what the model
    /// calls so.
    pub(super) fn of_byte_pairs(pairs: BytePairs<'f>, begin: Option<u32>) -> Self {
        let ends = *pairs.ends();
        Self { spelling: byte_pairs(pairs), begin, ends }
    }

    /// The tokenizer without the file that it is from.
    pub(super) fn detached(self) -> Result<Tokenizer<'static>, CoreError> {
        let Self { spelling, begin, ends } = self;
        let spelling = match spelling {
            Spelling::Bytes(pairs) => byte_pairs(pairs.detached()?),
            Spelling::Pieces(model, added) => Spelling::Pieces(model, added),
        };
        Ok(Tokenizer { spelling, begin, ends })
    }

    /// The number of tokens.
    pub fn count(&self) -> usize {
        match &self.spelling {
            Spelling::Bytes(pairs) => pairs.count() as usize,
            // It was read when the tokenizer was made.
            Spelling::Pieces(model, _) => {
                Spec::read(model.model(), 0).map_or(0, |spec| spec.pieces() as usize)
            }
        }
    }

    /// What the model calls the beginning of a text, and the usual token that ends one.
    pub(super) fn begin_and_end(&self) -> [Option<u32>; 2] {
        [self.begin, self.ends.end.first()]
    }

    /// What the model calls the beginning of a text.
    pub const fn begin(&self) -> Option<u32> {
        self.begin
    }

    /// The tokens around texts.
    pub const fn ends(&self) -> &TextEnds {
        &self.ends
    }

    /// How byte-level BPE cuts texts into words, and whether it takes whole words before merges;
    /// `None` for SentencePiece.
    pub fn pattern(&self) -> Option<(bpe::Pattern, bool)> {
        match &self.spelling {
            Spelling::Bytes(pairs) => Some((pairs.pattern(), pairs.ignores_merges())),
            Spelling::Pieces(..) => None,
        }
    }

    /// Whether a token that was sampled says that the model has finished.
    pub fn is_end(&self, id: u32) -> bool {
        self.ends.end.contains(id)
    }

    /// Keeps so many of a text's ids, the one that is put behind every text among them; whether
    /// there were more.
    pub fn truncate(&self, ids: &mut Vec<u32>, limit: usize) -> bool {
        let is_longer = ids.len() > limit;
        ids.truncate(limit);
        if let (true, Some(append), Some(last)) = (is_longer, self.ends.append, ids.last_mut()) {
            *last = append;
        }
        is_longer
    }

    /// The serialized model, if it is one of SentencePiece.
    pub(super) fn model(&self) -> Option<&[u8]> {
        match &self.spelling {
            Spelling::Bytes(_) => None,
            Spelling::Pieces(model, _) => Some(model.model()),
        }
    }

    /// The pieces, if the tokenizer is SentencePiece.
    pub fn pieces(&self) -> Option<SentencePiece<'_>> {
        match &self.spelling {
            Spelling::Bytes(_) => None,
            Spelling::Pieces(model, _) => Some(model.tokenizer()),
        }
    }

    /// The ids of the tokens that are found in a text as they are.
    pub fn added(&self) -> &[u32] {
        match &self.spelling {
            Spelling::Bytes(pairs) => pairs.added(),
            Spelling::Pieces(_, added) => added,
        }
    }

    /// The members of an AMB configuration that say how texts become ids.
    pub fn config(&self) -> serde_json::Map<String, serde_json::Value> {
        let mut config = serde_json::Map::new();
        if let Spelling::Bytes(pairs) = &self.spelling {
            config.insert("pre_tokenizer".into(), pairs.pattern().name().into());
            config.insert("ignore_merges".into(), pairs.ignores_merges().into());
            if pairs.composes() {
                config.insert("normalizer".into(), "nfc".into());
            }
        }
        config.insert("added_tokens".into(), json!(self.added()));
        config.insert("add_bos".into(), self.ends.begin.is_some().into());
        if self.ends.append.is_some() {
            config.insert("add_eos".into(), true.into());
        }
        if self.ends.end.ids().len() > 1 {
            config.insert("end_tokens".into(), json!(self.ends.end.ids()));
        }
        config
    }

    /// Merges and tokens as [`spec`](Self::spec) borrows them.
    pub fn borrowed(&self) -> (Vec<(&str, &str)>, Vec<&[u8]>) {
        match &self.spelling {
            Spelling::Bytes(pairs) => pairs.borrowed(),
            Spelling::Pieces(..) => (Vec::new(), Vec::new()),
        }
    }

    /// How an `.amb` file has it.
    pub fn spec<'a>(
        &'a self,
        merges: &'a [(&'a str, &'a str)],
        tokens: &'a [&'a [u8]],
    ) -> TokenizerSpec<'a> {
        match &self.spelling {
            Spelling::Bytes(_) => TokenizerSpec {
                special: [self.begin, self.ends.end.first(), None, None, None],
                payload: Payload::Bpe { merges, tokens },
            },
            Spelling::Pieces(model, _) => {
                let tokenizer = model.tokenizer();
                let (padding, unknown) = (tokenizer.padding(), tokenizer.unknown());
                TokenizerSpec {
                    special: [self.begin, self.ends.end.first(), padding, unknown, None],
                    payload: Payload::SentencePiece(model.model()),
                }
            }
        }
    }

    /// How a token is spelled, spaces and bytes as the vocabulary has them.
    pub fn token(&self, id: u32) -> Option<&str> {
        match &self.spelling {
            Spelling::Bytes(pairs) => std::str::from_utf8(pairs.token(id)?).ok(),
            Spelling::Pieces(model, _) => Some(model.tokenizer().piece(id)?.0),
        }
    }

    /// The ids of `text`, between the tokens that are put around every text if there are any, in
    /// memory that is used for many texts.
    pub fn encode(
        &self,
        text: &str,
        special: SpecialTokens,
        session: &mut TokenSession,
    ) -> Result<Vec<u32>, CoreError> {
        let model = match &self.spelling {
            Spelling::Bytes(pairs) => return pairs.encode(text, special),
            Spelling::Pieces(model, _) => model,
        };
        let mut ids: Vec<u32> = self.ends.begin.into_iter().collect();
        model.encode(text, special, session, &mut ids)?;
        ids.extend(self.ends.append);
        Ok(ids)
    }

    /// A decoder of ids that follow a text.
    pub const fn decoder(&self) -> Continuation<'_, 'f> {
        match &self.spelling {
            Spelling::Bytes(pairs) => Continuation::Bytes(pairs, bpe::Decoder::new()),
            Spelling::Pieces(model, _) => {
                Continuation::Pieces(model, sentencepiece::Decoder::within())
            }
        }
    }
}

fn byte_pairs(pairs: BytePairs<'_>) -> Spelling<'_> {
    Spelling::Bytes(Box::new(pairs))
}

fn pieces<'f>(model: Vec<u8>, offset: u64, added: Vec<u32>) -> Result<Spelling<'f>, CoreError> {
    with_added(SentencePieceModel::open(model, offset)?, added)
}

fn with_added<'f>(
    model: SentencePieceModel<Vec<u8>>,
    added: Vec<u32>,
) -> Result<Spelling<'f>, CoreError> {
    Ok(Spelling::Pieces(Box::new(model.with_added(&added)?), added))
}

/// Turns ids into text as they come.
pub enum Continuation<'t, 'f> {
    Bytes(&'t BytePairs<'f>, bpe::Decoder),
    Pieces(&'t SentencePieceModel<Vec<u8>>, sentencepiece::Decoder),
}

impl Continuation<'_, '_> {
    /// Calls `text` with what the next token adds.
    pub fn token(
        &mut self,
        id: u32,
        text: &mut dyn FnMut(&str) -> Result<(), CoreError>,
    ) -> Result<(), CoreError> {
        match self {
            Self::Bytes(pairs, decoder) => match pairs.token(id) {
                Some(token) => decoder.token(token, text),
                None => Ok(()),
            },
            Self::Pieces(model, decoder) => decoder.token(&model.tokenizer(), id, text),
        }
    }

    /// Declares the end.
    pub fn finish(
        &mut self,
        text: &mut dyn FnMut(&str) -> Result<(), CoreError>,
    ) -> Result<(), CoreError> {
        match self {
            Self::Bytes(_, decoder) => decoder.finish(text),
            Self::Pieces(_, decoder) => decoder.finish(text),
        }
    }
}

/// Whether a file is called like a SentencePiece model.
pub fn is_model(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "model")
}
