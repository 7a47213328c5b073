//! From one form of word vectors to another. What other programs write becomes a `.fifu` file, and such a file becomes
//! what other programs read; from one foreign form to another there is an unnamed `.fifu` file between them.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use nanoembed_core::ErrorKind;
use nanoembed_core::event::Format;
use nanoembed_core::format::finalfusion::{BrokenUtf8, MAX_WORD_BYTES, Plan, StorageSpec};
use nanoembed_core::format::sniff;
use nanoembed_core::subword::Subwords;
use nanoembed_core::words::normalize;

use super::derive;
use super::file::Opened;
use super::finite;
use super::form::Form;
use super::metadata;
use super::policy::{OnDuplicate, PolicyArgs};
use super::read::Rows;
use super::read::fasttext::FastText;
use super::read::floret::Floret;
use super::read::start::Start;
use super::read::text::TextRows;
use super::read::word2vec::Word2VecRows;
use super::vocabulary::{Known, Vocabulary};
use super::write::fifu::{self, bytes_of, simple};
use super::write::rows::RowWriter;
use super::write::spool::Spool;
use crate::atomic::NewFile;
use crate::error::{Failure, Result, warn};
use crate::mapped::Mapped;
use crate::output::units;
use crate::progress::Progress;

/// The arguments of `convert` about word vectors.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Word vectors")]
pub(crate) struct WordOptions {
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,

    /// Keep vectors as they are in a `.fifu` file: neither normalised nor with their lengths beside them
    #[arg(long)]
    pub(crate) no_normalize: bool,

    /// Write vectors of length 1 to other files than `.fifu` instead of their original lengths
    #[arg(long, conflicts_with = "no_normalize")]
    pub(crate) normalized: bool,
}

/// A conversion.
pub(crate) struct Conversion {
    start: Start,
    input: PathBuf,
    output: PathBuf,
    from: Form,
    to: Form,
}

/// What was converted.
#[derive(Debug, Default)]
struct Report {
    words: u64,
    subwords: u64,
    cols: usize,
    /// Words left out because they stood there before.
    repeated: u64,
}

impl Conversion {
    /// A conversion of word vectors, if that is what `input` has, whatever its name: `from` and `to` are what was asked
    /// for.
    pub(crate) fn of(
        (input, from): (&Path, Option<Form>),
        (output, to): (&Path, Option<Form>),
    ) -> Result<Option<Self>> {
        let to = to.or_else(|| Form::of_name(output));
        // Stdin can be looked at only once: it is if word vectors are asked for.
        if from.is_none() && to.is_none() && input == Path::new("-") || input.is_dir() {
            return Ok(None);
        }
        let start = Start::open(input)?;
        // A model of a format that the core knows, whatever its bytes look like as text.
        if sniff(&start.head).is_some_and(|format| format != Format::Finalfusion) {
            return Ok(None);
        }
        let Some(from) = from.or_else(|| start.form()) else { return Ok(None) };
        let to = match (to, from) {
            (Some(to), _) => to,
            (None, Form::Finalfusion) => {
                return Err(Failure::usage("the name of OUT does not say what it shall be")
                    .hint("`--to` says it: word2vec, text, textdims, floret"));
            }
            (None, _) => Form::Finalfusion,
        };
        if to == Form::Fasttext {
            return Err(Failure::usage("fastText models are read, not written"));
        }
        let (input, output) = (input.to_owned(), output.to_owned());
        Ok(Some(Self { start, input, output, from, to }))
    }

    /// What becomes what.
    pub(crate) const fn forms(&self) -> (Form, Form) {
        (self.from, self.to)
    }

