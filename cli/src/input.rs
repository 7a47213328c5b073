//! Texts: arguments, or lines of stdin and files, read as they are needed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use clap::{Args, ValueEnum};
use nanoembed_core::ErrorKind;
use serde::Deserialize;

use crate::error::{Failure, Result, name_of, warn};

/// What some editors put at a text's start.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Longer lines are refused: they are hardly text, and would be held in memory whole.
const MAX_LINE_BYTES: u64 = 64 << 20;
/// How many texts, and of how many bytes together, are worked on at a time.
const CHUNK_TEXTS: usize = 512;
const CHUNK_BYTES: usize = 4 << 20;

/// The arguments that say where texts come from.
#[derive(Args, Debug)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputArgs {
    /// Texts; without any, and without `--file`, the lines of stdin
    #[arg(value_name = "TEXT")]
    texts: Vec<String>,

    /// Read texts from a file; `-` is stdin; may be given several times
    #[arg(long = "file", short = 'f', value_name = "FILE", conflicts_with = "texts")]
    files: Vec<PathBuf>,

    /// What a line of stdin or of a file is
    #[arg(long = "input", short = 'i', value_enum, default_value_t = LineFormat::Text, value_name = "FORMAT")]
    line_format: LineFormat,

    /// Replace bytes that are not UTF-8 by U+FFFD instead of stopping there
    #[arg(long)]
    lossy: bool,
}

/// What a line of input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LineFormat {
    /// A text
    Text,
    /// A JSON object with a text: {"text": "…"}
    Jsonl,
}

#[derive(Deserialize)]
struct TextObject {
    text: String,
}

impl InputArgs {
    /// Starts to read. Reading runs ahead of the work by a few texts only.
    pub(crate) fn open(self, quiet: bool) -> Result<Texts> {
        if !self.texts.is_empty() {
            return Ok(Texts::Given(Some(self.texts)));
        }
        let files = if self.files.is_empty() { vec![PathBuf::from("-")] } else { self.files };
        if !quiet && io::stdin().is_terminal() && files.iter().any(|file| file == Path::new("-")) {
            warn("reading texts from the terminal, one a line; Ctrl-D ends");
        }
        let (sender, receiver) = sync_channel(CHUNK_TEXTS);
        let (format, lossy) = (self.line_format, self.lossy);
        std::thread::spawn(move || send_texts(&files, format, lossy, &sender));
        Ok(Texts::Read { receiver, failure: None })
    }
}

/// Reads `files` one after the other until one of them fails or nobody wants more.
fn send_texts(
    files: &[PathBuf],
    format: LineFormat,
    lossy: bool,
    sender: &SyncSender<Result<String>>,
) {
    for file in files {
        match Lines::open(file, Some(lossy)).and_then(|lines| send_lines(lines, format, sender)) {
            Ok(true) => {}
            Ok(false) => return,
            Err(failure) => {
                // If nobody wants to know, the work has failed already.
                let _ = sender.send(Err(failure));
                return;
            }
        }
    }
}

