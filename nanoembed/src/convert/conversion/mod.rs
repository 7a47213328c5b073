//! A model of any form as a `.weights` or `.amb` file.
//!
//! | file | role |
//! |---|---|
//! | `form` | what the input can be, and how that is told |
//! | `weights`, `amb` | the model as the output |
//! | `out` | the output written, read back, and put in its place |
//! | `time` | when it was made |

mod amb;
mod form;
mod out;
mod time;
mod weights;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use nanoembed_core::ErrorKind;

use crate::causal::conversion::DecoderModel;
use crate::causal::gguf::GgufFile;
use crate::causal::hugging_face::DecoderSettings;
use crate::convert::amb::AmbOptions;
use crate::convert::amb::source::AmbFile;
use crate::convert::checkpoint::Checkpoint;
use crate::convert::checkpoint::hugging_face::Folder;
use crate::convert::checkpoint::tensor::OwnedTensor;
use crate::convert::checkpoint::weights::WeightsFile;
use crate::convert::text_model::folder::TextFolder;
use crate::convert::weights_file::{WeightType, Written};
use crate::error::{Error, Result};
use crate::progress::Observer;
use time::modified;

pub use form::ModelForm;

/// What a model becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelTarget {
    /// An EMBD `.weights` file.
    Weights,
    /// An `.amb` file.
    Amb,
}

/// A conversion of a model.
#[derive(Clone, Debug)]
pub struct ModelConversion {
    /// The model; `-` is stdin.
    pub input: PathBuf,
    /// The file to write; `-` is stdout.
    pub output: PathBuf,
    /// What the input is; `None` looks at it.
    pub from: Option<ModelForm>,
    /// What the output shall be.
    pub to: ModelTarget,
    /// How weights are stored.
    pub weight_type: WeightType,
    /// Elements that share a scale, in `.amb` files; `None` takes what is usual for the type.
    pub block: Option<u16>,
    /// Bits a weight, scales and mask included, of adaptive precision.
    pub bits: Option<f64>,
    /// Keep 8-bit codes so small that products can be added up in 16 bits.
    pub for_web: bool,
    /// A `config.json` with the model's sizes, for files that do not say them.
    pub config: Option<PathBuf>,
    /// Texts that weights of few bits are tuned to, one a line; `None` takes built-in ones.
    pub calibrate: Option<PathBuf>,
    /// Keep the pooler, which embeddings have no use for.
    pub pooler: bool,
    /// The model's name; `None` takes that of the folder or file.
    pub name: Option<String>,
    /// More entries of metadata, or other values.
    pub metadata: Vec<(String, String)>,
    /// When the output counts as made; `None` is when the newest file of the input was changed.
    pub created: Option<SystemTime>,
}

/// What was converted.
#[derive(Debug)]
pub struct Converted {
    /// Tensors of the input that the model does not need.
    pub left_out: Vec<String>,
    /// What was written.
    pub written: Written,
}

impl ModelConversion {
    /// A conversion with everything as usual.
    pub fn new(input: impl Into<PathBuf>, output: impl Into<PathBuf>, to: ModelTarget) -> Self {
        Self {
            input: input.into(),
            output: output.into(),
            from: None,
            to,
            weight_type: WeightType::F32,
            block: None,
            bits: None,
            for_web: false,
            config: None,
            calibrate: None,
            pooler: false,
            name: None,
            metadata: Vec::new(),
            created: None,
        }
    }

    const fn amb_options(&self) -> AmbOptions {
        AmbOptions { weight_type: self.weight_type, block: self.block, bits: self.bits }
    }

    /// Refuses types that the output does not hold.
    fn check(&self) -> Result<()> {
        if self.to == ModelTarget::Amb {
            return self.amb_options().check();
        }
        if !self.weight_type.is_of_weights() {
            let name = self.weight_type.name();
            return Err(Error::usage(format!("`.weights` files have no type {name}"))
                .with_hint("give OUT the ending `.amb`"));
        }
        Ok(())
    }

