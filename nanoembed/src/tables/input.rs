//! The record batches of tables in files, one file after the other.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_schema::SchemaRef;
use serde_json::Value;

use super::batches::Batches;
use super::cell;
use super::fingerprint::Fingerprint;
use super::guarded;
use super::ipc::IpcTable;
use super::parquet_files::ParquetFile;
use super::rows::{RowSource, Rows, read_past};
use super::text::{Cell, TextColumn, is_text};
use crate::error::{Error, Result, name_of};
use crate::files::whole_file;

/// The bytes at a file's end that tell it from others: its footer, or a part of that.
const END_BYTES: u64 = 1 << 16;

/// The description of a file before its rows are read.
struct TableFile {
    path: PathBuf,
    name: Arc<str>,
    kind: TableKind,
    rows: Option<u64>,
}

#[derive(Clone, Copy)]
enum TableKind {
    Parquet,
    IpcFile,
    IpcStream,
}

/// Tables with the same columns, one after the other.
pub struct Tables {
    files: Vec<TableFile>,
    schema: SchemaRef,
    column: usize,
    fingerprint: u32,
    next_file: usize,
    current: Option<Current>,
    /// Rows that come before those of the current file.
    waiting: Option<Rows>,
}

/// The file that is being read.
struct Current {
    batches: Box<dyn Batches>,
    name: Arc<str>,
    /// The number of its next row.
    row: u64,
}

/// A row of a table in the form of a line of JSON.
#[derive(Debug)]
pub struct TableRow {
    /// The text, if there is one.
    pub text: Option<String>,
    /// The reason that there is none. A null has a reason, too.
    pub error: Option<String>,
    /// True if there is none because the cell is null.
    pub is_null: bool,
    /// The columns that were asked for.
    pub kept: Vec<(String, Value)>,
    /// The file.
    pub file: Arc<str>,
    /// The row's number there, from 1.
    pub number: u64,
}

impl Tables {
    /// Opens files and looks at the columns of all of them: they have to be the same, and `column`
    /// has to have texts.
    ///
    /// # Errors
    ///
    /// Fails if a file is invalid, or has other columns than the first.
    pub fn open(paths: &[PathBuf], column: &str) -> Result<Self> {
        let mut files = Vec::new();
        let mut schema: Option<SchemaRef> = None;
        let mut fingerprint = Fingerprint::new();
        for path in paths {
            let (file, columns) = look_at(path, &mut fingerprint)?;
            if let Some(first) = &schema
                && first.fields() != columns.fields()
            {
                let first = files.first().map_or("", |file: &TableFile| &file.name);
                let message = format!("its columns are not those of {first}");
                return Err(Error::bad_input(message).at(&file.name));
            }
            schema.get_or_insert(columns);
            files.push(file);
        }
        let Some(schema) = schema else { return Err(Error::usage("no file was named")) };
        let column = text_column(&schema, column)
            .map_err(|error| error.at(files.first().map_or("", |file| &file.name)))?;
        let fingerprint = fingerprint.finish();
        Ok(Self { files, schema, column, fingerprint, next_file: 0, current: None, waiting: None })
    }

    /// Looks whether there is a column of this name.
    ///
    /// # Errors
    ///
    /// Fails if there is no such column; names those that there are.
    pub fn check_column(&self, name: &str) -> Result<()> {
        position(&self.schema, name).map(|_| ())
    }

    /// Looks whether a column can be written as JSON.
    ///
    /// # Errors
    ///
    /// Fails if there is no such column, or if its type has no form in JSON.
    pub fn check_json(&self, name: &str) -> Result<()> {
        let field = self.schema.field(position(&self.schema, name)?);
        match cell::is_json(field.data_type()) {
            true => Ok(()),
            false => Err(Error::usage(format!(
                "column `{name}` is {}, which has no form in JSON here",
                field.data_type()
            ))
            .with_hint("write Parquet or Arrow, which keep every column")),
        }
    }

    /// The next rows as what lines of JSON are, with the columns `kept`; `None` at the end.
    ///
    /// # Errors
    ///
    /// Fails if the input is invalid.
    pub fn next_lines(
        &mut self,
        kept: &[(String, String)],
        lossy: bool,
    ) -> Result<Option<Vec<TableRow>>> {
        let column = self.column;
        let Some(rows) = self.next_rows()? else { return Ok(None) };
        let texts = TextColumn::from_array(rows.batch.column(column));
        let texts = texts.ok_or_else(|| Error::bad_input("no texts").at(&rows.name))?;
        let beside: Vec<(&String, usize)> = kept
            .iter()
            .map(|(column, called)| Ok((called, position(&self.schema, column)?)))
            .collect::<Result<_>>()?;
        let row = |row: usize| {
            let kept = beside
                .iter()
                .map(|(called, at)| ((*called).clone(), cell::json(rows.batch.column(*at), row)));
            let cell = texts.cell(row, lossy);
            let number = rows.first + row as u64 + 1;
            let said = |what: &str| Some(format!("{}: row {number}: {what}", rows.name));
            let (text, error) = match &cell {
                Cell::Text(text) => (Some(text.clone().into_owned()), None),
                Cell::Null => (None, said("the text is null")),
                Cell::Invalid(at) => (None, said(&not_utf8(*at))),
            };
            TableRow {
                text,
                error,
                is_null: cell == Cell::Null,
                kept: kept.collect(),
                file: Arc::clone(&rows.name),
                number,
            }
        };
        Ok(Some((0..rows.len()).map(row).collect()))
    }

