//! `convert`: a model of another form becomes a `.weights` or `.amb` file.

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
use crate::checkpoint::Checkpoint;
use crate::checkpoint::hugging_face::Folder;
use crate::checkpoint::weights::WeightsFile;
use crate::error::{Failure, Result, warn};
use crate::mapped::Mapped;
use crate::model_check;
use crate::output::table::{Align, Table};
use crate::output::units;
use crate::progress::Progress;
use crate::weights_file::{self, WeightType, Written};

/// Convert a model to a `.weights` or `.amb` file, or such a file to another type
///
/// IN is a folder as on Hugging Face (`model.safetensors`, `config.json`, `vocab.txt` or `tokenizer.json`), or a
/// `.weights` file of either layout, or an `.amb` file. OUT is what its ending says, `.amb` or else a `.weights` file; it
/// appears when it is complete, not before.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed convert all-MiniLM-L6-v2/ model.weights
  nanoembed convert all-MiniLM-L6-v2/ model.int8.weights --type int8
  nanoembed convert model.weights model.f16.weights --type f16
  nanoembed convert all-MiniLM-L6-v2/ model.amb --type int5block
  nanoembed convert all-MiniLM-L6-v2/ model.amb --type adaptive --bits 4.9 --calibrate texts.txt
  nanoembed convert model.amb model.weights
  nanoembed convert old-stream-file.bin model.weights --config config.json

The same input gives the same bytes: `created_at` is SOURCE_DATE_EPOCH if that
is set, else the time when the newest file of the input was changed.")]
pub(crate) struct Convert {
    /// A Hugging Face folder, its `.safetensors` file, a `.weights` or an `.amb` file
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// The `.weights` or `.amb` file to write; `-` is stdout
    #[arg(value_name = "OUT")]
    output: PathBuf,

    /// How the weights are stored
    #[arg(long = "type", short = 't', value_enum, default_value_t = WeightType::F32, value_name = "TYPE")]
    weight_type: WeightType,

    /// What IN is, where its name does not tell
    #[arg(long, value_enum, value_name = "FORMAT")]
    from: Option<From>,

    /// What OUT shall be [default: what its ending says]
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Option<To>,

    /// Elements that share a scale [default: 32; a row for `int8`], in `.amb` files
    #[arg(long, value_name = "N")]
    block: Option<u16>,

    /// Bits a weight, scales and mask included, for `--type adaptive`
    #[arg(long, value_name = "B")]
    bits: Option<f64>,

    /// Texts, a line each, like those that the model will see: what errors cost is measured on them, in `.amb` files
    #[arg(long, value_name = "FILE")]
    calibrate: Option<PathBuf>,

    /// A `config.json` with the model's sizes, for files that do not say them
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Keep the pooler, which embeddings have no use for
    #[arg(long)]
    pooler: bool,

    /// The model's name [default: that of the folder or file]
    #[arg(long)]
    name: Option<String>,

    /// One more entry of metadata, or another value for one; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    metadata: Vec<(String, String)>,
}

/// The forms of models that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum From {
    /// A folder with `model.safetensors` and its JSON files
    HuggingFace,
    /// An EMBD `.weights` file
    Weights,
    /// An `.amb` file
    Amb,
}

/// The forms of models that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum To {
    /// An EMBD `.weights` file
    Weights,
    /// An `.amb` file
    Amb,
}

fn key_value(text: &str) -> std::result::Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".into()),
    }
}

