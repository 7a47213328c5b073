//! `search`: the passages of files and folders that answer a query, by words and by meaning.

mod collected;
mod found;
mod printed;
mod second_model;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::{Args, ValueEnum};
use nanoembed::{Encoder, VectorKind};
use nanoembed_search::{
    Corpus, DEPTH, Hit, Scores, WEIGHT, Walk, Words, compare, weight_of_built_in,
};

use crate::args::choice::choice;
use crate::args::limits::Read;
use crate::args::{EmbedderArgs, count, number, whole};
use crate::error::{Error, Result, name_of, warn};
use crate::input::{FormArgs, OnError};
use crate::output::truncation::{Limits, warn_of_question};
use crate::progress::{Terminal, say_done};
use collected::Collected;
use found::{Answer, found};
use printed::Printed;
use second_model::SecondModelArgs;

/// Find the passages of files and folders that answer a query, by their words and their meaning
///
/// Folders are searched as ripgrep does: without hidden and binary files, and without those that
/// `.gitignore` names. A passage is a section of Markdown or HTML, a paragraph of text, a function or
/// class of code, the text of a JSON line, or a line of a list; longer ones than the model takes are
/// cut at sentences.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed search \"where did I put the keys?\"
  nanoembed search \"how are retries delayed\" src/ --type rust -C 0
  nanoembed search E0382 docs/ --exact
  nanoembed search \"the storm at sea\" chapter-*.txt -k 3
  nanoembed search \"when does the train leave?\" mails.jsonl --field body --json
  nanoembed search \"holiday plans\" notes/ --rerank bge-reranker-base/
  git log --format=%s | nanoembed search \"faster parsing\" -

Results are `FILE:LINE: TEXT`, the best first. With `--json` every result is one line:
  {\"file\", \"line\", \"end_line\", \"text\", \"score\", \"similarity\"}
and for JSON lines their `id`, if they have one. `similarity` is that of the meanings, null with
`--exact`; `score` is the sum of both scores, each from 0 to 1, 0.7 of it for the meaning, or the
score of `--exact`, `--meaning`, `--rerank` or `--late` alone.")]
pub(crate) struct Search {
    /// The query, in your words
    query: String,

    /// Files and folders; `-` is stdin [default: the present folder]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Number of results
    #[arg(short = 'k', long = "top", default_value_t = 10, value_name = "N", value_parser = count)]
    count: u32,

    /// Find by the words alone: their stems, and the parts of identifiers
    #[arg(long, conflicts_with_all = ["meaning", "vectors", "min"])]
    exact: bool,

    /// Find by the meaning alone
    #[arg(long)]
    meaning: bool,

    /// Leave out results whose meaning is less similar: a cosine, -1 to 1, unless the model says
    /// another `similarity_fn_name`
    #[arg(long, value_name = "SIMILARITY", value_parser = number)]
    min: Option<f32>,

    /// Kind of vectors that are compared, dense or sparse [default: what the model is made for]
    #[arg(long, value_parser = choice::<VectorKind>(), value_name = "KIND", help_heading = "Model")]
    vectors: Option<VectorKind>,

    #[command(flatten)]
    second_model: SecondModelArgs,

    #[command(flatten)]
    files: FileArgs,

    /// Print only the names of files with results, the best first
    #[arg(short = 'l', long, conflicts_with_all = ["json", "context", "scores"], help_heading = "Output")]
    files_with_matches: bool,

    /// Print whole passages, with N lines of the file before and after them
    #[arg(short = 'C', long, value_name = "N", value_parser = whole, help_heading = "Output")]
    context: Option<usize>,

    /// Print score and similarity before each result
    #[arg(long, help_heading = "Output")]
    scores: bool,

    /// One line of JSON for every result
    #[arg(long, conflicts_with_all = ["context", "scores"], help_heading = "Output")]
    json: bool,

    #[command(flatten)]
    form: FormArgs,

    #[command(flatten)]
    embedder: EmbedderArgs,
}

/// The arguments about files that are searched.
#[derive(Args, Debug)]
#[command(next_help_heading = "Files")]
struct FileArgs {
    /// Search only files of folders that match GLOB, or that do not match one with `!` before it
    #[arg(short = 'g', long, value_name = "GLOB", allow_hyphen_values = true)]
    glob: Vec<String>,

    /// Search only files of folders of this type, such as `md`, `py` or `rust`
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    types: Vec<String>,

    /// Search hidden files and folders
    #[arg(long)]
    hidden: bool,

    /// Search files that `.gitignore` and its like leave out
    #[arg(long)]
    no_ignore: bool,

    /// Unit of all texts that is compared with the query, whatever the file
    #[arg(long, value_enum, value_name = "UNIT")]
    by: Option<Unit>,
}

/// A unit of text that is compared with the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Unit {
    /// Every line that is not blank
    Line,
    /// Lines up to a blank one
    Paragraph,
}

impl FileArgs {
    fn walk(&self) -> Walk {
        let walk = Walk::default().globs(self.glob.clone()).types(self.types.clone());
        walk.hidden(self.hidden).no_ignore(self.no_ignore)
    }
}