    /// Converts the model.
    pub fn run(&self, observer: &dyn Observer) -> Result<Converted> {
        self.check()?;
        let config = self.config.as_deref();
        match self.from.unwrap_or_else(|| ModelForm::of(&self.input)) {
            ModelForm::HuggingFace => {
                let folder = Folder::open(&self.input)?;
                let name = self.name.clone().or_else(|| folder.model_name());
                if let Some(decoder) = DecoderSettings::of(folder.path(), config)? {
                    let tokenizer = decoder.tokenizer()?;
                    let config = decoder.config(&tokenizer)?;
                    let model = DecoderModel {
                        tensors: decoder.tensors(&folder)?,
                        config,
                        tokenizer,
                        metadata: vec![("family".to_owned(), "llama".to_owned())],
                        modified: folder.modified(),
                    };
                    return self.convert_decoder(model, name, observer);
                }
                if let (Some(text), None) = (TextFolder::open(&self.input)?, config) {
                    return self.convert_text_model(&text, name, observer);
                }
                self.convert_encoder(
                    &folder.checkpoint(config, self.pooler)?,
                    (name, None),
                    observer,
                )
            }
            ModelForm::Amb => {
                let file = AmbFile::open(&self.input)?;
                let (named, version) = file.name_and_version();
                let name = self.name.clone().or(named).or_else(|| stem(&self.input));
                self.convert_encoder(&file.checkpoint()?, (name, version), observer)
            }
            ModelForm::Gguf => {
                let file = GgufFile::open(&self.input)?;
                let name = self.name.clone().or_else(|| file.model_name());
                let tensors = file.tensors()?;
                let tokenizer = file.tokenizer()?;
                let model = DecoderModel {
                    tensors: tensors.iter().map(OwnedTensor::borrow).collect(),
                    config: file.config(&tokenizer)?,
                    tokenizer,
                    metadata: file.metadata(),
                    modified: modified(&self.input),
                };
                self.convert_decoder(model, name, observer)
            }
            ModelForm::Weights => {
                let file = WeightsFile::open(&self.input)?;
                let (named, version) = file.name_and_version();
                let name = self.name.clone().or(named).or_else(|| stem(&self.input));
                let checkpoint = file.checkpoint(config, self.pooler);
                let untold = self.from.is_none() && self.input == Path::new("-");
                let checkpoint = checkpoint.map_err(|failure| match untold {
                    true => failure.with_hint(
                        "stdin is taken for a `.weights` file unless `--from` says what it is",
                    ),
                    false => failure,
                })?;
                self.convert_encoder(&checkpoint, (name, version), observer)
            }
        }
    }

    fn convert_encoder(
        &self,
        checkpoint: &Checkpoint<'_>,
        name_and_version: (Option<String>, Option<String>),
        observer: &dyn Observer,
    ) -> Result<Converted> {
        check_vocabulary(checkpoint, observer)?;
        let written = match self.to {
            ModelTarget::Amb => self.encoder_to_amb(checkpoint, name_and_version, observer)?,
            ModelTarget::Weights => {
                self.encoder_to_weights(checkpoint, name_and_version, observer)?
            }
        };
        Ok(Converted { left_out: checkpoint.left_out.clone(), written })
    }

    fn convert_text_model(
        &self,
        folder: &TextFolder,
        name: Option<String>,
        observer: &dyn Observer,
    ) -> Result<Converted> {
        let checkpoint = folder.checkpoint()?;
        let written = match self.to {
            ModelTarget::Amb => self.text_model_to_amb(folder, &checkpoint, name, observer)?,
            ModelTarget::Weights => {
                self.text_model_to_weights(folder, &checkpoint, name, observer)?
            }
        };
        Ok(Converted { left_out: checkpoint.left_out, written })
    }

    fn convert_decoder(
        &self,
        model: DecoderModel<'_>,
        name: Option<String>,
        observer: &dyn Observer,
    ) -> Result<Converted> {
        let written = match self.to {
            ModelTarget::Amb => self.decoder_to_amb(model, name, observer)?,
            ModelTarget::Weights => self.decoder_to_weights(&model, name, observer)?,
        };
        Ok(Converted { left_out: Vec::new(), written })
    }
}

fn stem(path: &Path) -> Option<String> {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned())
}

/// A vocabulary must fit the table of word vectors; ids beyond the tokens are harmless.
fn check_vocabulary(checkpoint: &Checkpoint<'_>, observer: &dyn Observer) -> Result<()> {
    let Some(vocabulary) = &checkpoint.vocabulary else {
        observer.warn("the model has no vocabulary: the file can embed token ids but no text");
        return Ok(());
    };
    let (tokens, rows) = (vocabulary.tokens.len(), checkpoint.settings.vocabulary);
    if tokens > rows {
        return Err(Error::input(
            ErrorKind::BadVocabulary,
            format!("the vocabulary has {tokens} tokens, but there are only {rows} word vectors"),
        )
        .at(&checkpoint.name));
    }
    Ok(())
}
