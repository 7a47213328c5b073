//! `convert`: a model of another form becomes a `.weights` or `.amb` file; word vectors become `.fifu` files and back.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::{Args, ValueEnum};
use nanoembed_core::ErrorKind;
use nanoembed_core::event::{Format, Mode};
use nanoembed_core::format::amb::Amb;
use nanoembed_core::format::embd::Embd;
use nanoembed_core::format::sniff;

use crate::amb::energy::{self, Energies};
use crate::amb::source::AmbFile;
use crate::amb::{self, AmbOptions};
use crate::atomic::NewFile;
use crate::calibration::{self, Calibration};
use crate::checkpoint::Checkpoint;
use crate::checkpoint::hugging_face::{Folder, is_safetensors};
use crate::checkpoint::tensor::OwnedTensor;
use crate::checkpoint::weights::WeightsFile;
use crate::decoder::conversion::DecoderModel;
use crate::decoder::gguf::GgufFile;
use crate::decoder::hugging_face::DecoderSettings;
use crate::error::{Failure, Result, warn};
use crate::mapped::Mapped;
use crate::model_check;
use crate::output::lines::Lines;
use crate::output::table::{Align, Table};
use crate::output::units;
use crate::progress::Progress;
use crate::stored::files::is_uqff_name;
use crate::weights_file::{self, Storage, WeightType, Written};
use crate::word_vectors::convert::{Conversion, WordOptions};
use crate::word_vectors::form::Form;

/// Convert a model to a `.weights` or `.amb` file, or word vectors from one form to another
///
/// A model is a folder as on Hugging Face (`model.safetensors`, `config.json`, and `vocab.txt` or `tokenizer.json`; for
/// decoders `tokenizer.model`) or the same with UQFF, a `.weights` file of either layout, an `.amb` file, or a GGUF file of a
/// decoder. Word vectors
/// are finalfusion, word2vec, text (GloVe), fastText or floret files: they are told by their first bytes, and OUT by its name.
/// OUT appears when it is complete, not before.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed convert all-MiniLM-L6-v2/ model.weights
  nanoembed convert all-MiniLM-L6-v2/ model.int8.weights --type int8
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
is set, else the time when the newest file of the input was changed.")]
pub(crate) struct Convert {
    /// A Hugging Face folder, its `.safetensors` or `.uqff` file, a `.weights`, `.amb` or GGUF file, or a file of word vectors;
    /// `-` is stdin
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

    /// A `config.json` with the model's sizes, for files that do not say them
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Texts like those that will be embedded, one a line, that weights of few bits are tuned to [default: built-in ones]
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

/// The forms of models that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum From {
    /// A folder with `model.safetensors` or UQFF and its JSON files
    HuggingFace,
    /// An EMBD `.weights` file
    Weights,
    /// An `.amb` file
    Amb,
    /// A GGUF file of a decoder of the Llama family
    Gguf,
    /// A finalfusion `.fifu` file
    Finalfusion,
    /// word2vec's binary form
    Word2vec,
    /// Lines of text, a word and its numbers each; GloVe's form
    #[value(alias = "glove")]
    Text,
    /// The same behind a line with the numbers of words and columns
    Textdims,
    /// A fastText model, `.bin` or `.ftz`
    Fasttext,
    /// floret's text form
    Floret,
}

/// The forms of models that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum To {
    /// An EMBD `.weights` file
    Weights,
    /// An `.amb` file
    Amb,
    /// A finalfusion `.fifu` file
    Finalfusion,
    /// word2vec's binary form
    Word2vec,
    /// Lines of text, a word and its numbers each; GloVe's form
    #[value(alias = "glove")]
    Text,
    /// The same behind a line with the numbers of words and columns
    Textdims,
    /// floret's text form
    Floret,
}

impl From {
    const fn words(self) -> Option<Form> {
        match self {
            Self::HuggingFace | Self::Weights | Self::Amb | Self::Gguf => None,
            Self::Finalfusion => Some(Form::Finalfusion),
            Self::Word2vec => Some(Form::Word2vec),
            Self::Text => Some(Form::Text),
            Self::Textdims => Some(Form::Textdims),
            Self::Fasttext => Some(Form::Fasttext),
            Self::Floret => Some(Form::Floret),
        }
    }
}

