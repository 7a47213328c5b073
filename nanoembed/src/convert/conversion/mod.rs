//! A model of any form as a `.weights`, `.amb` or GGUF file.
//!
//! | file | role |
//! |---|---|
//! | `options` | options of a conversion |
//! | `form` | forms of the input, and how they are told |
//! | `weights`, `amb` | the model as the output |
//! | `out` | the output written, read back, and put in its place |
//! | `time` | when it was made |

mod amb;
mod form;
mod options;
mod out;
mod time;
mod weights;

use std::path::Path;
use std::sync::Arc;

use nanoembed_core::owned::AddedWord;
use nanoembed_core::owned::folder::{ADAPTER, Modules};
use nanoembed_core::{ErrorKind, limit};

use crate::causal::gguf::GgufFile;
use crate::causal::hugging_face::DecoderSettings;
use crate::checkpoint::Checkpoint;
use crate::checkpoint::gguf::GgufEncoderFile;
use crate::checkpoint::hugging_face::Folder;
use crate::checkpoint::tensor::OwnedTensor;
use crate::checkpoint::weights::{Beside, WeightsFile};
use crate::convert::amb::source::AmbFile;
use crate::convert::decoder_model::DecoderModel;
use crate::convert::migration::Migration;
use crate::convert::text_model::checkpoint::TextModel;
use crate::convert::text_model::folder;
use crate::convert::weights_file::{Tally, WrittenModel};
use crate::convert::writing::{Target, Writing, WrittenFile};
use crate::error::{Error, Result, name_of, passed_over};
use crate::folder::texts::{Allowed, FolderTexts};
use crate::open::folder::files::EncoderFolder;
use crate::progress::Observer;
use crate::role::Role;
use time::modified;

pub use form::{ModelForm, ModelTarget};
pub use options::Conversion;

/// The outcome of a conversion.
#[derive(Debug)]
#[non_exhaustive]
pub struct Converted {
    /// Tensors of the input that the model does not need.
    pub left_out: Vec<String>,
    /// The files that were written, and their sizes in bytes.
    pub files: Vec<WrittenFile>,
    /// The loss of storing the weights; empty where they stay as they are.
    pub tally: Tally,
}

impl Conversion {
    /// Converts the model.
    ///
    /// # Errors
    ///
    /// Fails if the input is invalid, an option means nothing for this conversion, or the output
    /// cannot be written.
    pub fn run(&self, observer: &dyn Observer) -> Result<Converted> {
        let allowed = Arc::new(Allowed::new(&self.unknown));
        let converted = self.run_allowing(&allowed, observer)?;
        allowed.each_warning(|warning| observer.warn(warning));
        Ok(converted)
    }

    /// Refuses a role for a model that has no modules of its own for such texts.
    fn check_role(&self, from: ModelForm, to: ModelTarget) -> Result<()> {
        if self.role == Role::Text {
            return Ok(());
        }
        let folder = match from {
            ModelForm::HuggingFace => EncoderFolder::texts_of(&self.input)?,
            _ => None,
        };
        let has_route = match folder {
            Some(texts) => texts.for_role(self.role).route()?.is_some(),
            None => false,
        };
        match (has_route, to) {
            (false, _) => Err(Error::argument("as", "is for folders of models with a Router")),
            (_, ModelTarget::Gguf) => {
                Err(Error::argument("as", "is for `.weights` and `.amb` files"))
            }
            _ => Ok(()),
        }
    }

