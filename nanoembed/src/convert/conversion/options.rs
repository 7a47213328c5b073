//! Options of a conversion, and those that mean nothing for it.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{ModelForm, ModelTarget};
use crate::convert::amb::AmbOptions;
use crate::convert::weights_file::WeightType;
use crate::error::{Error, Result};
use crate::files::hub_cache;
use crate::files::promise::check_promise;
use crate::role::Role;

/// A whole model with its tokenizer on its way into a `.weights`, `.amb` or GGUF file. An option
/// that means nothing for the conversion is refused when it runs.
///
/// ```
/// use nanoembed::Silent;
/// use nanoembed::convert::{Conversion, WeightType};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let output = folder.path().join("model.int8.weights");
/// let model = "../ffi/tests/data/small_bert.weights";
/// let converted =
///     Conversion::new(model, &output).weight_type(WeightType::Int8).run(&Silent)?;
/// println!("{} bytes", converted.files[0].bytes);
/// # Ok::<(), nanoembed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Conversion {
    pub(super) input: PathBuf,
    pub(super) output: PathBuf,
    pub(super) from: Option<ModelForm>,
    to: Option<ModelTarget>,
    pub(super) weight_type: WeightType,
    block: Option<u16>,
    bits: Option<f64>,
    pub(super) for_web: bool,
    pub(super) config: Option<PathBuf>,
    pub(super) vocab: Option<PathBuf>,
    pub(super) calibrate: Option<PathBuf>,
    pub(super) pooler: bool,
    pub(super) name: Option<String>,
    pub(super) metadata: Vec<(String, String)>,
    pub(super) created: Option<SystemTime>,
    pub(super) role: Role,
    pub(super) unknown: Vec<String>,
    pub(super) adapter: Option<PathBuf>,
}

impl Conversion {
    /// A conversion of the model at `input`, a file, a folder or the name of a model in the cache of
    /// the Hugging Face hub, to the file `output`: 32-bit floats, in the format that the ending of
    /// `output` stands for. `-` is stdin or stdout.
    pub fn new(input: impl Into<PathBuf>, output: impl Into<PathBuf>) -> Self {
        let given = input.into();
        let input = hub_cache::resolved(&given).into_owned();
        // A folder of the cache is called by a hash.
        let name = given.file_name().filter(|_| input != given);
        Self {
            name: name.map(|name| name.to_string_lossy().into_owned()),
            input,
            output: output.into(),
            from: None,
            to: None,
            weight_type: WeightType::F32,
            block: None,
            bits: None,
            for_web: false,
            config: None,
            vocab: None,
            calibrate: None,
            pooler: false,
            metadata: Vec::new(),
            created: None,
            role: Role::Text,
            unknown: Vec::new(),
            adapter: None,
        }
    }

    /// The form of the input, instead of the detected one.
    #[must_use]
    pub fn from(self, form: impl Into<Option<ModelForm>>) -> Self {
        Self { from: form.into(), ..self }
    }

    /// The format of the output, instead of the one its ending names.
    #[must_use]
    pub fn to(self, target: impl Into<Option<ModelTarget>>) -> Self {
        Self { to: target.into(), ..self }
    }

    /// The type of the weights.
    #[must_use]
    pub const fn weight_type(mut self, weight_type: WeightType) -> Self {
        self.weight_type = weight_type;
        self
    }

    /// The elements that share a scale in `.amb` files, instead of 32, or a row for
    /// [`WeightType::Int8`].
    #[must_use]
    pub fn block(self, elements: impl Into<Option<u16>>) -> Self {
        Self { block: elements.into(), ..self }
    }

    /// Bits a weight, scales and mask included, of [`WeightType::Adaptive`].
    #[must_use]
    pub fn bits(self, bits: impl Into<Option<f64>>) -> Self {
        Self { bits: bits.into(), ..self }
    }

    /// Keeps the codes of [`WeightType::Int8`] so small that browsers whose CPU adds up products in
    /// 16 bits are faster, at some precision.
    #[must_use]
    pub const fn for_web(mut self, for_web: bool) -> Self {
        self.for_web = for_web;
        self
    }

    /// A `config.json` with the model's sizes, for files that do not say them.
    #[must_use]
    pub fn config(self, file: impl Into<Option<PathBuf>>) -> Self {
        Self { config: file.into(), ..self }
    }

    /// A `vocab.txt`, a token a line, for `.weights` files without a vocabulary.
    #[must_use]
    pub fn vocab(self, file: impl Into<Option<PathBuf>>) -> Self {
        Self { vocab: file.into(), ..self }
    }

    /// A file of texts like those that will be embedded, one a line, that weights of few bits are
    /// tuned to, instead of built-in ones.
    #[must_use]
    pub fn calibrate(self, file: impl Into<Option<PathBuf>>) -> Self {
        Self { calibrate: file.into(), ..self }
    }

    /// Keeps the pooler, which embeddings have no use for.
    #[must_use]
    pub const fn pooler(mut self, keep: bool) -> Self {
        self.pooler = keep;
        self
    }

    /// The model's name, instead of that of the folder or file.
    #[must_use]
    pub fn name(self, name: impl Into<Option<String>>) -> Self {
        Self { name: name.into().or(self.name), ..self }
    }

