//! `generate`: a text continued by a decoder.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use nanoembed_core::model::llama::{Activations, Output, Sampler, Sampling};
use nanoembed_core::owned::CausalSession;
use nanoembed_core::top::Scored;
use nanoembed_core::{Error as CoreError, ErrorKind};
use serde::Serialize;

use crate::args::writing::size;
use crate::args::{number, verify_model, whole};
use crate::error::{Error, Result, name_of};
use crate::output::lines::Lines;
use crate::streams;
use nanoembed::causal::memory;
use nanoembed::causal::model::Decoder;
use nanoembed::open::model_file::ModelFile;

/// Continue a text with a model of the Llama family
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed generate \"Once upon a time\" --model smollm2.amb
  nanoembed generate --chat \"What is the capital of France?\" --model smollm2.gguf
  nanoembed generate \"1, 2, 3,\" --model smollm2.amb --temperature 0 --json
  nanoembed generate \"Once upon a time\" --model smollm2-uqff/
  nanoembed generate \"Once upon a time\" --model smollm2.gguf --memory 24M

A model is one `.amb`, `.weights` or GGUF file, or a folder with `config.json`, `tokenizer.json`
and weights in UQFF (with `residual.safetensors`) or safetensors. Nothing is converted on disk.

Ctrl-C ends it; what has been said until then stands.")]
pub(crate) struct Generate {
    /// The text to continue
    #[arg(value_name = "PROMPT")]
    prompt: String,

    /// An `.amb`, `.weights` or GGUF file, a UQFF file (its first shard), or a folder of one of
    /// these or of safetensors
    #[arg(long, short, value_name = "FILE")]
    model: PathBuf,

    /// Check the model's file first, its checksums too, as `nanoembed verify` does: takes as long
    /// as reading it
    #[arg(long)]
    verify: bool,

    /// Take no more memory than this, in bytes or with K, M, G: weights are read from the file
    /// again for each token, in pieces, instead of being mapped; slower
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,

    /// How many tokens are added at most
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = whole)]
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

    /// The same seed gives the same text
    #[arg(long, value_name = "S", default_value_t = 0, value_parser = seed)]
    seed: u64,

    /// Compute in f32 throughout instead of with activations in 16 bits: slower, for comparisons
    #[arg(long)]
    precise: bool,

    /// Put PROMPT as a question in the ChatML form that instruction-tuned models know
    #[arg(long)]
    chat: bool,

    /// One object: `{"ids", "text"}`
    #[arg(long)]
    json: bool,
}

/// How much chance decides.
fn temperature(text: &str) -> std::result::Result<f32, String> {
    let temperature = number(text).ok().filter(|it| *it >= 0.0);
    temperature.ok_or_else(|| "expected a number, 0 or more".into())
}

/// A part of what is probable.
fn probability(text: &str) -> std::result::Result<f32, String> {
    let probability = number(text).ok().filter(|it| (0.0..=1.0).contains(it));
    probability.ok_or_else(|| "expected a number from 0 to 1".into())
}

/// What chance begins with.
fn seed(text: &str) -> std::result::Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

/// The fields' names are those of the JSON output.
#[derive(Debug, Default, Serialize)]
struct Generated {
    ids: Vec<u32>,
    text: String,
}

