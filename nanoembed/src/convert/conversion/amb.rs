//! A model as an `.amb` file.

use nanoembed_core::event::Mode;
use nanoembed_core::format::amb::Amb;

use super::ModelConversion;
use super::time::iso_8601;
use crate::causal::conversion::DecoderModel;
use crate::convert::amb::energy::{self, Energies};
use crate::convert::amb::{self, Source};
use crate::convert::calibration;
use crate::convert::checkpoint::Checkpoint;
use crate::convert::weights_file::Written;
use crate::error::{Error, Result, name_of};
use crate::progress::Observer;

impl ModelConversion {
    pub(super) fn encoder_to_amb(
        &self,
        checkpoint: &Checkpoint<'_>,
        (name, version): (Option<String>, Option<String>),
        observer: &dyn Observer,
    ) -> Result<Written> {
        let mut metadata = vec![
            ("name".to_owned(), name.unwrap_or_else(|| "model".into())),
            ("family".to_owned(), "BERT".to_owned()),
            ("version".to_owned(), version.unwrap_or_else(|| "1.0.0".into())),
            ("created".to_owned(), iso_8601(self.created.or(checkpoint.modified))),
        ];
        metadata.extend(checkpoint.settings.license.clone().map(|it| ("license".to_owned(), it)));
        metadata.extend(checkpoint.settings.further.iter().cloned());
        metadata.extend(self.metadata.iter().cloned());
        let energies = self.energies(checkpoint, observer)?;
        let tokens = checkpoint.tokens();
        let source = Source {
            name: &checkpoint.name,
            tensors: &checkpoint.tensors,
            config: amb::encoder_config(checkpoint),
            tokenizer: amb::wordpiece(checkpoint, &tokens),
            metadata,
        };
        self.write_amb(source, &energies, observer)
    }

    pub(super) fn decoder_to_amb(
        &self,
        model: DecoderModel<'_>,
        name: Option<String>,
        observer: &dyn Observer,
    ) -> Result<Written> {
        let (merges, tokens) = model.tokenizer.borrowed();
        let mut metadata = vec![("name".to_owned(), name.unwrap_or_else(|| "model".into()))];
        metadata.extend(model.metadata);
        metadata.extend(self.metadata.iter().cloned());
        let source = Source {
            name: &name_of(&self.input),
            tensors: &model.tensors,
            config: model.config,
            tokenizer: Some(model.tokenizer.spec(&merges, &tokens)),
            metadata,
        };
        self.write_amb(source, &Energies::default(), observer)
    }

    fn write_amb(
        &self,
        source: Source<'_>,
        energies: &Energies,
        observer: &dyn Observer,
    ) -> Result<Written> {
        let options = self.amb_options();
        self.create(
            source.tensors,
            observer,
            |(name, file), progress| amb::write(source, &options, energies, (name, file), progress),
            check,
        )
    }

    /// What the columns of the weights meet.
    fn energies(&self, checkpoint: &Checkpoint<'_>, observer: &dyn Observer) -> Result<Energies> {
        if self.weight_type.is_float() || checkpoint.vocabulary.is_none() {
            return Ok(Energies::default());
        }
        let texts = calibration::texts(self.calibrate.as_deref())?;
        energy::measure(checkpoint, &texts, observer)
    }
}

/// Whether the bytes of the file called `name` are an `.amb` file.
fn check(name: &str, bytes: &[u8]) -> Result<()> {
    Amb::parse(bytes, Mode::Strict).map_err(|error| Error::in_file(name, error))?;
    Ok(())
}
