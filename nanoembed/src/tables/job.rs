//! A table in, the same table with vectors out.

use std::borrow::Cow;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::ArrowError;
use arrow_select::filter::filter;

use super::group::Group;
use super::input::{not_utf8, position};
use super::output::{TableOutput, Writing};
use super::raw_text::strings;
use super::rows::RowSource;
use super::schema::{self, Facts};
use super::text::{Cell, TextColumn};
use super::vectors::VectorColumns;
use crate::encoder::{Encoder, Length, Precision};
use crate::error::{Error, Result};
use crate::progress::{Observer, Progress};
use crate::role::Role;

/// The number of texts that are embedded between two reports of progress.
const TEXTS_AT_A_TIME: usize = 512;

/// The job that adds vectors to a table of texts.
#[derive(Clone, Debug)]
pub struct TableJob<'j> {
    /// The model that embeds.
    pub encoder: &'j Encoder,
    /// The column of texts.
    pub text_column: &'j str,
    /// The name of the column of vectors; the names of the columns of their statuses begin with it.
    pub vector_column: &'j str,
    /// The type of the numbers.
    pub precision: Precision,
    /// True if rows without a vector are left out.
    pub leaves_out: bool,
    /// True if a row whose bytes are no text ends the job. A null never does.
    pub fails: bool,
    /// True if bytes that are not UTF-8 are replaced instead.
    pub lossy: bool,
}

/// The outcome of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableSummary {
    /// True if there was nothing to do: the file was there.
    pub was_done: bool,
    /// Rows that an earlier run had done.
    pub resumed: u64,
    /// Rows of the input that this run has done.
    pub rows: u64,
    /// Tokens of the texts that were embedded.
    pub tokens: u64,
    /// Texts that were cut, and where the first of them is.
    pub truncated: Counted,
    /// Rows without a vector, and the error of the first of them.
    pub without: Counted,
}

/// Rows of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counted {
    /// The number of rows.
    pub rows: u64,
    /// The error of the first of them.
    pub first: Option<String>,
}

impl Counted {
    fn add(&mut self, said: impl FnOnce() -> String) {
        self.rows += 1;
        self.first.get_or_insert_with(said);
    }
}

