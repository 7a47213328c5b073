//! Converts word vectors of other programs to a `.fifu` file.

use std::path::Path;

use nanoembed_core::format::finalfusion::{
    BrokenUtf8, FinalfusionPlan, MAX_WORD_BYTES, StorageSpec,
};
use nanoembed_core::subword::Subwords;
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use super::{Job, Report, Target};
use crate::error::{Error, Result};
use crate::signature::word_form::Form;
use crate::words::metadata;
use crate::words::number;
use crate::words::policy::{NotAccepted, OnDuplicate};
use crate::words::read::WordRows;
use crate::words::read::fasttext::FastText;
use crate::words::read::floret::Floret;
use crate::words::read::start::Start;
use crate::words::read::text::TextRows;
use crate::words::read::word2vec::Word2VecRows;
use crate::words::vocabulary::{NotAdded, WordList};
use crate::words::write::fifu::{self, simple};
use crate::words::write::spool::RowSpool;

impl Job<'_> {
    /// Makes a `.fifu` file.
    pub(super) fn import(
        &self,
        start: Start<'_>,
        input: &Path,
        from: Form,
        to: Target<'_>,
    ) -> Result<Report> {
        let name = start.name.clone();
        match from {
            Form::Fasttext => {
                let bytes = start.into_mapped(input)?;
                self.fasttext(&FastText::parse(&name, &bytes)?, &name, to)
            }
            Form::Floret => self.floret(Floret::open(start.into_stream(), name)?, to),
            Form::Word2vec => {
                let ignores_count = self.options.ignore_count;
                self.rows(&mut Word2VecRows::open(start.into_stream(), name, ignores_count)?, to)
            }
            Form::Text | Form::Textdims | Form::Finalfusion => {
                let sizes = (from == Form::Textdims, self.options.ignore_count);
                self.rows(&mut TextRows::open(start.into_stream(), name, sizes)?, to)
            }
        }
    }

    /// The metadata, with entries from the command line.
    fn metadata(&self, document: &str) -> Result<Option<String>> {
        let text = metadata::edited(document, self.entries)?;
        Ok(Some(text).filter(|text| !text.is_empty()))
    }

    const fn broken_utf8(&self) -> BrokenUtf8 {
        self.options.policy.core_utf8()
    }

    /// The row of a new word, or `None` for one to be left out; `place` puts the word's place into
    /// a failure.
    fn accept(
        &self,
        words: &mut WordList,
        word: &[u8],
        place: impl Fn(Error) -> Error,
    ) -> Result<Option<u32>> {
        if word.len() > MAX_WORD_BYTES {
            let message = format!("a word of {} bytes", word.len());
            return Err(place(Error::input(ErrorKind::NameTooLong, message)));
        }
        let failed = |error: CoreError| place(Error::input(error.kind(), error.message()));
        let word = self.options.policy.utf8.accept(word).map_err(|refused| match refused {
            NotAccepted::Failed(error) => failed(error),
            NotAccepted::Broken { valid } => {
                let message =
                    format!("the word {:?} is not valid UTF-8", String::from_utf8_lossy(word));
                place(Error::input(ErrorKind::InvalidUtf8, message))
                    .at(format_args!("byte {valid} of the word"))
                    .with_hint("`--utf8 lossy` replaces what is broken, `--utf8 bytes` keeps it")
            }
        })?;
        match words.insert(&word) {
            Ok(row) => Ok(Some(row)),
            Err(NotAdded::Known(_)) if self.options.policy.duplicates == OnDuplicate::First => {
                Ok(None)
            }
            Err(NotAdded::Known(row)) => {
                let word = String::from_utf8_lossy(&word);
                let message = format!("the word {word:?} stands here again, after row {row}");
                Err(place(Error::input(ErrorKind::DuplicateWord, message))
                    .with_hint("`--duplicates first` keeps the first"))
            }
            Err(NotAdded::Full) => {
                Err(place(Error::input(ErrorKind::BadCount, "more words than a file can have")))
            }
            Err(NotAdded::Failed(error)) => Err(failed(error)),
        }
    }

    /// Normalises a word's row, if that is wanted, and returns its length; `place` puts the row's
    /// place into a failure.
    fn take_length(&self, row: &mut [f32], place: impl Fn(Error) -> Error) -> Result<Option<f32>> {
        number::check(row, &place)?;
        if self.options.no_normalize {
            return Ok(None);
        }
        number::normalized(row, place).map(Some)
    }

    /// Rows as they come: vectors wait in a spool while their words are gathered.
    fn rows(&self, rows: &mut dyn WordRows, (file, name): Target<'_>) -> Result<Report> {
        let failed = |error| Error::writing(name, &error);
        let refused = |error| Error::in_file(name, error);
        let mut spool = RowSpool::beside(self.output).map_err(failed)?;
        let mut words = WordList::default();
        let mut norms = Vec::new();
        let (mut word, mut row) = (Vec::new(), limit::filled(rows.cols(), 0.0).map_err(refused)?);
        let (mut repeated, mut read) = (0, 0);
        let mut left = self.options.first.unwrap_or(u64::MAX);
        while left > 0 && rows.next_row(&mut word, &mut row)? {
            left -= 1;
            self.advance(rows.bytes_read() - read);
            read = rows.bytes_read();
            if self.accept(&mut words, &word, |failure| rows.refuse(failure))?.is_none() {
                repeated += 1;
                continue;
            }
            let norm = self.take_length(&mut row, |failure| rows.refuse(failure))?;
            limit::extend(&mut norms, norm).map_err(refused)?;
            spool.push(&row).map_err(failed)?;
        }
        let metadata = self.metadata("")?;
        let cols = u32::try_from(rows.cols()).unwrap_or(u32::MAX);
        let plan = FinalfusionPlan {
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
            Ok(fifu::floats(writer, &norms)?)
        })?;
        let (words, cols) = (words.len().into(), rows.cols());
        Ok(Report { words, subwords: 0, cols, repeated })
    }

    /// A fastText model: a word has the mean of its row and its n-grams' rows, as in fastText.
    fn fasttext(
        &self,
        model: &FastText<'_>,
        input: &str,
        (file, name): Target<'_>,
    ) -> Result<Report> {
        let refused = |error| Error::in_file(input, error);
        let mut words = WordList::default();
        let mut kept = Vec::new();
        let first = self
            .options
            .first
            .map_or(usize::MAX, |first| usize::try_from(first).unwrap_or(usize::MAX));
        for (ordinal, (word, offset)) in model.words.iter().enumerate().take(first) {
            let place = |failure: Error| failure.at(input).at_byte(*offset);
            if self.accept(&mut words, word, place)?.is_some() {
                limit::push(&mut kept, ordinal).map_err(refused)?;
            }
        }
        let vocabulary = model.vocabulary(words.len());
        self.warn_of_fasttext(model);
        let subwords = vocabulary.subwords.rows().unwrap_or(0);
        let metadata = self.metadata(&model.arguments.toml().map_err(refused)?)?;
        let rows = u64::from(words.len()) + subwords;
        let plan = FinalfusionPlan {
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
            let mut row = limit::filled(model.cols() as usize, 0.0)?;
            let mut norms = Vec::new();
            for &word in &kept {
                model.word(word, &mut row)?;
                let (_, offset) = model.words[word];
                let place = |failure: Error| failure.at(input).at_byte(offset);
                limit::extend(&mut norms, self.take_length(&mut row, place)?)?;
                fifu::floats(writer, &row)?;
                self.advance(row_bytes);
            }
            for bucket in 0..u32::try_from(subwords).unwrap_or(0) {
                model.bucket(bucket, &mut row);
                number::check(&row, |failure| {
                    failure.at(input).at(format_args!("bucket {bucket}"))
                })?;
                fifu::floats(writer, &row)?;
                self.advance(row_bytes);
            }
            Ok(fifu::floats(writer, &norms)?)
        })?;
        Ok(Report {
            words: words.len().into(),
            subwords,
            cols: model.cols() as usize,
            repeated: (model.words.len().min(first) - kept.len()) as u64,
        })
    }

    fn warn_of_fasttext(&self, model: &FastText<'_>) {
        if model.is_quantized() {
            self.observer.warn(
                "the model is quantised, but words have the means of several rows: all vectors are written as f32",
            );
        }
        let vocabulary = model.vocabulary(0);
        if vocabulary.subwords != Subwords::None && vocabulary.min_n == 1 {
            self.observer.warn(
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
        let plan = FinalfusionPlan {
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
            let mut row = limit::filled(cols as usize, 0.0)?;
            let mut read = 0;
            while floret.next_row(&mut row)? {
                fifu::floats(writer, &row)?;
                self.advance(floret.bytes_read() - read);
                read = floret.bytes_read();
            }
            Ok(())
        })?;
        Ok(Report { words: 0, subwords: buckets, cols: cols as usize, repeated: 0 })
    }
}
