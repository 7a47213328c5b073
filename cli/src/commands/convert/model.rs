//! IN as a model: an encoder or a decoder, in any form.

use std::path::Path;

use nanoembed_core::ErrorKind;

use super::Convert;
use super::forms::{From, To};
use super::time::modified;
use crate::amb::source::AmbFile;
use crate::checkpoint::Checkpoint;
use crate::checkpoint::hugging_face::Folder;
use crate::checkpoint::tensor::OwnedTensor;
use crate::checkpoint::weights::WeightsFile;
use crate::decoder::conversion::DecoderModel;
use crate::decoder::gguf::GgufFile;
use crate::decoder::hugging_face::DecoderSettings;
use crate::error::{Failure, Result, warn};

impl Convert {
    /// Converts the model in IN.
    pub(super) fn convert_model(&self, quiet: bool) -> Result<()> {
        let config = self.config.as_deref();
        match self.model_form() {
            From::HuggingFace => {
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
                    return self.convert_decoder(model, name, quiet);
                }
                self.convert_encoder(&folder.checkpoint(config, self.pooler)?, (name, None), quiet)
            }
            From::Amb => {
                let file = AmbFile::open(&self.input)?;
                let (named, version) = file.name_and_version();
                let name = self.name.clone().or(named).or_else(|| stem(&self.input));
                self.convert_encoder(&file.checkpoint()?, (name, version), quiet)
            }
            From::Gguf => {
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
                self.convert_decoder(model, name, quiet)
            }
            _ => {
                let file = WeightsFile::open(&self.input)?;
                let (named, version) = file.name_and_version();
                let name = self.name.clone().or(named).or_else(|| stem(&self.input));
                let checkpoint = file.checkpoint(config, self.pooler);
                let untold = self.from.is_none() && self.input == Path::new("-");
                let checkpoint = checkpoint.map_err(|failure| match untold {
                    true => failure.hint(
                        "stdin is taken for a `.weights` file unless `--from` says what it is",
                    ),
                    false => failure,
                })?;
                self.convert_encoder(&checkpoint, (name, version), quiet)
            }
        }
    }

    fn convert_encoder(
        &self,
        checkpoint: &Checkpoint<'_>,
        name_and_version: (Option<String>, Option<String>),
        quiet: bool,
    ) -> Result<()> {
        check_vocabulary(checkpoint, quiet)?;
        let written = match self.to()? {
            To::Amb => self.encoder_to_amb(checkpoint, name_and_version, quiet)?,
            _ => self.encoder_to_weights(checkpoint, name_and_version, quiet)?,
        };
        self.report(&checkpoint.left_out, &written, quiet)
    }

    fn convert_decoder(
        &self,
        model: DecoderModel<'_>,
        name: Option<String>,
        quiet: bool,
    ) -> Result<()> {
        let written = match self.to()? {
            To::Amb => self.decoder_to_amb(model, name, quiet)?,
            _ => self.decoder_to_weights(&model, name, quiet)?,
        };
        self.report(&[], &written, quiet)
    }
}

fn stem(path: &Path) -> Option<String> {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned())
}

/// A vocabulary must fit the table of word vectors; ids beyond the tokens are harmless.
fn check_vocabulary(checkpoint: &Checkpoint<'_>, quiet: bool) -> Result<()> {
    let Some(vocabulary) = &checkpoint.vocabulary else {
        if !quiet {
            warn("the model has no vocabulary: the file can embed token ids but no text");
        }
        return Ok(());
    };
    let (tokens, rows) = (vocabulary.tokens.len(), checkpoint.settings.vocabulary);
    if tokens > rows {
        return Err(Failure::input(
            ErrorKind::BadVocabulary,
            format!("the vocabulary has {tokens} tokens, but there are only {rows} word vectors"),
        )
        .at(&checkpoint.name));
    }
    Ok(())
}