    fn run_allowing(&self, allowed: &Arc<Allowed>, observer: &dyn Observer) -> Result<Converted> {
        let (from, to) = (self.form(), self.target()?);
        self.check_options(from, to)?;
        self.check_role(from, to)?;
        if to == ModelTarget::Gguf {
            let writing = Writing { allowed: Arc::clone(allowed), ..Writing::default() };
            let writing = writing.to(Target::Gguf).config(self.config.clone());
            let files = Migration::new([&self.input], &self.output).writing(writing);
            let (left_out, tally) = (Vec::new(), Tally::default());
            return Ok(Converted { left_out, files: files.run(observer)?, tally });
        }
        let config = self.config.as_deref();
        match from {
            ModelForm::HuggingFace => {
                // Of models in a folder of their own, only those of texts are known, and only into
                // their weights adapters are merged.
                let texts = FolderTexts::new(&self.input).for_role(self.role);
                let first = || passed_over(texts.read(|texts| Modules::first_folder(texts)));
                let has_adapter = || {
                    let decoder = || DecoderSettings::allowing(&self.input, config, allowed);
                    Ok(self.input.join(ADAPTER).exists() && decoder()?.is_none())
                };
                let is_deeper = || {
                    let is_deeper = || first().map(|first| first.is_some_and(|it| !it.is_empty()));
                    Ok(self.input.is_dir() && (has_adapter()? || is_deeper()?))
                };
                if self.adapter.is_some() || (config.is_none() && is_deeper()?) {
                    let adapter = self.adapter.as_deref();
                    let folder = EncoderFolder::open_for(&self.input, adapter, self.role, allowed)?;
                    let name = self.name.clone().or_else(|| folder_name(&self.input));
                    let text = TextModel::from_folder(&folder)?;
                    allowed.check()?;
                    return self.convert_text_model(&text, name, observer);
                }
                let folder = Folder::open(&self.input)?;
                let name = self.name.clone().or_else(|| folder.model_name());
                if let Some(decoder) = DecoderSettings::allowing(folder.path(), config, allowed)? {
                    let tokenizer = decoder.tokenizer()?.within();
                    let config = decoder.config(&tokenizer)?;
                    let model = DecoderModel {
                        tensors: decoder.tensors(&folder)?,
                        config,
                        tokenizer,
                        metadata: vec![("family".to_owned(), "llama".to_owned())],
                        modified: folder.modified(),
                    };
                    allowed.check()?;
                    return self.convert_decoder(model, name, observer);
                }
                if let (Some(folder), None) =
                    (folder::open(&self.input, self.role, allowed)?, config)
                {
                    let text = TextModel::from_folder(&folder)?;
                    allowed.check()?;
                    return self.convert_text_model(&text, name, observer);
                }
                let checkpoint = folder.checkpoint(config, self.pooler, allowed)?;
                allowed.check()?;
                self.convert_encoder(&checkpoint, (name, None), observer)
            }
            ModelForm::Amb => {
                let file = AmbFile::open(&self.input)?;
                let (named, version) = file.name_and_version();
                let name = self.name.clone().or(named).or_else(|| stem(&self.input));
                self.convert_encoder(&file.checkpoint()?, (name, version), observer)
            }
            ModelForm::Gguf => {
                if let Some(encoder) = GgufEncoderFile::open(&self.input)? {
                    let name = self.name.clone().or(encoder.model_name()?);
                    let name = name.or_else(|| stem(&self.input));
                    if let Some(text) = TextModel::from_gguf(&encoder)? {
                        return self.convert_text_model(&text, name, observer);
                    }
                    let tensors = encoder.bert_tensors()?;
                    return self.convert_encoder(&encoder.bert(&tensors)?, (name, None), observer);
                }
                let file = GgufFile::open(&self.input)?;
                let name = self.name.clone().or(file.model_name()?);
                let tensors = file.tensors()?;
                let tokenizer = file.tokenizer()?;
                let borrowed = limit::gathered(tensors.iter().map(OwnedTensor::borrow));
                let model = DecoderModel {
                    tensors: borrowed
                        .map_err(|error| Error::in_file(name_of(&self.input), error))?,
                    config: file.config(&tokenizer)?,
                    tokenizer,
                    metadata: file.metadata()?,
                    modified: modified(&self.input),
                };
                self.convert_decoder(model, name, observer)
            }
            ModelForm::Weights => {
                let file = WeightsFile::open(&self.input)?;
                let (named, version) = file.name_and_version();
                let name = self.name.clone().or(named).or_else(|| stem(&self.input));
                let beside = Beside { config, vocabulary: self.vocab.as_deref() };
                let checkpoint = file.checkpoint(beside, self.pooler);
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
        let written = match self.is_to_amb() {
            true => self.encoder_to_amb(checkpoint, name_and_version, observer)?,
            false => self.encoder_to_weights(checkpoint, name_and_version, observer)?,
        };
        Ok(self.converted(checkpoint.left_out.clone(), written))
    }

    fn convert_text_model(
        &self,
        model: &TextModel<'_>,
        name: Option<String>,
        observer: &dyn Observer,
    ) -> Result<Converted> {
        let checkpoint = model.checkpoint()?;
        let written = match self.is_to_amb() {
            true => self.text_model_to_amb(model, &checkpoint, name, observer)?,
            false => self.text_model_to_weights(model, &checkpoint, name, observer)?,
        };
        Ok(self.converted(checkpoint.left_out, written))
    }

    fn convert_decoder(
        &self,
        model: DecoderModel<'_>,
        name: Option<String>,
        observer: &dyn Observer,
    ) -> Result<Converted> {
        let written = match self.is_to_amb() {
            true => self.decoder_to_amb(model, name, observer)?,
            false => self.decoder_to_weights(&model, name, observer)?,
        };
        Ok(self.converted(Vec::new(), written))
    }

    fn converted(&self, left_out: Vec<String>, written: WrittenModel) -> Converted {
        let WrittenModel { file_bytes: bytes, tally } = written;
        let files = vec![WrittenFile { path: self.output.clone(), bytes }];
        Converted { left_out, files, tally }
    }
}

/// The folder's name, as a name for the model in it.
fn folder_name(folder: &Path) -> Option<String> {
    Some(folder.canonicalize().ok()?.file_name()?.to_string_lossy().into_owned())
}

fn stem(path: &Path) -> Option<String> {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned())
}

/// Vocabulary and added tokens must fit the table of word vectors; ids beyond the tokens are
/// harmless.
fn check_vocabulary(checkpoint: &Checkpoint<'_>, observer: &dyn Observer) -> Result<()> {
    let Some(vocabulary) = &checkpoint.vocabulary else {
        observer.warn("the model has no vocabulary: the file can embed token ids but no text; `--vocab FILE` adds one");
        return Ok(());
    };
    let (tokens, rows) = (vocabulary.tokens.len(), checkpoint.settings.vocabulary);
    let bad = |message| Error::input(ErrorKind::BadVocabulary, message).at(&checkpoint.name);
    if tokens > rows {
        return Err(bad(format!(
            "the vocabulary has {tokens} tokens, but there are only {rows} word vectors"
        )));
    }
    let has_row = |id: u32| usize::try_from(id).is_ok_and(|id| id < rows);
    match vocabulary.added.iter().find(|word| !has_row(word.id)) {
        Some(AddedWord { spelling, id, .. }) => Err(bad(format!(
            "the added token {spelling:?} has the id {id}, but there are only {rows} word vectors"
        ))
        .with_hint("take the token from `added_tokens`, or resize the model's word embeddings")),
        None => Ok(()),
    }
}
