//! An `.amb` file of an encoder as a source for conversion: its tensors dequantised.

use std::path::{Path, PathBuf};

use nanoembed_core::describe::BertConfig;
use nanoembed_core::event::{Mode, SpecialRole};
use nanoembed_core::format::amb::{Amb, AmbTokenizerKind, CHECKSUM};
use nanoembed_core::model::requantize::COLUMN_SCALES;
use nanoembed_core::owned::ADDED_TOKENS;
use nanoembed_core::quant::dequantize_weight;
use nanoembed_core::source::{ModelSource, amb_config_value};
use nanoembed_core::tensor::{Encoding, Weight};
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use crate::checkpoint::settings::Settings;
use crate::checkpoint::tensor::{OwnedTensor, le_bytes, sizes};
use crate::checkpoint::vocabulary::{self, WordPieceVocabulary};
use crate::checkpoint::weights::{decoder_is_final, text_model_is_final};
use crate::checkpoint::{Checkpoint, tensor_names};
use crate::error::{Error, Result, name_of};
use crate::files::mapped_file::MappedFile;
use crate::folder::prompts::Prompts;
use crate::hashed;

/// An open file and the tensors of its encoder, as f32 in bytes.
pub struct AmbFile {
    path: PathBuf,
    bytes: MappedFile,
    tensors: Vec<OwnedTensor>,
    left_out: Vec<String>,
    config: BertConfig,
}

impl AmbFile {
    pub fn open(path: &Path) -> Result<Self> {
        let bytes = MappedFile::open(path)?;
        let failed = |error| Error::in_file(name_of(path), error);
        let amb = Amb::parse(&bytes, Mode::Lenient).map_err(failed)?;
        if ModelSource::Amb(amb).is_causal() {
            return Err(decoder_is_final(path, ".amb"));
        }
        if ModelSource::Amb(amb).has_folder_texts() {
            return Err(text_model_is_final(path, ".amb"));
        }
        let config =
            ModelSource::Amb(amb).encoder_config().map_err(|error| {
                match ModelSource::Amb(amb).encoder_key_at_fault() {
                    Some(key) => failed(error).at(format_args!("`{key}`")),
                    None => failed(error),
                }
            })?;
        let names = tensor_names(config.layers, false).map_err(failed)?;
        let mut tensors = Vec::new();
        for name in &names {
            let view = amb.tensor(name).ok_or_else(|| {
                let message = format!("there is no tensor `{name}`");
                Error::input(ErrorKind::MissingTensor, message).at(name_of(path))
            })?;
            let header = view.header();
            let fail = |kind| failed(CoreError::new(header.offset, kind));
            let encoding = Encoding::Plain { dtype: header.dtype, data: view.data() };
            let weight = Weight::new(header.shape, encoding).map_err(fail)?;
            let shape = sizes(&header.shape).map_err(fail)?;
            let mut values = limit::filled(shape.iter().product(), 0.0_f32)
                .map_err(|error| fail(error.kind()))?;
            dequantize_weight(&weight, 0, &mut values).map_err(failed)?;
            let bytes = le_bytes(&values).map_err(|error| fail(error.kind()))?;
            let name = limit::copied(name).map_err(failed)?;
            limit::push(&mut tensors, OwnedTensor { name, shape, data: bytes }).map_err(failed)?;
        }
        let others = amb.tensors().map(|tensor| tensor.header().name);
        // The checksum is of the file, not of the model, and the scales of columns follow from it.
        let used = hashed::set(names.iter().map(String::as_str)).map_err(failed)?;
        let is_used = |name: &&str| used.contains(name) || [CHECKSUM, COLUMN_SCALES].contains(name);
        let left_out = others.filter(|name| !is_used(name)).map(limit::copied);
        let left_out = limit::gathered(left_out).map_err(failed)?;
        Ok(Self { path: path.to_owned(), tensors, left_out, config, bytes })
    }

    /// `name` and `version` of the metadata.
    pub fn name_and_version(&self) -> (Option<String>, Option<String>) {
        let amb = Amb::parse(&self.bytes, Mode::Lenient).ok();
        let value = |key| {
            let token = amb?.metadata_value(key).ok().flatten()?;
            Some(nanoembed_core::text::json::chars(token.spelling).collect())
        };
        (value("name"), value("version"))
    }

    pub fn checkpoint(&self) -> Result<Checkpoint<'_>> {
        let amb = Amb::parse(&self.bytes, Mode::Lenient)
            .map_err(|error| Error::in_file(name_of(&self.path), error))?;
        let failed = |error| Error::in_file(name_of(&self.path), error);
        Ok(Checkpoint {
            name: name_of(&self.path),
            settings: self.settings(&amb)?,
            vocabulary: vocabulary(&amb)
                .map_err(failed)?
                .map(|it| it.with_added(amb_config_value(&amb, ADDED_TOKENS)))
                .transpose()?,
            tensors: limit::gathered(self.tensors.iter().map(OwnedTensor::borrow))
                .map_err(failed)?,
            left_out: limit::gathered(self.left_out.iter().map(|name| limit::copied(name)))
                .map_err(failed)?,
            modified: self.path.metadata().ok().and_then(|metadata| metadata.modified().ok()),
        })
    }

    fn settings(&self, amb: &Amb<'_>) -> Result<Settings> {
        let license = amb.metadata_value("license").ok().flatten();
        let prompts = Prompts::from_source(&ModelSource::Amb(*amb));
        let prompts = prompts.map_err(|error| Error::in_file(name_of(&self.path), error))?;
        Ok(Settings {
            layer_norm_eps: amb_config_value(amb, "layer_norm_eps")
                .and_then(|text| text.parse().ok())
                .unwrap_or(1e-12),
            license: license.map(|token| token.spelling.to_owned()),
            ..Settings::from_bert(&self.config, prompts)
        })
    }
}

fn vocabulary(amb: &Amb<'_>) -> Result<Option<WordPieceVocabulary>, CoreError> {
    let tokenizer = amb.tokenizer().filter(|it| it.kind() == AmbTokenizerKind::WordPiece);
    let Some(tokenizer) = tokenizer else { return Ok(None) };
    let mut special = [0; 5];
    for (id, role) in special.iter_mut().zip(SpecialRole::ALL) {
        let Some(of_role) = tokenizer.special(role) else { return Ok(None) };
        *id = of_role;
    }
    let tokens = vocabulary::tokens(tokenizer.tokens())?;
    Ok(Some(WordPieceVocabulary { tokens, special, added: Vec::new() }))
}