    /// Converts. `entries` are metadata to add to a `.fifu` file.
    pub(crate) fn run(
        self,
        options: &WordOptions,
        entries: &[(String, String)],
        quiet: bool,
    ) -> Result<()> {
        let Self { start, input, output, from, to } = self;
        let progress = (!quiet).then(|| Progress::bytes("converting", start.bytes.unwrap_or(0)));
        let mut file = NewFile::create(&output, matches!(to, Form::Finalfusion | Form::Word2vec))?;
        let name = file.name();
        let mut job = Job { options, entries, quiet, output: &output, progress: progress.as_ref() };
        let report = match (from, to) {
            (Form::Finalfusion, Form::Finalfusion) => {
                let bytes = start.into_mapped(&input)?;
                let opened = Opened::parse(&input, &bytes, options.policy)?;
                let text = opened.file.metadata().unwrap_or("");
                let text = metadata::edited(text, entries)?;
                let text = Some(&text[..]).filter(|text| !text.is_empty());
                derive::copy(&opened, text, (&mut file, &name))?;
                Report { words: opened.file.words().len() as u64, ..Report::default() }
            }
            (Form::Finalfusion, _) => {
                let bytes = start.into_mapped(&input)?;
                let opened = Opened::parse(&input, &bytes, options.policy)?;
                job.export(&opened, to, (&mut file, &name))?
            }
            (_, Form::Finalfusion) => job.import(start, &input, from, (&mut file, &name))?,
            (_, _) => {
                let failed = |error| Failure::writing(&name, &error);
                let mut between = tempfile::tempfile().map_err(failed)?;
                // Lengths stay what they are on the way from one to the other.
                let options = WordOptions { no_normalize: !options.normalized, ..options.clone() };
                job.options = &options;
                let imported = job.import(start, &input, from, (&mut between, &name))?;
                std::io::Seek::rewind(&mut between).map_err(failed)?;
                let bytes = Mapped::of(between).map_err(|e| Failure::reading(&name, &e))?;
                let opened = Opened::parse(&input, &bytes, options.policy)?;
                job.export(&opened, to, (&mut file, &name))?;
                imported
            }
        };
        drop(progress);
        file.commit()?;
        if !quiet {
            report.print(&name);
        }
        Ok(())
    }
}

impl Report {
    fn print(&self, name: &str) {
        let subwords = match self.subwords {
            0 => String::new(),
            count => format!(", {} rows for subwords", units::count(count)),
        };
        let cols = match self.cols {
            0 => String::new(),
            cols => format!(" of {cols} columns"),
        };
        anstream::eprintln!("{name}: {} words{cols}{subwords}", units::count(self.words));
        if self.repeated > 0 {
            warn(format_args!(
                "{} words stood there twice; the first vector of each was kept",
                self.repeated
            ));
        }
    }
}

/// What all steps of a conversion share.
struct Job<'j> {
    options: &'j WordOptions,
    entries: &'j [(String, String)],
    quiet: bool,
    output: &'j Path,
    progress: Option<&'j Progress>,
}

type Target<'t> = (&'t mut dyn Write, &'t str);

