//! `generate`: a text continued by a decoder, or a conversation with it.

mod conversation;

use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use clap::Args;
use nanoembed::{GenerationSettings, Generator, Message, Pieces, Prompt, Sampling, escape};
use serde::Serialize;

use crate::args::limits::SessionLimit;
use crate::args::size::size;
use crate::args::{UnknownArgs, number, verify_model, whole};
use crate::error::{Error, Result, warn};
use crate::input::whole_text;
use crate::interrupt;
use crate::output::lines::LineWriter;
use crate::streams::{self, say};
use conversation::{Conversation, Interruption};

/// Continue a text with a decoder: Llama, Mistral, Phi-3, Qwen 2 and 3, Gemma 3
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed generate \"Once upon a time\" --model smollm2.amb
  nanoembed generate --model smollm2.gguf
  nanoembed generate --chat \"What is the capital of France?\" --model smollm2.gguf
  nanoembed generate --chat -f question.txt --system \"Answer briefly.\" -n 64 --model smollm2.gguf
  nanoembed generate \"Names of cats:\\n1.\" --stop \"4.\" --model smollm2.amb
  nanoembed generate \"1, 2, 3,\" --model smollm2.amb --temperature 0 --json
  nanoembed generate \"Once upon a time\" --model smollm2-uqff/
  nanoembed generate \"Once upon a time\" --model smollm2.gguf --memory 24M

A model is one `.amb`, `.weights` or GGUF file, or a folder with `config.json`, `tokenizer.json`
and weights in UQFF (with `residual.safetensors`) or safetensors. Nothing is converted on disk.

Ctrl-C ends it; what has been said until then stands.

Without a text, in a terminal, it is a conversation: each line is a question. Ctrl-C ends an answer,
and the conversation while a question is awaited, as Ctrl-D does.")]
pub(crate) struct Generate {
    /// The text to continue; `-` is stdin, as is no text where stdin is no terminal. Without one in
    /// a terminal: a conversation
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

    /// Most tokens that are added [default: 128, in a conversation what the model has room for]
    #[arg(long, short = 'n', value_name = "N", value_parser = whole)]
    max_tokens: Option<usize>,

    /// 0 always takes the likeliest token; larger is more varied [default: the model's own, or 0.7]
    #[arg(long, value_name = "T", value_parser = temperature)]
    temperature: Option<f32>,

    /// Consider only so many of the likeliest tokens; 0: all [default: the model's own, or 40]
    #[arg(long, value_name = "K", value_parser = whole)]
    top_k: Option<usize>,

    /// Consider only the likeliest tokens that together have this probability [default: the model's
    /// own, or 0.95]
    #[arg(long, value_name = "P", value_parser = probability)]
    top_p: Option<f32>,

    /// Consider only tokens that have at least this share of the likeliest one's probability
    /// [default: the model's own, or 0]
    #[arg(long, value_name = "P", value_parser = probability)]
    min_p: Option<f32>,

    /// Make tokens of the prompt and the continuation less likely; 1: no change [default: the
    /// model's own, or 1]
    #[arg(long, value_name = "X", value_parser = positive)]
    repetition_penalty: Option<f32>,

    /// Make tokens of the continuation less likely, as with OpenAI; 0: no change
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = number, allow_negative_numbers = true)]
    presence_penalty: f32,

    /// The same for each time that they are there
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = number, allow_negative_numbers = true)]
    frequency_penalty: f32,

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

    /// Instructions to the model before the question, such as "Answer in one sentence."; for
    /// `--chat` and conversations
    #[arg(long, value_name = "TEXT")]
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

