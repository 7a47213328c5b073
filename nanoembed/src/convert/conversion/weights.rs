//! A model as a `.weights` file.

use nanoembed_core::event::Mode;
use nanoembed_core::format::embd::Embd;
use nanoembed_core::limit;
use nanoembed_core::quant::int8::CodeRange;

use super::Conversion;
use super::time::iso_8601;
use crate::causal::tokenizer::borrowed;
use crate::checkpoint::Checkpoint;
use crate::convert::activations;
use crate::convert::calibration::Calibration;
use crate::convert::decoder_model::DecoderModel;
use crate::convert::naming::Naming;
use crate::convert::text_model::checkpoint::{TextCheckpoint, TextModel};
use crate::convert::weights_file::{self, Storage, WeightType, WeightsSource, WrittenModel};
use crate::error::{Error, Result, name_of};
use crate::model_check;
use crate::pairs::{self, Pairs};
use crate::progress::Observer;

impl Conversion {
    pub(super) fn encoder_to_weights(
        &self,
        checkpoint: &Checkpoint<'_>,
        name_and_version: (Option<String>, Option<String>),
        observer: &dyn Observer,
    ) -> Result<WrittenModel> {
        let settings = checkpoint.metadata()?;
        let created_at = iso_8601(self.created.or(checkpoint.modified));
        let metadata = self.weights_metadata(name_and_version, &settings, &created_at)?;
        let calibration = self.calibration(checkpoint, observer)?;
        let tokens = checkpoint.tokens()?;
        let source = WeightsSource::from_checkpoint(checkpoint, &tokens)?;
        self.write_weights(&source, (&calibration, &metadata), observer)
    }

    pub(super) fn text_model_to_weights(
        &self,
        model: &TextModel<'_>,
        checkpoint: &TextCheckpoint<'_>,
        name: Option<String>,
        observer: &dyn Observer,
    ) -> Result<WrittenModel> {
        let TextCheckpoint { beside, naming, .. } = checkpoint;
        let created_at = iso_8601(self.created.or(checkpoint.modified));
        let settings = beside.metadata();
        let settings = settings.map_err(|error| Error::in_file(&checkpoint.name, error))?;
        let metadata = self.weights_metadata((name, None), &settings, &created_at)?;
        let tokens = beside.tokens()?;
        let source = WeightsSource {
            name: &checkpoint.name,
            tensors: &checkpoint.tensors()?,
            naming: *naming,
            vocabulary: Some(beside.vocabulary(&tokens)),
            further: beside.further()?,
        };
        let calibration = match model.transformer()? {
            Some(model) if self.weight_type == WeightType::Int8 => {
                let texts = activations::texts(self.calibrate.as_deref())?;
                Calibration::from_texts(model, (*naming, source.name), &texts, observer)?
            }
            _ => Calibration::default(),
        };
        self.write_weights(&source, (&calibration, &metadata), observer)
    }

    pub(super) fn decoder_to_weights(
        &self,
        model: &DecoderModel<'_>,
        name: Option<String>,
        observer: &dyn Observer,
    ) -> Result<WrittenModel> {
        if self.for_web {
            return Err(Error::argument("for_web", "is for encoders"));
        }
        let failed = |error| Error::in_file(name_of(&self.input), error);
        let (_, tokens) = borrowed(&model.tokenizer).map_err(failed)?;
        let mut settings = model.settings().map_err(failed)?;
        pairs::add_all(&mut settings, &model.metadata).map_err(failed)?;
        let created_at = iso_8601(self.created.or(model.modified));
        let metadata = self.weights_metadata((name, None), &settings, &created_at)?;
        let source = WeightsSource {
            name: &name_of(&self.input),
            tensors: &model.tensors,
            naming: Naming::Bert,
            vocabulary: model.vocabulary(&tokens),
            further: vec![model.further().map_err(failed)?],
        };
        self.write_weights(&source, (&Calibration::default(), &metadata), observer)
    }

    /// All metadata of a `.weights` file; `--metadata` overrides the rest.
    fn weights_metadata(
        &self,
        (name, version): (Option<String>, Option<String>),
        settings: &[(String, String)],
        created_at: &str,
    ) -> Result<Pairs> {
        let gathered = || {
            let mut metadata = Pairs::new();
            pairs::add(&mut metadata, "model_name", name.as_deref().unwrap_or("model"))?;
            pairs::add(&mut metadata, "model_version", version.as_deref().unwrap_or("1.0.0"))?;
            pairs::add_all(&mut metadata, settings)?;
            pairs::add(&mut metadata, "weight_type", self.weight_type.name())?;
            pairs::add(&mut metadata, "created_at", created_at)?;
            for (key, value) in &self.metadata {
                match metadata.iter_mut().find(|(known, _)| known == key) {
                    Some((_, old)) => *old = limit::copied(value)?,
                    None => pairs::add(&mut metadata, key, value)?,
                }
            }
            Ok(metadata)
        };
        gathered().map_err(|error| Error::in_file(name_of(&self.input), error))
    }

    fn write_weights(
        &self,
        source: &WeightsSource<'_>,
        (calibration, metadata): (&Calibration, &[(String, String)]),
        observer: &dyn Observer,
    ) -> Result<WrittenModel> {
        let range = if self.for_web { CodeRange::Narrow } else { CodeRange::Full };
        let storage = Storage { weight_type: self.weight_type, calibration, range };
        self.create(
            source.tensors,
            observer,
            |(name, file), progress| {
                weights_file::write(source, &storage, metadata, file, name, progress)
            },
            |name, bytes| check(name, bytes, source.name),
        )
    }

    /// The statistics that decide the column scales of 8-bit weights.
    fn calibration(
        &self,
        checkpoint: &Checkpoint<'_>,
        observer: &dyn Observer,
    ) -> Result<Calibration> {
        if self.weight_type != WeightType::Int8 {
            return Ok(Calibration::default());
        }
        if checkpoint.vocabulary.is_none() {
            observer.warn(
                    "the model cannot be calibrated without a vocabulary: it will run with 32-bit activations",
                );
            return Ok(Calibration::default());
        }
        Calibration::run(checkpoint, &activations::texts(self.calibrate.as_deref())?, observer)
    }
}

/// Rejects bytes of the file called `name` that are not a model that runs, which `source` is at
/// fault for.
fn check(name: &str, bytes: &[u8], source: &str) -> Result<()> {
    let parsed = Embd::parse(bytes, Mode::Strict).map_err(|error| Error::in_file(name, error))?;
    match model_check::findings(bytes, &parsed, true).into_iter().next() {
        None => Ok(()),
        Some(finding) => Err(Error::input(finding.error.kind(), finding.message)
            .at(source)
            .with_hint("the model's config.json does not describe these weights")),
    }
}
