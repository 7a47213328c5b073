//! Reads stdin, and files of records: lines of JSON or rows of CSV.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use nanoembed::Encoder;
use nanoembed_search::{Content, Cutting, Form, Found, MOST_BYTES, Reader, passages};
use serde_json::{Map, Value};

use super::Search;
use crate::error::{Error, Result, name_of};
use crate::input::{FormArgs, LineFormat, Lines, OnError, Reader as LineReader, read};

/// Reads stdin and files of records.
pub(in crate::commands) struct Records {
    cutting: Cutting,
    /// True if the files that were named have records, whatever their endings.
    are_given: bool,
    /// Reads records in files that were named. `walked` does so in files of folders.
    given: LineReader,
    walked: LineReader,
    stdin: Mutex<Option<String>>,
}

impl Records {
    pub(super) fn new(search: &Search) -> Result<Self> {
        let form = &search.form;
        let is_text = form.line_format == LineFormat::Text;
        Ok(Self {
            cutting: search.cutting(),
            are_given: !is_text,
            given: if is_text { form.json_reader(form.on_error)? } else { form.reader()? },
            walked: form.json_reader(OnError::Skip)?,
            stdin: Mutex::default(),
        })
    }

    /// With the usual options, for files of folders.
    pub(in crate::commands) fn usual() -> Result<Self> {
        let form = FormArgs::usual();
        Ok(Self {
            cutting: Cutting::default(),
            are_given: false,
            given: form.reader()?,
            walked: form.json_reader(OnError::Skip)?,
            stdin: Mutex::default(),
        })
    }

    /// The text of stdin, if that was read as a text.
    pub(super) fn stdin(self) -> Option<String> {
        self.stdin.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if each line or row of a file has a text among others: by its name, or if that was said
    /// of the files that were named.
    pub(super) fn has_records(&self, path: &Path, is_given: bool) -> bool {
        let is_said = is_given && self.are_given;
        is_said || self.cutting.form.is_none() && Form::for_path(path) == Form::JsonLines
    }

    /// The texts of a file's records, each as one passage.
    fn records(&self, found: &Found, encoder: &Encoder) -> Result<Content> {
        let mut content = Content::default();
        let reader = if found.is_given { &self.given } else { &self.walked };
        let lines = Lines::open(&found.path, Some(self.cutting.lossy || !found.is_given))?;
        reader.each(lines, &mut |item| {
            content.left_out.extend(item.error);
            let members: Map<String, Value> = item.kept.into_iter().collect();
            let members = Value::Object(members).to_string();
            let text = item.text.unwrap_or_default();
            for mut passage in passages(Form::Whole, &text, encoder) {
                for part in &mut passage.parts {
                    (part.line, part.end_line) = (item.line, item.line);
                }
                content.passages.push((passage, members.clone()));
            }
            true
        })?;
        Ok(content)
    }

    fn stdin_content(&self, found: &Found, encoder: &Encoder) -> Result<Content> {
        let bytes = read(&found.path, MOST_BYTES)?;
        if bytes.len() as u64 > MOST_BYTES {
            let message = format!("has more than {MOST_BYTES} bytes");
            return Err(Error::bad_input(message).at(name_of(&found.path)));
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let content = self.cutting.cut(found, bytes, encoder)?;
        *self.stdin.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
        Ok(content)
    }
}

impl Reader for Records {
    fn content(&self, found: &Found, encoder: &Encoder) -> Option<Result<Content>> {
        if self.has_records(&found.path, found.is_given) {
            return Some(self.records(found, encoder));
        }
        is_stdin(&found.path).then(|| self.stdin_content(found, encoder))
    }
}

/// The members of a record; `None` if a passage is of a text.
pub(super) fn members(extra: &str) -> Option<Vec<(String, Value)>> {
    let members: Map<String, Value> = serde_json::from_str(extra).ok()?;
    Some(members.into_iter().collect())
}

pub(in crate::commands) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}
