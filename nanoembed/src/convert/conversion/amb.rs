//! A model as an `.amb` file.

use nanoembed_core::event::Mode;
use nanoembed_core::format::amb::{Amb, AmbTokenizerSpec, Payload};

use super::Conversion;
use super::time::iso_8601;
use crate::causal::tokenizer::{amb_spec, borrowed};
use crate::checkpoint::Checkpoint;
use crate::convert::activations;
use crate::convert::amb::energy::{self, Energies};
use crate::convert::amb::{self, AmbSource};
use crate::convert::decoder_model::DecoderModel;
use crate::convert::naming::Naming;
use crate::convert::text_model::checkpoint::{TextCheckpoint, TextModel};
use crate::convert::weights_file::WrittenModel;
use crate::error::{Error, Result, name_of};
use crate::pairs::{self, Pairs};
use crate::progress::Observer;

impl Conversion {
    pub(super) fn encoder_to_amb(
        &self,
        checkpoint: &Checkpoint<'_>,
        (name, version): (Option<String>, Option<String>),
        observer: &dyn Observer,
    ) -> Result<WrittenModel> {
        let created = iso_8601(self.created.or(checkpoint.modified));
        let own = [
            ("name", Some(name.as_deref().unwrap_or("model"))),
            ("family", Some("BERT")),
            ("version", Some(version.as_deref().unwrap_or("1.0.0"))),
            ("created", Some(created.as_str())),
            ("license", checkpoint.settings.license.as_deref()),
        ];
        let metadata = self.amb_metadata(&own, &checkpoint.settings.further)?;
        let energies = self.energies(checkpoint, observer)?;
        let tokens = checkpoint.tokens()?;
        let source = AmbSource {
            name: &checkpoint.name,
            tensors: &checkpoint.tensors,
            naming: Naming::Bert,
            config: amb::encoder_config(checkpoint)?,
            tokenizer: amb::wordpiece(checkpoint, &tokens),
            metadata,
        };
        self.write_amb(source, &energies, observer)
    }

    pub(super) fn text_model_to_amb(
        &self,
        model: &TextModel<'_>,
        checkpoint: &TextCheckpoint<'_>,
        name: Option<String>,
        observer: &dyn Observer,
    ) -> Result<WrittenModel> {
        let beside = &checkpoint.beside;
        let payload = beside.payload()?;
        let created = iso_8601(self.created.or(checkpoint.modified));
        let own = [
            ("name", Some(name.as_deref().unwrap_or("model"))),
            ("version", Some("1.0.0")),
            ("created", Some(created.as_str())),
            ("license", beside.license()),
        ];
        let metadata = self.amb_metadata(&own, &[])?;
        let failed = |error| Error::in_file(&checkpoint.name, error);
        let tensors = checkpoint.tensors()?;
        let unfolded = beside.unfolded(&tensors).map_err(failed)?;
        let tensors = match &unfolded {
            Some(table) => table.among(&tensors).map_err(failed)?,
            None => tensors,
        };
        let energies = self.energies_of_text(model, checkpoint, observer)?;
        let source = AmbSource {
            name: &checkpoint.name,
            tensors: &tensors,
            naming: checkpoint.naming,
            config: beside.config().map_err(failed)?,
            tokenizer: Some(AmbTokenizerSpec {
                special: [None; 5],
                payload: Payload::Custom(&payload),
            }),
            metadata,
        };
        self.write_amb(source, &energies, observer)
    }

    pub(super) fn decoder_to_amb(
        &self,
        model: DecoderModel<'_>,
        name: Option<String>,
        observer: &dyn Observer,
    ) -> Result<WrittenModel> {
        let borrowed = borrowed(&model.tokenizer);
        let (merges, tokens) =
            borrowed.map_err(|error| Error::in_file(name_of(&self.input), error))?;
        let own = [("name", Some(name.as_deref().unwrap_or("model")))];
        let metadata = self.amb_metadata(&own, &model.metadata)?;
        let source = AmbSource {
            name: &name_of(&self.input),
            tensors: &model.tensors,
            naming: Naming::Bert,
            config: model.config,
            tokenizer: Some(amb_spec(&model.tokenizer, &merges, &tokens)),
            metadata,
        };
        self.write_amb(source, &Energies::default(), observer)
    }

    /// All words about the model's origin; of its own ones only those that there are.
    fn amb_metadata(
        &self,
        own: &[(&str, Option<&str>)],
        further: &[(String, String)],
    ) -> Result<Pairs> {
        let mut metadata = Pairs::new();
        let mut own = own.iter().filter_map(|(key, value)| Some((*key, (*value)?)));
        let added = own
            .try_for_each(|(key, value)| pairs::add(&mut metadata, key, value))
            .and_then(|()| pairs::add_all(&mut metadata, further))
            .and_then(|()| pairs::add_all(&mut metadata, &self.metadata));
        added.map_err(|error| Error::in_file(name_of(&self.input), error))?;
        Ok(metadata)
    }

    fn write_amb(
        &self,
        source: AmbSource<'_>,
        energies: &Energies,
        observer: &dyn Observer,
    ) -> Result<WrittenModel> {
        let options = self.amb_options();
        self.create(
            source.tensors,
            observer,
            |(name, file), progress| amb::write(source, &options, energies, (name, file), progress),
            check,
        )
    }

    /// Statistics of the inputs that the weights are multiplied with.
    fn energies(&self, checkpoint: &Checkpoint<'_>, observer: &dyn Observer) -> Result<Energies> {
        if self.weight_type.is_float() || checkpoint.vocabulary.is_none() {
            return Ok(Energies::default());
        }
        let texts = activations::texts(self.calibrate.as_deref())?;
        energy::measure(checkpoint, &texts, observer)
    }
}

impl Conversion {
    fn energies_of_text(
        &self,
        model: &TextModel<'_>,
        checkpoint: &TextCheckpoint<'_>,
        observer: &dyn Observer,
    ) -> Result<Energies> {
        match model.transformer()? {
            Some(model) if !self.weight_type.is_float() => {
                let texts = activations::texts(self.calibrate.as_deref())?;
                let of = (checkpoint.naming, &*checkpoint.name);
                energy::measure_texts(&model, of, &texts, observer)
            }
            _ => Ok(Energies::default()),
        }
    }
}

/// Rejects bytes of the file called `name` that are not an `.amb` file.
fn check(name: &str, bytes: &[u8]) -> Result<()> {
    Amb::parse(bytes, Mode::Strict).map_err(|error| Error::in_file(name, error))?;
    Ok(())
}