impl TableJob<'_> {
    /// Embeds the texts of `source` and writes them to `output`, which appears when it is whole.
    ///
    /// # Errors
    ///
    /// Fails if the input is invalid or the output cannot be written.
    pub fn run(
        &self,
        source: &mut dyn RowSource,
        output: &TableOutput,
        observer: &dyn Observer,
    ) -> Result<TableSummary> {
        if output.resume && source.fingerprint().is_none() {
            return Err(Error::argument(
                "resume",
                "is for texts out of files: a pipe is read once",
            ));
        }
        let input = source.schema();
        let text_column = position(&input, self.text_column)?;
        let facts = self.facts(source)?;
        let dimensions = self.encoder.dimensions();
        let schema =
            schema::with_vectors(&input, self.vector_column, self.precision, dimensions, &facts)?;
        let mut writing = output.begin(schema, self.vector_column, &facts)?;
        let Some(done) = writing.done() else {
            return Ok(TableSummary { was_done: true, ..TableSummary::default() });
        };
        source.skip(done)?;
        let total = source.total().map(|total| total.saturating_sub(done));
        let progress = Progress::texts(observer, "embedding", total);
        let mut summary = TableSummary { resumed: done, ..TableSummary::default() };
        while let Some(group) = Group::next(source, text_column)? {
            let batch = self.embed(&group, text_column, &writing, &mut summary, &progress)?;
            summary.rows += group.len() as u64;
            if batch.num_rows() > 0 {
                writing.push(&batch, done + summary.rows)?;
            }
        }
        drop(progress);
        writing.finish()?;
        Ok(summary)
    }

    /// The facts of how vectors are made, so that another run can tell whether it would make the
    /// same.
    fn facts(&self, source: &dyn RowSource) -> Result<Facts> {
        let encoder = self.encoder;
        let vector = encoder.embed("How do I reset my password?")?;
        let length = vector.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
        let mut facts = Facts::default();
        facts.add("model", encoder.model_name());
        facts.add("model_fingerprint", encoder.fingerprint()?);
        facts.add("dimensions", encoder.dimensions());
        facts.add("dtype", self.precision.name());
        facts.add("normalized", (length - 1.0).abs() < 1e-3);
        facts.add("max_tokens", encoder.max_tokens());
        facts.add("text_column", self.text_column);
        facts.add("vector_column", self.vector_column);
        facts.add("rows_without_vector", if self.leaves_out { "left out" } else { "null" });
        facts.add("invalid_utf8", if self.lossy { "replaced" } else { "refused" });
        if let Some(fingerprint) = source.fingerprint() {
            facts.add("input_fingerprint", format_args!("{fingerprint:08x}"));
        }
        Ok(facts)
    }

    /// A group with its vectors.
    fn embed(
        &self,
        group: &Group,
        text_column: usize,
        writing: &Writing,
        summary: &mut TableSummary,
        progress: &Progress<'_>,
    ) -> Result<RecordBatch> {
        let texts = self.texts(group, text_column)?;
        let mut columns = VectorColumns::new(self.precision, self.encoder.dimensions());
        let mut kept = Vec::with_capacity(texts.len());
        for (piece, texts) in texts.chunks(TEXTS_AT_A_TIME).enumerate() {
            let given: Vec<&str> =
                texts.iter().filter_map(|text| text.as_ref().ok().map(AsRef::as_ref)).collect();
            let (vectors, lengths) = self.encoder.embed_all_as(Role::Text, &given)?;
            let mut embedded = vectors.rows().zip(lengths);
            for (text, row) in texts.iter().zip(piece * TEXTS_AT_A_TIME..) {
                let outcome = match text {
                    Ok(_) => embedded.next().ok_or("it has no vector"),
                    Err(why) => Err(&**why),
                };
                kept.push(!self.leaves_out || outcome.is_ok());
                match outcome {
                    Ok((vector, length)) => {
                        summary.count(length, group, row);
                        columns.push(vector, length);
                    }
                    Err(why) => {
                        summary.without.add(|| said(group, row, why));
                        if !self.leaves_out {
                            columns.push_null(why);
                        }
                    }
                }
            }
            progress.advance(texts.len() as u64);
        }
        self.assemble(group, columns, kept, writing, text_column)
            .map_err(|error| super::unreadable(group.place(0).0, &error))
    }

    /// The text of every row, or why there is none.
    fn texts<'g>(
        &self,
        group: &'g Group,
        text_column: usize,
    ) -> Result<Vec<Result<Cow<'g, str>, String>>> {
        let column = group.batch.columns().get(text_column).and_then(TextColumn::from_array);
        let column = column.ok_or_else(|| Error::bad_input("no texts").at(group.place(0).0))?;
        let text = |row: usize| {
            if let Some(Some(error)) = group.errors.get(row) {
                return Ok(Err(error.clone()));
            }
            match column.cell(row, self.lossy) {
                Cell::Text(text) => Ok(Ok(text)),
                Cell::Null => Ok(Err("the text is null".into())),
                Cell::Invalid(at) if self.fails => {
                    let (file, number) = group.place(row);
                    let kind = nanoembed_core::ErrorKind::InvalidUtf8;
                    Err(Error::input(kind, not_utf8(at))
                        .at(file)
                        .at(format_args!("row {number}"))
                        .with_hint(
                            "`--lossy` replaces such bytes, `--on-error` gets over such rows",
                        ))
                }
                Cell::Invalid(at) => Ok(Err(not_utf8(at))),
            }
        };
        (0..group.len()).map(text).collect()
    }

    /// The columns of a group beside those of its vectors.
    fn assemble(
        &self,
        group: &Group,
        vectors: VectorColumns,
        kept: Vec<bool>,
        writing: &Writing,
        text_column: usize,
    ) -> Result<RecordBatch, ArrowError> {
        let all_are_kept = kept.iter().all(|kept| *kept);
        let mask = BooleanArray::from(kept);
        let column = |column: &ArrayRef| match all_are_kept {
            true => Ok(column.clone()),
            false => filter(column, &mask),
        };
        let columns = group.batch.columns().iter().map(column);
        let mut columns = columns.collect::<Result<Vec<_>, ArrowError>>()?;
        if let Some(texts) = columns.get_mut(text_column) {
            *texts = strings(texts, writing.schema().field(text_column).data_type());
        }
        columns.append(&mut vectors.finish()?);
        RecordBatch::try_new(writing.schema(), columns)
    }
}

impl TableSummary {
    fn count(&mut self, length: Length, group: &Group, row: usize) {
        self.tokens += length.tokens as u64;
        if length.truncated {
            self.truncated.add(|| {
                let (file, number) = group.place(row);
                format!("row {number} of {file}")
            });
        }
    }
}

/// `file: row 7: why`
fn said(group: &Group, row: usize, why: &str) -> String {
    let (file, number) = group.place(row);
    match group.errors.get(row) {
        // What is wrong with a line says where itself.
        Some(Some(error)) => error.clone(),
        _ => format!("{file}: row {number}: {why}"),
    }
}
