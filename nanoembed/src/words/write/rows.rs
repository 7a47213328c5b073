//! Forms that have a word and its numbers in each row.

use std::io::{self, Write};

use nanoembed_core::limit;

use crate::error::{Error, Result};
use crate::signature::word_form::Form;

/// Writes rows in one of the forms.
pub struct RowWriter<W> {
    to: W,
    name: String,
    form: Form,
    line: Line,
}

impl<W: Write> RowWriter<W> {
    /// Begins a file of `words` rows of `cols` numbers.
    pub fn begin(to: W, name: &str, form: Form, (words, cols): (u32, usize)) -> Result<Self> {
        let mut writer = Self { to, name: name.to_owned(), form, line: Line::default() };
        if matches!(form, Form::Word2vec | Form::Textdims) {
            let written = writeln!(writer.to, "{words} {cols}");
            written.map_err(|error| Error::writing(name, &error))?;
        }
        Ok(writer)
    }

    /// Writes a row.
    pub fn row(&mut self, word: &[u8], numbers: &[f32]) -> Result<()> {
        let is_binary = self.form == Form::Word2vec;
        if let Some(what) = unfit(word, is_binary) {
            let word = String::from_utf8_lossy(word);
            return Err(Error::bad_input(format!(
                "the word {word:?} {what}, which this form cannot hold"
            ))
            .at(&self.name)
            .with_hint("`nanoembed select` makes a file of other words"));
        }
        self.line.0.clear();
        let filled = self.line.write_all(word).and_then(|()| match is_binary {
            true => self.binary(numbers),
            false => self.text(numbers),
        });
        filled
            .and_then(|()| self.to.write_all(&self.line.0))
            .map_err(|error| Error::writing(&self.name, &error))
    }

    fn binary(&mut self, numbers: &[f32]) -> io::Result<()> {
        self.line.write_all(b" ")?;
        numbers.iter().try_for_each(|number| self.line.write_all(&number.to_le_bytes()))?;
        self.line.write_all(b"\n")
    }

    /// The shortest digits that give the same number back.
    fn text(&mut self, numbers: &[f32]) -> io::Result<()> {
        numbers.iter().try_for_each(|number| write!(self.line, " {number}"))?;
        self.line.write_all(b"\n")
    }

    pub fn finish(mut self) -> Result<()> {
        self.to.flush().map_err(|error| Error::writing(&self.name, &error))
    }
}

/// A line in memory that may be refused.
#[derive(Default)]
struct Line(Vec<u8>);

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        limit::append(&mut self.0, bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The reason that a word cannot be read back.
fn unfit(word: &[u8], is_binary: bool) -> Option<&'static str> {
    if word.is_empty() {
        return Some("is empty");
    }
    if word.trim_ascii() != word {
        return Some("begins or ends with a blank");
    }
    match is_binary {
        true => word.contains(&b' ').then_some("has a blank"),
        false => word.contains(&b'\n').then_some("has a line end"),
    }
}
