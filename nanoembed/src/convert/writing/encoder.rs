//! A BERT encoder as GGUF: keys, names and types as llama.cpp's `convert_hf_to_gguf.py` writes
//! them.
//!
//! Settings without a key in llama.cpp stand under `nanoembed.` and the key that `.weights` files
//! have.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nanoembed_core::describe::gguf::{GgufArchitecture, Key, gguf_bert_tensor, gguf_pooling_type};
use nanoembed_core::event::{Format, Mode};
use nanoembed_core::format::amb::Amb;
use nanoembed_core::format::embd::Embd;
use nanoembed_core::model::PoolingMode;
use nanoembed_core::source::{ModelSource, embd_is_decoder};
use nanoembed_core::token::sentencepiece::PieceKind;
use nanoembed_core::{Error as CoreError, ErrorKind, limit};
use serde_json::Value;

use super::metadata::{Metadata, OwnValue};
use super::{Job, Writing};
use crate::checkpoint::settings::Settings;
use crate::checkpoint::tensor_names;
use crate::checkpoint::vocabulary::WordPieceVocabulary;
use crate::checkpoint::weights::{Beside, WeightsFile};
use crate::checkpoint::wordpiece::FolderTokenizer;
use crate::convert::amb::source::AmbFile;
use crate::convert::targets::Item;
use crate::error::{Error, Result, name_of};
use crate::files::mapped_file::MappedFile;
use crate::folder::json_file::read_json;
use crate::folder::texts::Allowed;
use crate::hashed;
use crate::layer_names::tensorflow::present_name;

/// An encoder on its way into a GGUF file.
pub(super) struct Encoder {
    settings: Settings,
    vocabulary: WordPieceVocabulary,
    name: String,
}

/// The keys of the special tokens, in the order of their roles.
const SPECIAL_KEYS: [Key; 5] =
    [Key::PaddingId, Key::UnknownId, Key::ClassifyId, Key::SeparatorId, Key::MaskId];

impl Encoder {
    /// The encoder that the job is about; `None` if it is about another model.
    pub(super) fn from_job(writing: &Writing, job: &Job<'_, '_>) -> Result<Option<Self>> {
        let config = writing.config.as_deref();
        let Some(input) = job.inputs.first() else { return Ok(None) };
        let found = match job.from {
            Format::Embd => Self::from_weights(input, config)?,
            Format::Amb => Self::from_amb(input)?,
            Format::Safetensors | Format::Uqff => {
                Self::from_folder(&job.folder, config, &writing.allowed)?
            }
            _ => None,
        };
        let Some((settings, vocabulary, name)) = found else { return Ok(None) };
        let vocabulary = vocabulary.ok_or_else(|| {
            let message = "the model has no vocabulary, and GGUF files of encoders need one";
            Error::input(ErrorKind::MissingVocabulary, message).at(&job.source)
        })?;
        if let Some(word) = vocabulary.added.first() {
            let message = format!(
                "the token {:?} was added to the vocabulary, which is not written to GGUF",
                word.spelling
            );
            return Err(Error::input(ErrorKind::UnsupportedSetting, message).at(name_of(input)));
        }
        if vocabulary.tokens.len() != settings.vocabulary {
            let (tokens, rows) = (vocabulary.tokens.len(), settings.vocabulary);
            let message = format!(
                "the vocabulary has {tokens} tokens and the model {rows} word vectors: GGUF wants one for each"
            );
            return Err(Error::input(ErrorKind::BadVocabulary, message).at(&job.source));
        }
        Ok(Some(Self { settings, vocabulary, name }))
    }

    fn from_weights(path: &Path, config: Option<&Path>) -> Result<Option<Facts>> {
        let bytes = MappedFile::open(path)?;
        let refuse = |error| Error::in_file(name_of(path), error);
        let file = Embd::parse(&bytes, Mode::Lenient).map_err(refuse)?;
        if embd_is_decoder(&file) {
            return Ok(None);
        }
        let weights = WeightsFile::open(path)?;
        let checkpoint = weights.checkpoint(Beside { config, ..Beside::default() }, false)?;
        if checkpoint.tensors.iter().any(|tensor| tensor.transposed) {
            return Err(refuse(CoreError::new(0, ErrorKind::TransposedWeights)));
        }
        let (name, _) = weights.name_and_version();
        Ok(Some((checkpoint.settings, checkpoint.vocabulary, name.unwrap_or_else(|| stem(path)))))
    }

