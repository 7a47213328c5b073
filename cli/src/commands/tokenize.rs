//! `tokenize`: texts to token ids.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Args, ValueEnum};
use nanoembed_core::Error as CoreError;
use nanoembed_core::format::sniff;
use nanoembed_core::owned::TokenSession;
use nanoembed_core::token::vocabulary::{MAX_TOKEN_BYTES, Vocabulary};
use rayon::prelude::*;
use serde::Serialize;
use serde_json::Value;

use crate::args::{ModelArgs, PromptArgs};
use crate::error::Result;
use crate::input::{InputArgs, Item};
use crate::output::create;
use crate::output::form::{self, form_of};
use crate::output::kept::kept;
use crate::output::lines::Lines;
use crate::output::truncated::{Limits, Truncated};
use crate::progress::{Progress, say_done};
use nanoembed::causal::model::is_decoder;
use nanoembed::causal::tokenizer::{Tokenizer as DecoderTokenizer, is_model};
use nanoembed::embed::encoder;
use nanoembed::embed::tokens::{self, Tokenizer, Tokens};
use nanoembed::files::new_file::NewFile;
use nanoembed::open::model_file::ModelFile;

/// Turn texts into the token ids that the model sees
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

With `--format jsonl` every text gives one line:
  {\"index\": 0, \"id\": …, \"ids\": [101, …, 102], \"truncated\": false}
where `id` stands if the input is JSON lines and has one. A line that `--on-error null` gets over has
`null` for its ids. A blank line is an empty text. `--max-tokens 0` shows all of every text.")]
pub(crate) struct Tokenize {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    model: ModelArgs,

    #[command(flatten)]
    prompts: PromptArgs,

    /// Write to a file, which appears when it is complete; `-` is stdout
    #[arg(long, short, value_name = "FILE", default_value = "-", help_heading = "Output")]
    output: PathBuf,

    /// How ids are written [default: by the ending of FILE, `.txt` or `.jsonl`; text to stdout]
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Output")]
    format: Option<Format>,

    /// The same as `--format jsonl`
    #[arg(long, conflicts_with = "format", help_heading = "Output")]
    json: bool,

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

impl form::Form for Format {
    fn endings(&self) -> &'static [&'static str] {
        match self {
            Self::Text => &["txt"],
            Self::Jsonl => &["jsonl", "ndjson"],
        }
    }
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
    /// Why there are no ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl Tokenize {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        self.model.use_threads()?;
        let file = self.model.open(quiet)?;
        let refuse = |error| file.failure(error);
        if let Some(tokenizer) = self.decoder_tokenizer(&file)? {
            let limit = self.model.max_tokens.filter(|limit| *limit > 0);
            let encode = |session: &mut TokenSession, text: &String| {
                let mut ids = tokenizer.encode_in(session, text)?;
                let truncated = tokenizer.truncate(&mut ids, limit.unwrap_or(usize::MAX));
                Ok(Tokens { ids, truncated })
            };
            let piece = |id| tokenizer.token(id).unwrap_or_default().to_owned();
            let limits = limit.map(|limit| Limits { used: limit, most: limit });
            return self.write((&file, limits), encode, piece, quiet);
        }
        let model = encoder::open(&file)?;
        let limit = match self.model.max_tokens {
            Some(0) => None,
            asked => Some(encoder::limit(asked, model.config())?),
        };
        let tokenizer = model.tokenizer().map_err(refuse)?;
        let encode = |_: &mut TokenSession, text: &String| tokens::encode(&tokenizer, text, limit);
        let limits = limit.map(|used| Limits { used, most: model.config().positions });
        self.write((&file, limits), encode, |id| piece(&tokenizer, id), quiet)
    }

    /// The tokenizer if the model is a decoder, or a SentencePiece model alone.
    fn decoder_tokenizer<'f>(&self, file: &'f ModelFile) -> Result<Option<DecoderTokenizer<'f>>> {
        let is_model = || self.model.model.as_deref().is_some_and(is_model);
        if is_decoder(file) {
            DecoderTokenizer::of_decoder(file).map(Some)
        } else if sniff(file.bytes()).is_none() && is_model() {
            let model = DecoderTokenizer::of_model(file.bytes().to_vec());
            model.map(Some).map_err(|error| file.failure(error))
        } else {
            Ok(None)
        }
    }

    fn write(
        self,
        (file, limits): (&ModelFile, Option<Limits>),
        encode: impl Fn(&mut TokenSession, &String) -> Result<Tokens, CoreError> + Sync,
        piece: impl Fn(u32) -> String,
        quiet: bool,
    ) -> Result<ExitCode> {
        let asked = self.json.then_some(Format::Jsonl).or(self.format);
        let format = form_of(&self.output, asked, Format::Text)?;
        let prompt = file.prompts()?.choose(self.prompts.wanted())?;
        let mut texts = self.input.clone().open(quiet)?;
        let mut lines = Lines::of(create(&self.output, false)?);
        let progress = (!quiet).then(|| Progress::reading("tokenizing", texts.bytes()));
        let start = Instant::now();
        let mut truncated = Truncated::default();
        let (mut count, mut all_tokens) = (0, 0);
        while let Some(chunk) = texts.next_chunk()? {
            let encoded = chunk.par_iter().map_init(TokenSession::default, |session, item| {
                let text = item.text.as_ref().map(|text| format!("{prompt}{text}"));
                text.map(|text| encode(session, &text)).transpose()
            });
            let encoded = encoded.collect::<Result<Vec<Option<Tokens>>, _>>();
            let encoded = encoded.map_err(|error| file.failure(error))?;
            for (item, tokens) in chunk.iter().zip(encoded) {
                truncated.count(item, tokens.as_ref().is_some_and(|tokens| tokens.truncated));
                all_tokens += tokens.as_ref().map_or(0, |tokens| tokens.ids.len() as u64);
                self.print(&mut lines, format, (item, tokens), &piece)?;
            }
            lines.flush()?;
            count += chunk.len() as u64;
            if let Some(progress) = &progress {
                let bytes = chunk.iter().map(|item| item.bytes).sum();
                progress.read("tokenizing", count, start, bytes);
            }
        }
        drop(progress);
        lines.commit()?;
        if !quiet {
            texts.warn();
            if let Some(limits) = limits {
                truncated.warn(limits);
            }
            if count > 1 {
                say_done("tokenized", count, all_tokens, start.elapsed());
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Prints the ids of a text, or what stands for them where there is none.
    fn print(
        &self,
        lines: &mut Lines<NewFile>,
        format: Format,
        (item, tokens): (&Item, Option<Tokens>),
        piece: &impl Fn(u32) -> String,
    ) -> Result<()> {
        let truncated = tokens.as_ref().is_some_and(|tokens| tokens.truncated);
        let ids = tokens.as_ref().map(|tokens| &tokens.ids[..]);
        let pieces: Option<Vec<String>> =
            ids.filter(|_| self.pieces).map(|ids| ids.iter().map(|id| piece(*id)).collect());
        match format {
            Format::Jsonl => {
                let (index, kept, error) = (item.index, &item.kept[..], item.error.as_deref());
                lines.json(&Line { index, kept, ids, truncated, pieces, error })
            }
            Format::Text => {
                let numbers =
                    || ids.unwrap_or_default().iter().map(ToString::to_string).collect::<Vec<_>>();
                lines.text(pieces.unwrap_or_else(numbers).join(" "))
            }
        }
    }
}

/// A token as the vocabulary spells it.
fn piece(tokenizer: &Tokenizer<'_>, id: u32) -> String {
    let mut buffer = [0; MAX_TOKEN_BYTES];
    let bytes = tokenizer.vocabulary().token(id, &mut buffer).unwrap_or(0);
    String::from_utf8_lossy(buffer.get(..bytes).unwrap_or_default()).into_owned()
}
