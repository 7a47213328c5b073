//! `tokenize --decode`: token ids to the text that they stand for.

use std::process::ExitCode;

use nanoembed::Tokenizer;
use serde::Serialize;
use serde_json::Value;

use super::Tokenize;
use crate::error::{Error, Result};
use crate::input::Item;
use crate::output::members::kept;
use crate::output::result_args::LineForm;
use crate::progress::Reading;

/// A line of JSON output.
#[derive(Serialize)]
struct Line<'a> {
    index: u64,
    #[serde(flatten, serialize_with = "kept")]
    kept: &'a [(String, Value)],
    text: Option<&'a str>,
    /// The reason that there is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl Tokenize {
    /// Writes the text of each list of ids.
    pub(super) fn decode(
        self,
        form: LineForm,
        tokenizer: &Tokenizer,
        quiet: bool,
    ) -> Result<ExitCode> {
        let mut lists = self.input.clone().open_ids(quiet)?;
        let mut reading = Reading::begin("decoding", lists.bytes(), quiet);
        self.write_chunks(&mut lists, &mut reading, |chunk, lines, reading| {
            for item in chunk {
                let text = match &item.text {
                    Some(list) => {
                        let ids = ids(list).map_err(|error| at(item, error))?;
                        reading.tokens += ids.len() as u64;
                        Some(tokenizer.decode(&ids).map_err(|error| at(item, error))?)
                    }
                    None => None,
                };
                match form {
                    LineForm::Jsonl => {
                        let (index, kept, error) =
                            (item.index, &item.kept[..], item.error.as_deref());
                        lines.json(&Line { index, kept, text: text.as_deref(), error })?;
                    }
                    LineForm::Text => lines.text(text.unwrap_or_default())?,
                }
            }
            Ok(())
        })?;
        if !quiet {
            lists.warn();
            reading.say_done("decoded");
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The ids that `list` spells, with white space or commas between.
fn ids(list: &str) -> Result<Vec<u32>> {
    let separates = |c: char| c.is_whitespace() || c == ',';
    let spelled = list.split(separates).filter(|id| !id.is_empty());
    let id = |id: &str| {
        id.parse().map_err(|_| {
            Error::bad_input(format!("`{id}` is no token id"))
                .with_hint("a line is ids with spaces between, as `nanoembed tokenize` writes them")
        })
    };
    spelled.map(id).collect()
}

/// An error with the place of the list that it is about.
fn at(item: &Item, error: Error) -> Error {
    match &item.file {
        Some(file) => error.at(file).at(format_args!("line {}", item.line)),
        None => error,
    }
}