    fn from_amb(path: &Path) -> Result<Option<Facts>> {
        let bytes = MappedFile::open(path)?;
        let file = Amb::parse(&bytes, Mode::Lenient)
            .map_err(|error| Error::in_file(name_of(path), error))?;
        if ModelSource::Amb(file).is_causal() {
            return Ok(None);
        }
        let amb = AmbFile::open(path)?;
        let checkpoint = amb.checkpoint()?;
        let (name, _) = amb.name_and_version();
        Ok(Some((checkpoint.settings, checkpoint.vocabulary, name.unwrap_or_else(|| stem(path)))))
    }

    /// From the JSON files of a folder, or of the folder of the `config.json` that the user names.
    fn from_folder(
        folder: &Path,
        config: Option<&Path>,
        allowed: &Arc<Allowed>,
    ) -> Result<Option<Facts>> {
        let folder = match config {
            Some(config) => config.parent().unwrap_or(Path::new("")),
            None => folder,
        };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let config = config.map_or_else(|| folder.join("config.json"), Path::to_owned);
        if model_type(&config)?.as_deref() != Some("bert") {
            return Ok(None);
        }
        let tokenizer = FolderTokenizer::read(folder, allowed)?;
        let settings = Settings::from_folder(folder, Some(&config), &tokenizer, allowed)?;
        let vocabulary = tokenizer.vocabulary;
        let whole: Option<PathBuf> = folder.canonicalize().ok();
        let name = whole.as_deref().map(stem).unwrap_or_default();
        Ok(Some((settings, Some(vocabulary), name)))
    }

