//! `rerank`: how well texts answer a question.

use std::process::ExitCode;

use clap::Args;
use nanoembed::files::new_file::NewFile;
use nanoembed::{CrossEncoder, Prefix, Reranker, Score};
use serde::Serialize;
use serde_json::Value;

use crate::args::limits::SessionLimit;
use crate::args::{ModelArgs, TopArgs};
use crate::error::{Error, Result, warn};
use crate::input::{Item, PairArgs};
use crate::output::lines::LineWriter;
use crate::output::members::kept;
use crate::output::result_args::{LineArgs, LineForm};
use crate::output::truncation::{Limits, Truncated};
use crate::progress::Reading;

/// Say how well texts answer a question, by a cross-encoder or by late interaction
///
/// A cross-encoder reads the question and a text together: slower than comparing embeddings, and
/// surer. Causal rerankers such as Qwen3-Reranker read both in the prompt of their chat template. A
/// model for late interaction such as ColBERT reads each alone, and compares the vectors of their
/// tokens (MaxSim).
/// Results come in the order of the texts.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed rerank -m bge-reranker-base/ --sort -k 3 \"How do I reset my password?\" -f answers.txt
  nanoembed rerank -m bge-reranker-base/ \"Where is Berlin?\" \"In Germany.\" \"On a mat.\"
  nanoembed rerank -m bge-reranker-base/ -i jsonl --format jsonl < pairs.jsonl
  nanoembed rerank -m answerai-colbert-small-v1/ --sort \"Where is Berlin?\" -f answers.txt
  nanoembed rerank -m Qwen3-Reranker-0.6B/ --prompt \"Find code that does this\" \"sort a list\" -f code.txt

