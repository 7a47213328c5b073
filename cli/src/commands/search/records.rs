//! Reads stdin, and files of records as options say: lines of JSON or rows of CSV.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use nanoembed::Encoder;
use nanoembed_search::{Content, Cutting, Found, MOST_BYTES, Reader};

use super::Search;
use crate::error::{Error, Result, name_of};
use crate::input::{LineFormat, OnError, Reader as LineReader, lines, read};

/// Reads stdin and files of records.
pub(super) struct Records {
    cutting: Cutting,
    /// True if the files that were named have records, whatever their endings.
    are_given: bool,
    /// True if options say how JSON lines are read.
    has_options: bool,
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
            has_options: form.names_members() || form.on_error != OnError::Fail,
            given: if is_text { form.json_reader(form.on_error)? } else { form.reader()? },
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
        self.are_said(is_given) || self.cutting.has_records(path)
    }

    /// True if files are said to have records, whatever their names.
    const fn are_said(&self, is_given: bool) -> bool {
        is_given && self.are_given
    }

    /// The texts of a file's records, each as one passage.
    fn records(&self, found: &Found, encoder: &Encoder) -> Result<Content> {
        let mut content = Content::default();
        let reader = if found.is_given { &self.given } else { &self.walked };
        let lines = lines(&found.path, Some(self.cutting.lossy || !found.is_given))?;
        reader.each(lines, &mut |item| {
            content.left_out.extend(item.error);
            let text = item.text.unwrap_or_default();
            content.add_record(&text, item.kept, item.line, encoder);
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
        let is_usual = !self.has_options && !self.are_said(found.is_given);
        if !is_usual && self.has_records(&found.path, found.is_given) {
            return Some(self.records(found, encoder));
        }
        is_stdin(&found.path).then(|| self.stdin_content(found, encoder))
    }
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}
