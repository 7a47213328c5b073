//! Rows of values between separators, the first of which names the columns: RFC 4180, and what
//! spreadsheets write.

use csv_core::{ReadRecordResult, Reader as Parser, ReaderBuilder};
use nanoembed::lines::Lines;
use nanoembed::lines::json_line::{ID, Members, Object};
use nanoembed_core::ErrorKind;
use serde_json::Value;

use crate::error::Result;

/// Longer rows are refused, as longer lines are.
const MAX_ROW_BYTES: usize = 64 << 20;

/// The most names of columns in a hint.
const LISTED: usize = 8;

/// The columns of a file that are wanted.
pub(super) struct Rows {
    parser: Parser,
    columns: Vec<String>,
    /// The column of texts.
    text: usize,
    /// The columns that are written beside results.
    kept: Vec<usize>,
}

/// A row, and its place.
pub(super) struct Row {
    /// The text, and what is written beside its result.
    pub(super) object: Object,
    /// The number of its first line.
    pub(super) line: u64,
    /// Its bytes.
    pub(super) bytes: u64,
}

impl Rows {
    /// Reads the names of the columns; `None` for a file without any line.
    pub(super) fn open(lines: &mut Lines, separator: u8, wanted: &Members) -> Result<Option<Self>> {
        let mut parser = ReaderBuilder::new().delimiter(separator).build();
        let Some(Record { values: columns, .. }) = Record::read(&mut parser, lines)? else {
            return Ok(None);
        };
        let place = |name: &str| {
            let mut places = (0..).zip(&columns).filter(|(_, column)| *column == name);
            match (places.next(), places.next()) {
                (Some((place, _)), None) => Ok(Some(place)),
                (Some(_), Some(_)) => {
                    Err(lines.refuse(ErrorKind::BadField, 0, format!("two columns `{name}`")))
                }
                (None, _) => Ok(None),
            }
        };
        let missing = |name: &str| {
            let mut names: Vec<String> =
                columns.iter().take(LISTED).map(|column| format!("`{column}`")).collect();
            if columns.len() > LISTED {
                names.push("…".to_owned());
            }
            lines
                .refuse(ErrorKind::BadField, 0, format!("there is no column `{name}`"))
                .with_hint(format!("it has {}; `--field NAME` takes another", names.join(", ")))
        };
        let needed = |name: &str| place(name)?.ok_or_else(|| missing(name));
        let text = needed(&wanted.field)?;
        if let Some(name) = wanted.needed {
            needed(name)?;
        }
        let mut kept: Vec<usize> = place(ID)?.into_iter().collect();
        for name in &wanted.kept {
            kept.push(needed(name)?);
        }
        Ok(Some(Self { parser, columns, text, kept }))
    }

    /// The next row; `None` at the end.
    pub(super) fn next(&mut self, lines: &mut Lines) -> Result<Option<Row>> {
        let Some(record) = Record::read(&mut self.parser, lines)? else { return Ok(None) };
        let Record { mut values, line, bytes } = record;
        if values.len() != self.columns.len() {
            let message = format!("{} values for {} columns", values.len(), self.columns.len());
            return Err(lines.refuse(ErrorKind::BadField, 0, message));
        }
        let value = |column: &usize| Value::String(values[*column].clone());
        let name = |column: &usize| self.columns[*column].clone();
        let kept = self.kept.iter().map(|column| (name(column), value(column))).collect();
        let text = values.swap_remove(self.text);
        Ok(Some(Row { object: Object { text, kept }, line, bytes }))
    }
}

/// The values of a row, and its place.
struct Record {
    values: Vec<String>,
    line: u64,
    bytes: u64,
}

impl Record {
    /// Reads lines up to the end of a row: a value in quotes may go over several. Blank lines before
    /// it are passed over.
    fn read(parser: &mut Parser, lines: &mut Lines) -> Result<Option<Self>> {
        parser.reset();
        let (mut values, mut ends) = (Vec::new(), Vec::new());
        let (mut used, mut ended) = (0, 0);
        let (mut first, mut bytes) = (None, 0);
        loop {
            let Some(mut line) = lines.next_line()? else {
                return match first {
                    None => Ok(None),
                    Some(line) => {
                        let message = format!("the quotes opened in line {line} are not closed");
                        Err(lines.refuse(ErrorKind::BadField, 0, message))
                    }
                };
            };
            bytes += lines.line_bytes();
            if first.is_none() && line.is_empty() {
                continue;
            }
            let first = *first.get_or_insert(lines.number());
            line.push('\n');
            let mut rest = line.as_bytes();
            loop {
                if values.len() > MAX_ROW_BYTES {
                    let message = format!("the row is longer than {MAX_ROW_BYTES} bytes");
                    return Err(lines.refuse(ErrorKind::BadField, 0, message));
                }
                values.resize(used + rest.len() + 1, 0);
                ends.resize(ended + rest.len() + 1, 0);
                let (result, read, written, more) =
                    parser.read_record(rest, &mut values[used..], &mut ends[ended..]);
                (used, ended) = (used + written, ended + more);
                rest = &rest[read..];
                match result {
                    ReadRecordResult::Record => {
                        let values = Self::values(&values[..used], &ends[..ended]);
                        return Ok(Some(Self { values, line: first, bytes }));
                    }
                    ReadRecordResult::InputEmpty | ReadRecordResult::End => break,
                    ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {}
                }
            }
        }
    }

    /// The values that end at these places.
    fn values(all: &[u8], ends: &[usize]) -> Vec<String> {
        let starts = std::iter::once(&0).chain(ends);
        // Separators are ASCII: what is between them is UTF-8, as the lines are.
        let value = |(start, end): (&usize, &usize)| {
            String::from_utf8_lossy(&all[*start..*end]).into_owned()
        };
        starts.zip(ends).map(value).collect()
    }
}
