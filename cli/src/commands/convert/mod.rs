//! `convert`: a model of another form becomes a `.weights` or `.amb` file; word vectors become
//! `.fifu` files and back.
//!
//! | file | role |
//! |---|---|
//! | `forms` | what IN and OUT can be, and how that is told |
//! | `options` | what options are for |
//! | `model` | IN as a model |
//! | `weights`, `amb` | the model as OUT |
//! | `out` | OUT written, read back, and put in its place |
//! | `report` | what is said of it in the end |
//! | `time` | when it was made |

mod amb;
mod forms;
mod model;
mod options;
mod out;
mod report;
mod time;
mod weights;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use crate::amb::AmbOptions;
use crate::error::{Failure, Result};
use crate::weights_file::WeightType;
use crate::word_vectors::convert::{Conversion, WordOptions};
use forms::{From, To};
use options::Kind;

/// Convert a model to a `.weights` or `.amb` file, or word vectors from one form to another
///
/// A model is a folder as on Hugging Face (`model.safetensors`, `config.json`, and `vocab.txt` or
/// `tokenizer.json`; for decoders `tokenizer.model`) or the same with UQFF, a `.weights` file of
/// either layout, an `.amb` file, or a GGUF file of a decoder. Word vectors are finalfusion,
/// word2vec, text (GloVe), fastText or floret files: they are told by their first bytes, and OUT by
/// its name. OUT appears when it is complete, not before.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed convert all-MiniLM-L6-v2/ model.weights
  nanoembed convert all-MiniLM-L6-v2/ model.int8.weights --type int8
  nanoembed convert all-MiniLM-L6-v2/ model.web.weights --type int8 --for-web
  nanoembed convert model.weights model.f16.weights --type f16
  nanoembed convert all-MiniLM-L6-v2/ model.amb --type int5block
  nanoembed convert all-MiniLM-L6-v2/ model.amb --type adaptive --bits 4.9 --calibrate texts.txt
  nanoembed convert model.amb model.weights
  nanoembed convert SmolLM2-135M-Instruct.Q4_1.gguf smollm2.weights
  nanoembed convert old-stream-file.bin model.weights --config config.json
  nanoembed convert cc.en.300.bin english.fifu
  nanoembed convert GoogleNews-vectors-negative300.bin news.fifu --duplicates first
  nanoembed convert english.fifu english.vec --normalized

The same input gives the same bytes: `created_at` is SOURCE_DATE_EPOCH if that
is set, else the time when the newest file of the input was changed. `.amb` files
of fewer than 8 bits may differ in a few codes between kinds of CPU, which add up
what their weights are tuned to in another order.")]
pub(crate) struct Convert {
    /// A Hugging Face folder, its `.safetensors` or `.uqff` file, a `.weights`, `.amb` or GGUF
    /// file, or a file of word vectors; `-` is stdin
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// The file to write; `-` is stdout
    #[arg(value_name = "OUT")]
    output: PathBuf,

    /// How the weights are stored
    #[arg(long = "type", short = 't', value_enum, default_value_t = WeightType::F32, value_name = "TYPE")]
    weight_type: WeightType,

    /// What IN is, where its name does not tell
    #[arg(long, value_enum, value_name = "FORMAT")]
    from: Option<From>,

    /// What OUT shall be, where its name does not tell
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Option<To>,

    /// Elements that share a scale [default: 32; a row for `int8`], in `.amb` files
    #[arg(long, value_name = "N")]
    block: Option<u16>,

    /// Bits a weight, scales and mask included, for `--type adaptive`
    #[arg(long, value_name = "B")]
    bits: Option<f64>,

    /// Keep the codes of `--type int8` so small that browsers whose CPU adds up products in 16 bits
    /// take nine tenths of the time, at some precision
    #[arg(long)]
    for_web: bool,

