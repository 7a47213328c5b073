//! The weights of a model in fewer bits.

mod embedding_models;

use std::path::PathBuf;

use nanoembed_core::format::uqff::{Extra, LayerFormat};
use nanoembed_core::tensor::{Shape, Weight};
use nanoembed_core::{Error as CoreError, limit};
use serde::Serialize;

use crate::convert::quantizer::QuantType;
use crate::convert::quantizer::encode::{Encoded, Loss, encode};
use crate::convert::quantizer::types::Unsuited;
use crate::convert::targets::Item;
use crate::convert::targets::uqff::Fallback;
use crate::convert::writing::{Job, Target, Writing, WrittenFile, check_beside, residual};
use crate::error::{Error, Result};
use crate::files::spool::Spool;
use crate::glob::Glob;
use crate::progress::{Observer, Progress};
use crate::stored::{Contents, FileSet, Stored, Values};

/// Tables of some rows that are added to those of the tokens or to scores, as Hugging Face and GGUF
/// call them.
const TABLES: [&str; 7] = [
    "position_embeddings.weight",
    "token_type_embeddings.weight",
    "relative_attention_bias.weight",
    "rel_embeddings.weight",
    "attn_rel_b.weight",
    "position_embd.weight",
    "token_types.weight",
];

/// The layers that choose experts, which decide too much for a few bits, as Hugging Face and GGUF
/// call them.
const ROUTERS: [&str; 2] = ["router.layer.weight", "ffn_gate_inp.weight"];

/// Experts whose matrices are stored transposed, so that blocks would not follow their rows.
const TRANSPOSED: &str = "experts.mlp.w2";

/// The reason that a tensor is not quantised.
enum Kept {
    /// Never quantised: too small or too sensitive.
    Rightly(&'static str),
    /// Its shape does not suit the type.
    Unsuited(Unsuited),
}

/// The outcome for one tensor. The fields' names are those of the JSON output.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Outcome {
    #[doc(hidden)]
    pub tensor: String,
    /// The tensor's name.
    pub name: String,
    /// The type it is stored as now, such as `q8_0`.
    pub dtype: String,
    /// Its sizes, the outermost first.
    pub shape: Vec<u64>,
    /// Bits per number.
    pub bits: f64,
    /// The mean squared error as a share of the mean square; 0 for what stays as it is.
    pub nmse: f64,
    /// The reason that it is not of the type that was asked for.
    pub reason: Option<String>,
    /// True if only the shape is the reason.
    #[serde(skip)]
    pub unsuited: bool,
    /// True if it is of a type with smaller blocks for that reason, rather than as it was.
    #[serde(skip)]
    pub replaced: bool,
    /// Its size in bytes.
    #[serde(skip)]
    pub bytes: u64,
    /// The number of its elements.
    #[serde(skip)]
    pub elements: u64,
    #[doc(hidden)]
    #[serde(skip)]
    pub loss: Loss,
}

/// The quantised tensors, and the files that hold them.
#[derive(Debug)]
#[non_exhaustive]
pub struct Quantized {
    /// The outcome for each tensor.
    pub outcomes: Vec<Outcome>,
    /// The files that were written.
    pub written: Vec<WrittenFile>,
}

/// A tensor on its way.
enum Ready<'s, 'a> {
    Encoded(&'s Stored<'a>, Encoded),
    AsItIs(&'s String, Weight<'a>),
}

/// The weights of a model on their way into fewer bits: from a folder, safetensors, GGUF, UQFF or
/// `.weights` file to a GGUF, UQFF or safetensors file. [`Conversion`](crate::convert::Conversion)
/// writes whole models as `.weights` and `.amb` files.
///
/// ```
/// use nanoembed::Silent;
/// use nanoembed::convert::{QuantType, Quantization};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let output = folder.path().join("model.q8_0.gguf");
/// let model = "../tests/data/gguf/small.gguf";
/// let quantized = Quantization::new(model, &output, QuantType::Q8_0).run(&Silent)?;
/// for tensor in &quantized.outcomes {
///     println!("{} {} {} bits, error {:.1e}", tensor.name, tensor.dtype, tensor.bits, tensor.nmse);
/// }
/// # Ok::<(), nanoembed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Quantization {
    input: PathBuf,
    output: PathBuf,
    to_type: QuantType,
    include: Vec<Glob>,
    exclude: Vec<Glob>,
    writing: Writing,
}

impl Quantization {
    /// A quantisation of all matrices.
    pub fn new(
        input: impl Into<PathBuf>,
        output: impl Into<PathBuf>,
        quant_type: QuantType,
    ) -> Self {
        Self {
            input: input.into(),
            output: output.into(),
            to_type: quant_type,
            include: Vec::new(),
            exclude: Vec::new(),
            writing: Writing::default(),
        }
    }

    /// Quantises only tensors whose names match one of these, if there are any.
    #[must_use]
    pub fn include(mut self, names: impl IntoIterator<Item = Glob>) -> Self {
        self.include.extend(names);
        self
    }