impl Job<'_> {
    /// Makes a `.fifu` file.
    fn import(&self, start: Start, input: &Path, from: Form, to: Target<'_>) -> Result<Report> {
        let name = start.name.clone();
        match from {
            Form::Fasttext => {
                let bytes = start.into_mapped(input)?;
                self.fasttext(&FastText::parse(&name, &bytes)?, &name, to)
            }
            Form::Floret => self.floret(Floret::open(start.into_stream(), name)?, to),
            Form::Word2vec => self.rows(&mut Word2VecRows::open(start.into_stream(), name)?, to),
            Form::Text | Form::Textdims | Form::Finalfusion => {
                let has_sizes = from == Form::Textdims;
                self.rows(&mut TextRows::open(start.into_stream(), name, has_sizes)?, to)
            }
        }
    }

    fn advance(&self, by: u64) {
        if let Some(progress) = self.progress {
            progress.advance(by);
        }
    }

    /// The metadata, with what was given on the command line.
    fn metadata(&self, document: &str) -> Result<Option<String>> {
        let text = metadata::edited(document, self.entries)?;
        Ok(Some(text).filter(|text| !text.is_empty()))
    }

    const fn broken_utf8(&self) -> BrokenUtf8 {
        self.options.policy.core_utf8()
    }

    /// The row of a new word, or `None` for one to be left out; `place` puts the word's place into a failure.
    fn accept(
        &self,
        words: &mut Vocabulary,
        word: &[u8],
        place: impl Fn(Failure) -> Failure,
    ) -> Result<Option<u32>> {
        if word.len() > MAX_WORD_BYTES {
            let message = format!("a word of {} bytes", word.len());
            return Err(place(Failure::input(ErrorKind::NameTooLong, message)));
        }
        let word = self.options.policy.utf8.accept(word).map_err(|valid| {
            let message =
                format!("the word {:?} is not valid UTF-8", String::from_utf8_lossy(word));
            let failure = place(Failure::input(ErrorKind::InvalidUtf8, message));
            failure
                .at(format_args!("byte {valid} of the word"))
                .hint("`--utf8 lossy` replaces what is broken, `--utf8 bytes` keeps it")
        })?;
        match words.insert(&word) {
            Ok(row) => Ok(Some(row)),
            Err(Known::At(_)) if self.options.policy.duplicates == OnDuplicate::First => Ok(None),
            Err(Known::At(row)) => {
                let word = String::from_utf8_lossy(&word);
                let message = format!("the word {word:?} stands here again, after row {row}");
                Err(place(Failure::input(ErrorKind::DuplicateWord, message))
                    .hint("`--duplicates first` keeps the first"))
            }
            Err(Known::Full) => {
                Err(place(Failure::input(ErrorKind::BadCount, "more words than a file can have")))
            }
        }
    }

    /// Normalises a word's row, if that is wanted, and returns its length; `place` puts the row's place into a failure.
    fn take_length(
        &self,
        row: &mut [f32],
        place: impl Fn(Failure) -> Failure,
    ) -> Result<Option<f32>> {
        finite::check(row, &place)?;
        if self.options.no_normalize {
            return Ok(None);
        }
        finite::normalized(row, place).map(Some)
    }

    /// Rows as they come: vectors wait in a spool while their words are gathered.
    fn rows(&self, rows: &mut dyn Rows, (file, name): Target<'_>) -> Result<Report> {
        let failed = |error| Failure::writing(name, &error);
        let mut spool = Spool::beside(self.output).map_err(failed)?;
        let mut words = Vocabulary::default();
        let mut norms = Vec::new();
        let (mut word, mut row) = (Vec::new(), vec![0.0; rows.cols()]);
        let (mut repeated, mut read) = (0, 0);
        while rows.next_row(&mut word, &mut row)? {
            self.advance(rows.bytes_read() - read);
            read = rows.bytes_read();
            if self.accept(&mut words, &word, |failure| rows.refuse(failure))?.is_none() {
                repeated += 1;
                continue;
            }
            norms.extend(self.take_length(&mut row, |failure| rows.refuse(failure))?);
            spool.push(&row).map_err(failed)?;
        }
        let metadata = self.metadata("")?;
        let cols = u32::try_from(rows.cols()).unwrap_or(u32::MAX);
        let plan = Plan {
            metadata: metadata.as_deref(),
            vocabulary: simple(words.len()),
            word_bytes: words.bytes(),
            ngram_bytes: 0,
            storage: StorageSpec::Array { rows: words.len().into(), cols },
            norms: !self.options.no_normalize,
            norms_listed: true,
            broken_utf8: self.broken_utf8(),
        };
        fifu::write(plan, (file, name), |writer| {
            words.iter().try_for_each(|word| writer.word(word))?;
            spool.replay(|bytes| Ok(writer.data(bytes)?))?;
            Ok(writer.data(&bytes_of(&norms))?)
        })?;
        let (words, cols) = (words.len().into(), rows.cols());
        Ok(Report { words, subwords: 0, cols, repeated })
    }

    /// A fastText model: words have the mean of their own row and their n-grams' as in fastText.
    fn fasttext(
        &self,
        model: &FastText<'_>,
        input: &str,
        (file, name): Target<'_>,
    ) -> Result<Report> {
        let mut words = Vocabulary::default();
        let mut kept = Vec::new();
        for (ordinal, (word, offset)) in model.words.iter().enumerate() {
            let place = |failure: Failure| failure.at(input).at(format_args!("byte {offset}"));
            if self.accept(&mut words, word, place)?.is_some() {
                kept.push(ordinal);
            }
        }
        let vocabulary = model.vocabulary(words.len());
        self.warn_of_fasttext(model);
        let subwords = vocabulary.subwords.rows().unwrap_or(0);
        let metadata = self.metadata(&model.arguments.toml())?;
        let rows = u64::from(words.len()) + subwords;
        let plan = Plan {
            metadata: metadata.as_deref(),
            vocabulary,
            word_bytes: words.bytes(),
            ngram_bytes: 0,
            storage: StorageSpec::Array { rows, cols: model.cols() },
            norms: !self.options.no_normalize,
            norms_listed: true,
            broken_utf8: self.broken_utf8(),
        };
        let row_bytes = u64::from(model.cols()) * 4;
        fifu::write(plan, (file, name), |writer| {
            words.iter().try_for_each(|word| writer.word(word))?;
            let mut row = vec![0.0; model.cols() as usize];
            let mut norms = Vec::new();
            for &word in &kept {
                model.word(word, &mut row);
                let (_, offset) = model.words[word];
                let place = |failure: Failure| failure.at(input).at(format_args!("byte {offset}"));
                norms.extend(self.take_length(&mut row, place)?);
                writer.data(&bytes_of(&row))?;
                self.advance(row_bytes);
            }
            for bucket in 0..u32::try_from(subwords).unwrap_or(0) {
                model.bucket(bucket, &mut row);
                finite::check(&row, |failure| {
                    failure.at(input).at(format_args!("bucket {bucket}"))
                })?;
                writer.data(&bytes_of(&row))?;
                self.advance(row_bytes);
            }
            Ok(writer.data(&bytes_of(&norms))?)
        })?;
        Ok(Report {
            words: words.len().into(),
            subwords,
            cols: model.cols() as usize,
            repeated: (model.words.len() - kept.len()) as u64,
        })
    }

    fn warn_of_fasttext(&self, model: &FastText<'_>) {
        if self.quiet {
            return;
        }
        if model.is_quantized() {
            warn(
                "the model is quantised, but words have the means of several rows: all vectors are written as f32",
            );
        }
        let vocabulary = model.vocabulary(0);
        if vocabulary.subwords != Subwords::None && vocabulary.min_n == 1 {
            warn(
                "the model has n-grams of one letter: fastText leaves single brackets out, readers of \
                 `.fifu` do not, so vectors of unknown words differ a little",
            );
        }
    }

    fn floret<R: std::io::BufRead>(
        &self,
        mut floret: Floret<R>,
        (file, name): Target<'_>,
    ) -> Result<Report> {
        let (buckets, cols) = (floret.buckets, floret.cols);
        let metadata = self.metadata("")?;
        let plan = Plan {
            metadata: metadata.as_deref(),
            vocabulary: floret.vocabulary,
            word_bytes: 0,
            ngram_bytes: 0,
            storage: StorageSpec::Array { rows: buckets, cols },
            norms: false,
            norms_listed: true,
            broken_utf8: BrokenUtf8::Error,
        };
        fifu::write(plan, (file, name), |writer| {
            let mut row = vec![0.0; cols as usize];
            let mut read = 0;
            while floret.next_row(&mut row)? {
                writer.data(&bytes_of(&row))?;
                self.advance(floret.bytes_read() - read);
                read = floret.bytes_read();
            }
            Ok(())
        })?;
        Ok(Report { words: 0, subwords: buckets, cols: cols as usize, repeated: 0 })
    }

    /// Writes the words of a `.fifu` file with their vectors.
    fn export(&self, opened: &Opened<'_>, to: Form, target: Target<'_>) -> Result<Report> {
        let vocabulary = opened.file.vocabulary();
        if let Subwords::Floret { .. } = vocabulary.subwords {
            if to == Form::Floret {
                return self.export_floret(opened, target);
            }
            return Err(Failure::input(
                ErrorKind::MissingVocabulary,
                "the file has no words, only n-grams",
            )
            .at(&opened.name)
            .hint("`--to floret` writes these; `nanoembed select` makes vectors of words"));
        }
        if to == Form::Floret {
            return Err(Failure::usage("only floret's vocabularies can be written so"));
        }
        let words = opened.scanned();
        let (mut row, mut scratch) = (vec![0.0; words.cols()], vec![0.0; words.scratch_needed()]);
        let count = vocabulary.words;
        let mut writer = RowWriter::begin(target.0, target.1, to, (count, words.cols()))?;
        for (ordinal, word) in (0..count).zip(opened.file.words()) {
            let read = words.row(ordinal.into(), &mut row, &mut scratch);
            read.map_err(|error| opened.failure(error))?;
            if self.options.normalized {
                normalize(&mut row);
            } else {
                let norm = words.norm(ordinal).map_err(|error| opened.failure(error))?;
                row.iter_mut().for_each(|value| *value *= norm);
            }
            writer.row(word, &row)?;
            self.advance(row.len() as u64 * 4);
        }
        writer.finish()?;
        Ok(Report { words: count.into(), subwords: 0, cols: row.len(), repeated: 0 })
    }

    fn export_floret(&self, opened: &Opened<'_>, (file, name): Target<'_>) -> Result<Report> {
        let vocabulary = opened.file.vocabulary();
        let Subwords::Floret { buckets, hashes, seed } = vocabulary.subwords else {
            return Ok(Report::default());
        };
        let words = opened.scanned();
        let cols = words.cols();
        let (begin, end) = (vocabulary.begin.as_str(), vocabulary.end.as_str());
        let failed = |error| Failure::writing(name, &error);
        let (min_n, max_n) = (vocabulary.min_n, vocabulary.max_n);
        writeln!(file, "{buckets} {cols} {min_n} {max_n} {hashes} {seed} {begin} {end}")
            .map_err(failed)?;
        let (mut row, mut scratch) = (vec![0.0; cols], vec![0.0; words.scratch_needed()]);
        let mut writer = RowWriter::begin(file, name, Form::Text, (0, cols))?;
        for bucket in 0..buckets {
            let read = words.row(bucket, &mut row, &mut scratch);
            read.map_err(|error| opened.failure(error))?;
            writer.row(bucket.to_string().as_bytes(), &row)?;
        }
        writer.finish()?;
        Ok(Report { words: 0, subwords: buckets, cols, repeated: 0 })
    }
}
