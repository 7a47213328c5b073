//! `search`: the passages of files and folders that answer a query, by words and by meaning.

pub(super) mod found;
mod printed;
mod records;
mod second_model;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::{Args, ValueEnum};
use nanoembed::{Encoder, VectorKind};
use nanoembed_search::{
    Answers, By, Cutting, Form, KNOWS_ENGLISH, Query, Tree, TreeOptions, Walk, cache_folder,
};

use crate::args::choice::choice;
use crate::args::limits::Read;
use crate::args::{EmbedderArgs, TopArgs, number, whole};
use crate::error::{Error, Result, name_of, warn};
use crate::input::{FormArgs, OnError};
use crate::output::result_args::{LineArgs, LineForm};
use crate::output::truncation::{Limits, warn_of_question};
use crate::progress::{Terminal, say_done};
use found::found;
use printed::Printed;
use records::Records;
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

    /// Embed everything again, and keep no index of folders
    #[arg(long, help_heading = "Files")]
    no_index: bool,

    /// Print only the names of files with results, the best first
    #[arg(short = 'l', long, conflicts_with_all = ["context", "scores"], help_heading = "Output")]
    files_with_matches: bool,

    /// Print whole passages, with N lines of the file before and after them
    #[arg(short = 'C', long, value_name = "N", value_parser = whole, help_heading = "Output")]
    context: Option<usize>,

    /// Print score and similarity before each result
    #[arg(long, help_heading = "Output")]
    scores: bool,

    #[command(flatten)]
    top: TopArgs,

    #[command(flatten)]
    pub(super) output: LineArgs,

    #[command(flatten)]
    form: FormArgs,

    #[command(flatten)]
    embedder: EmbedderArgs,
}

/// The arguments about files that are searched.
#[derive(Args, Debug)]
#[command(next_help_heading = "Files")]
pub(super) struct FileArgs {
    /// Files and folders; `-` is stdin [default: the present folder]
    #[arg(value_name = "PATH", help_heading = None)]
    paths: Vec<PathBuf>,

    /// The same as PATH, as in commands that read texts
    #[arg(long = "file", short = 'f', value_name = "FILE", num_args = 1..)]
    files: Vec<PathBuf>,

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
    /// The files and folders that are searched.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        let given = [&self.paths[..], &self.files].concat();
        if given.is_empty() { vec![PathBuf::from(".")] } else { given }
    }

    pub(super) fn form(&self) -> Option<Form> {
        self.by.map(|unit| match unit {
            Unit::Line => Form::Lines,
            Unit::Paragraph => Form::Paragraphs,
        })
    }

    pub(super) fn walk(&self) -> Walk {
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

    /// The files and folders that it reads.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.files.paths()
    }

    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        let start = Instant::now();
        self.embedder.model.use_threads()?;
        let form = self.output.form()?;
        self.check(form)?;
        let encoder = self.embedder.open(quiet)?;
        let second = self.second_model.open()?;
        let records = Records::new(&self)?;
        self.check_format(&records)?;
        let terminal = Terminal::new(quiet);
        let paths = self.files.paths();
        let query = self.query();
        let options = self.options(query.is_dense(&encoder));
        let tree = Tree::open_with(&paths, &options, &encoder, &records, &terminal)?;
        let mut answers = tree.search(&query, &encoder, &terminal)?;
        if let Some(second) = &second {
            answers.rerank(&query, second, &terminal)?;
        }
        if let Some(min) = self.min {
            answers.leave_out_below(min);
        }
        if !quiet {
            self.warn(&answers, &encoder);
        }
        let results = found(&answers, self.top.count(), self.files_with_matches);
        Printed::new(&self, form).print(&self.output, &results, records.stdin().as_deref())?;
        if !quiet {
            tree.messages().iter().for_each(warn);
            say_done("embedded", tree.embedded, tree.tokens, start.elapsed());
        }
        match results.is_empty() {
            true => Err(self.nothing(tree.passages())),
            false => Ok(ExitCode::SUCCESS),
        }
    }

    fn query(&self) -> Query<'_> {
        let by = match (self.exact, self.meaning) {
            (true, _) => By::Words,
            (_, true) => By::Meaning,
            _ => By::Both,
        };
        let query = Query::new(&self.query).at_least(self.top.count());
        Query { by, vectors: self.vectors, ..query }
    }

    fn options(&self, vectors: bool) -> TreeOptions {
        let is_usual = !self.form.names_members();
        TreeOptions {
            walk: self.files.walk(),
            cutting: self.cutting(),
            store: cache_folder().filter(|_| !self.no_index && is_usual),
            vectors,
            ..TreeOptions::default()
        }
    }

    fn cutting(&self) -> Cutting {
        Cutting { form: self.files.form(), lossy: self.form.lossy }
    }

    fn warn(&self, answers: &Answers<'_>, encoder: &Encoder) {
        if answers.query_truncated {
            warn_of_question(Limits::new(encoder));
        }
        if answers.leans_on_words {
            warn(KNOWS_ENGLISH);
        }
    }

    /// Refuses options for records where there are none.
    fn check_format(&self, records: &Records) -> Result<()> {
        let may_have = |path: &PathBuf| path.is_dir() || records.has_records(path, true);
        if !self.files.paths().iter().any(may_have) {
            self.form.reader()?;
        }
        Ok(())
    }

    /// Refuses queries in the old order, and options that mean nothing for passages.
    fn check(&self, form: LineForm) -> Result<()> {
        self.query().check()?;
        self.check_order()?;
        if self.form.on_error == OnError::Null {
            return Err(Error::usage(
                "--on-error null is for a result of every line, not the best",
            )
            .with_hint("`--on-error skip` leaves lines out that cannot be used"));
        }
        let is_json = form == LineForm::Jsonl;
        let of_text = [
            ("--files-with-matches", self.files_with_matches),
            ("--context", self.context.is_some()),
            ("--scores", self.scores),
        ];
        if let Some((option, _)) = of_text.iter().find(|(_, is_given)| is_json && *is_given) {
            return Err(Error::usage(format!("{option} is for results in text, not JSON")));
        }
        self.form.check_kept(is_json)
    }

    /// The query came last once.
    fn check_order(&self) -> Result<()> {
        let Some((last, others)) = self.files.paths.split_last() else { return Ok(()) };
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

    fn nothing(&self, passages: usize) -> Error {
        let names: Vec<String> = self.files.paths().iter().map(|path| name_of(path)).collect();
        let message = match self.min {
            _ if passages == 0 => "there is no text to search".to_owned(),
            Some(min) => format!("nothing is as similar as {min}"),
            None => "no passage has a word of the query".to_owned(),
        };
        Error::not_found(message).at(names.join(", "))
    }
}
