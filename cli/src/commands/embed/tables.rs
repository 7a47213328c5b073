//! Tables of texts in, tables with vectors out.

use std::process::ExitCode;
use std::time::Instant;

use nanoembed::lines::json_line::{ID, TEXT};
use nanoembed::tables::{
    Counted, LineRows, RowSource, Rows, TableForm, TableJob, TableOutput, TableRow, TableSummary,
    Tables, fingerprint_of,
};
use serde_json::Value;

use super::Embed;
use super::format::Format;
use crate::error::{Error, Result};
use crate::input::{Item, LeftOut, LineFormat, OnError, Texts};
use crate::output::truncation::{Limits, Truncated};
use crate::progress::{Terminal, say_done};
use crate::streams::{self, say};

/// Default name of the column of vectors.
const VECTORS: &str = "embedding";

impl Embed {
    fn column(&self) -> &str {
        self.table.column.as_deref().unwrap_or(TEXT)
    }

    /// The tables of the input; `None` if it is lines.
    fn tables(&self) -> Result<Option<Tables>> {
        let Some(paths) = self.input.tables()? else { return Ok(None) };
        let tables = Tables::open(paths, self.column())?;
        if let Some(name) = &self.table.id_column {
            tables.check_column(name)?;
        }
        Ok(Some(tables))
    }

    /// The texts of tables, for lines and arrays.
    pub(super) fn texts_of_tables(&self, format: Format) -> Result<Texts> {
        let form = self.input.form();
        let Some(mut tables) = self.tables()? else {
            return Err(Error::usage("no table is named"));
        };
        let id = self.table.id_column.clone().unwrap_or_else(|| ID.into());
        let mut kept = Vec::new();
        if self.table.id_column.is_some() || tables.check_json(&id).is_ok() {
            tables.check_json(&id)?;
            kept.push((id, ID.to_owned()));
        }
        for name in form.kept().iter().filter(|name| *name != ID) {
            tables.check_json(name)?;
            kept.push((name.clone(), name.clone()));
        }
        let (on_error, lossy) = (form.on_error, form.lossy);
        let mut index = 0;
        let next = move || {
            let Some(rows) = tables.next_lines(&kept, lossy)? else { return Ok(None) };
            let items = rows.into_iter().map(|row| {
                index += 1;
                item(row, index - 1, on_error, format)
            });
            items.collect::<Result<Vec<Item>>>().map(Some)
        };
        Ok(Texts::from_table(next, on_error != OnError::Skip))
    }

    /// Writes a table.
    pub(super) fn run_table(&self, format: Format, quiet: bool) -> Result<ExitCode> {
        let form = self.input.form();
        let tables = self.tables()?;
        if tables.is_some() && !form.kept().is_empty() {
            return Err(Error::usage("--keep is for lines: a table keeps every column"));
        }
        streams::check_output(&self.output.path)?;
        let encoder = self.embedder.open(quiet)?;
        let (mut source, text_column): (Box<dyn RowSource>, &str) = match tables {
            Some(tables) => (Box::new(tables), self.column()),
            None => (Box::new(Lines::open(self, quiet)?), form.text_name()),
        };
        let job = TableJob {
            encoder: &encoder,
            text_column,
            vector_column: self.table.vector_column.as_deref().unwrap_or(VECTORS),
            precision: self.dtype,
            leaves_out: form.on_error == OnError::Skip,
            fails: form.on_error == OnError::Fail,
            lossy: form.lossy,
        };
        let output = TableOutput {
            path: self.output.path.clone(),
            form: match format {
                Format::Arrow => TableForm::Arrow,
                Format::Arrows => TableForm::ArrowStream,
                _ => TableForm::Parquet,
            },
            resume: self.table.resume,
        };
        let start = Instant::now();
        let summary = job.run(&mut *source, &output, &Terminal::new(quiet))?;
        if !quiet {
            self.say(&summary, Limits::new(&encoder));
            say_done("embedded", summary.rows, summary.tokens, start.elapsed());
        }
        Ok(ExitCode::SUCCESS)
    }

    fn say(&self, summary: &TableSummary, limits: Limits) {
        let output = self.output.path.display();
        if summary.was_done {
            say(format_args!("{output} is complete: nothing to do"));
        } else if summary.resumed > 0 {
            say(format_args!("{output}: {} rows were done already", summary.resumed));
        }
        let are_null = self.input.form().on_error != OnError::Skip;
        let Counted { rows, first, .. } = summary.without.clone();
        LeftOut::rows(rows, first).warn(are_null);
        if let Counted { rows, first: Some(first), .. } = &summary.truncated {
            Truncated::warn_of_rows(*rows, summary.rows, first, limits);
        }
    }
}

/// A row as an item. Under `fail`, a null is one where the form has a null, and else the end.
fn item(row: TableRow, index: u64, on_error: OnError, format: Format) -> Result<Item> {
    let TableRow { text, error, is_null, kept, file, number } = row;
    if let Some(error) = &error
        && on_error == OnError::Fail
        && !(is_null && format == Format::Jsonl)
    {
        return Err(Error::bad_input(error.clone())
            .with_hint("`--on-error null` and `--on-error skip` get over such rows"));
    }
    let bytes = 0;
    Ok(Item { text, index, file: Some(file), line: number, kept, bytes, error })
}

/// Lines of text or JSON as rows.
struct Lines {
    texts: Texts,
    rows: LineRows,
    /// The names of the columns before that of texts.
    beside: Vec<String>,
    /// The number of rows so far.
    count: u64,
    waiting: Option<Rows>,
    fingerprint: Option<u32>,
}

impl Lines {
    fn open(embed: &Embed, quiet: bool) -> Result<Self> {
        let form = embed.input.form();
        let text = form.text_name();
        let mut beside = Vec::new();
        if form.line_format != LineFormat::Text {
            beside.push(ID.to_owned());
            beside.extend(form.kept().iter().filter(|name| *name != ID).cloned());
            beside.retain(|name| name != text);
        }
        let fingerprint = embed.input.named_files().map(fingerprint_of).transpose()?;
        let columns: Vec<String> = beside.iter().cloned().chain([text.to_owned()]).collect();
        Ok(Self {
            texts: embed.input.clone().open(quiet)?,
            rows: LineRows::new(&columns),
            beside,
            count: 0,
            waiting: None,
            fingerprint,
        })
    }
}

impl RowSource for Lines {
    fn schema(&self) -> nanoembed::tables::SchemaRef {
        self.rows.schema()
    }

    fn next_rows(&mut self) -> Result<Option<Rows>> {
        if let Some(rows) = self.waiting.take() {
            return Ok(Some(rows));
        }
        let Some(chunk) = self.texts.next_chunk()? else { return Ok(None) };
        let first = self.count;
        self.count += chunk.len() as u64;
        for mut item in chunk {
            let beside = self.beside.iter().map(|name| {
                let (_, value) = item.kept.iter().find(|(known, _)| known == name)?;
                string(value)
            });
            let beside: Vec<Option<String>> = beside.collect();
            self.rows.push(beside.into_iter().chain([item.text.take()]), item.error);
        }
        self.rows.finish("the input", first).map(Some)
    }

    fn put_back(&mut self, rows: Rows) {
        self.waiting = Some(rows);
    }

    fn total(&self) -> Option<u64> {
        None
    }

    fn fingerprint(&self) -> Option<u32> {
        self.fingerprint
    }
}

/// A member of a line as a cell: strings as they are, all else as JSON.
fn string(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}
