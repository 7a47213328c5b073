//! `convert`: a model of another form becomes a `.weights`, `.amb` or GGUF file; word vectors
//! become `.fifu` files and back.
//!
//! | file | role |
//! |---|---|
//! | `forms` | forms of IN and OUT, and how they are told |
//! | `report` | the report at the end |
//! | `time` | when it was made |

mod forms;
pub(super) mod report;
pub(super) mod time;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use nanoembed::convert::{Conversion, ModelTarget, WeightType};
use nanoembed::stored::FileSet;
use nanoembed::words;

use crate::args::choice::choice;
use crate::args::words::WordArgs;
use crate::args::{AdapterArgs, GivenRole, UnknownArgs};
use crate::error::{Error, Result, name_of, name_of_output};
use crate::progress::Terminal;
use crate::streams;
use forms::{From, To};
use time::created;

/// Convert a model to a `.weights`, `.amb` or GGUF file, or word vectors from one form to another
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
  nanoembed convert bge-m3/ bge-m3.gguf
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
    pub(super) input: PathBuf,

    /// The file to write; `-` is stdout
    #[arg(value_name = "OUT")]
    output: PathBuf,

    /// Type of the weights
    #[arg(long = "type", short = 't', value_parser = choice::<WeightType>(), default_value = "f32", value_name = "TYPE")]
    weight_type: WeightType,

    /// Form of IN, where its name does not tell
    #[arg(long, value_enum, value_name = "FORMAT")]
    from: Option<From>,

    /// Form of OUT, where its name does not tell
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Option<To>,

    /// Elements that share a scale [default: 32; a row for `int8`], in `.amb` files
    #[arg(long, value_name = "N")]
    block: Option<u16>,

    /// Bits a weight, scales and mask included, for `--type adaptive`
    #[arg(long, short, value_name = "B")]
    bits: Option<f64>,

    /// Keep the codes of `--type int8` so small that browsers whose CPU adds up products in 16 bits
    /// take nine tenths of the time, at some precision
    #[arg(long)]
    for_web: bool,

    /// A `config.json` with the model's sizes, for files that do not say them
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// A `vocab.txt`, a token a line, for `.weights` files without a vocabulary
    #[arg(long, value_name = "FILE")]
    vocab: Option<PathBuf>,

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

    /// Convert the route that such texts take through a model with a Router [default: the model's
    /// default route]
    #[arg(long = "as", value_enum, value_name = "ROLE")]
    role: Option<GivenRole>,

    #[command(flatten)]
    unknown: UnknownArgs,

    #[command(flatten)]
    adapter: AdapterArgs,

    #[command(flatten)]
    words: WordArgs,
}

pub(super) fn key_value(text: &str) -> std::result::Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".into()),
    }
}

impl Convert {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        streams::check_output(&self.output)?;
        let observer = Terminal::new(quiet);
        let is_of_words = self.from.is_some_and(|from| from.words().is_some())
            || self.to.is_some_and(|to| to.words().is_some());
        let target = self.target();
        if target == Some(ModelTarget::Gguf) {
            if FileSet::open(&self.input)?.format().is_none() {
                return Err(Error::usage("the ending of OUT is that of a model, and IN is none"));
            }
            self.check_gguf_options()?;
            let converted = self.model()?.run(&observer)?;
            if !quiet {
                report::files(&converted.files);
            }
            return Ok(ExitCode::SUCCESS);
        }
        let is_model = target.is_some() || self.from.is_some_and(|from| from.model().is_some());
        let conversion = self.word_vectors();
        let started = if is_model { None } else { conversion.start()? };
        if let Some(started) = started {
            self.check_options_of_words()?;
            let report = started.run(&observer)?;
            if !quiet {
                report::words(&report, &name_of_output(&self.output));
            }
        } else if is_of_words {
            let message = "these are no word vectors, which `--from` and `--to` ask for";
            return Err(Error::usage(message).at(name_of(&self.input)));
        } else {
            self.check_options_of_models()?;
            let converted = self.model()?.run(&observer)?;
            let report =
                report::Model { output: &self.output, json: self.json, pooler: self.pooler };
            report.print(&converted, quiet)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The model format of OUT, if OUT is named as a model.
    fn target(&self) -> Option<ModelTarget> {
        match self.to {
            Some(to) => to.model(),
            None => ModelTarget::from_ending(&self.output),
        }
    }

    /// The conversion, for word vectors.
    fn word_vectors(&self) -> words::Conversion {
        let conversion = words::Conversion::new(&self.input, &self.output)
            .from(self.from.and_then(From::words))
            .to(self.to.and_then(To::words));
        let entries = self.metadata.iter();
        entries.fold(self.words.applied_to(conversion), |conversion, (key, value)| {
            conversion.metadata(key, value)
        })
    }

    /// The conversion, for a model.
    fn model(&self) -> Result<Conversion> {
        let conversion = Conversion::new(&self.input, &self.output)
            .from(self.from.and_then(From::model))
            .to(self.to.and_then(To::model))
            .weight_type(self.weight_type)
            .block(self.block)
            .bits(self.bits)
            .for_web(self.for_web)
            .config(self.config.clone())
            .vocab(self.vocab.clone())
            .calibrate(self.calibrate.clone())
            .pooler(self.pooler)
            .name(self.name.clone())
            .role(GivenRole::role(self.role))
            .allow_unknown(self.unknown.names())
            .adapter(self.adapter.folder().map(Path::to_owned))
            .created(created()?);
        let entries = self.metadata.iter();
        Ok(entries.fold(conversion, |conversion, (key, value)| conversion.metadata(key, value)))
    }

    /// Refuses an option that was given and means nothing for word vectors. Those about word vectors
    /// are the library's.
    fn check_options_of_words(&self) -> Result<()> {
        let config = "models in folders and `.weights` files";
        let options = [
            (
                "--type",
                self.weight_type != WeightType::F32,
                "models; `nanoembed quantize` makes word vectors smaller",
            ),
            ("--block", self.block.is_some(), "types of few bits in `.amb` files"),
            ("--bits", self.bits.is_some(), "`--type adaptive` in `.amb` files"),
            ("--for-web", self.for_web, "`--type int8` in `.weights` files"),
            ("--config", self.config.is_some(), config),
            ("--vocab", self.vocab.is_some(), "`.weights` files without a vocabulary"),
            ("--calibrate", self.calibrate.is_some(), "types of few bits"),
            ("--pooler", self.pooler, config),
            ("--name", self.name.is_some(), "models"),
            ("--as", self.role.is_some(), "folders of models with a Router"),
            ("--adapter", self.adapter.folder().is_some(), "models in folders"),
            ("--allow-unknown", !self.unknown.names().is_empty(), "models in folders"),
            ("--json", self.json, "models"),
        ];
        match options.into_iter().find(|(_, is_given, _)| *is_given) {
            Some((option, _, use_is)) => Err(Error::usage(format!("{option} is for {use_is}"))),
            None => Ok(()),
        }
    }

    /// The same for models.
    fn check_options_of_models(&self) -> Result<()> {
        if self.json && self.output == Path::new("-") {
            return Err(Error::usage("stdout cannot have both the file and --json"));
        }
        match self.words.given() {
            Some((option, use_is)) => Err(Error::usage(format!("{option} is for {use_is}"))),
            None => Ok(()),
        }
    }

    /// The same for GGUF files.
    fn check_gguf_options(&self) -> Result<()> {
        let words = self.words.given().map(|(option, _)| option);
        match self.json.then_some("--json").or(words) {
            Some(option) => Err(Error::usage(format!("{option} is not for GGUF files"))),
            None => Ok(()),
        }
    }
}
