//! The arguments that say where texts come from and what form they have.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use nanoembed::files::is_table;
use nanoembed::lines::json_line::{ID, Members, TEXT};

use super::error_policy::OnError;
use super::texts::{Reader, Texts};
use crate::error::{Error, Result, name_of, warn};

/// The arguments that say where texts come from.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Input")]
pub(crate) struct InputArgs {
    /// Texts; without any, and without `--file`, the lines of stdin. One that begins with a dash
    /// comes after `--`
    #[arg(value_name = "TEXT", allow_negative_numbers = true)]
    texts: Vec<String>,

    /// Read texts from files, a line each; `-` is stdin
    #[arg(long = "file", short = 'f', value_name = "FILE", num_args = 1.., conflicts_with = "texts")]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    form: FormArgs,
}

/// The arguments about the form of texts.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Input")]
pub(crate) struct FormArgs {
    /// Form of a line of stdin or of a file
    #[arg(long = "input", short = 'i', value_enum, default_value_t = LineFormat::Text, value_name = "FORM")]
    pub(crate) line_format: LineFormat,

    /// The member of a JSON line, or the column, that is the text [default: text]
    #[arg(long, value_name = "NAME")]
    field: Option<String>,

    /// Members of a JSON line, or columns, to write beside the result; `id` always is
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    keep: Vec<String>,

    /// Policy for a line that cannot be used: not JSON, without a text, not UTF-8
    #[arg(long, value_enum, default_value_t = OnError::Fail, value_name = "POLICY")]
    pub(crate) on_error: OnError,

    /// Replace bytes that are not UTF-8 by U+FFFD instead of stopping there
    #[arg(long)]
    pub(crate) lossy: bool,
}

/// The form of a line of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LineFormat {
    /// A text; a blank line is an empty one
    Text,
    /// A JSON object with a text, {"text": "…"}; a blank line is an empty text
    Jsonl,
    /// Values separated by commas; the first row names the columns
    Csv,
    /// The same, separated by tabs
    Tsv,
}

impl LineFormat {
    /// The separator of the values of a row.
    const fn separator(self) -> Option<u8> {
        match self {
            Self::Text | Self::Jsonl => None,
            Self::Csv => Some(b','),
            Self::Tsv => Some(b'\t'),
        }
    }
}

/// Names that results have themselves.
const TAKEN: [&str; 17] = [
    "index",
    "ids",
    "tokens",
    "truncated",
    "embedding",
    "embedding_scale",
    "pieces",
    "file",
    "line",
    "end_line",
    "similarity",
    "error",
    "label",
    "logit",
    "logits",
    "score",
    "scores",
];

/// The member that has the token ids of a text.
const IDS: &str = "ids";

impl FormArgs {
    /// The wanted members of a JSON line or columns; `None` for lines of text, with which options
    /// about members are refused.
    fn members(&self, usual: &str) -> Result<Option<Members>> {
        if self.line_format == LineFormat::Text {
            let options = [("--field", self.field.is_some()), ("--keep", !self.keep.is_empty())];
            return match options.iter().find(|(_, is_given)| *is_given) {
                Some((option, _)) => {
                    Err(Error::usage(format!("{option} is for JSON lines and columns"))
                        .with_hint("say `--input jsonl` or `--input csv` if that is what they are"))
                }
                None => Ok(None),
            };
        }
        if let Some(name) = self.keep.iter().find(|name| TAKEN.contains(&name.as_str())) {
            let message = format!("--keep {name}: results have a member of that name themselves");
            return Err(Error::usage(message));
        }
        let field = self.field.clone().unwrap_or_else(|| usual.into());
        let kept = self.keep.iter().filter(|name| *name != ID).cloned().collect();
        Ok(Some(Members { field, kept, lossy: self.lossy, ..Members::default() }))
    }

    /// The name of the member that is the text, or that a column of texts has.
    #[cfg(feature = "parquet")]
    pub(crate) fn text_name(&self) -> &str {
        self.field.as_deref().unwrap_or(TEXT)
    }

    /// Members, or columns of a table, that are wanted beside results.
    #[cfg(feature = "parquet")]
    pub(crate) fn kept(&self) -> &[String] {
        &self.keep
    }

    /// Returns true if members of records are asked for by their names.
    pub(crate) const fn names_members(&self) -> bool {
        self.field.is_some() || !self.keep.is_empty()
    }

    /// Refuses `--keep` where results have no members. Lines of text, which have none themselves,
    /// are refused when they are read.
    pub(crate) fn check_kept(&self, is_json: bool) -> Result<()> {
        if is_json || self.keep.is_empty() || self.line_format == LineFormat::Text {
            return Ok(());
        }
        Err(Error::usage("--keep is for results that are JSON").with_hint("`--json` writes them"))
    }

    /// True if a member is written beside results.
    pub(super) fn keeps(&self, name: &str) -> bool {
        self.keep.iter().any(|kept| kept == name)
    }

    /// A reader of JSON lines, whatever the form of other files is.
    pub(crate) fn json_reader(&self, on_error: OnError) -> Result<Reader> {
        let form = Self { line_format: LineFormat::Jsonl, on_error, ..self.clone() };
        form.reader()
    }

    /// A reader of texts of this form.
    pub(crate) fn reader(&self) -> Result<Reader> {
        self.reader_of(TEXT)
    }

    /// The same where the member that is the text is `usual` unless another is asked for.
    pub(super) fn reader_of(&self, usual: &str) -> Result<Reader> {
        Ok(Reader {
            members: self.members(usual)?,
            separator: self.line_format.separator(),
            on_error: self.on_error,
            lossy: self.lossy,
        })
    }
}