impl Convert {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        self.check_type()?;
        let from = self.from.unwrap_or_else(|| format_of(&self.input));
        let config = self.config.as_deref();
        match from {
            From::HuggingFace => {
                let folder = Folder::open(&self.input)?;
                let name = self.name.clone().or_else(|| folder.model_name());
                self.convert(&folder.checkpoint(config, self.pooler)?, name, None, quiet)
            }
            From::Weights => {
                let file = WeightsFile::open(&self.input)?;
                let (named, version) = file.name_and_version();
                let name = self.name.clone().or(named).or_else(|| stem(&self.input));
                self.convert(&file.checkpoint(config, self.pooler)?, name, version, quiet)
            }
            From::Amb => {
                let file = AmbFile::open(&self.input)?;
                let (named, version) = file.name_and_version();
                let name = self.name.clone().or(named).or_else(|| stem(&self.input));
                self.convert(&file.checkpoint()?, name, version, quiet)
            }
        }
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
        if self.to() == To::Amb {
            return self.amb_options().check();
        }
        if !self.weight_type.is_of_weights() {
            let name = self.weight_type.name();
            return Err(Failure::usage(format!("`.weights` files have no type {name}"))
                .hint("give OUT the ending `.amb`"));
        }
        if self.block.is_some() || self.bits.is_some() || self.calibrate.is_some() {
            return Err(Failure::usage("--block, --bits and --calibrate are for `.amb` files"));
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
        let mut metadata = vec![
            ("model_name".to_owned(), name.unwrap_or_else(|| "model".into())),
            ("model_version".to_owned(), version.unwrap_or_else(|| "1.0.0".into())),
        ];
        metadata.extend(checkpoint.settings.metadata());
        metadata.push(("weight_type".into(), self.weight_type.name().into()));
        metadata.push(("created_at".into(), created_at(checkpoint)?));
        for (key, value) in &self.metadata {
            match metadata.iter_mut().find(|(known, _)| known == key) {
                Some((_, old)) => old.clone_from(value),
                None => metadata.push((key.clone(), value.clone())),
            }
        }
        let mut file = NewFile::create(&self.output, true)?;
        let total = checkpoint.tensors.iter().map(|tensor| tensor.data.len() as u64).sum();
        let progress = (!quiet).then(|| Progress::bytes("converting", total));
        let written = weights_file::write(
            checkpoint,
            self.weight_type,
            &metadata,
            &mut file,
            progress.as_ref(),
        )?;
        drop(progress);
        check(&mut file, checkpoint)?;
        file.commit()?;
        if !quiet {
            self.report(checkpoint, &written);
        }
        Ok(ExitCode::SUCCESS)
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
            ("created".to_owned(), created_at(checkpoint)?),
        ];
        metadata.extend(checkpoint.settings.license.clone().map(|it| ("license".to_owned(), it)));
        metadata.extend(checkpoint.settings.further.iter().cloned());
        metadata.extend(self.metadata.iter().cloned());
        let options = self.amb_options();
        let energies = self.energies(checkpoint)?;
        let mut file = NewFile::create(&self.output, true)?;
        let total = checkpoint.tensors.iter().map(|tensor| tensor.data.len() as u64).sum();
        let progress = (!quiet).then(|| Progress::bytes("converting", total));
        let target = (&*file.name(), &mut file as &mut dyn std::io::Write);
        let written =
            amb::write(checkpoint, &options, &energies, &metadata, target, progress.as_ref())?;
        drop(progress);
        check_amb(&mut file)?;
        file.commit()?;
        if !quiet {
            self.report(checkpoint, &written);
        }
        Ok(ExitCode::SUCCESS)
    }

    /// What the columns meet, measured with the model in full precision.
    fn energies(&self, checkpoint: &Checkpoint<'_>) -> Result<Energies> {
        let Some(texts) = &self.calibrate else { return Ok(Energies::default()) };
        let whole = AmbOptions { weight_type: WeightType::F32, block: None, bits: None };
        let mut model = Vec::new();
        let target = ("memory", &mut model as &mut dyn std::io::Write);
        amb::write(checkpoint, &whole, &Energies::default(), &[], target, None)?;
        energy::measure(&model, texts)
    }

    /// Sizes and errors by type, to stderr: stdout may be the file.
    fn report(&self, checkpoint: &Checkpoint<'_>, written: &Written) {
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
        for entry in &written.by_type {
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
        if !checkpoint.left_out.is_empty() {
            let pooler = if checkpoint.left_out.iter().any(is_pooler) && !self.pooler {
                " (`--pooler` keeps the pooler)"
            } else {
                ""
            };
            anstream::eprintln!("  left out: {}{pooler}", checkpoint.left_out.join(", "));
        }
    }
}

/// A folder and what is called `.safetensors` are of Hugging Face; of the rest an `.amb` file is known by its beginning, and
/// all else is a `.weights` file.
fn format_of(path: &Path) -> From {
    use std::io::Read;
    let mut start = [0; 5];
    let begins = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    if begins.is_ok() && sniff(&start) == Some(Format::Amb) {
        return From::Amb;
    }
    let is_safetensors = path.extension().is_some_and(|ending| ending == "safetensors");
    if path.is_dir() || is_safetensors { From::HuggingFace } else { From::Weights }
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
    let settings = &checkpoint.settings;
    let strips = settings.strip_accents.unwrap_or(settings.do_lower_case);
    if !quiet && (strips != settings.do_lower_case || !settings.split_ideographs) {
        warn(
            "the model's tokenizer treats accents or ideographs in its own way: the file says so, \
             but texts are tokenised in the usual way of its letter case",
        );
    }
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
fn created_at(checkpoint: &Checkpoint<'_>) -> Result<String> {
    let time = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(seconds) => {
            let seconds = seconds.trim().parse::<u32>().map_err(|_| {
                Failure::usage("the environment's SOURCE_DATE_EPOCH is not a number of seconds")
            })?;
            SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.into())
        }
        Err(_) => checkpoint.modified.unwrap_or(SystemTime::UNIX_EPOCH),
    };
    Ok(humantime::format_rfc3339_seconds(time).to_string())
}

/// Reads back what was written, before it gets its name: a file that cannot be used is not handed out.
fn check(file: &mut NewFile, checkpoint: &Checkpoint<'_>) -> Result<()> {
    let Some(written) = file.written()? else { return Ok(()) };
    let bytes = Mapped::of(written).map_err(|error| Failure::reading(file.name(), &error))?;
    let parsed =
        Embd::parse(&bytes, Mode::Strict).map_err(|error| Failure::of_file(file.name(), error))?;
    match model_check::findings(&bytes, &parsed, true).into_iter().next() {
        None => Ok(()),
        Some(finding) => Err(Failure::input(finding.kind, finding.message)
            .at(&checkpoint.name)
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