    /// The items under GGUF's names; those that an encoder does not need are left out, and named.
    pub(super) fn renamed<'a>(
        &self,
        items: Vec<Item<'a>>,
        source: &str,
    ) -> Result<(Vec<Item<'a>>, Vec<String>)> {
        let failed = |error| Error::in_file(source, error);
        let prefix = items.iter().find_map(|item| item.name.strip_suffix(WORDS));
        let prefix = limit::copied(prefix.unwrap_or_default()).map_err(failed)?;
        let names = tensor_names(self.settings.layers, false).map_err(failed)?;
        // True for those that are there.
        let wanted = hashed::map(names.into_iter().map(|name| (name, false)));
        let mut wanted = wanted.map_err(failed)?;
        let (mut renamed, mut left_out) = (Vec::new(), Vec::new());
        for mut item in items {
            let own = item.name.strip_prefix(&prefix).unwrap_or(&item.name);
            let own = present_name(own).map_err(failed)?;
            let in_gguf = gguf_bert_tensor(&own, |name| Some(limit::copied(name)));
            let added = match in_gguf.zip(wanted.get_mut(&own)) {
                Some((name, is_there)) => {
                    *is_there = true;
                    item.name = name.map_err(failed)?;
                    limit::push(&mut renamed, item)
                }
                None => limit::push(&mut left_out, item.name),
            };
            added.map_err(failed)?;
        }
        match wanted.iter().filter_map(|(name, is_there)| (!is_there).then_some(name)).min() {
            None => Ok((renamed, left_out)),
            Some(name) => {
                let message = format!("there is no tensor `{name}`");
                Err(Error::input(ErrorKind::MissingTensor, message).at(source))
            }
        }
    }

    /// True if llama.cpp expects a tensor in f32: it adds these to others as they are.
    pub(super) fn is_float(name: &str) -> bool {
        ["position_embd.weight", "token_types.weight"].contains(&name)
    }

    /// The metadata of the model, which has so many types of tokens, and of its tokenizer.
    pub(super) fn metadata(&self, source: &str, token_types: u64) -> Result<Metadata> {
        let settings = &self.settings;
        let mut metadata = Metadata::new(GgufArchitecture::Bert);
        metadata.text(Key::Type, "model");
        metadata.text(Key::Name, &self.name);
        if let Some(license) = &settings.license {
            metadata.text(Key::License, license);
        }
        for (key, size) in [
            (Key::BlockCount, settings.layers),
            (Key::ContextLength, settings.positions),
            (Key::EmbeddingLength, settings.hidden),
            (Key::FeedForwardLength, settings.intermediate),
            (Key::HeadCount, settings.heads),
        ] {
            metadata.size(key, size)?;
        }
        metadata.add(Key::LayerNormEpsilon, OwnValue::F32(settings.layer_norm_eps));
        metadata.add(Key::Causal, OwnValue::Bool(false));
        let pooling =
            if settings.pooling == "cls" { PoolingMode::First } else { PoolingMode::Mean };
        metadata.add(Key::PoolingType, OwnValue::U32(gguf_pooling_type(pooling).unwrap_or(0)));
        let failed = |error| Error::in_file(source, error);
        self.own_settings(&mut metadata).map_err(failed)?;
        let token_types = u32::try_from(token_types).unwrap_or(u32::MAX);
        metadata.add(Key::TokenTypeCount, OwnValue::U32(token_types));
        self.tokenizer(&mut metadata).map_err(failed)?;
        Ok(metadata)
    }

    /// Adds settings that GGUF has no key for, where they differ from llama.cpp's behaviour.
    fn own_settings(&self, metadata: &mut Metadata) -> Result<(), CoreError> {
        let settings = &self.settings;
        let usual = |key: &str, value: &str| match key {
            "max_tokens" => settings.max_tokens == settings.positions,
            "normalize" | "split_ideographs" => value == "true",
            "embedding_dim" | "vocab_size" | "num_layers" | "num_attention_heads" => true,
            "hidden_size" | "intermediate_size" | "max_position_emb" | "layer_norm_eps" => true,
            "pooling" | "do_lower_case" | "license" => true,
            _ => false,
        };
        for (key, value) in settings.own_metadata()? {
            if !usual(&key, &value) {
                metadata.further(format_args!("nanoembed.{key}"), &value);
            }
        }
        // What changes no embedding.
        for (key, value) in &settings.further {
            metadata.further(format_args!("nanoembed.metadata.{key}"), value);
        }
        Ok(())
    }

    fn tokenizer(&self, metadata: &mut Metadata) -> Result<(), CoreError> {
        let WordPieceVocabulary { tokens, special, .. } = &self.vocabulary;
        metadata.text(Key::TokenizerModel, "bert");
        metadata.text(Key::TokenizerPre, "default");
        let mut spelled = limit::reserved(tokens.len())?;
        let mut kinds = limit::reserved(tokens.len())?;
        for (id, token) in (0_u32..).zip(tokens) {
            let made_up;
            let (before, token, kind) = match token.strip_prefix(b"##") {
                _ if special.contains(&id) => ("", &**token, PieceKind::Control),
                // Tokens must differ from each other.
                _ if token.is_empty() => {
                    made_up = limit::formatted(format_args!("[no token {id}]"))?;
                    ("", made_up.as_bytes(), PieceKind::Unused)
                }
                Some(rest) if !rest.is_empty() => ("", rest, PieceKind::Normal),
                _ => (PHANTOM, &**token, PieceKind::Normal),
            };
            spelled.push(limit::joined_bytes(&[before.as_bytes(), token])?);
            kinds.push(kind);
        }
        metadata.add(Key::Tokens, OwnValue::Texts(spelled));
        metadata.add(Key::TokenTypes, OwnValue::token_types(&kinds)?);
        let [_, _, classify, separate, _] = *special;
        // llama.cpp begins and ends texts with what it calls BOS and the separator.
        metadata.id(Key::BeginId, Some(classify));
        metadata.id(Key::EndId, Some(separate));
        for (key, id) in SPECIAL_KEYS.into_iter().zip(special) {
            metadata.id(key, Some(*id));
        }
        let lower = self.settings.do_lower_case;
        metadata.add(Key::LowerCase, OwnValue::Bool(lower));
        Ok(())
    }
}

/// Settings, vocabulary, name.
type Facts = (Settings, Option<WordPieceVocabulary>, String);

/// The name of the table of token embeddings.
const WORDS: &str = "embeddings.word_embeddings.weight";

/// The character that GGUF puts before tokens that begin a word.
const PHANTOM: &str = "\u{2581}";

/// The `model_type` of a `config.json`, if there is one.
pub(super) fn model_type(config: &Path) -> Result<Option<String>> {
    let config = read_json(config)?;
    let kind = config.as_ref().and_then(|config| config.get("model_type")).and_then(Value::as_str);
    Ok(kind.map(str::to_owned))
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}