    /// Opens the next file, from its row `row` on if it is Parquet, which alone says how many it
    /// has.
    fn open_next(&mut self, row: u64) -> Result<Option<Current>> {
        let Some(TableFile { path, name, kind, .. }) = self.files.get(self.next_file) else {
            return Ok(None);
        };
        self.next_file += 1;
        let skip = usize::try_from(row).unwrap_or(usize::MAX);
        let column = self.column;
        let open = || -> Result<Box<dyn Batches>> {
            Ok(match kind {
                TableKind::Parquet => Box::new(ParquetFile::open(path)?.raw(column)?.batches(skip)),
                TableKind::IpcFile => Box::new(IpcTable::file(path, Some(column))?),
                TableKind::IpcStream => Box::new(IpcTable::stream(path, Some(column))?),
            })
        };
        let batches = guarded(name, open)?;
        Ok(Some(Current { batches, name: Arc::clone(name), row }))
    }
}

impl RowSource for Tables {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn next_rows(&mut self) -> Result<Option<Rows>> {
        if let Some(rows) = self.waiting.take() {
            return Ok(Some(rows));
        }
        loop {
            if self.current.is_none() {
                self.current = self.open_next(0)?;
            }
            let Some(Current { batches, name, row }) = &mut self.current else { return Ok(None) };
            let Some(batch) = guarded(name, || batches.next_batch())? else {
                self.current = None;
                continue;
            };
            if batch.num_rows() > 0 {
                let first = *row;
                *row += batch.num_rows() as u64;
                let name = Arc::clone(name);
                return Ok(Some(Rows { batch, errors: Vec::new(), name, first }));
            }
        }
    }

    /// Files, and row groups of Parquet, are passed over without being read.
    fn skip(&mut self, count: u64) -> Result<()> {
        let mut left = count;
        while let Some(TableFile { rows: Some(rows), .. }) = self.files.get(self.next_file)
            && left > 0
            && self.current.is_none()
        {
            if *rows > left {
                self.current = self.open_next(left)?;
                return Ok(());
            }
            left -= rows;
            self.next_file += 1;
        }
        read_past(self, left)
    }

    fn put_back(&mut self, rows: Rows) {
        self.waiting = Some(rows);
    }

    fn total(&self) -> Option<u64> {
        self.files.iter().map(|file| file.rows).sum()
    }

    fn fingerprint(&self) -> Option<u32> {
        Some(self.fingerprint)
    }
}

/// A fingerprint of these files, whatever they hold: of their lengths and ends.
///
/// # Errors
///
/// If one cannot be read.
pub fn fingerprint_of(paths: &[PathBuf]) -> Result<u32> {
    let mut fingerprint = Fingerprint::new();
    for path in paths {
        let failed = |error: std::io::Error| Error::reading(name_of(path), &error);
        let mut file = whole_file::open(path).map_err(failed)?;
        feed(&mut file, &mut fingerprint).map_err(failed)?;
    }
    Ok(fingerprint.finish())
}

/// The error message for bytes that are no text.
pub(super) fn not_utf8(at: usize) -> String {
    format!("not valid UTF-8 at its byte {at}")
}

/// The kind of a file, and its columns.
fn look_at(path: &Path, fingerprint: &mut Fingerprint) -> Result<(TableFile, SchemaRef)> {
    let name: Arc<str> = name_of(path).into();
    let failed = |error: std::io::Error| Error::reading(&name, &error);
    let mut file = whole_file::open(path).map_err(failed)?;
    feed(&mut file, fingerprint).map_err(failed)?;
    let mut start = [0; 6];
    file.rewind().map_err(failed)?;
    let length = file.read(&mut start).map_err(failed)?;
    let looked = || look_into(path, start.get(..length).unwrap_or_default());
    let (kind, schema, rows) = guarded(&name, looked)?;
    Ok((TableFile { path: path.to_owned(), name, kind, rows }, schema))
}

/// The kind of a file that begins with `start`, its columns and rows.
fn look_into(path: &Path, start: &[u8]) -> Result<(TableKind, SchemaRef, Option<u64>)> {
    Ok(match start {
        start if start.starts_with(b"PAR1") => {
            let opened = ParquetFile::open(path)?;
            (TableKind::Parquet, opened.schema(), Some(opened.rows()))
        }
        b"ARROW1" => (TableKind::IpcFile, IpcTable::file(path, None)?.schema(), None),
        [255, 255, 255, 255, ..] => {
            (TableKind::IpcStream, IpcTable::stream(path, None)?.schema(), None)
        }
        _ => {
            let message = "neither Parquet nor Arrow IPC, whose names end so";
            return Err(Error::bad_input(message).at(name_of(path)));
        }
    })
}

/// A file's length and end, which has the places of everything in it.
fn feed(file: &mut File, fingerprint: &mut Fingerprint) -> std::io::Result<()> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(END_BYTES)))?;
    let mut end = Vec::new();
    file.take(END_BYTES).read_to_end(&mut end)?;
    fingerprint.feed(&length.to_le_bytes());
    fingerprint.feed(&end);
    Ok(())
}

/// The index of the column of this name.
pub(super) fn position(schema: &SchemaRef, name: &str) -> Result<usize> {
    schema.index_of(name).map_err(|_| {
        let names: Vec<_> =
            schema.fields().iter().map(|field| format!("`{}`", field.name())).collect();
        Error::not_found(format!("there is no column `{name}`"))
            .with_hint(format!("there are {}", names.join(", ")))
    })
}

fn text_column(schema: &SchemaRef, name: &str) -> Result<usize> {
    let at = position(schema, name).map_err(|error| match error.hint() {
        Some(hint) => {
            let hint = format!("{hint}; `--column NAME` takes another");
            error.with_hint(hint)
        }
        None => error,
    })?;
    let data_type = schema.field(at).data_type();
    match is_text(data_type) {
        true => Ok(at),
        false => Err(Error::bad_input(format!("column `{name}` is {data_type}, not texts"))),
    }
}
