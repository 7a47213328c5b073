//! A question, and texts that may answer it.

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use super::arguments::{FormArgs, LineFormat, read_lines};
use super::texts::{Item, Texts};
use crate::error::{Error, Result};

/// The member of a line that is its question.
const QUERY: &str = "query";
/// The member of a line that is its text, where the question is one too.
const DOCUMENT: &str = "document";

/// The arguments that say where questions and texts come from.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Input")]
pub(crate) struct PairArgs {
    /// The question; without one, lines of JSON and rows have each its own
    #[arg(value_name = "QUERY")]
    query: Option<String>,

    /// Texts; without any, and without `--file`, the lines of stdin
    #[arg(value_name = "TEXT")]
    texts: Vec<String>,

    /// Read texts from files, a line each; `-` is stdin
    #[arg(long = "file", short = 'f', value_name = "FILE", num_args = 1.., conflicts_with = "texts")]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) form: FormArgs,
}

/// Texts, and the question to each.
pub(crate) struct Pairs {
    pub(crate) texts: Texts,
    pub(crate) question: Question,
}

/// The questions that texts are compared with.
pub(crate) enum Question {
    /// One question for all texts.
    One(String),
    /// A question beside each text; with `is_kept` it is written beside the result.
    Each { is_kept: bool },
}

impl PairArgs {
    /// Starts to read. Reading runs ahead of the work by a few texts only.
    pub(crate) fn open(self, quiet: bool) -> Result<Pairs> {
        let Self { query, texts, files, form } = self;
        let has_members = form.line_format != LineFormat::Text;
        let question = match query {
            Some(query) => Question::One(query),
            None if has_members => Question::Each { is_kept: form.keeps(QUERY) },
            None => {
                return Err(Error::usage("there is no question").with_hint(
                    "`nanoembed rerank \"QUESTION\" TEXT…`, or `-i jsonl` or `-i csv` with pairs",
                ));
            }
        };
        if !texts.is_empty() {
            if has_members {
                return Err(Error::usage("--input is for files and for stdin")
                    .with_hint("texts among the arguments are texts as they stand"));
            }
            return Ok(Pairs { texts: Texts::given(texts), question });
        }
        let mut reader = match question {
            Question::One(_) => form.reader()?,
            Question::Each { .. } => form.reader_of(DOCUMENT)?,
        };
        if let (Question::Each { is_kept }, Some(members)) = (&question, &mut reader.members) {
            members.needed = Some(QUERY);
            if !is_kept {
                members.kept.push(QUERY.to_owned());
            }
        }
        let files = if files.is_empty() { vec![PathBuf::from("-")] } else { files };
        Ok(Pairs { texts: read_lines(files, reader, quiet)?, question })
    }
}

impl Question {
    /// The question to the text of `item` and the text, which are taken out of it; `None` if it has
    /// no text.
    pub(crate) fn pair(&self, item: &mut Item) -> Option<(String, String)> {
        let own = match self {
            Self::One(_) => None,
            Self::Each { is_kept } => own_question(&mut item.kept, *is_kept),
        };
        let text = item.text.take()?;
        match self {
            Self::One(query) => Some((query.clone(), text)),
            Self::Each { .. } => own.map(|query| (query, text)),
        }
    }
}

/// The question among the members of a line, of which it is taken out unless it is wanted there.
fn own_question(kept: &mut Vec<(String, Value)>, is_kept: bool) -> Option<String> {
    let at = kept.iter().position(|(name, _)| name == QUERY)?;
    let value = if is_kept { kept.get(at)?.1.clone() } else { kept.remove(at).1 };
    value.as_str().map(str::to_owned)
}
