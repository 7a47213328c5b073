//! `tokenize`: texts to token ids.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use nanoembed_core::token::vocabulary::{MAX_TOKEN_BYTES, Vocabulary};
use rayon::prelude::*;
use serde::Serialize;

use crate::args::ModelArgs;
use crate::embedder::encoder;
use crate::error::Result;
use crate::input::InputArgs;
use crate::model_file::ModelFile;
use crate::output::lines::Lines;
use crate::tokenizer::{self, Tokenizer, Tokens};

/// Turn texts into the token ids that the model sees
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed tokenize \"How do I reset my password?\"
  nanoembed tokenize --pieces \"unaffable\"
  nanoembed tokenize --max-tokens 0 --output jsonl < texts.txt

With `--output jsonl` every text gives one line:
  {\"index\": 0, \"ids\": [101, …, 102], \"truncated\": false}")]
pub(crate) struct Tokenize {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    model: ModelArgs,

    /// How ids are written
    #[arg(long = "output", value_enum, value_name = "FORMAT", default_value_t = Format::Text, help_heading = "Output")]
    format: Format,

    /// Write the tokens themselves instead of their ids; with jsonl beside them
    #[arg(long, help_heading = "Output")]
    pieces: bool,
}

/// How ids are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Numbers with spaces between, a line for each text
    Text,
    /// A JSON object for each text
    Jsonl,
}

/// A line of JSON output.
#[derive(Serialize)]
struct Line<'a> {
    index: u64,
    ids: &'a [u32],
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pieces: Option<Vec<String>>,
}

impl Tokenize {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        self.model.use_threads()?;
        let file = ModelFile::open(self.model.model.as_deref())?;
        let refuse = |error| file.failure(error);
        let model = encoder::open(&file)?;
        let limit = match self.model.max_tokens {
            Some(0) => None,
            asked => Some(encoder::limit(asked, model.config())?),
        };
        let tokenizer = model.tokenizer().map_err(refuse)?;
        let mut texts = self.input.open(quiet)?;
        let mut lines = Lines::stdout();
        let mut index = 0;
        while let Some(chunk) = texts.next_chunk()? {
            let encode = |text: &String| tokenizer::encode(&tokenizer, text, limit);
            let encoded = chunk.par_iter().map(encode).collect::<Result<Vec<Tokens>, _>>();
            for Tokens { ids, truncated } in encoded.map_err(refuse)? {
                let pieces = self.pieces.then(|| pieces(&tokenizer, &ids));
                match (self.format, pieces) {
                    (Format::Jsonl, pieces) => {
                        lines.json(&Line { index, ids: &ids, truncated, pieces })?;
                    }
                    (Format::Text, Some(pieces)) => lines.text(pieces.join(" "))?,
                    (Format::Text, None) => {
                        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
                        lines.text(ids.join(" "))?;
                    }
                }
                index += 1;
            }
            lines.flush()?;
        }
        lines.finish()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The tokens as the vocabulary spells them.
fn pieces(tokenizer: &Tokenizer<'_>, ids: &[u32]) -> Vec<String> {
    let mut buffer = [0; MAX_TOKEN_BYTES];
    let mut piece = |&id: &u32| {
        let bytes = tokenizer.vocabulary().token(id, &mut buffer).unwrap_or(0);
        String::from_utf8_lossy(buffer.get(..bytes).unwrap_or_default()).into_owned()
    };
    ids.iter().map(&mut piece).collect()
}
