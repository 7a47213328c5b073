//! Results as lines of text or JSON.

use std::borrow::Cow;
use std::fmt::Arguments;
use std::fs;
use std::io::Write;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use nanoembed::escape;

use super::Search;
use super::found::Found;
use crate::error::Result;
use crate::output::lines::LineWriter;
use crate::output::result_args::{LineArgs, LineForm};

/// Characters of a passage on one line.
const MOST_CHARACTERS: usize = 160;

/// The styles of parts of a line.
#[derive(Clone, Copy)]
struct Styles {
    file: Style,
    line: Style,
    score: Style,
}

impl Styles {
    /// Those of a terminal.
    const SHOWN: Self = Self {
        file: Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Magenta))),
        line: Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green))),
        score: Style::new().dimmed(),
    };
    /// Those of a file.
    const NONE: Self = Self { file: Style::new(), line: Style::new(), score: Style::new() };
}

/// The form of results.
pub(super) enum Printed {
    Json,
    Files,
    /// A line for each.
    Short {
        scores: bool,
    },
    /// All lines of each, and so many around them.
    Whole {
        scores: bool,
        around: u64,
    },
}

impl Printed {
    pub(super) fn new(search: &Search, form: LineForm) -> Self {
        match search.context {
            _ if form == LineForm::Jsonl => Self::Json,
            _ if search.files_with_matches => Self::Files,
            Some(around) => Self::Whole { scores: search.scores, around: around as u64 },
            None => Self::Short { scores: search.scores },
        }
    }

    pub(super) fn print(
        &self,
        output: &LineArgs,
        results: &[Found<'_>],
        stdin: Option<&str>,
    ) -> Result<()> {
        if output.path == Path::new("-") && !matches!(self, Self::Json) {
            // Styles are left out by the stream where nobody sees them.
            let mut lines = LineWriter::styled()?;
            self.lines((&mut lines, Styles::SHOWN), results, stdin)?;
            return lines.finish();
        }
        let mut lines = output.create()?;
        match self {
            Self::Json => results.iter().try_for_each(|found| lines.json(found))?,
            _ => self.lines((&mut lines, Styles::NONE), results, stdin)?,
        }
        lines.commit()
    }

    /// Prints lines of text.
    fn lines(
        &self,
        (lines, styles): (&mut LineWriter<impl Write>, Styles),
        results: &[Found<'_>],
        stdin: Option<&str>,
    ) -> Result<()> {
        let Styles { file: of_file, score: dim, .. } = styles;
        for (at, found) in results.iter().enumerate() {
            let file = escape::line(found.file);
            match self {
                Self::Json => {}
                Self::Files => lines.text_after(format_args!("{of_file}{file}{of_file:#}"), "")?,
                Self::Short { scores } => {
                    let score = if *scores { score(found) } else { String::new() };
                    let own = format_args!("{dim}{score}{dim:#}");
                    let place = Place { file: &file, line: found.line, mark: ":", styles };
                    place.print(lines, own, &shortened(found.text))?;
                }
                Self::Whole { scores, around } => {
                    if at > 0 {
                        lines.text("--")?;
                    }
                    if *scores {
                        lines.text_after(format_args!("{dim}{}{dim:#}", score(found)), "")?;
                    }
                    let place = Place { file: &file, line: found.line, mark: ":", styles };
                    whole(lines, place, found, *around, stdin)?;
                }
            }
        }
        Ok(())
    }
}

fn score(found: &Found<'_>) -> String {
    match found.similarity {
        Some(similarity) => format!("{:>6.3} {similarity:>6.3}  ", found.score),
        None => format!("{:>6.3}  ", found.score),
    }
}

/// A line of a file.
#[derive(Clone, Copy)]
struct Place<'f> {
    file: &'f str,
    line: u64,
    mark: &'static str,
    styles: Styles,
}

impl Place<'_> {
    /// Prints the line with its place, and `own` before it.
    fn print(
        self,
        lines: &mut LineWriter<impl Write>,
        own: Arguments<'_>,
        text: &str,
    ) -> Result<()> {
        let Self { file, line, mark, styles: Styles { file: of_file, line: of_line, .. } } = self;
        let place =
            format_args!("{of_file}{file}{of_file:#}{mark}{of_line}{line}{of_line:#}{mark} ");
        lines.text_after(format_args!("{own}{place}"), text)
    }
}

/// Prints the lines of a passage, which begins at `place`, and those of its file around them.
fn whole(
    lines: &mut LineWriter<impl Write>,
    place: Place<'_>,
    found: &Found<'_>,
    around: u64,
    stdin: Option<&str>,
) -> Result<()> {
    let none = format_args!("");
    if found.is_record {
        return found.text.lines().try_for_each(|text| place.print(lines, none, text));
    }
    let Some(text) = text(found.file, stdin) else {
        let mut texts = (found.line..).zip(found.text.lines());
        return texts.try_for_each(|(line, text)| Place { line, ..place }.print(lines, none, text));
    };
    let first = found.line.saturating_sub(around).max(1);
    let last = found.end_line.saturating_add(around);
    let shown = (1..).zip(text.lines()).filter(|(line, _)| (first..=last).contains(line));
    for (line, text) in shown {
        let is_own = (found.line..=found.end_line).contains(&line);
        let mark = if is_own { ":" } else { "-" };
        Place { line, mark, ..place }.print(lines, none, text)?;
    }
    Ok(())
}

/// The text of a file that was searched; `None` if it has gone.
fn text<'c>(file: &str, stdin: Option<&'c str>) -> Option<Cow<'c, str>> {
    if let Some(stdin) = stdin.filter(|_| file == "stdin") {
        return Some(stdin.into());
    }
    let bytes = fs::read(file).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned().into())
}

/// A text on one line, cut at the end of a word if it is long.
fn shortened(text: &str) -> String {
    let mut line = String::new();
    let mut count = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count() + usize::from(count > 0);
        if count + length > MOST_CHARACTERS {
            if count == 0 {
                line.extend(word.chars().take(MOST_CHARACTERS));
            }
            line.push_str(" …");
            break;
        }
        if count > 0 {
            line.push(' ');
        }
        line.push_str(word);
        count += length;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_at_words() {
        assert_eq!(shortened(" a\n\tb  c "), "a b c");
        let cut = shortened(&"four ".repeat(100));
        assert!(cut.ends_with("four …") && cut.chars().count() <= MOST_CHARACTERS + 2, "{cut}");
        assert_eq!(shortened(&"日".repeat(500)).chars().count(), MOST_CHARACTERS + 2);
    }
}