    /// A `config.json` with the model's sizes, for files that do not say them
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Texts like those that will be embedded, one a line, that weights of few bits are tuned to
    /// [default: built-in ones]
    #[arg(long, value_name = "FILE")]
    calibrate: Option<PathBuf>,

    /// Keep the pooler, which embeddings have no use for
    #[arg(long)]
    pooler: bool,

    /// The model's name [default: that of the folder or file]
    #[arg(long)]
    name: Option<String>,

    /// One more entry of metadata, or another value for one; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    metadata: Vec<(String, String)>,

    /// Print type, bits and error of every tensor of a model as a line of JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    words: WordOptions,
}

/// What is asked of a model that becomes an `.amb` file.
pub(super) struct ToAmb {
    pub(super) input: PathBuf,
    pub(super) output: PathBuf,
    pub(super) weight_type: WeightType,
    pub(super) block: Option<u16>,
    pub(super) bits: Option<f64>,
    pub(super) calibrate: Option<PathBuf>,
    pub(super) json: bool,
}

impl core::convert::From<ToAmb> for Convert {
    fn from(asked: ToAmb) -> Self {
        let ToAmb { input, output, weight_type, block, bits, calibrate, json } = asked;
        Self {
            input,
            output,
            weight_type,
            from: None,
            to: Some(To::Amb),
            block,
            bits,
            for_web: false,
            config: None,
            calibrate,
            pooler: false,
            name: None,
            metadata: Vec::new(),
            json,
            words: WordOptions::default(),
        }
    }
}

pub(super) fn key_value(text: &str) -> std::result::Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".into()),
    }
}

impl Convert {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        if let Some(conversion) = self.word_vectors()? {
            let (from, to) = conversion.forms();
            self.check_options(Kind::Words(from, to))?;
            conversion.run(&self.words, &self.metadata, quiet)?;
        } else {
            self.check_type()?;
            self.convert_model(quiet)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The conversion if it is one of word vectors.
    fn word_vectors(&self) -> Result<Option<Conversion>> {
        let is_model = self.from.is_some_and(|from| from.words().is_none())
            || self.to.is_some_and(|to| to.words().is_none())
            || To::of_model(&self.output).is_some();
        if is_model {
            return Ok(None);
        }
        let (from, to) = (self.from.and_then(From::words), self.to.and_then(To::words));
        Conversion::of((&self.input, from), (&self.output, to))
    }

    /// What IN is, for a model.
    fn model_form(&self) -> From {
        self.from.unwrap_or_else(|| From::of(&self.input))
    }

    /// What OUT shall be, for a model.
    fn to(&self) -> Result<To> {
        let is_stdout = self.output == Path::new("-");
        let told = self.to.or_else(|| To::of_model(&self.output));
        told.or(is_stdout.then_some(To::Weights)).ok_or_else(|| {
            let ending = self.output.extension().and_then(|ending| ending.to_str());
            let hint = match ending.map(str::to_ascii_lowercase).as_deref() {
                Some("gguf" | "uqff" | "safetensors") => {
                    "`nanoembed migrate` and `nanoembed quantize` write GGUF, UQFF and safetensors files"
                }
                _ => "name it `.weights` or `.amb`, or say `--to`",
            };
            Failure::usage("the ending of OUT does not tell a form of models").hint(hint)
        })
    }

    const fn amb_options(&self) -> AmbOptions {
        AmbOptions { weight_type: self.weight_type, block: self.block, bits: self.bits }
    }

    fn check_type(&self) -> Result<()> {
        if self.json && self.output == Path::new("-") {
            return Err(Failure::usage("stdout cannot have both the file and --json"));
        }
        let to = self.to()?;
        self.check_options(Kind::Model(self.model_form(), to))?;
        if to == To::Amb {
            return self.amb_options().check();
        }
        if !self.weight_type.is_of_weights() {
            let name = self.weight_type.name();
            return Err(Failure::usage(format!("`.weights` files have no type {name}"))
                .hint("give OUT the ending `.amb`"));
        }
        Ok(())
    }
}
