//! From one form of word vectors to another. Foreign forms become a `.fifu` file, and such a file
//! becomes a foreign form; between two foreign forms there is an unnamed `.fifu` file.

mod export;
mod import;
mod options;

use std::io::Write;
use std::path::Path;

use nanoembed_core::event::Format;
use nanoembed_core::format::sniff;

use super::derivation;
use super::file::WordFile;
use super::metadata;
use super::policy::Policy;
use super::read::start::Start;
use crate::error::{Error, Result};
use crate::files::mapped_file::MappedFile;
use crate::files::new_file::NewFile;
use crate::files::promise::check_promise;
use crate::files::scratch;
use crate::progress::{Observer, Progress};
use crate::signature::foreign;
use crate::signature::word_form::Form;
use crate::stored::file_names::{is_safetensors, is_uqff_name};

pub use options::Conversion;
pub(super) use options::WordOptions;

/// A conversion whose input has been looked at.
pub struct Started<'c> {
    conversion: &'c Conversion,
    start: Start<'static>,
    from: Form,
    to: Form,
}

/// The outcome of a conversion.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The number of words that were written.
    pub words: u64,
    /// The number of rows for subwords.
    pub subwords: u64,
    /// The length of a vector.
    pub cols: usize,
    /// Words left out because they stood there before.
    pub repeated: u64,
}

impl<'c> Started<'c> {
    /// Looks at the input; `None` if it has no word vectors, whatever its name.
    fn from_conversion(conversion: &'c Conversion) -> Result<Option<Self>> {
        let Conversion { from, to, .. } = *conversion;
        let (input, output) = (&*conversion.input, &*conversion.output);
        let to = to.or_else(|| Form::from_path(output));
        // Stdin can be looked at only once: it is if word vectors are asked for.
        if from.is_none() && to.is_none() && input == Path::new("-") || input.is_dir() {
            return Ok(None);
        }
        let start = Start::open(input)?;
        // A model of a format that the core knows, whatever its bytes look like as text.
        if sniff(&start.head).is_some_and(|format| format != Format::Finalfusion) {
            return Ok(None);
        }
        if let Some(foreign) = foreign::unmistakable(&start.head) {
            return Err(foreign.refuse(&start.name));
        }
        let Some(from) = from.or_else(|| start.form()) else {
            // A model would be a folder, or of a format that the core knows.
            return match is_model_name(input) {
                true => Ok(None),
                false => Err(start.unknown()),
            };
        };
        let to = match (to, from) {
            (Some(to), _) => to,
            (None, from) if from != Form::Finalfusion && output == Path::new("-") => {
                Form::Finalfusion
            }
            (None, _) => {
                return Err(Error::usage("the ending of OUT does not tell a form of word vectors")
                    .at(output.display())
                    .with_hint(
                        "name it `.fifu`, `.w2v`, `.txt`, `.vec` or `.floret`, or say `--to finalfusion|word2vec|text|textdims|floret`",
                    ));
            }
        };
        if to == Form::Fasttext {
            return Err(Error::usage("fastText models are read, not written"));
        }
        check_promise(output, to.endings(), to.name())?;
        let started = Self { conversion, start, from, to };
        conversion.check_options(started.from, started.to)?;
        Ok(Some(started))
    }

    /// Converts.
    pub fn run(self, observer: &dyn Observer) -> Result<Report> {
        let Self { conversion, start, from, to } = self;
        let Conversion { input, output, options, metadata: entries, .. } = conversion;
        let progress = Progress::bytes(observer, "converting", start.bytes.unwrap_or(0));
        let mut file = NewFile::create(output, matches!(to, Form::Finalfusion | Form::Word2vec))?;
        let name = file.name();
        let mut job = Job { options, entries, observer, output, progress: &progress };
        let report = match (from, to) {
            (Form::Finalfusion, Form::Finalfusion) => {
                let bytes = start.into_mapped(input)?;
                let opened = WordFile::parse(input, &bytes, options.policy)?;
                let text = opened.file.metadata().unwrap_or("");
                let text = metadata::edited(text, entries)?;
                let text = Some(&text[..]).filter(|text| !text.is_empty());
                derivation::copy(&opened, text, (&mut file, &name))?;
                Report { words: opened.file.words().len() as u64, ..Report::default() }
            }
            (Form::Finalfusion, _) => {
                let bytes = start.into_mapped(input)?;
                let opened = WordFile::parse(input, &bytes, options.policy)?;
                job.export(&opened, to, (&mut file, &name))?
            }
            (_, Form::Finalfusion) => job.import(start, input, from, (&mut file, &name))?,
            (_, _) => {
                // Lengths stay what they are on the way from one to the other.
                let options = WordOptions { no_normalize: !options.normalized, ..options.clone() };
                job.options = &options;
                let (imported, bytes) = job.import_unnamed(start, input, from, &name)?;
                let opened = WordFile::parse(input, &bytes, options.policy)?;
                job.export(&opened, to, (&mut file, &name))?;
                imported
            }
        };
        drop(progress);
        file.commit()?;
        Ok(report)
    }
}

