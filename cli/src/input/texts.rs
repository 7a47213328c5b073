//! Texts in chunks of bounded size, read by another thread ahead of the work.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use nanoembed::lines::json_line::{Members, Object, Unusable};
use nanoembed::lines::{Lines, told_of_unusable};
use serde_json::Value;

use super::error_policy::OnError;
use super::rows::{Row, Rows};
use crate::error::{Error, Result, warn};

/// The texts, and their bytes, that are worked on at a time.
const CHUNK_TEXTS: usize = 512;
const CHUNK_BYTES: usize = 4 << 20;

/// A reader of texts from lines.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    /// The members of JSON lines or the columns of rows that are wanted; without any, lines are
    /// texts.
    pub(super) members: Option<Members>,
    /// The separator of the values of a row; without one, lines are JSON or texts.
    pub(super) separator: Option<u8>,
    pub(super) on_error: OnError,
    pub(super) lossy: bool,
}

/// A text, or what stands for one that could not be read, and where it comes from.
#[derive(Debug)]
pub(crate) struct Item {
    /// The text; `None` where a line could not be used and `null` was asked for.
    pub(crate) text: Option<String>,
    /// Its number, from 0; lines that are left out count too.
    pub(crate) index: u64,
    /// Its file's name; none of an argument.
    pub(crate) file: Option<Arc<str>>,
    /// Its line's number, from 1; its own of an argument.
    pub(crate) line: u64,
    /// Members written beside its result.
    pub(crate) kept: Vec<(String, Value)>,
    /// The bytes read for it.
    pub(crate) bytes: u64,
    /// The reason that there is no text.
    pub(crate) error: Option<String>,
}

impl Item {
    /// An item of `lines`' current line.
    fn new(lines: &Lines, file: &Arc<str>) -> Self {
        Self {
            text: None,
            index: 0,
            file: Some(Arc::clone(file)),
            line: lines.number(),
            kept: Vec::new(),
            bytes: lines.line_bytes(),
            error: None,
        }
    }

    fn given((index, text): (u64, String)) -> Self {
        Self {
            bytes: text.len() as u64,
            text: Some(text),
            index,
            file: None,
            line: index.saturating_add(1),
            kept: Vec::new(),
            error: None,
        }
    }
}

impl Reader {
    /// Gives the texts of a file to `take`, and lines that cannot be used if the caller can go on
    /// after them, until it wants no more; answers whether it wants more.
    pub(crate) fn each(
        &self,
        mut lines: Lines,
        take: &mut dyn FnMut(Item) -> bool,
    ) -> Result<bool> {
        let file: Arc<str> = lines.name().into();
        let mut rows = match (self.separator, &self.members) {
            (Some(separator), Some(wanted)) => match Rows::open(&mut lines, separator, wanted)? {
                Some(rows) => Some(rows),
                None => return Ok(true),
            },
            _ => None,
        };
        loop {
            let item = match &mut rows {
                Some(rows) => self.next_row(rows, &mut lines, &file),
                None => self.next_line(&mut lines, &file),
            };
            let Some(item) = item? else { return Ok(true) };
            if !take(item) {
                return Ok(false);
            }
        }
    }

    /// The next text, or the next line that cannot be used, if the caller can go on after it.
    fn next_line(&self, lines: &mut Lines, file: &Arc<str>) -> Result<Option<Item>> {
        let next = match &self.members {
            Some(members) => members.next(lines),
            None => match lines.next_line() {
                Ok(line) => line.map(|text| Ok(Object { text, kept: Vec::new() })),
                Err(error) => Some(Err(Unusable { error: error.into(), kept: Vec::new() })),
            },
        };
        let item = Item::new(lines, file);
        match next {
            None => Ok(None),
            Some(Ok(Object { text, kept })) => Ok(Some(Item { text: Some(text), kept, ..item })),
            Some(Err(Unusable { error, kept })) => {
                self.or_else(Item { kept, ..item }, *error).map(Some)
            }
        }
    }

