//! Results as lines of text or JSON.

use std::borrow::Cow;
use std::fmt::Arguments;
use std::fs;
use std::io::Write;

use anstyle::{AnsiColor, Style};
use nanoembed::escape;

use super::Search;
use super::found::Found;
use crate::error::Result;
use crate::output::lines::LineWriter;

/// Characters of a passage on one line.
const MOST_CHARACTERS: usize = 160;

const FILE: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Magenta)));
const LINE: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green)));
const DIM: Style = Style::new().dimmed();

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
    pub(super) fn new(search: &Search) -> Self {
        match search.context {
            _ if search.json => Self::Json,
            _ if search.files_with_matches => Self::Files,
            Some(around) => Self::Whole { scores: search.scores, around: around as u64 },
            None => Self::Short { scores: search.scores },
        }
    }

    pub(super) fn print(&self, results: &[Found<'_>], stdin: Option<&str>) -> Result<()> {
        if let Self::Json = self {
            let mut lines = LineWriter::stdout();
            results.iter().try_for_each(|found| lines.json(found))?;
            return lines.finish();
        }
        // Styles are left out by the stream where nobody sees them.
        let mut lines = LineWriter::styled()?;
        for (at, found) in results.iter().enumerate() {
            let file = escape::line(found.file);
            match self {
                Self::Json => {}
                Self::Files => lines.text_after(format_args!("{FILE}{file}{FILE:#}"), "")?,
                Self::Short { scores } => {
                    let score = if *scores { score(found) } else { String::new() };
                    let own = format_args!("{DIM}{score}{DIM:#}");
                    place(&mut lines, own, &file, found.line, ":", &shortened(found.text))?;
                }
                Self::Whole { scores, around } => {
                    if at > 0 {
                        lines.text("--")?;
                    }
                    if *scores {
                        lines.text_after(format_args!("{DIM}{}{DIM:#}", score(found)), "")?;
                    }
                    whole(&mut lines, &file, found, *around, stdin)?;
                }
            }
        }
        lines.finish()
    }
}

fn score(found: &Found<'_>) -> String {
    match found.similarity {
        Some(similarity) => format!("{:>6.3} {similarity:>6.3}  ", found.score),
        None => format!("{:>6.3}  ", found.score),
    }
}

/// Prints a line of a file with its place.
fn place(
    lines: &mut LineWriter<impl Write>,
    own: Arguments<'_>,
    file: &str,
    line: u64,
    mark: &str,
    text: &str,
) -> Result<()> {
    let line = format_args!("{FILE}{file}{FILE:#}{mark}{LINE}{line}{LINE:#}{mark} ");
    lines.text_after(format_args!("{own}{line}"), text)
}

/// Prints the lines of a passage, and those of its file around them.
fn whole(
    lines: &mut LineWriter<impl Write>,
    file: &str,
    found: &Found<'_>,
    around: u64,
    stdin: Option<&str>,
) -> Result<()> {
    let none = format_args!("");
    if found.is_record {
        let mut texts = found.text.lines();
        return texts.try_for_each(|text| place(lines, none, file, found.line, ":", text));
    }
    let Some(text) = text(found.file, stdin) else {
        let mut texts = (found.line..).zip(found.text.lines());
        return texts.try_for_each(|(line, text)| place(lines, none, file, line, ":", text));
    };
    let first = found.line.saturating_sub(around).max(1);
    let last = found.end_line.saturating_add(around);
    let shown = (1..).zip(text.lines()).filter(|(line, _)| (first..=last).contains(line));
    for (line, text) in shown {
        let is_own = (found.line..=found.end_line).contains(&line);
        place(lines, none, file, line, if is_own { ":" } else { "-" }, text)?;
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