impl Search {
    /// The models that it reads.
    pub(super) fn reads(&self) -> Vec<Read<'_>> {
        let mut reads = self.embedder.model.reads();
        reads.extend(self.second_model.path().map(|path| Read::Model { path, adapter: None }));
        reads
    }

    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        let start = Instant::now();
        self.embedder.model.use_threads()?;
        self.check()?;
        let encoder = self.embedder.open(quiet)?;
        let second = self.second_model.open()?;
        let collected = Collected::read(&self, &encoder)?;
        let corpus = &collected.corpus;
        let (mut answers, tokens) = self.answers(&encoder, corpus, quiet)?;
        if let Some(second) = &second {
            answers.truncate(self.depth());
            second.reorder(&self.query, corpus, &mut answers)?;
        }
        if let Some(min) = self.min {
            answers.retain(|it| it.hit.similarity.is_some_and(|similarity| similarity >= min));
        }
        let results = found(&answers, &collected, self.count as usize, self.files_with_matches);
        Printed::of(&self).print(&results, &collected)?;
        if !quiet {
            collected.warn();
            say_done("searched", corpus.len() as u64, tokens, start.elapsed());
        }
        match results.is_empty() {
            true => Err(self.nothing(corpus)),
            false => Ok(ExitCode::SUCCESS),
        }
    }

    /// The best passages, and the tokens that were embedded for them.
    fn answers(
        &self,
        encoder: &Encoder,
        corpus: &Corpus,
        quiet: bool,
    ) -> Result<(Vec<Answer>, u64)> {
        if self.exact {
            return Ok((self.answers_by_words(corpus), 0));
        }
        let words = (!self.meaning).then(|| Words::new(&corpus.texts()).scores(&self.query));
        let kind = self.vectors.unwrap_or_else(|| encoder.vector_kind());
        let terminal = Terminal::new(quiet);
        let meaning = compare(encoder, kind, &[&self.query], &corpus.parts(), &terminal)?;
        if meaning.query_truncated && !quiet {
            warn_of_question(Limits::new(encoder));
        }
        let weight = match self.embedder.model.model {
            None => weight_of_built_in(&self.query, corpus),
            Some(_) => WEIGHT,
        };
        if weight < WEIGHT && !quiet {
            warn(
                "the built-in model knows English: other languages are found by their words rather than \
                 their meaning; `--model` with a multilingual one, such as multilingual-e5-small, finds both",
            );
        }
        // A hit on stop words says nothing beside a meaning.
        let words = words.as_ref().filter(|words| !words.are_stop_words);
        let similarities = meaning.similarities.first().map_or(&[][..], |it| it);
        let (similarities, parts) = corpus.best_parts(similarities);
        let scores = Scores { meaning: Some(&similarities), words: words.map(|it| &it.scores[..]) };
        let answer = |hit: Hit| Answer { part: parts.get(hit.passage).copied().unwrap_or(0), hit };
        let answers = scores.rank(weight, self.depth()).into_iter().map(answer).collect();
        Ok((answers, meaning.tokens))
    }

    fn answers_by_words(&self, corpus: &Corpus) -> Vec<Answer> {
        let words = Words::new(&corpus.texts());
        let found = words.scores(&self.query);
        let hits = Scores { words: Some(&found.scores), meaning: None }.rank(0.0, self.depth());
        let part = |hit: &Hit| {
            let passage = corpus.get(hit.passage).map(|(_, passage)| passage);
            let parts =
                passage.into_iter().flat_map(|it| it.parts.iter().map(|part| it.text_of(part)));
            words.best_of(&self.query, &parts.collect::<Vec<_>>())
        };
        hits.into_iter().map(|hit| Answer { part: part(&hit), hit }).collect()
    }

    /// The number of passages of each kind of score that count.
    fn depth(&self) -> usize {
        DEPTH.max(self.count as usize)
    }

    /// Refuses queries in the old order, and options that mean nothing for passages.
    fn check(&self) -> Result<()> {
        if self.query.trim().is_empty() {
            return Err(Error::usage("the query is empty"));
        }
        self.check_order()?;
        if self.form.on_error == OnError::Null {
            return Err(Error::usage(
                "--on-error null is for a result of every line, not the best",
            )
            .with_hint("`--on-error skip` leaves lines out that cannot be used"));
        }
        self.form.check_kept(self.json)
    }

    /// The query came last once.
    fn check_order(&self) -> Result<()> {
        let Some((last, others)) = self.paths.split_last() else { return Ok(()) };
        let is_stdin = |path: &Path| path == Path::new("-");
        let first = Path::new(&self.query);
        let is_file = |path: &Path| is_stdin(path) || path.is_file();
        if !is_file(first) || is_stdin(last) || last.exists() {
            return Ok(());
        }
        let others = others.iter().map(|other| format!(" {}", other.display())).collect::<String>();
        let (query, first) = (last.display(), first.display());
        Err(Error::usage("the query comes before the files")
            .with_hint(format!("nanoembed search \"{query}\" {first}{others}")))
    }

    fn nothing(&self, corpus: &Corpus) -> Error {
        let names: Vec<String> = self.paths().iter().map(|path| name_of(path)).collect();
        let message = match self.min {
            _ if corpus.is_empty() => "there is no text to search".to_owned(),
            Some(min) => format!("nothing is as similar as {min}"),
            None => "no passage has a word of the query".to_owned(),
        };
        Error::not_found(message).at(names.join(", "))
    }

    /// The files and folders that are searched.
    fn paths(&self) -> Vec<PathBuf> {
        match self.paths.is_empty() {
            true => vec![PathBuf::from(".")],
            false => self.paths.clone(),
        }
    }
}
