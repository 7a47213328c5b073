//! `generate`: a text continued by a decoder.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use nanoembed::{Generator, Message, Pieces, Prompt, Sampling, escape};
use serde::Serialize;

use crate::args::limits::SessionLimit;
use crate::args::size::size;
use crate::args::{UnknownArgs, number, verify_model, whole};
use crate::error::{Error, Result, warn};
use crate::input::whole_text;
use crate::output::lines::LineWriter;
use crate::streams::{self, say};

/// Continue a text with a decoder: Llama, Mistral, Phi-3, Qwen 2 and 3, Gemma 3
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed generate \"Once upon a time\" --model smollm2.amb
  nanoembed generate --chat \"What is the capital of France?\" --model smollm2.gguf
  nanoembed generate --chat -f question.txt --system \"Answer briefly.\" -n 64 --model smollm2.gguf
  nanoembed generate \"Names of cats:\\n1.\" --stop \"4.\" --model smollm2.amb
  nanoembed generate \"1, 2, 3,\" --model smollm2.amb --temperature 0 --json
  nanoembed generate \"Once upon a time\" --model smollm2-uqff/
  nanoembed generate \"Once upon a time\" --model smollm2.gguf --memory 24M

A model is one `.amb`, `.weights` or GGUF file, or a folder with `config.json`, `tokenizer.json`
and weights in UQFF (with `residual.safetensors`) or safetensors. Nothing is converted on disk.

Ctrl-C ends it; what has been said until then stands.")]
pub(crate) struct Generate {
    /// The text to continue; `-` is stdin, as is no text where stdin is no terminal
    #[arg(value_name = "PROMPT")]
    prompt: Option<String>,

    /// Continue the text of files, one after the other; the line break at its end is left out
    #[arg(long, short, num_args = 1.., value_name = "FILE", conflicts_with = "prompt")]
    file: Vec<PathBuf>,

    /// An `.amb`, `.weights` or GGUF file, a UQFF file (its first shard), or a folder of one of
    /// these or of safetensors
    #[arg(long, short, value_name = "FILE")]
    pub(super) model: PathBuf,

    /// Check the model's file first, its checksums too, as `nanoembed verify` does: takes as long
    /// as reading it
    #[arg(long)]
    verify: bool,

    /// Take no more memory than this, in bytes or with K, M, G: weights are read from the file
    /// again for each token, in pieces, instead of being mapped; slower
    #[arg(long, value_name = "SIZE", value_parser = size, conflicts_with = "max_session_bytes")]
    memory: Option<u64>,

    #[command(flatten)]
    unknown: UnknownArgs,

    #[command(flatten)]
    session_limit: SessionLimit,

    /// Most tokens that are added
    #[arg(long, short = 'n', value_name = "N", default_value_t = 128, value_parser = whole)]
    max_tokens: usize,

    /// 0 always takes the likeliest token; larger is more varied
    #[arg(long, value_name = "T", default_value_t = 0.7, value_parser = temperature)]
    temperature: f32,

    /// Consider only so many of the likeliest tokens; 0: all
    #[arg(long, value_name = "K", default_value_t = 40, value_parser = whole)]
    top_k: usize,

    /// Consider only the likeliest tokens that together have this probability
    #[arg(long, value_name = "P", default_value_t = 0.95, value_parser = probability)]
    top_p: f32,

    /// The same seed gives the same text [default: another one each time]
    #[arg(long, value_name = "S", value_parser = seed)]
    seed: Option<u64>,

    /// End before this text, which is not part of the output; may be given several times
    #[arg(long, value_name = "TEXT")]
    stop: Vec<String>,

    /// Compute in f32 throughout instead of with activations in 16 bits: slower, for comparisons
    #[arg(long)]
    precise: bool,

    /// Put PROMPT as a question in the form of the model's chat template; without one, in that of
    /// ChatML, if the model has its tokens `<|im_start|>` and `<|im_end|>`
    #[arg(long)]
    chat: bool,

    /// Instructions to the model before the question, such as "Answer in one sentence."
    #[arg(long, value_name = "TEXT", requires = "chat")]
    system: Option<String>,

    /// One object: `{"ids", "text"}`
    #[arg(long)]
    json: bool,
}

