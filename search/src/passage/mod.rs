//! Texts as passages: the parts that are compared with a query.
//!
//! | form | passages |
//! |---|---|
//! | Markdown, HTML | a heading with its section |
//! | plain text | paragraphs; lines where no line is blank |
//! | source code | functions and classes, by blank lines and indentation |
//!
//! A model reads a passage whole up to its limit. Longer ones are cut into parts, at sentences or lines
//! of code, which begin with the end of the one before.

mod code;
mod html;
mod markdown;
mod paragraphs;
mod sections;
mod sentences;

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

/// The size of texts in a model's tokens.
pub trait Measure: Sync {
    /// The number of tokens that the model takes, those around a text included.
    fn limit(&self) -> usize;

    /// The number of tokens of a text with those around it; `None` if it exceeds the limit.
    fn tokens(&self, text: &str) -> Option<usize>;
}

/// A section of a text, which is found by its words and by the meaning of its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passage {
    /// The text as it is in the file.
    pub text: String,
    /// The headings, or classes and functions, around it, the outermost first; may be empty.
    pub heading: String,
    /// The parts that a model takes: at least one, in their order.
    pub parts: Vec<Part>,
}

/// A part of a passage that a model takes whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The place in the passage's text.
    pub range: Range<usize>,
    /// The headings that the model reads before it.
    pub heading: String,
    /// The number of its first line in the file, from 1.
    pub line: u64,
    /// The number of its last line.
    pub end_line: u64,
}

impl Passage {
    /// A text that a model takes whole.
    #[must_use]
    pub fn whole(heading: &str, text: String, line: u64, end_line: u64) -> Self {
        let part = Part { range: 0..text.len(), heading: heading.into(), line, end_line };
        Self { text, heading: heading.into(), parts: vec![part] }
    }

    /// The text after the headings around it.
    #[must_use]
    pub fn with_heading(&self) -> Cow<'_, str> {
        under(&self.heading, &self.text)
    }

    /// The text of a part.
    #[must_use]
    pub fn text_of(&self, part: &Part) -> &str {
        self.text.get(part.range.clone()).unwrap_or_default()
    }

    /// The text of a part as models read it.
    #[must_use]
    pub fn read_of(&self, part: &Part) -> Cow<'_, str> {
        under(&part.heading, self.text_of(part))
    }
}

/// A text as models read it: after the headings around it.
pub(crate) fn under<'t>(heading: &str, text: &'t str) -> Cow<'t, str> {
    match heading.is_empty() {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("{heading}\n{text}")),
    }
}

/// The form of a text, by which it is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// Headings with `#`, or underlined.
    Markdown,
    /// Markup is removed.
    Html,
    /// Paragraphs between blank lines; lines without any.
    Plain,
    /// Paragraphs between blank lines.
    Paragraphs,
    /// Each line that is not blank.
    Lines,
    /// Source code of any language.
    Code,
    /// One text, whatever its lines.
    Whole,
    /// A JSON object in each line. [`passages`] takes the lines as they stand: their texts are for
    /// the caller to read.
    JsonLines,
}

const MARKDOWN: [&str; 7] = ["md", "markdown", "mdown", "mdx", "mkd", "qmd", "rmd"];
const HTML: [&str; 3] = ["html", "htm", "xhtml"];
const JSON_LINES: [&str; 2] = ["jsonl", "ndjson"];
const CODE: [&str; 93] = [
    "ada", "adb", "ads", "asm", "bash", "bat", "bzl", "c", "cc", "cfg", "clj", "cljs", "cmake",
    "conf", "cpp", "cr", "cs", "css", "cu", "cuh", "cxx", "d", "dart", "dts", "el", "elm", "erl",
    "ex", "exs", "f", "f90", "fish", "fs", "fsx", "gd", "glsl", "go", "gradle", "graphql",
    "groovy", "h", "hcl", "hh", "hpp", "hs", "hxx", "ini", "ino", "java", "jl", "js", "json",
    "json5", "jsx", "kt", "kts", "lisp", "lua", "m", "mjs", "mk", "ml", "mli", "mm", "nim", "nix",
    "pas", "php", "pl", "pm", "proto", "ps1", "py", "pyi", "pyx", "r", "rb", "rs", "s", "scala",
    "scm", "scss", "sh", "sql", "svelte", "swift", "tcl", "tf", "toml", "ts", "tsx", "vue", "zig",
];
const MORE_CODE: [&str; 6] = ["v", "vhd", "xml", "yaml", "yml", "zsh"];

impl Form {
    /// The form of a file, by the ending of its name.
    #[must_use]
    pub fn for_path(path: &Path) -> Self {
        let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let is_of = |list: &[&str]| list.contains(&&*ending);
        match () {
            () if is_of(&MARKDOWN) => Self::Markdown,
            () if is_of(&HTML) => Self::Html,
            () if is_of(&JSON_LINES) => Self::JsonLines,
            () if is_of(&CODE) || is_of(&MORE_CODE) => Self::Code,
            () => Self::Plain,
        }
    }
}

/// The beginning of a text: at most so many bytes, whole letters.
fn head(text: &str, most: usize) -> &str {
    let most = most.min(text.len());
    let end = (0..=most).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// The passages of a text, in their order.
#[must_use]
pub fn passages(form: Form, text: &str, measure: &dyn Measure) -> Vec<Passage> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut cut = sentences::Cut::new(measure);
    match form {
        Form::Markdown => markdown::split(text, &mut cut),
        Form::Html => html::split(text, &mut cut),
        Form::Plain => paragraphs::split(text, &mut cut),
        Form::Paragraphs => paragraphs::split_at_blank_lines(text, &mut cut),
        Form::Lines | Form::JsonLines => paragraphs::split_lines(text, &mut cut),
        Form::Code => code::split(text, &mut cut),
        Form::Whole => cut.prose("", text, 1),
    }
    cut.passages
}
