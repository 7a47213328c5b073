//! A `.fifu` file, as other programs read it.

use nanoembed_core::subword::Subwords;
use nanoembed_core::words::normalize;
use nanoembed_core::{ErrorKind, limit};

use super::{Job, Report, Target};
use crate::error::{Error, Result};
use crate::signature::word_form::Form;
use crate::words::file::WordFile;
use crate::words::write::rows::RowWriter;

impl Job<'_> {
    /// Writes the words of a `.fifu` file with their vectors.
    pub(super) fn export(
        &self,
        opened: &WordFile<'_>,
        to: Form,
        target: Target<'_>,
    ) -> Result<Report> {
        let vocabulary = opened.file.vocabulary();
        if let Subwords::Floret { .. } = vocabulary.subwords {
            if to == Form::Floret {
                return self.export_floret(opened, target);
            }
            return Err(Error::input(
                ErrorKind::MissingVocabulary,
                "the file has no words, only n-grams",
            )
            .at(&opened.name)
            .with_hint("`--to floret` writes these; `nanoembed select` makes vectors of words"));
        }
        if to == Form::Floret {
            return Err(Error::usage("only floret's vocabularies can be written so"));
        }
        let words = opened.scanned();
        let filled = |length| limit::filled(length, 0.0).map_err(|error| opened.failure(error));
        let (mut row, mut scratch) = (filled(words.cols())?, filled(words.scratch_needed())?);
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

    fn export_floret(&self, opened: &WordFile<'_>, (file, name): Target<'_>) -> Result<Report> {
        let vocabulary = opened.file.vocabulary();
        let Subwords::Floret { buckets, hashes, seed } = vocabulary.subwords else {
            return Ok(Report::default());
        };
        let words = opened.scanned();
        let cols = words.cols();
        let (begin, end) = (vocabulary.begin.as_str(), vocabulary.end.as_str());
        let failed = |error| Error::writing(name, &error);
        let (min_n, max_n) = (vocabulary.min_n, vocabulary.max_n);
        writeln!(file, "{buckets} {cols} {min_n} {max_n} {hashes} {seed} {begin} {end}")
            .map_err(failed)?;
        let filled = |length| limit::filled(length, 0.0).map_err(|error| opened.failure(error));
        let (mut row, mut scratch) = (filled(cols)?, filled(words.scratch_needed())?);
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