impl To {
    const fn words(self) -> Option<Form> {
        match self {
            Self::Weights | Self::Amb => None,
            Self::Finalfusion => Some(Form::Finalfusion),
            Self::Word2vec => Some(Form::Word2vec),
            Self::Text => Some(Form::Text),
            Self::Textdims => Some(Form::Textdims),
            Self::Floret => Some(Form::Floret),
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
            conversion.run(&self.words, &self.metadata, quiet)?;
            return Ok(ExitCode::SUCCESS);
        }
        self.check_type()?;
        let from = self.from.unwrap_or_else(|| format_of(&self.input));
        let config = self.config.as_deref();
        match from {
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
                self.convert(&folder.checkpoint(config, self.pooler)?, name, None, quiet)
            }
            From::Amb => {
                let file = AmbFile::open(&self.input)?;
                let (named, version) = file.name_and_version();
                let name = self.name.clone().or(named).or_else(|| stem(&self.input));
                self.convert(&file.checkpoint()?, name, version, quiet)
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
                self.convert(&file.checkpoint(config, self.pooler)?, name, version, quiet)
            }
        }
    }

    /// The conversion if it is one of word vectors.
    fn word_vectors(&self) -> Result<Option<Conversion>> {
        let is_model = self.from.is_some_and(|from| from.words().is_none())
            || self.to.is_some_and(|to| to.words().is_none())
            || self.output.extension().is_some_and(|ending| ending == "weights" || ending == "amb");
        if is_model {
            return Ok(None);
        }
        let (from, to) = (self.from.and_then(From::words), self.to.and_then(To::words));
        Conversion::of((&self.input, from), (&self.output, to))
    }

    fn to(&self) -> To {
        let by_ending = || match self.output.extension().is_some_and(|ending| ending == "amb") {
            true => To::Amb,
            false => To::Weights,
        };
        self.to.unwrap_or_else(by_ending)
    }

    const fn amb_options(&self) -> AmbOptions {
        AmbOptions { weight_type: self.weight_type, block: self.block, bits: self.bits }
    }

    fn check_type(&self) -> Result<()> {
        if self.json && self.output == Path::new("-") {
            return Err(Failure::usage("stdout cannot have both the file and --json"));
        }
        if self.to() == To::Amb {
            return self.amb_options().check();
        }
        if !self.weight_type.is_of_weights() {
            let name = self.weight_type.name();
            return Err(Failure::usage(format!("`.weights` files have no type {name}"))
                .hint("give OUT the ending `.amb`"));
        }
        if self.block.is_some() || self.bits.is_some() {
            return Err(Failure::usage("--block and --bits are for `.amb` files"));
        }
        Ok(())
    }

    fn convert(
        &self,
        checkpoint: &Checkpoint<'_>,
        name: Option<String>,
        version: Option<String>,
        quiet: bool,
    ) -> Result<ExitCode> {
        check_vocabulary(checkpoint, quiet)?;
        if self.to() == To::Amb {
            return self.convert_to_amb(checkpoint, name, version, quiet);
        }
        let metadata = self.weights_metadata(
            (name, version),
            checkpoint.settings.metadata(),
            created_at(checkpoint.modified)?,
        );
        let calibration = self.calibrate(checkpoint, quiet)?;
        let tokens = checkpoint.tokens();
        let source = weights_file::Source::of(checkpoint, &tokens);
        let written = self.write_weights(&source, (&calibration, &metadata), quiet)?;
        self.report(&checkpoint.left_out, &written, quiet)
    }

    /// All metadata of a `.weights` file, `--metadata` over what is known.
    fn weights_metadata(
        &self,
        (name, version): (Option<String>, Option<String>),
        settings: Vec<(String, String)>,
        created_at: String,
    ) -> Vec<(String, String)> {
        let mut metadata = vec![
            ("model_name".to_owned(), name.unwrap_or_else(|| "model".into())),
            ("model_version".to_owned(), version.unwrap_or_else(|| "1.0.0".into())),
        ];
        metadata.extend(settings);
        metadata.push(("weight_type".into(), self.weight_type.name().into()));
        metadata.push(("created_at".into(), created_at));
        for (key, value) in &self.metadata {
            match metadata.iter_mut().find(|(known, _)| known == key) {
                Some((_, old)) => old.clone_from(value),
                None => metadata.push((key.clone(), value.clone())),
            }
        }
        metadata
    }

    fn write_weights(
        &self,
        source: &weights_file::Source<'_>,
        (calibration, metadata): (&Calibration, &[(String, String)]),
        quiet: bool,
    ) -> Result<Written> {
        let mut file = NewFile::create(&self.output, true)?;
        let total = source.tensors.iter().map(|tensor| tensor.data.len() as u64).sum();
        let progress = (!quiet).then(|| Progress::bytes("converting", total));
        let name = file.name();
        let storage = Storage { weight_type: self.weight_type, calibration };
        let written =
            weights_file::write(source, &storage, metadata, &mut file, &name, progress.as_ref())?;
        drop(progress);
        check(&mut file, source.name)?;
        file.commit()?;
        Ok(written)
    }

    fn convert_to_amb(
        &self,
        checkpoint: &Checkpoint<'_>,
        name: Option<String>,
        version: Option<String>,
        quiet: bool,
    ) -> Result<ExitCode> {
        let mut metadata = vec![
            ("name".to_owned(), name.unwrap_or_else(|| "model".into())),
            ("family".to_owned(), "BERT".to_owned()),
            ("version".to_owned(), version.unwrap_or_else(|| "1.0.0".into())),
            ("created".to_owned(), created_at(checkpoint.modified)?),
        ];
        metadata.extend(checkpoint.settings.license.clone().map(|it| ("license".to_owned(), it)));
        metadata.extend(checkpoint.settings.further.iter().cloned());
        metadata.extend(self.metadata.iter().cloned());
        let energies = self.energies(checkpoint, quiet)?;
        let tokens = checkpoint.tokens();
        let source = amb::Source {
            name: &checkpoint.name,
            tensors: &checkpoint.tensors,
            config: amb::encoder_config(checkpoint),
            tokenizer: amb::wordpiece(checkpoint, &tokens),
            metadata,
        };
        let written = self.write_amb(source, &energies, quiet)?;
        self.report(&checkpoint.left_out, &written, quiet)
    }

    fn convert_decoder(
        &self,
        model: DecoderModel<'_>,
        name: Option<String>,
        quiet: bool,
    ) -> Result<ExitCode> {
        let source_name = crate::error::name_of(&self.input);
        let (merges, tokens) = model.tokenizer.borrowed();
        if self.to() != To::Amb {
            let mut settings = model.settings();
            settings.extend(model.metadata.iter().cloned());
            let created_at = created_at(model.modified)?;
            let metadata = self.weights_metadata((name, None), settings, created_at);
            let source = weights_file::Source {
                name: &source_name,
                tensors: &model.tensors,
                vocabulary: model.vocabulary(&tokens),
                further: vec![model.further()],
            };
            let written =
                self.write_weights(&source, (&Calibration::default(), &metadata), quiet)?;
            return self.report(&[], &written, quiet);
        }
        let mut metadata = vec![("name".to_owned(), name.unwrap_or_else(|| "model".into()))];
        metadata.extend(model.metadata);
        metadata.extend(self.metadata.iter().cloned());
        let source = amb::Source {
            name: &source_name,
            tensors: &model.tensors,
            config: model.config,
            tokenizer: Some(model.tokenizer.spec(&merges, &tokens)),
            metadata,
        };
        let written = self.write_amb(source, &Energies::default(), quiet)?;
        self.report(&[], &written, quiet)
    }

    fn write_amb(
        &self,
        source: amb::Source<'_>,
        energies: &Energies,
        quiet: bool,
    ) -> Result<Written> {
        let options = self.amb_options();
        let mut file = NewFile::create(&self.output, true)?;
        let total = source.tensors.iter().map(|tensor| tensor.data.len() as u64).sum();
        let progress = (!quiet).then(|| Progress::bytes("converting", total));
        let target = (&*file.name(), &mut file as &mut dyn std::io::Write);
        let written = amb::write(source, &options, energies, target, progress.as_ref())?;
        drop(progress);
        check_amb(&mut file)?;
        file.commit()?;
        Ok(written)
    }

    /// What the columns of the weights meet.
    fn energies(&self, checkpoint: &Checkpoint<'_>, quiet: bool) -> Result<Energies> {
        let floats =
            matches!(self.weight_type, WeightType::F32 | WeightType::F16 | WeightType::Bf16);
        if floats || checkpoint.vocabulary.is_none() {
            return Ok(Energies::default());
        }
        let texts = calibration::texts(self.calibrate.as_deref())?;
        energy::measure(checkpoint, &texts, quiet)
    }

    /// What decides the column scales of 8-bit weights.
    fn calibrate(&self, checkpoint: &Checkpoint<'_>, quiet: bool) -> Result<Calibration> {
        if self.weight_type != WeightType::Int8 {
            return Ok(Calibration::default());
        }
        if checkpoint.vocabulary.is_none() {
            if !quiet {
                warn(
                    "the model cannot be calibrated without a vocabulary: it will run with 32-bit activations",
                );
            }
            return Ok(Calibration::default());
        }
        Calibration::run(checkpoint, &calibration::texts(self.calibrate.as_deref())?, quiet)
    }

    /// Every tensor to stdout if that was asked for; else sizes and errors by type to stderr, as stdout may be the file.
    fn report(&self, left_out: &[String], written: &Written, quiet: bool) -> Result<ExitCode> {
        if self.json {
            let mut lines = Lines::stdout();
            written.tally.tensors.iter().try_for_each(|tensor| lines.json(tensor))?;
            lines.finish()?;
        } else if !quiet {
            self.report_types(left_out, written);
        }
        Ok(ExitCode::SUCCESS)
    }

    fn report_types(&self, left_out: &[String], written: &Written) {
        let mut table = Table::new(&[
            Align::Left,
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Left,
        ]);
        let heads = ["type", "tensors", "parameters", "size", "error (NMSE)", "largest in"];
        table.row(heads.map(str::to_owned));
        for entry in &written.tally.by_type {
            let worst = entry.worst.as_ref().filter(|(_, share)| *share > 0.0);
            let (error, worst) = match worst {
                Some((name, share)) => {
                    (format!("{:.1e}", entry.nmse()), format!("{name} {share:.1e}"))
                }
                None => ("none".into(), String::new()),
            };
            table.row([
                entry.name.to_owned(),
                entry.tensors.to_string(),
                units::count(entry.parameters),
                units::bytes(entry.bytes),
                error,
                worst,
            ]);
        }
        let output = crate::error::name_of(&self.output);
        let output = if output == "stdin" { "stdout" } else { &output };
        anstream::eprintln!("{output}: {}", units::bytes(written.file_bytes));
        for line in table.lines(2) {
            anstream::eprintln!("{line}");
        }
        let is_pooler = |name: &String| name.starts_with("pooler.");
        if !left_out.is_empty() {
            let pooler = if left_out.iter().any(is_pooler) && !self.pooler {
                " (`--pooler` keeps the pooler)"
            } else {
                ""
            };
            anstream::eprintln!("  left out: {}{pooler}", left_out.join(", "));
        }
    }
}

