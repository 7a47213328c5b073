//! Source code: functions and classes of any language, told by blank lines and indentation.
//!
//! A block begins in a line of the least indentation that follows a blank one. Blocks of the file are
//! passages; one that the model does not take whole is cut into the blocks inside it, under its first
//! line, and at lines where there are none.

use super::head;
use super::sentences::Cut;

/// Blocks with fewer lines, such as imports, are joined with the next.
const FEW_LINES: usize = 3;

/// Blocks inside blocks, at most.
const MOST_DEPTH: usize = 8;

/// A line with its indentation; `None` of a blank one.
struct Line<'t> {
    text: &'t str,
    number: u64,
    indentation: Option<usize>,
}

pub(super) fn split(text: &str, cut: &mut Cut<'_>) {
    let lines: Vec<Line<'_>> = (1..).zip(text.split('\n')).map(line).collect();
    blocks(&lines, "", cut, 0);
}

fn line((number, text): (u64, &str)) -> Line<'_> {
    let text = text.trim_end();
    let columns = text.chars().take_while(|letter| letter.is_whitespace());
    let columns = columns.map(|letter| if letter == '\t' { 4 } else { 1 }).sum();
    Line { text, number, indentation: (!text.is_empty()).then_some(columns) }
}

/// Adds each block of `lines`.
fn blocks(lines: &[Line<'_>], heading: &str, cut: &mut Cut<'_>, depth: usize) {
    let least = lines.iter().filter_map(|line| line.indentation).min();
    let starts = |at: &usize| {
        let before = at.checked_sub(1).and_then(|before| lines.get(before));
        before.is_some_and(|before| before.indentation.is_none())
            && lines.get(*at).is_some_and(|line| line.indentation == least && opens(line.text))
    };
    let mut rest = lines;
    let mut at = 0;
    let mut next_starts = (1..lines.len()).filter(starts).peekable();
    while !rest.is_empty() {
        while let Some(start) = next_starts.peek().copied() {
            let own = rest.get(..start - at).unwrap_or_default();
            let is_short = own.iter().filter(|line| line.indentation.is_some()).count() < FEW_LINES;
            if !is_short || start == at {
                break;
            }
            // A short one goes with the next, unless that would make the next too long.
            let after = next_starts.clone().nth(1).unwrap_or(lines.len());
            if !cut.fits(heading, &joined(rest.get(..after - at).unwrap_or_default())) {
                break;
            }
            next_starts.next();
        }
        let end = next_starts.next().unwrap_or(lines.len());
        let (own, after) = rest.split_at((end - at).min(rest.len()));
        block(own, heading, cut, depth);
        (rest, at) = (after, end);
    }
}

/// Adds a block, whole or in parts.
fn block(lines: &[Line<'_>], heading: &str, cut: &mut Cut<'_>, depth: usize) {
    let first = lines.iter().position(|line| line.indentation.is_some());
    let Some(lines) = first.and_then(|first| lines.get(first..)) else { return };
    let (text, number) = (joined(lines), lines.first().map_or(1, |line| line.number));
    if cut.fits(heading, &text) {
        return cut.code(heading, heading, &text, number);
    }
    let name = signature(lines);
    let inside = match (heading, name) {
        ("", name) => name.to_owned(),
        (heading, "") => heading.to_owned(),
        (heading, name) => format!("{heading} › {name}"),
    };
    let least = lines.iter().filter_map(|line| line.indentation).min();
    let body = lines.iter().position(|line| line.indentation > least);
    let Some((head, body)) = body.map(|body| lines.split_at(body)) else {
        return cut.code(heading, &inside, &text, number);
    };
    let inner =
        body.iter().filter_map(|line| line.indentation).filter(|own| Some(*own) > least).min();
    let is_start =
        |pair: &[Line<'_>]| pair[0].indentation.is_none() && pair[1].indentation == inner;
    if depth == MOST_DEPTH || !body.windows(2).any(is_start) || !ends_alone(body, inner) {
        return cut.code(heading, &inside, &text, number);
    }
    // The first line is by itself, where a method of a class would hide it.
    cut.code(heading, heading, &joined(head), number);
    blocks(body, &inside, cut, depth + 1);
}

/// True if nothing but a closing bracket is indented less than the body.
fn ends_alone(body: &[Line<'_>], inner: Option<usize>) -> bool {
    let less = body.iter().filter(|line| line.indentation.is_some() && line.indentation < inner);
    less.count() <= 1
}

/// True if a line can begin a block: closing brackets and continuations do not.
fn opens(text: &str) -> bool {
    !text.trim_start().starts_with(['}', ')', ']'])
}

/// The line that names a block: its first without comments and attributes.
fn signature<'t>(lines: &[Line<'t>]) -> &'t str {
    let texts = || lines.iter().map(|line| line.text.trim()).filter(|text| !text.is_empty());
    let is_name = |text: &&str| {
        !["//", "/*", "*", "#", "@", "--", ";", "'''", "\"\"\"", "["]
            .iter()
            .any(|mark| text.starts_with(mark))
    };
    let name = texts().find(is_name).or_else(|| texts().next()).unwrap_or_default();
    head(name, 120).trim_end_matches(['{', ':', ' '])
}

fn joined(lines: &[Line<'_>]) -> String {
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        text.push_str(line.text);
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::passage::Form;
    use crate::passage::sentences::tests::split;

    const PYTHON: &str = "\
import os

import sys

@decorated
def first(a):
    \"\"\"Doc.\"\"\"

    return a

class Big(Base):
    \"\"\"A class of words.\"\"\"

    def one(self):
        a = 1

        return a

    def two(self):
        return 2 + 2
";

    fn rows(limit: usize, text: &str) -> Vec<(String, u64, u64, String)> {
        let found = split(Form::Code, limit, text);
        let first = |text: String| text.lines().next().unwrap().to_owned();
        found.into_iter().map(|(h, line, end, text)| (h, line, end, first(text))).collect()
    }

    fn row(heading: &str, line: u64, end: u64, first: &str) -> (String, u64, u64, String) {
        (heading.into(), line, end, first.into())
    }

    #[test]
    fn functions_and_classes_are_passages() {
        let expected = [row("", 1, 9, "import os"), row("", 11, 20, "class Big(Base):")];
        assert_eq!(rows(100, PYTHON), expected);
    }

    #[test]
    fn methods_of_a_long_class_have_its_name() {
        let expected = [
            row("", 1, 9, "import os"),
            row("", 11, 11, "class Big(Base):"),
            row("class Big(Base)", 12, 17, "    \"\"\"A class of words.\"\"\""),
            row("class Big(Base)", 19, 20, "    def two(self):"),
        ];
        assert_eq!(rows(20, PYTHON), expected);
    }

    #[test]
    fn a_long_function_is_cut_at_lines() {
        let text = format!("fn f() {{\n{}}}\n", "    let a = b;\n".repeat(9));
        let found = split(Form::Code, 24, &text);
        assert!(found.len() > 1);
        assert_eq!((found[0].0.as_str(), found[0].1), ("", 1));
        assert!(found[1..].iter().all(|(heading, ..)| heading == "fn f()"), "{found:?}");
        assert_eq!(found.last().unwrap().2, 11);
    }

    #[test]
    fn blocks_in_braces_end_with_them() {
        let text =
            "/// One.\nfn one() {\n    a();\n\n    b();\n}\n\nfn two() {\n    c();\n    d();\n}\n";
        assert_eq!(rows(100, text), [row("", 1, 6, "/// One."), row("", 8, 11, "fn two() {")]);
    }
}
