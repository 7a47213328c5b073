//! The passages of all files that are searched.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use nanoembed::{Encoder, ErrorKind};
use nanoembed_search::{Corpus, Files, Form, Found, MOST_BYTES, Passage, passages, read};
use rayon::prelude::*;
use serde_json::Value;

use super::{Search, Unit};
use crate::error::{Error, Result, name_of, warn};
use crate::input::{LeftOut, LineFormat, Lines, OnError, Reader};
use crate::streams;

/// Files that are read at a time.
const AT_ONCE: usize = 256;

/// Warnings about files that are printed one by one.
const MOST_WARNINGS: usize = 5;

/// Members of a JSON line to write beside its results.
type Members = Vec<(String, Value)>;

/// Passages, and what belongs to them.
#[derive(Default)]
pub(super) struct Collected {
    pub(super) corpus: Corpus,
    /// Members of JSON lines to write beside results, by the number of the passage.
    pub(super) records: HashMap<usize, Members>,
    /// The text of stdin.
    pub(super) stdin: Option<String>,
    left_out: LeftOut,
    warnings: Vec<String>,
}

/// The passages of a file, with the members of JSON lines.
#[derive(Default)]
struct Content {
    passages: Vec<(Passage, Option<Members>)>,
    /// The errors of lines that could not be used.
    left_out: Vec<String>,
    /// The text, if it is that of stdin.
    stdin: Option<String>,
}

/// The way that files are read.
struct Reading<'s> {
    search: &'s Search,
    encoder: &'s Encoder,
    /// Readers of JSON lines in files that were named, and in files of folders.
    given: Reader,
    walked: Reader,
}

impl Collected {
    /// Reads all files and folders.
    pub(super) fn read(search: &Search, encoder: &Encoder) -> Result<Self> {
        let (mut files, walk) = (Files::default(), search.files.walk());
        for path in search.paths() {
            match is_stdin(&path) {
                true => files.found.push(Found { path, is_given: true }),
                false => walk.find(&path, &mut files)?,
            }
        }
        let form = &search.form;
        if !files.found.iter().any(|found| search.has_records(found)) {
            // Refuses options for such lines.
            form.reader()?;
        }
        let reading = Reading {
            search,
            encoder,
            given: match form.line_format {
                LineFormat::Text => form.json_reader(form.on_error)?,
                _ => form.reader()?,
            },
            walked: form.json_reader(OnError::Skip)?,
        };
        let mut collected = Self { warnings: files.warnings, ..Self::default() };
        for files in files.found.chunks(AT_ONCE) {
            let contents: Vec<_> = files.par_iter().map(|found| reading.content(found)).collect();
            for (found, content) in files.iter().zip(contents) {
                collected.add(found, content)?;
            }
        }
        Ok(collected)
    }

    /// Adds a file's passages. One that cannot be read ends the search only if it was named.
    fn add(&mut self, found: &Found, content: Result<Content>) -> Result<()> {
        let content = match content {
            Ok(content) => content,
            Err(error) if found.is_given => return Err(error),
            Err(error) => {
                self.warnings.push(error.to_string());
                return Ok(());
            }
        };
        let name: Arc<str> = name_of(&found.path).into();
        for (passage, members) in content.passages {
            let added = self.corpus.add(&name, passage);
            if let (Some(added), Some(members)) = (added, members) {
                self.records.insert(added, members);
            }
        }
        content.left_out.iter().for_each(|error| self.left_out.count(error));
        self.stdin = self.stdin.take().or(content.stdin);
        Ok(())
    }

    /// Says what was left out.
    pub(super) fn warn(&self) {
        self.warnings.iter().take(MOST_WARNINGS).for_each(warn);
        let more = self.warnings.len().saturating_sub(MOST_WARNINGS);
        if more > 0 {
            warn(format_args!("{more} more files or folders could not be read"));
        }
        self.left_out.warn(false);
    }
}

impl Reading<'_> {
    fn content(&self, found: &Found) -> Result<Content> {
        if self.search.has_records(found) {
            return self.records(found);
        }
        let bytes = match is_stdin(&found.path) {
            true => Some(read_stdin()?),
            false => read(&found.path)?,
        };
        let Some(bytes) = bytes else {
            return match found.is_given {
                true => Err(Error::bad_input("is no text").at(name_of(&found.path))),
                false => Ok(Content::default()),
            };
        };
        let text = self.text(found, bytes)?;
        let form = match self.search.files.by {
            Some(Unit::Line) => Form::Lines,
            Some(Unit::Paragraph) => Form::Paragraphs,
            None => Form::of(&found.path),
        };
        let passages = passages(form, &text, self.encoder).into_iter().map(|it| (it, None));
        let passages = passages.collect();
        let stdin = is_stdin(&found.path).then_some(text);
        Ok(Content { passages, stdin, ..Content::default() })
    }

    /// The texts of JSON lines or rows, whatever their own lines.
    fn records(&self, found: &Found) -> Result<Content> {
        let (form, mut content) = (&self.search.form, Content::default());
        let reader = if found.is_given { &self.given } else { &self.walked };
        let lines = Lines::open(&found.path, Some(form.lossy || !found.is_given))?;
        reader.each(lines, &mut |item| {
            content.left_out.extend(item.error);
            let text = item.text.unwrap_or_default();
            for mut passage in passages(Form::Whole, &text, self.encoder) {
                for part in &mut passage.parts {
                    (part.line, part.end_line) = (item.line, item.line);
                }
                content.passages.push((passage, Some(item.kept.clone())));
            }
            true
        })?;
        Ok(content)
    }

    /// A text in UTF-8: bytes that are not are replaced in files that were not named.
    fn text(&self, found: &Found, bytes: Vec<u8>) -> Result<String> {
        let is_lossy = self.search.form.lossy || !found.is_given;
        String::from_utf8(bytes).or_else(|error| {
            if is_lossy {
                return Ok(String::from_utf8_lossy(error.as_bytes()).into_owned());
            }
            let at = error.utf8_error().valid_up_to();
            let before = error.as_bytes().get(..at).unwrap_or_default();
            let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
            Err(Error::input(ErrorKind::InvalidUtf8, "not valid UTF-8")
                .at(name_of(&found.path))
                .at(format_args!("line {line}"))
                .at_byte(at as u64)
                .with_hint("`--lossy` replaces such bytes"))
        })
    }
}

impl Search {
    /// True if each line or row of a file has a text among others: by its name, or if that was said
    /// of the files that were named.
    fn has_records(&self, found: &Found) -> bool {
        let is_said = found.is_given && self.form.line_format != LineFormat::Text;
        is_said || self.files.by.is_none() && Form::of(&found.path) == Form::JsonLines
    }
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

fn read_stdin() -> Result<Vec<u8>> {
    let failed = |error| Error::reading("stdin", &error);
    streams::check_stdin().map_err(failed)?;
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    match bytes.len() as u64 > MOST_BYTES {
        true => Err(Error::bad_input(format!("has more than {MOST_BYTES} bytes")).at("stdin")),
        false => Ok(bytes),
    }
}