/// Answers whether more is wanted.
fn send_lines(
    mut lines: Lines,
    format: LineFormat,
    sender: &SyncSender<Result<String>>,
) -> Result<bool> {
    while let Some(line) = lines.next_line()? {
        let text = match format {
            LineFormat::Text => line,
            LineFormat::Jsonl if line.trim().is_empty() => continue,
            LineFormat::Jsonl => text_of(&line).map_err(|message| lines.refuse(message))?,
        };
        if sender.send(Ok(text)).is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn text_of(line: &str) -> std::result::Result<String, String> {
    let wrong = "not an object with a \"text\"";
    // An array of one text would be read as one.
    if line.trim_start().starts_with('[') {
        return Err(wrong.into());
    }
    let object: TextObject =
        serde_json::from_str(line).map_err(|error| format!("{wrong}: {error}"))?;
    Ok(object.text)
}

/// Texts in chunks of bounded size.
pub(crate) enum Texts {
    Given(Option<Vec<String>>),
    Read { receiver: Receiver<Result<String>>, failure: Option<Failure> },
}

impl Texts {
    /// How many there are, where that is known.
    pub(crate) fn count(&self) -> Option<u64> {
        match self {
            Self::Given(texts) => Some(texts.as_ref().map_or(0, Vec::len) as u64),
            Self::Read { .. } => None,
        }
    }

    /// The next texts, at least one; `None` at the end. Waits for the first only, so that a program which writes a line and
    /// waits for its result gets it.
    pub(crate) fn next_chunk(&mut self) -> Result<Option<Vec<String>>> {
        match self {
            Self::Given(texts) => Ok(texts.take().filter(|texts| !texts.is_empty())),
            Self::Read { receiver, failure } => {
                if let Some(failure) = failure.take() {
                    return Err(failure);
                }
                let Ok(first) = receiver.recv() else { return Ok(None) };
                let first = first?;
                let mut bytes = first.len();
                let mut texts = vec![first];
                while texts.len() < CHUNK_TEXTS && bytes < CHUNK_BYTES {
                    match receiver.try_recv() {
                        Ok(Ok(text)) => {
                            bytes += text.len();
                            texts.push(text);
                        }
                        Ok(Err(late)) => {
                            // What came before is worked on first.
                            *failure = Some(late);
                            break;
                        }
                        Err(_) => break,
                    }
                }
                Ok(Some(texts))
            }
        }
    }
}

/// The lines of a file, with their numbers.
pub(crate) struct Lines {
    reader: Box<dyn BufRead + Send>,
    name: String,
    lossy: Option<bool>,
    number: u64,
    /// Offset of the current line in the file.
    start: u64,
    next: u64,
}

impl Lines {
    /// Opens `path`; `-` is stdin. `lossy` is the option of this name: `None` if the command has none.
    pub(crate) fn open(path: &Path, lossy: Option<bool>) -> Result<Self> {
        let name = name_of(path);
        let reader: Box<dyn BufRead + Send> = if path == Path::new("-") {
            Box::new(BufReader::with_capacity(1 << 16, io::stdin()))
        } else {
            let file = File::open(path).map_err(|error| Failure::reading(&name, &error))?;
            Box::new(BufReader::with_capacity(1 << 16, file))
        };
        Ok(Self { reader, name, lossy, number: 0, start: 0, next: 0 })
    }

    /// The number of the line that came last, from 1.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// The next line, without its end and, at the file's start, without a byte order mark.
    pub(crate) fn next_line(&mut self) -> Result<Option<String>> {
        let mut line = Vec::new();
        let limited = &mut self.reader.by_ref().take(MAX_LINE_BYTES + 1);
        let read = limited
            .read_until(b'\n', &mut line)
            .map_err(|error| Failure::reading(&self.name, &error))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.start = self.next;
        self.next += read as u64;
        if line.len() as u64 > MAX_LINE_BYTES {
            return Err(self.refuse(format!("longer than {MAX_LINE_BYTES} bytes")));
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let mark = if self.number == 1 { BYTE_ORDER_MARK } else { &[] };
        let text = text.strip_prefix(mark).unwrap_or(text);
        match str::from_utf8(text) {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(_) if self.lossy == Some(true) => {
                Ok(Some(String::from_utf8_lossy(text).into_owned()))
            }
            Err(error) => {
                let offset = self.start + error.valid_up_to() as u64;
                let failure = Failure::input(ErrorKind::InvalidUtf8, "not valid UTF-8")
                    .at(&self.name)
                    .at(format_args!("line {}", self.number))
                    .at(format_args!("byte {offset}"));
                Err(match self.lossy {
                    Some(_) => failure.hint("`--lossy` replaces such bytes"),
                    None => failure,
                })
            }
        }
    }

    /// The current line is bad.
    fn refuse(&self, message: impl Into<String>) -> Failure {
        Failure::bad_input(message).at(&self.name).at(format_args!("line {}", self.number))
    }
}