impl Generate {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        if self.verify {
            verify_model(&self.model, quiet)?;
        }
        match self.memory {
            Some(_) => self.run_with(&memory::open_stored(&self.model)?, quiet),
            None => {
                let file = ModelFile::open(Some(&self.model))?;
                self.run_with(&Decoder::open(&file)?, quiet)
            }
        }
    }

    fn run_with(&self, decoder: &Decoder<'_>, quiet: bool) -> Result<ExitCode> {
        let failed = |error| Error::in_file(name_of(&self.model), error);
        let prompt = match self.chat {
            true => format!("<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n", self.prompt),
            false => self.prompt.clone(),
        };
        let ids = decoder.tokenizer.encode(&prompt).map_err(failed)?;
        if ids.is_empty() {
            return Err(Error::usage(
                "the prompt is empty, and the model has no token to begin with",
            ));
        }
        let positions = ids.len().saturating_add(self.max_tokens);
        if positions > decoder.config().positions {
            return Err(Error::usage(format!(
                "{} tokens of the prompt and {} more are beyond the model's {} positions",
                ids.len(),
                self.max_tokens,
                decoder.config().positions
            )));
        }
        let sampling =
            Sampling { temperature: self.temperature, top_k: self.top_k, top_p: self.top_p };
        let sampler = Sampler::new(sampling, self.seed)
            .map_err(|error| Error::usage(format!("the sampling: {}", error.message())))?;
        let session = self.session(decoder, positions)?;
        let (generated, times) = self.generate(decoder, session, &ids, sampler)?;
        if self.json {
            let mut lines = Lines::stdout();
            lines.json(&generated)?;
            lines.finish()?;
        } else {
            let mut stdout = streams::stdout();
            let written = stdout.write_all(b"\n").and_then(|()| stdout.flush());
            written.map_err(|error| Error::writing("stdout", &error))?;
        }
        if !quiet {
            #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
            let rate = |tokens: usize, seconds: f64| tokens as f64 / seconds.max(1e-9);
            anstream::eprintln!(
                "prompt: {} tokens, {:.1} a second; generated: {} tokens, {:.1} a second",
                ids.len(),
                rate(ids.len(), times.0),
                generated.ids.len(),
                rate(generated.ids.len(), times.1),
            );
        }
        Ok(ExitCode::SUCCESS)
    }

    fn session(&self, decoder: &Decoder<'_>, positions: usize) -> Result<CausalSession> {
        let activations = if self.precise { Activations::Floats } else { Activations::Words };
        let session = match self.memory {
            Some(budget) => {
                decoder.session_for(memory::plan(decoder, budget, positions, activations)?)
            }
            None => decoder.session(positions, activations),
        };
        session.map_err(|error| Error::in_file(name_of(&self.model), error))
    }

    /// The continuation, and the seconds that the prompt and the rest took.
    fn generate(
        &self,
        decoder: &Decoder<'_>,
        mut session: CausalSession,
        ids: &[u32],
        mut sampler: Sampler,
    ) -> Result<(Generated, (f64, f64))> {
        let failed = |error| Error::in_file(name_of(&self.model), error);
        let vocabulary = decoder.config().vocabulary;
        let mut logits = vec![0.0; vocabulary];
        let mut order = vec![Scored::default(); vocabulary];
        let start = Instant::now();
        decoder.forward(&mut session, ids, Output::LastLogits(&mut logits)).map_err(failed)?;
        let prompt_seconds = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let mut generated = Generated::default();
        let mut text = decoder.tokenizer.decoder();
        let mut stdout = streams::stdout();
        let mut write_error = None;
        let said = &mut generated.text;
        let mut say = |piece: &str| {
            said.push_str(piece);
            if self.json {
                return Ok(());
            }
            let written = stdout.write_all(piece.as_bytes()).and_then(|()| stdout.flush());
            written.map_err(|error| {
                write_error = Some(error);
                CoreError::without_offset(ErrorKind::WriteFailed)
            })
        };
        let mut ids = Vec::new();
        let mut step = || -> std::result::Result<(), CoreError> {
            while ids.len() < self.max_tokens {
                let next = sampler.next(&logits, &mut order)?;
                if decoder.tokenizer.is_end(next) {
                    break;
                }
                ids.push(next);
                text.token(next, &mut say)?;
                if ids.len() < self.max_tokens {
                    decoder.forward(&mut session, &[next], Output::LastLogits(&mut logits))?;
                }
            }
            text.finish(&mut say)
        };
        let result = step();
        if let Some(error) = write_error {
            return Err(Error::writing("stdout", &error));
        }
        result.map_err(failed)?;
        generated.ids = ids;
        Ok((generated, (prompt_seconds, start.elapsed().as_secs_f64())))
    }
}