    /// Quantises no tensors whose names match one of these.
    #[must_use]
    pub fn exclude(mut self, names: impl IntoIterator<Item = Glob>) -> Self {
        self.exclude.extend(names);
        self
    }

    /// The options for writing the output.
    #[must_use]
    pub fn writing(self, writing: Writing) -> Self {
        Self { writing, ..self }
    }

    /// Writes the output.
    ///
    /// # Errors
    ///
    /// Fails if the input is invalid, the output's format cannot hold the type, or the output
    /// cannot be written.
    pub fn run(&self, observer: &dyn Observer) -> Result<Quantized> {
        let target = self.writing.target(&self.output)?;
        self.check(target)?;
        let set = FileSet::open(&self.input)?;
        check_beside(&set)?;
        if target.is_uqff() {
            embedding_models::check(&set)?;
        }
        let residual = residual(&set, target, observer)?;
        let failed = |error| Error::in_file(set.name(), error);
        let mut contents = set.contents()?;
        if let Some(residual) = &residual {
            limit::extend(&mut contents.tensors, residual.contents()?.tensors).map_err(failed)?;
        }
        self.check_globs(&contents, &set.name())?;
        let mut spool = Spool::new()?;
        let (ready, outcomes) = self.encode_all(&contents, target, &mut spool, observer)?;
        let spooled = spool.finish()?;
        let mut items = Vec::new();
        for (tensor, outcome) in ready.iter().zip(&outcomes) {
            let (name, weight) = match tensor {
                Ready::Encoded(tensor, encoded) => (&tensor.name, encoded.weight(&spooled)?),
                Ready::AsItIs(name, weight) => (*name, *weight),
            };
            let mut item = Item::new(limit::copied(name).map_err(failed)?, weight);
            if outcome.unsuited && item.is_float() {
                item.layer = Some((LayerFormat::Unquantized, Extra::default()));
            }
            limit::push(&mut items, item).map_err(failed)?;
        }
        let fallbacks = outcomes.iter().filter(|outcome| outcome.unsuited);
        let fallbacks = limit::gathered(fallbacks.map(|outcome| self.fallback(outcome)));
        let inputs = [Some(&set), residual.as_ref()].into_iter().flatten().flat_map(FileSet::iter);
        let inputs = limit::collected(inputs.map(|(path, _)| path.to_owned()));
        let job = Job {
            target,
            output: &self.output,
            from: contents.format,
            gguf: contents.gguf.first().copied(),
            source: set.name(),
            folder: set.folder(),
            inputs: inputs.map_err(failed)?,
            fallbacks: fallbacks.map_err(failed)?,
            requantized: true,
        };
        let written = self.writing.write(&job, items, observer)?;
        Ok(Quantized { outcomes, written })
    }

    /// Refuses types that the target cannot hold, before any work is done.
    fn check(&self, target: Target) -> Result<()> {
        if target.holds(self.to_type) {
            return Ok(());
        }
        let message =
            format!("{} files do not hold `{}`", target.format_name(), self.to_type.name());
        let hint = if Target::Uqff12.holds(self.to_type) {
            "`.uqff` files hold this type"
        } else {
            "`.gguf` files hold this type"
        };
        Err(Error::usage(message).with_hint(hint))
    }

    /// Refuses a pattern of `--include` that no name matches: the file would be written as if
    /// nothing had been asked for.
    fn check_globs(&self, contents: &Contents<'_>, name: &str) -> Result<()> {
        let has_match =
            |glob: &Glob| contents.tensors.iter().any(|tensor| glob.is_match(&tensor.name));
        match self.include.iter().find(|glob| !has_match(glob)) {
            None => Ok(()),
            Some(glob) => {
                let message = format!("'{glob}' matches no tensor");
                Err(Error::not_found(message)
                    .with_argument("include")
                    .at(name)
                    .with_hint("`nanoembed inspect` lists the names"))
            }
        }
    }