    /// Adds an entry of metadata, or gives one another value.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.push((key.into(), value.into()));
        self
    }

    /// When the output counts as made, instead of when the newest file of the input was changed.
    /// The same input then gives the same bytes.
    #[must_use]
    pub fn created(self, time: impl Into<Option<SystemTime>>) -> Self {
        Self { created: time.into(), ..self }
    }

    /// The role of texts whose route through a model with a Router is written, instead of its
    /// default route.
    #[must_use]
    pub const fn role(mut self, role: Role) -> Self {
        self.role = role;
        self
    }

    /// Ignores unknown members of these names in the texts of a folder, which are refused
    /// otherwise; the observer is warned of each.
    #[must_use]
    pub fn allow_unknown(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { unknown: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// Merges the LoRA adapter in a folder into the weights of the model, which has to be in a
    /// folder, too. Texts that the adapter's folder has are used instead of the model's.
    #[must_use]
    pub fn adapter(self, folder: impl Into<Option<PathBuf>>) -> Self {
        Self { adapter: folder.into(), ..self }
    }

    /// The form of the input.
    pub(super) fn form(&self) -> ModelForm {
        self.from.unwrap_or_else(|| ModelForm::detect(&self.input))
    }

    /// The format of the output.
    pub(super) fn target(&self) -> Result<ModelTarget> {
        let is_stdout = self.output == Path::new("-");
        if let Some(to) = self.to {
            check_promise(&self.output, to.endings(), to.name())?;
        }
        let told = self.to.or_else(|| ModelTarget::from_ending(&self.output));
        told.or(is_stdout.then_some(ModelTarget::Weights)).ok_or_else(|| {
            let ending = self.output.extension().and_then(|ending| ending.to_str());
            let hint = match ending.map(str::to_ascii_lowercase).as_deref() {
                Some("uqff" | "safetensors") => {
                    "`nanoembed migrate` and `nanoembed quantize` write UQFF and safetensors files"
                }
                _ => "name it `.weights`, `.amb` or `.gguf`, or say `--to`",
            };
            Error::usage("the ending of OUT does not tell a form of models").with_hint(hint)
        })
    }

    pub(super) fn is_to_amb(&self) -> bool {
        matches!(self.target(), Ok(ModelTarget::Amb))
    }

    pub(super) const fn amb_options(&self) -> AmbOptions {
        AmbOptions { weight_type: self.weight_type, block: self.block, bits: self.bits }
    }

    /// Refuses the first option that was given and means nothing for this conversion.
    #[doc(hidden)]
    pub fn check_options(&self, from: ModelForm, to: ModelTarget) -> Result<()> {
        if to == ModelTarget::Gguf {
            return self.check_gguf_options();
        }
        let is_amb = to == ModelTarget::Amb;
        let is_tuned = !self.weight_type.is_float();
        let is_adaptive = self.weight_type == WeightType::Adaptive;
        let is_int8 = self.weight_type == WeightType::Int8;
        let has_config = matches!(from, ModelForm::HuggingFace | ModelForm::Weights);
        let with_config = "is for models in folders and `.weights` files";
        let rules = [
            (
                "block",
                self.block.is_some() && !(is_amb && is_tuned),
                "is for types of few bits in `.amb` files",
            ),
            (
                "bits",
                self.bits.is_some() && !(is_amb && is_adaptive),
                "is for `--type adaptive` in `.amb` files",
            ),
            (
                "for_web",
                self.for_web && (is_amb || !is_int8),
                "is for `--type int8` in `.weights` files; from `.amb` files browsers make such codes by themselves",
            ),
            ("config", self.config.is_some() && !has_config, with_config),
            (
                "vocab",
                self.vocab.is_some() && from != ModelForm::Weights,
                "is for `.weights` files without a vocabulary",
            ),
            ("calibrate", self.calibrate.is_some() && !is_tuned, "is for types of few bits"),
            (
                "adapter",
                self.adapter.is_some() && from != ModelForm::HuggingFace,
                "is for models in folders",
            ),
            ("pooler", self.pooler && !has_config, with_config),
        ];
        match rules.into_iter().find(|(_, is_refused, _)| *is_refused) {
            Some((option, _, why)) => Err(Error::argument(option, why)),
            None if is_amb => self.amb_options().check(),
            None if !self.weight_type.is_of_weights() => {
                let name = self.weight_type.name();
                Err(Error::usage(format!("`.weights` files have no type {name}"))
                    .with_hint("give OUT the ending `.amb`"))
            }
            None => Ok(()),
        }
    }

    /// A GGUF file takes the weights as they are, and says what its own format has to say.
    fn check_gguf_options(&self) -> Result<()> {
        let given = [
            ("type", self.weight_type != WeightType::F32),
            ("block", self.block.is_some()),
            ("bits", self.bits.is_some()),
            ("for_web", self.for_web),
            ("vocab", self.vocab.is_some()),
            ("calibrate", self.calibrate.is_some()),
            ("pooler", self.pooler),
            ("adapter", self.adapter.is_some()),
            ("name", self.name.is_some()),
            ("metadata", !self.metadata.is_empty()),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(Error::argument(option, "is not for GGUF files").with_hint(
                "`nanoembed quantize IN OUT.gguf --type TYPE` gives the weights another type",
            )),
            None => Ok(()),
        }
    }
}