/// The temperature of sampling.
fn temperature(text: &str) -> std::result::Result<f32, String> {
    let temperature = number(text).ok().filter(|it| *it >= 0.0);
    temperature.ok_or_else(|| "expected a number, 0 or more".into())
}

/// A probability.
fn probability(text: &str) -> std::result::Result<f32, String> {
    let probability = number(text).ok().filter(|it| (0.0..=1.0).contains(it));
    probability.ok_or_else(|| "expected a number from 0 to 1".into())
}

/// The random seed.
fn seed(text: &str) -> std::result::Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

/// The fields' names are those of the JSON output.
#[derive(Debug, Serialize)]
struct Generated<'g> {
    ids: &'g [u32],
    text: &'g str,
}

impl Generate {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        let text = self.prompt()?;
        if self.verify {
            verify_model(&self.model, quiet)?;
        }
        let options = Generator::options()
            .memory(self.memory)
            .precise(self.precise)
            .limits(self.session_limit.limits())
            .allow_unknown(self.unknown.names());
        let generator = options.open(&self.model)?;
        generator.warnings().iter().for_each(warn);
        let system = self.system.iter().map(|text| Message::system(text));
        let messages: Vec<Message<'_>> = system.chain([Message::user(&text)]).collect();
        let prompt = match self.chat {
            true => Prompt::Chat(&messages),
            false => Prompt::WithSpecialTokens(&text),
        };
        let seed = self.seed.unwrap_or_else(Sampling::random_seed);
        let sampling = Sampling::default()
            .temperature(self.temperature)
            .top_k(self.top_k)
            .top_p(self.top_p)
            .seed(seed)
            .max_tokens(self.max_tokens);
        let start = Instant::now();
        let mut pieces = generator.generate(prompt, sampling)?.until(&self.stop);
        let prompt_seconds = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let text = self.say(&mut pieces)?;
        let seconds = start.elapsed().as_secs_f64();
        if self.json {
            let mut lines = LineWriter::stdout();
            lines.json(&Generated { ids: pieces.ids(), text: &text })?;
            lines.finish()?;
        }
        if !quiet {
            #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
            let rate = |tokens: usize, seconds: f64| tokens as f64 / seconds.max(1e-9);
            say(format_args!(
                "prompt: {} tokens, {:.1} a second; generated: {} tokens, {:.1} a second{}",
                pieces.prompt_tokens(),
                rate(pieces.prompt_tokens(), prompt_seconds),
                pieces.ids().len(),
                rate(pieces.ids().len(), seconds),
                self.seed_to_say(seed),
            ));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The text to continue.
    fn prompt(&self) -> Result<String> {
        if !self.file.is_empty() {
            let texts = self.file.iter().map(|file| whole_text(file));
            return Ok(texts.collect::<Result<Vec<String>>>()?.join("\n"));
        }
        match self.prompt.as_deref() {
            Some("-") => whole_text(Path::new("-")),
            Some(prompt) => Ok(prompt.to_owned()),
            None if !io::stdin().is_terminal() => whole_text(Path::new("-")),
            None => Err(Error::usage("there is no text to continue").with_hint(
                "nanoembed generate \"Once upon a time\" --model FILE, `-f FILE`, or a text on stdin",
            )),
        }
    }

    /// The seed, where the text depends on it and it is not known to the user.
    fn seed_to_say(&self, seed: u64) -> String {
        match self.seed {
            None if self.temperature > 0.0 => format!("; seed {seed}"),
            _ => String::new(),
        }
    }

    /// Says the continuation as it comes, unless it is to be said as JSON; all of it.
    fn say(&self, pieces: &mut Pieces<'_>) -> Result<String> {
        let mut stdout = streams::stdout();
        let mut say = |piece: &str| {
            if self.json {
                return Ok(());
            }
            let piece = escape::lines(piece);
            let written = stdout.write_all(piece.as_bytes()).and_then(|()| stdout.flush());
            written.map_err(|error| Error::writing("stdout", &error))
        };
        let mut text = String::new();
        for piece in pieces {
            let piece = piece?;
            text.push_str(&piece);
            say(&piece)?;
        }
        say("\n")?;
        Ok(text)
    }
}