/// A penalty that is a factor.
fn positive(text: &str) -> std::result::Result<f32, String> {
    let factor = number(text).ok().filter(|it| *it > 0.0);
    factor.ok_or_else(|| "expected a number above 0".into())
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

/// Ctrl-C while an answer is written.
#[derive(Default)]
struct CtrlC(Arc<AtomicBool>);

impl Interruption for CtrlC {
    fn await_next(&self) {
        self.0.store(false, Ordering::Relaxed);
        let has_come = Arc::clone(&self.0);
        interrupt::end_by(move || has_come.store(true, Ordering::Relaxed));
    }

    fn has_come(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn stop_waiting(&self) {
        interrupt::end_as_usual();
    }
}

/// The fields' names are those of the JSON output.
#[derive(Debug, Serialize)]
struct Generated<'g> {
    ids: &'g [u32],
    text: &'g str,
}

impl Generate {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        let is_conversation = self.is_conversation();
        let text = if is_conversation { String::new() } else { self.prompt()? };
        match (self.system.is_some(), is_conversation) {
            (true, false) if !self.chat => {
                let message = "is for `--chat`, and for a conversation in a terminal";
                return Err(Error::argument("system", message));
            }
            (_, true) if self.json => {
                return Err(Error::argument("json", "is for one text, not for a conversation"));
            }
            _ => {}
        }
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
        if is_conversation {
            return self.converse(&generator);
        }
        let system = self.system.iter().map(|text| Message::system(text));
        let messages: Vec<Message<'_>> = system.chain([Message::user(&text)]).collect();
        let prompt = match self.chat {
            true => Prompt::Chat(&messages),
            false => Prompt::WithSpecialTokens(&text),
        };
        let sampling = self.sampling(generator.sampling());
        let start = Instant::now();
        let mut pieces = generator.generate(prompt, sampling)?.until(&self.stop);
        let prompt_seconds = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let text = match self.json {
            true => write_pieces(&mut pieces, &mut io::sink(), || false),
            false => write_pieces(&mut pieces, &mut streams::stdout(), || false),
        }?;
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
                self.seed_to_say(&sampling),
            ));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Returns true if there is no text to continue and someone who could ask.
    fn is_conversation(&self) -> bool {
        let has_text = self.prompt.is_some() || !self.file.is_empty();
        !has_text && io::stdin().is_terminal() && io::stdout().is_terminal()
    }

    /// A conversation in the terminal.
    fn converse(&self, generator: &Generator) -> Result<ExitCode> {
        let mut conversation = Conversation {
            generator,
            sampling: self.sampling(generator.sampling()),
            max_tokens: self.max_tokens,
            stops: &self.stop,
            messages: self.system.iter().map(|text| ("system", text.clone())).collect(),
        };
        let interruption = CtrlC::default();
        conversation.hold(&mut io::stdin().lock(), &mut streams::stdout(), &interruption)?;
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

    /// The choice of tokens: the model's own but for what is asked for.
    fn sampling(&self, own: Sampling) -> Sampling {
        let asked = GenerationSettings {
            temperature: self.temperature,
            top_k: self.top_k,
            top_p: self.top_p,
            min_p: self.min_p,
            repetition_penalty: self.repetition_penalty,
            presence_penalty: Some(self.presence_penalty),
            frequency_penalty: Some(self.frequency_penalty),
        };
        own.with(&asked)
            .max_tokens(self.max_tokens.unwrap_or(own.max_tokens))
            .seed(self.seed.unwrap_or_else(Sampling::random_seed))
    }

    /// The seed, where the text depends on it and it is not known to the user.
    fn seed_to_say(&self, sampling: &Sampling) -> String {
        match self.seed {
            None if sampling.temperature > 0.0 => format!("; seed {}", sampling.seed),
            _ => String::new(),
        }
    }
}

/// Writes a continuation as it comes, until `is_ended`, and returns it.
fn write_pieces(
    pieces: &mut Pieces,
    output: &mut dyn Write,
    is_ended: impl Fn() -> bool,
) -> Result<String> {
    let mut text = String::new();
    let mut write = |piece: &str| {
        let written = output.write_all(piece.as_bytes()).and_then(|()| output.flush());
        written.map_err(|error| Error::writing("stdout", &error))
    };
    for piece in pieces {
        let piece = piece?;
        text.push_str(&piece);
        write(&escape::lines(&piece))?;
        if is_ended() {
            break;
        }
    }
    write("\n")?;
    Ok(text)
}