/// Word vectors as a `.fifu` file: one as it is, those of other programs as a file that has no name
/// and vanishes with its map.
pub(super) fn as_finalfusion(
    start: Start<'_>,
    path: &Path,
    options: &WordOptions,
    observer: &dyn Observer,
) -> Result<MappedFile> {
    let form = start.form().ok_or_else(|| start.unknown())?;
    if form == Form::Finalfusion {
        return start.into_mapped(path);
    }
    let progress = Progress::bytes(observer, "converting", start.bytes.unwrap_or(0));
    let output = Path::new("-");
    let job = Job { options, entries: &[], observer, output, progress: &progress };
    let name = "a temporary file";
    job.import_unnamed(start, path, form, name).map(|(_, bytes)| bytes)
}

/// Reads word vectors of another program whole, with `policy` for their words; returns a
/// description, or the fault; `None` if they are none.
pub fn check(
    (name, bytes): (&str, &[u8]),
    policy: Policy,
    observer: &dyn Observer,
) -> Result<Option<String>> {
    let start = Start::from_bytes(name, bytes);
    let form = start.form().filter(|form| *form != Form::Finalfusion);
    let Some(form) = form else { return Ok(None) };
    let options = WordOptions { policy, no_normalize: true, ..WordOptions::default() };
    let progress = Progress::bytes(observer, "verifying", bytes.len() as u64);
    let output = Path::new("-");
    let job = Job { options: &options, entries: &[], observer, output, progress: &progress };
    let Report { words, subwords, cols, repeated } =
        job.import(start, output, form, (&mut std::io::sink(), name))?;
    let cols = if cols > 0 { format!(" of {cols} columns") } else { String::new() };
    let subwords =
        if subwords > 0 { format!(", {subwords} rows for subwords") } else { String::new() };
    let repeated = if repeated > 0 { format!(", {repeated} repeated") } else { String::new() };
    let form = form.name();
    Ok(Some(format!(
        "word vectors, {form}: {words} words{cols}{subwords}{repeated}, the form has no checksums"
    )))
}

/// True if a file's name says that it is a model, whatever its first bytes are.
fn is_model_name(input: &Path) -> bool {
    is_safetensors(input) || is_uqff_name(input)
}

/// The values that all steps of a conversion share.
struct Job<'j> {
    options: &'j WordOptions,
    entries: &'j [(String, String)],
    observer: &'j dyn Observer,
    output: &'j Path,
    progress: &'j Progress<'j>,
}

type Target<'t> = (&'t mut dyn Write, &'t str);

impl Job<'_> {
    /// Makes a `.fifu` file that has no name and vanishes with its map; `name` is for messages.
    fn import_unnamed(
        &self,
        start: Start<'_>,
        input: &Path,
        from: Form,
        name: &str,
    ) -> Result<(Report, MappedFile)> {
        let failed = |error| Error::writing(name, &error);
        let mut file = scratch::create().map_err(failed)?;
        let report = self.import(start, input, from, (&mut file, name))?;
        std::io::Seek::rewind(&mut file).map_err(failed)?;
        let bytes = MappedFile::from_file(file).map_err(|error| Error::reading(name, &error))?;
        Ok((report, bytes))
    }

    fn advance(&self, by: u64) {
        self.progress.advance(by);
    }
}