With `-i jsonl` and without a question every line is a pair, {\"query\": \"…\", \"document\": \"…\"}.
With `--format jsonl` every pair gives one line:
  {\"index\": 0, \"id\": …, \"logit\": 2.31, \"score\": 0.91, \"truncated\": false}
`logit` is what the model answers, `score` what it makes of it, from 0 to 1 as a rule; both are the
MaxSim of a model for late interaction, at most the number of the question's vectors. A model with
several labels has `label`, `logits` and `scores` by label instead.")]
pub(crate) struct Rerank {
    #[command(flatten)]
    pub(super) input: PairArgs,

    #[command(flatten)]
    pub(super) model: ModelArgs,

    #[command(flatten)]
    instruction: InstructionArgs,

    #[command(flatten)]
    session_limit: SessionLimit,

    /// Write the best first, with the texts
    #[arg(long, help_heading = "Output")]
    sort: bool,

    #[command(flatten)]
    top: TopArgs,

    #[command(flatten)]
    pub(super) output: LineArgs,
}

/// The instruction to a reranker.
#[derive(Args, Debug)]
#[command(next_help_heading = "Model")]
struct InstructionArgs {
    /// Give this instruction to a reranker whose chat template has a place for one, `""` for the
    /// template's own [default: the model's default prompt, if it has one]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    prompt: Option<String>,

    /// Give the model's prompt of this name as the instruction
    #[arg(long, value_name = "NAME", conflicts_with = "prompt")]
    prompt_name: Option<String>,
}

impl InstructionArgs {
    /// The prompt that the arguments name; the model's default without any of them.
    fn prefix(&self) -> Prefix {
        match (&self.prompt, &self.prompt_name) {
            (Some(text), _) => Prefix::Text(text.clone()),
            (_, Some(name)) => Prefix::Named(name.clone()),
            _ => Prefix::Usual,
        }
    }
}

/// A line of JSON output.
#[derive(Serialize)]
struct Line<'a> {
    index: u64,
    #[serde(flatten, serialize_with = "kept")]
    kept: &'a [(String, Value)],
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a str>,
    /// Of models with one label; null where there is no score.
    #[serde(skip_serializing_if = "Option::is_none")]
    logit: Option<Option<f32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<Option<f32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logits: Option<&'a [f32]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scores: Option<&'a [f32]>,
    truncated: bool,
    /// The reason that there is no score.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

/// A pair and what became of it.
struct Scored {
    item: Item,
    text: Option<String>,
    score: Option<Score>,
}

impl Rerank {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        self.model.use_threads()?;
        let form = self.output.form()?;
        self.input.form.check_kept(form == LineForm::Jsonl)?;
        if self.top.asked().is_some() && !self.sort {
            return Err(Error::usage("-k is for the best texts")
                .with_hint("`--sort` writes them before the others"));
        }
        if self.model.model.is_none() {
            return Err(Error::usage("the model built in embeds texts and does not compare them")
                .with_hint("name a reranker with `--model FOLDER`"));
        }
        let options = CrossEncoder::options()
            .max_tokens(self.model.max_tokens)
            .prompt(self.instruction.prefix())
            .limits(self.session_limit.limits());
        let model = Reranker::open_source(self.model.open(quiet)?, &options)?;
        model.warnings().iter().for_each(warn);
        if self.sort && model.labels().len() > 1 {
            let labels = model.labels().join(", ");
            return Err(Error::usage("--sort is for models with one label")
                .with_hint(format!("this one has {labels}")));
        }
        let mut pairs = self.input.clone().open(quiet)?;
        let mut lines = self.output.create()?;
        let mut reading = Reading::begin("comparing", pairs.texts.bytes(), quiet);
        let mut truncated = Truncated::default();
        let mut sorted: Vec<Scored> = Vec::new();
        while let Some(mut chunk) = pairs.texts.next_chunk()? {
            let given: Vec<Option<(String, String)>> =
                chunk.iter_mut().map(|item| pairs.question.pair(item)).collect();
            let texts: Vec<(&str, &str)> =
                given.iter().flatten().map(|(a, b)| (&**a, &**b)).collect();
            let mut scores = model.score_pairs(&texts)?.into_iter();
            let (count, bytes) = (chunk.len(), chunk.iter().map(|item| item.bytes).sum());
            for (item, pair) in chunk.into_iter().zip(given) {
                let score = pair.as_ref().and_then(|_| scores.next());
                reading.tokens += score.as_ref().map_or(0, |score| score.tokens as u64);
                truncated.count(&item, score.as_ref().is_some_and(|score| score.truncated));
                let result = Scored { item, text: pair.map(|(_, text)| text), score };
                match self.sort {
                    true => sorted.push(result),
                    false => Self::print(&mut lines, form, &result, &model, None)?,
                }
            }
            lines.flush()?;
            reading.read(count, bytes);
        }
        reading.end();
        let key = |result: &Scored| result.score.as_ref().map_or(f32::NEG_INFINITY, Score::logit);
        sorted.sort_by(|a, b| key(b).total_cmp(&key(a)));
        let most = self.top.asked().unwrap_or(usize::MAX);
        for result in sorted.iter().take(most) {
            Self::print(&mut lines, form, result, &model, result.text.as_deref())?;
        }
        lines.commit()?;
        if !quiet {
            pairs.texts.warn();
            truncated.warn(Limits { used: model.max_tokens(), most: model.positions() });
            reading.say_done("compared");
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Prints the score of a pair, with its text if that is wanted.
    fn print(
        lines: &mut LineWriter<NewFile>,
        form: LineForm,
        Scored { item, score, .. }: &Scored,
        model: &Reranker,
        text: Option<&str>,
    ) -> Result<()> {
        let is_one = model.labels().len() == 1;
        let one = score.as_ref().filter(|_| is_one);
        let several = score.as_ref().filter(|_| !is_one);
        let label = several.and_then(|score| model.labels().get(score.best()));
        match form {
            LineForm::Jsonl => lines.json(&Line {
                index: item.index,
                kept: &item.kept,
                text,
                label: label.map(String::as_str),
                logit: is_one.then_some(one.map(Score::logit)),
                score: is_one.then_some(one.map(Score::score)),
                logits: several.map(|score| &score.logits[..]),
                scores: several.map(|score| &score.scores[..]),
                truncated: score.as_ref().is_some_and(|score| score.truncated),
                error: item.error.as_deref(),
            }),
            LineForm::Text => {
                let number = |score: &Score| match label {
                    Some(label) => format!("{label} {}", score.scores[score.best()]),
                    None => score.score().to_string(),
                };
                let number = score.as_ref().map_or_else(|| "NaN".to_owned(), number);
                match text {
                    Some(text) => lines.text(format_args!("{number}  {text}")),
                    None => lines.text(number),
                }
            }
        }
    }
}