    /// The text of the next row, or the next row that cannot be used, if the caller can go on after
    /// it.
    fn next_row(
        &self,
        rows: &mut Rows,
        lines: &mut Lines,
        file: &Arc<str>,
    ) -> Result<Option<Item>> {
        match rows.next(lines) {
            Ok(Some(Row { object, line, bytes })) => {
                let Object { text, kept } = object;
                let text = Some(text);
                Ok(Some(Item { text, kept, line, bytes, ..Item::new(lines, file) }))
            }
            Ok(None) => Ok(None),
            Err(failure) => self.or_else(Item::new(lines, file), failure).map(Some),
        }
    }

    /// The line as an item without a text, if such lines are to be got over.
    fn or_else(&self, item: Item, failure: Error) -> Result<Item> {
        match self.on_error {
            OnError::Fail => Err(failure),
            _ if !failure.is_about_input() => Err(failure),
            _ => Ok(Item { error: Some(failure.to_string()), ..item }),
        }
    }

    /// True if lines without a text are results too.
    pub(crate) fn keeps_nulls(&self) -> bool {
        self.on_error == OnError::Null
    }
}

/// Texts in chunks.
pub(crate) struct Texts {
    source: Source,
    keeps_nulls: bool,
    /// The bytes of all input, where that is known.
    bytes: Option<u64>,
    left_out: LeftOut,
}

enum Source {
    Given(Vec<String>),
    Read {
        receiver: Receiver<Result<Item>>,
        failure: Option<Error>,
        next: u64,
    },
    /// Rows of a table, some at a time.
    #[cfg(feature = "parquet")]
    Table(Box<dyn FnMut() -> Result<Option<Vec<Item>>>>),
}

impl Texts {
    /// These texts.
    pub(super) fn given(texts: Vec<String>) -> Self {
        let bytes = Some(texts.iter().map(|text| text.len() as u64).sum());
        let source = Source::Given(texts);
        Self { source, keeps_nulls: false, bytes, left_out: LeftOut::default() }
    }

    /// The texts of `files`, one after the other.
    pub(super) fn read(files: Vec<PathBuf>, reader: Reader) -> Self {
        let bytes = files.iter().map(|file| file_bytes(file)).sum();
        let keeps_nulls = reader.keeps_nulls();
        let receiver = read_ahead(move |send| send_texts(&files, &reader, send));
        let source = Source::Read { receiver, failure: None, next: 0 };
        Self { source, keeps_nulls, bytes, left_out: LeftOut::default() }
    }

    /// The items that `next` gives, until it gives no more.
    #[cfg(feature = "parquet")]
    pub(crate) fn from_table(
        next: impl FnMut() -> Result<Option<Vec<Item>>> + 'static,
        keeps_nulls: bool,
    ) -> Self {
        let source = Source::Table(Box::new(next));
        let left_out = LeftOut { of: "row", ..LeftOut::default() };
        Self { source, keeps_nulls, bytes: None, left_out }
    }

    /// The bytes of all input, where that is known.
    pub(crate) const fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    /// The next texts, at least one; `None` at the end. Waits for the first only, so that a program
    /// which writes a line and waits for its result gets it.
    pub(crate) fn next_chunk(&mut self) -> Result<Option<Vec<Item>>> {
        loop {
            let chunk = match &mut self.source {
                Source::Given(texts) => {
                    let texts = std::mem::take(texts);
                    (!texts.is_empty()).then(|| (0..).zip(texts).map(Item::given).collect())
                }
                Source::Read { receiver, failure, next } => receive(receiver, failure, next)?,
                #[cfg(feature = "parquet")]
                Source::Table(next) => next()?,
            };
            let Some(mut chunk) = chunk else { return Ok(None) };
            chunk.iter().filter_map(|item| item.error.as_ref()).for_each(|error| {
                self.left_out.count(error);
            });
            if !self.keeps_nulls {
                chunk.retain(|item| item.text.is_some());
            }
            if !chunk.is_empty() {
                return Ok(Some(chunk));
            }
        }
    }

