//! `tokenize`: texts to token ids, and ids to texts.

mod decode;

use std::process::ExitCode;

use clap::Args;
use nanoembed::files::new_file::NewFile;
use nanoembed::{Tokenizer, Tokens, is_model};
use rayon::prelude::*;
use serde::Serialize;
use serde_json::Value;

use crate::args::{ModelArgs, PromptArgs};
use crate::error::{Result, warn};
use crate::input::{InputArgs, Item, Texts};
use crate::output::lines::LineWriter;
use crate::output::members::kept;
use crate::output::result_args::{LineArgs, LineForm};
use crate::output::truncation::{Limits, Truncated};
use crate::progress::Reading;

/// Turn texts into the token ids that the model sees, and back
///
/// The model is an encoder, a decoder (of any format that `generate` takes), or a SentencePiece
/// model alone (`tokenizer.model`).
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed tokenize \"How do I reset my password?\"
  nanoembed tokenize --pieces \"unaffable\"
  nanoembed tokenize --max-tokens 0 --format jsonl < texts.txt
  nanoembed tokenize --model tokenizer.model --pieces \"Once upon a time\"
  nanoembed tokenize --decode \"101 2129 2079 102\"

With `--format jsonl` every text gives one line:
  {\"index\": 0, \"id\": …, \"ids\": [101, …, 102], \"truncated\": false}
where `id` stands if the input is JSON lines and has one. A line that `--on-error null` gets over
has `null` for its ids. A blank line is an empty text. `--max-tokens 0` shows all of every text.

With `--decode` the input is lists of ids in these forms, and a line of output is
  {\"index\": 0, \"id\": …, \"text\": \"how do i reset my password?\"}
without special tokens, and as the tokenizer has normalised the text. The member with the ids is
`ids` unless `--field` says otherwise.")]
pub(crate) struct Tokenize {
    #[command(flatten)]
    pub(super) input: InputArgs,

    #[command(flatten)]
    pub(super) model: ModelArgs,

    #[command(flatten)]
    prompts: PromptArgs,

    #[command(flatten)]
    pub(super) output: LineArgs,

    /// Write the tokens themselves instead of their ids; with jsonl beside them
    #[arg(long, help_heading = "Output")]
    pieces: bool,

    /// Take lists of token ids instead of texts, and write the text of each
    #[arg(long, help_heading = "Output")]
    #[arg(conflicts_with_all = ["pieces", "prompt", "prompt_name", "role", "max_tokens"])]
    decode: bool,
}

/// A line of JSON output.
#[derive(Serialize)]
struct Line<'a> {
    index: u64,
    #[serde(flatten, serialize_with = "kept")]
    kept: &'a [(String, Value)],
    ids: Option<&'a [u32]>,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pieces: Option<Vec<String>>,
    /// The reason that there are no ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl Tokenize {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        self.model.use_threads()?;
        let form = self.output.form()?;
        self.input.form().check_kept(form == LineForm::Jsonl)?;
        let is_sentencepiece = self.model.model.as_deref().is_some_and(is_model);
        let source = self.model.open_for(self.prompts.role(), quiet)?;
        let tokenizer = Tokenizer::options().open_source(source, is_sentencepiece)?;
        tokenizer.warnings().iter().for_each(warn);
        if self.decode {
            return self.decode(form, &tokenizer, quiet);
        }
        let limit = match self.model.max_tokens {
            Some(0) => None,
            asked => tokenizer.limit(asked)?,
        };
        let most = |used| tokenizer.positions().unwrap_or(used);
        let limits = limit.map(|used| Limits { used, most: most(used) });
        let prompt = tokenizer.prompt(&self.prompts.prefix())?;
        let encode = |text: &String| tokenizer.encode(&format!("{prompt}{text}"), limit);
        let piece = |id| tokenizer.token(id).unwrap_or_default();
        self.write((form, limits), encode, piece, quiet)
    }

    fn write(
        self,
        (form, limits): (LineForm, Option<Limits>),
        encode: impl Fn(&String) -> Result<Tokens> + Sync,
        piece: impl Fn(u32) -> String,
        quiet: bool,
    ) -> Result<ExitCode> {
        let mut texts = self.input.clone().open(quiet)?;
        let mut reading = Reading::begin("tokenizing", texts.bytes(), quiet);
        let mut truncated = Truncated::default();
        self.write_chunks(&mut texts, &mut reading, |chunk, lines, reading| {
            let encoded = chunk.par_iter().map(|item| item.text.as_ref().map(&encode).transpose());
            let encoded = encoded.collect::<Result<Vec<Option<Tokens>>>>()?;
            for (item, tokens) in chunk.iter().zip(encoded) {
                truncated.count(item, tokens.as_ref().is_some_and(|tokens| tokens.truncated));
                reading.tokens += tokens.as_ref().map_or(0, |tokens| tokens.ids.len() as u64);
                self.print(lines, form, (item, tokens), &piece)?;
            }
            Ok(())
        })?;
        if !quiet {
            texts.warn();
            if let Some(limits) = limits {
                truncated.warn(limits);
            }
            reading.say_done("tokenized");
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Writes the lines for all chunks of the input by `write`.
    fn write_chunks(
        &self,
        input: &mut Texts,
        reading: &mut Reading,
        mut write: impl FnMut(&[Item], &mut LineWriter<NewFile>, &mut Reading) -> Result<()>,
    ) -> Result<()> {
        let mut lines = self.output.create()?;
        while let Some(chunk) = input.next_chunk()? {
            write(&chunk, &mut lines, reading)?;
            lines.flush()?;
            reading.read(chunk.len(), chunk.iter().map(|item| item.bytes).sum());
        }
        reading.end();
        lines.commit()
    }

    /// Prints the ids of a text, or what stands for them where there is none.
    fn print(
        &self,
        lines: &mut LineWriter<NewFile>,
        form: LineForm,
        (item, tokens): (&Item, Option<Tokens>),
        piece: &impl Fn(u32) -> String,
    ) -> Result<()> {
        let truncated = tokens.as_ref().is_some_and(|tokens| tokens.truncated);
        let ids = tokens.as_ref().map(|tokens| &tokens.ids[..]);
        let pieces: Option<Vec<String>> =
            ids.filter(|_| self.pieces).map(|ids| ids.iter().map(|id| piece(*id)).collect());
        match form {
            LineForm::Jsonl => {
                let (index, kept, error) = (item.index, &item.kept[..], item.error.as_deref());
                lines.json(&Line { index, kept, ids, truncated, pieces, error })
            }
            LineForm::Text => {
                let numbers =
                    || ids.unwrap_or_default().iter().map(ToString::to_string).collect::<Vec<_>>();
                lines.text(pieces.unwrap_or_else(numbers).join(" "))
            }
        }
    }
}