/// A folder and what is called `.safetensors` or `.uqff` are of Hugging Face; of the rest an `.amb` file is known by its beginning, and
/// all else is a `.weights` file.
fn format_of(path: &Path) -> From {
    use std::io::Read;
    let mut start = [0; 5];
    let begins = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    match sniff(&start) {
        Some(Format::Amb) if begins.is_ok() => return From::Amb,
        Some(Format::Gguf) if begins.is_ok() => return From::Gguf,
        _ => {}
    }
    let is_of_folder = path.is_dir() || is_safetensors(path) || is_uqff_name(path);
    if is_of_folder { From::HuggingFace } else { From::Weights }
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

/// The time of creation as ISO 8601, the same for the same input.
fn created_at(modified: Option<SystemTime>) -> Result<String> {
    let time = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(seconds) => {
            let seconds = seconds.trim().parse::<u32>().map_err(|_| {
                Failure::usage("the environment's SOURCE_DATE_EPOCH is not a number of seconds")
            })?;
            SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.into())
        }
        Err(_) => modified.unwrap_or(SystemTime::UNIX_EPOCH),
    };
    Ok(humantime::format_rfc3339_seconds(time).to_string())
}

/// When a file was changed.
fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().ok()?.modified().ok()
}

/// Reads back what was written, before it gets its name: a file that cannot be used is not handed out.
fn check(file: &mut NewFile, source: &str) -> Result<()> {
    let Some(written) = file.written()? else { return Ok(()) };
    let bytes = Mapped::of(written).map_err(|error| Failure::reading(file.name(), &error))?;
    let parsed =
        Embd::parse(&bytes, Mode::Strict).map_err(|error| Failure::of_file(file.name(), error))?;
    match model_check::findings(&bytes, &parsed, true).into_iter().next() {
        None => Ok(()),
        Some(finding) => Err(Failure::input(finding.kind, finding.message)
            .at(source)
            .hint("the model's config.json does not describe these weights")),
    }
}

/// As [`check`], of an `.amb` file.
fn check_amb(file: &mut NewFile) -> Result<()> {
    let Some(written) = file.written()? else { return Ok(()) };
    let bytes = Mapped::of(written).map_err(|error| Failure::reading(file.name(), &error))?;
    Amb::parse(&bytes, Mode::Strict).map_err(|error| Failure::of_file(file.name(), error))?;
    Ok(())
}