    fn encode_all<'s, 'a>(
        &self,
        contents: &'s Contents<'a>,
        target: Target,
        spool: &mut Spool,
        observer: &dyn Observer,
    ) -> Result<(Vec<Ready<'s, 'a>>, Vec<Outcome>)> {
        let total = contents.tensors.iter().map(|tensor| tensor.values.stored_bytes()).sum();
        let progress = Progress::bytes(observer, "quantising", total);
        let count = contents.tensors.len();
        let none = |error| Error::in_file("the model", error);
        let mut ready = limit::reserved(count).map_err(none)?;
        let mut outcomes = limit::reserved(count).map_err(none)?;
        for tensor in &contents.tensors {
            let shape = *tensor.values.shape();
            let kept = self.wanted(tensor).err();
            let is_unsuited = matches!(kept, Some(Kept::Unsuited(_)));
            let replacement = self.replacement(kept.as_ref(), &shape, target);
            let is_as_it_is = replacement.is_none()
                && tensor.values.is_portable()
                && !(is_unsuited && target.is_uqff() && is_half(&tensor.values));
            let outcome = match (&kept, &tensor.values) {
                (Some(kept), Values::Weight(weight)) if is_as_it_is => {
                    ready.push(Ready::AsItIs(&tensor.name, *weight));
                    let dtype = tensor.values.type_name().to_owned();
                    let bytes = tensor.values.stored_bytes();
                    Outcome::new(tensor, dtype, bytes, Loss::default(), Some(kept))
                }
                // Codes of `.weights` and `.amb` files have no place in other formats, and mistral.rs
                // computes with layers of half precision only where all is of that.
                (kept, _) => {
                    let usual = if kept.is_some() { QuantType::F32 } else { self.to_type };
                    let to = replacement.unwrap_or(usual);
                    let (encoded, loss) = encode(&tensor.all()?, shape, to, spool)
                        .map_err(|error| error.at(&tensor.name))?;
                    let bytes = encoded.bytes();
                    ready.push(Ready::Encoded(tensor, encoded));
                    Outcome::new(tensor, to.name().to_owned(), bytes, loss, kept.as_ref())
                }
            };
            let mut outcome = outcome.map_err(|error| Error::in_file(&tensor.name, error))?;
            outcome.replaced = replacement.is_some();
            outcomes.push(outcome);
            progress.advance(tensor.values.stored_bytes());
        }
        Ok((ready, outcomes))
    }

    /// The type that replaces the one that was asked for where a tensor's rows do not suit that; only
    /// in GGUF, as mistral.rs leaves such layers of its files as they are.
    fn replacement(&self, kept: Option<&Kept>, shape: &Shape, target: Target) -> Option<QuantType> {
        let is_unsuited = matches!(kept, Some(Kept::Unsuited(_)));
        let other = self.to_type.for_other_rows().filter(|other| other.suits(shape).is_ok());
        other.filter(|_| is_unsuited && target == Target::Gguf)
    }

    /// Checks that a tensor is to be quantised; the error says why not.
    fn wanted(&self, tensor: &Stored<'_>) -> std::result::Result<(), Kept> {
        let matches = |globs: &[Glob]| globs.iter().any(|glob| glob.is_match(&tensor.name));
        let shape = tensor.values.shape();
        if shape.dims().len() < 2 {
            return Err(Kept::Rightly("a vector"));
        }
        if TABLES.iter().any(|table| tensor.name.ends_with(table)) {
            return Err(Kept::Rightly("a table of positions or types"));
        }
        if ROUTERS.iter().any(|router| tensor.name.ends_with(router)) {
            return Err(Kept::Rightly("a choice of experts"));
        }
        if tensor.name.ends_with(TRANSPOSED) {
            return Err(Kept::Rightly("experts that are stored transposed"));
        }
        let integers = ["i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8", "bool"];
        if integers.contains(&tensor.values.type_name()) {
            return Err(Kept::Rightly("integers"));
        }
        if matches(&self.exclude) || !self.include.is_empty() && !matches(&self.include) {
            return Err(Kept::Rightly("not selected"));
        }
        self.to_type.suits(shape).map_err(Kept::Unsuited)
    }

    /// The report's entry for a tensor that should have been of the type but does not suit it.
    fn fallback(&self, outcome: &Outcome) -> std::result::Result<Fallback, CoreError> {
        let module = outcome.name.strip_suffix(".weight").unwrap_or(&outcome.name);
        Ok(Fallback {
            module: limit::copied(module)?,
            from: self.to_type.name().to_owned(),
            to: "unquant".into(),
            shape: outcome.shape.clone(),
            reason: limit::copied(outcome.reason.as_deref().unwrap_or_default())?,
        })
    }
}

/// True if values are 16-bit floats.
fn is_half(values: &Values<'_>) -> bool {
    matches!(values.type_name(), "f16" | "bf16")
}

impl Outcome {
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    fn new(
        tensor: &Stored<'_>,
        dtype: String,
        bytes: u64,
        loss: Loss,
        kept: Option<&Kept>,
    ) -> std::result::Result<Self, CoreError> {
        let elements = tensor.values.elements();
        let bits = bytes as f64 * 8.0 / elements.max(1) as f64;
        Ok(Self {
            tensor: limit::copied(&tensor.name)?,
            name: limit::copied(&tensor.name)?,
            dtype,
            shape: tensor.values.shape().dims().to_vec(),
            bits: (bits * 1000.0).round() / 1000.0,
            nmse: loss.nmse(),
            reason: kept
                .map(|kept| match kept {
                    Kept::Rightly(reason) => limit::copied(reason),
                    Kept::Unsuited(reason) => limit::formatted(format_args!("{reason}")),
                })
                .transpose()?,
            unsuited: matches!(kept, Some(Kept::Unsuited(_))),
            replaced: false,
            bytes,
            elements,
            loss,
        })
    }
}