impl InputArgs {
    /// The form of texts.
    pub(crate) const fn form(&self) -> &FormArgs {
        &self.form
    }

    /// The files, if they are tables by their names.
    pub(crate) fn tables(&self) -> Result<Option<&[PathBuf]>> {
        let Some(table) = self.files.iter().find(|file| is_table(file)) else { return Ok(None) };
        if let Some(other) = self.files.iter().find(|file| !is_table(file)) {
            let (table, other) = (table.display(), other.display());
            return Err(Error::usage(format!("{table} is a table and {other} is not"))
                .with_hint("tables are read in one run, and lines in another"));
        }
        if self.form.line_format != LineFormat::Text {
            return Err(Error::usage("--input is for files of text, and this is a table")
                .at(table.display()));
        }
        if self.form.field.is_some() {
            return Err(Error::usage("--field is for JSON lines and CSV files")
                .with_hint("`--column NAME` says which column of a table has the texts"));
        }
        Ok(Some(&self.files))
    }

    /// The named files, if a later run can read the same texts again: neither arguments, which have
    /// no place, nor a pipe.
    #[cfg(feature = "parquet")]
    pub(crate) fn named_files(&self) -> Option<&[PathBuf]> {
        let is_there = |file: &PathBuf| file != Path::new("-") && file.is_file();
        (!self.files.is_empty() && self.files.iter().all(is_there)).then_some(&self.files)
    }

    /// Refuses options for results where there are none.
    pub(crate) fn refuse_results(&self) -> Result<()> {
        let options = [
            ("--keep", !self.form.keep.is_empty()),
            ("--on-error null", self.form.on_error == OnError::Null),
        ];
        match options.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => {
                Err(Error::usage(format!("{option} is for results, and texts have none here")))
            }
            None => Ok(()),
        }
    }

    /// Starts to read. Reading runs ahead of the work by a few texts only.
    pub(crate) fn open(self, quiet: bool) -> Result<Texts> {
        let reader = self.form.reader()?;
        self.open_with(reader, quiet)
    }

    /// The same of lists of token ids.
    pub(crate) fn open_ids(self, quiet: bool) -> Result<Texts> {
        let mut reader = self.form.reader_of(IDS)?;
        if let Some(members) = &mut reader.members {
            members.takes_numbers = true;
        }
        self.open_with(reader, quiet)
    }

    fn open_with(self, reader: Reader, quiet: bool) -> Result<Texts> {
        let Self { texts, files, form } = self;
        if !texts.is_empty() {
            if form.line_format != LineFormat::Text {
                return Err(Error::usage("--input is for files and for stdin")
                    .with_hint("texts among the arguments are texts as they stand"));
            }
            if !quiet {
                hint_at_files(&texts);
            }
            return Ok(Texts::given(texts));
        }
        let files = if files.is_empty() { vec![PathBuf::from("-")] } else { files };
        read_lines(files, reader, quiet)
    }
}

/// Starts to read the lines of files, all of which have to be there; says so where someone has to
/// type them.
pub(super) fn read_lines(files: Vec<PathBuf>, reader: Reader, quiet: bool) -> Result<Texts> {
    files.iter().try_for_each(|file| check_file(file))?;
    if !quiet && reader.members.is_none() {
        hint_at_form(&files);
    }
    if !quiet && io::stdin().is_terminal() && files.iter().any(|file| file == Path::new("-")) {
        warn("reading texts from the terminal, one a line; Ctrl-D ends");
    }
    Ok(Texts::read(files, reader))
}

/// Refuses a file that cannot be read, before any text is worked on.
fn check_file(file: &Path) -> Result<()> {
    if file == Path::new("-") {
        return Ok(());
    }
    let name = name_of(file);
    if file.is_dir() {
        return Err(Error::reading(&name, &io::ErrorKind::IsADirectory.into())
            .with_hint("`--file` reads texts, a line each: name the files in it"));
    }
    match file.metadata() {
        Ok(_) => Ok(()),
        Err(error) => {
            let failure = Error::reading(&name, &error);
            Err(match name.contains(char::is_whitespace) {
                true => failure.with_hint("all that follows `--file` is taken for files"),
                false => failure,
            })
        }
    }
}

/// Someone who names a file as a text hardly wants its name embedded.
fn hint_at_files(texts: &[String]) {
    if let Some(text) = texts.iter().find(|text| Path::new(text).is_file()) {
        warn(format_args!(
            "`{text}` is a file, but taken for a text itself; `-f {text}` reads the texts in it"
        ));
    }
}

/// The forms of files with these endings.
const FORMS: [(&str, &str, &str); 4] = [
    ("jsonl", "jsonl", "the texts in them"),
    ("ndjson", "jsonl", "the texts in them"),
    ("csv", "csv --field COLUMN", "those of a column"),
    ("tsv", "tsv --field COLUMN", "those of a column"),
];

/// Someone who names a file of JSON lines or of columns hardly wants its braces or commas embedded.
fn hint_at_form(files: &[PathBuf]) {
    let form = |file: &PathBuf| {
        let has =
            |ending: &str| file.extension().is_some_and(|own| own.eq_ignore_ascii_case(ending));
        FORMS.iter().find(|(ending, ..)| has(ending))
    };
    let found = files.iter().find_map(|file| form(file).map(|form| (file, form)));
    if let Some((file, (_, input, taken))) = found {
        warn(format_args!(
            "the lines of `{}` are taken for texts as they stand; `--input {input}` takes {taken}",
            file.display()
        ));
    }
}