    /// Says how many lines could not be used.
    pub(crate) fn warn(&self) {
        self.left_out.warn(self.keeps_nulls);
    }
}

/// The lines that could not be used, for a word about them at the end.
#[derive(Debug)]
pub(crate) struct LeftOut {
    count: u64,
    first: Option<String>,
    /// The noun for one of them.
    of: &'static str,
}

impl Default for LeftOut {
    fn default() -> Self {
        Self { count: 0, first: None, of: "line" }
    }
}

impl LeftOut {
    /// The number of rows of a table that were left out, and the error of the first.
    #[cfg(feature = "parquet")]
    pub(crate) const fn rows(count: u64, first: Option<String>) -> Self {
        Self { count, first, of: "row" }
    }

    /// Counts a line and keeps the first error.
    pub(crate) fn count(&mut self, error: &str) {
        self.count += 1;
        self.first.get_or_insert_with(|| error.to_owned());
    }

    /// Says how many there were.
    pub(crate) fn warn(&self, are_null: bool) {
        let Some(first) = &self.first else { return };
        let became = if are_null { "became null" } else { "left out" };
        warn(told_of_unusable(self.count, self.of, became, first));
    }
}

/// Takes an item, and returns true if more are wanted.
type Wanted<'s> = &'s dyn Fn(Result<Item>) -> bool;

/// Reads on another thread, a chunk ahead of the work.
#[cfg(not(target_os = "wasi"))]
fn read_ahead(read: impl FnOnce(Wanted<'_>) + Send + 'static) -> Receiver<Result<Item>> {
    let (sender, receiver) = std::sync::mpsc::sync_channel(CHUNK_TEXTS);
    std::thread::spawn(move || read(&|item| sender.send(item).is_ok()));
    receiver
}

/// Reads everything first, as there are no threads.
#[cfg(target_os = "wasi")]
fn read_ahead(read: impl FnOnce(Wanted<'_>)) -> Receiver<Result<Item>> {
    let (sender, receiver) = std::sync::mpsc::channel();
    read(&|item| sender.send(item).is_ok());
    receiver
}

/// As many as are there, and at least one.
fn receive(
    receiver: &Receiver<Result<Item>>,
    failure: &mut Option<Error>,
    next: &mut u64,
) -> Result<Option<Vec<Item>>> {
    if let Some(failure) = failure.take() {
        return Err(failure);
    }
    let Ok(first) = receiver.recv() else { return Ok(None) };
    let first = first?;
    let mut bytes = first.text.as_ref().map_or(0, String::len);
    let mut chunk = vec![first];
    while chunk.len() < CHUNK_TEXTS && bytes < CHUNK_BYTES {
        match receiver.try_recv() {
            Ok(Ok(item)) => {
                bytes += item.text.as_ref().map_or(0, String::len);
                chunk.push(item);
            }
            Ok(Err(late)) => {
                // What came before is worked on first.
                *failure = Some(late);
                break;
            }
            Err(_) => break,
        }
    }
    for item in &mut chunk {
        item.index = *next;
        *next += 1;
    }
    Ok(Some(chunk))
}

/// Reads `files` in order until one of them fails or no more is wanted.
fn send_texts(files: &[PathBuf], reader: &Reader, send: Wanted<'_>) {
    for file in files {
        let lines = super::lines(file, Some(reader.lossy));
        let sent = lines.and_then(|lines| reader.each(lines, &mut |item| send(Ok(item))));
        match sent {
            Ok(true) => {}
            Ok(false) => return,
            Err(failure) => {
                // If nobody wants to know, the work has failed already.
                send(Err(failure));
                return;
            }
        }
    }
}

/// The size of a regular file, also of one that stdin is redirected from.
pub(crate) fn file_bytes(path: &Path) -> Option<u64> {
    let path = if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
    path.metadata().ok().filter(std::fs::Metadata::is_file).map(|there| there.len())
}
