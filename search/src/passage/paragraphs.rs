//! Plain text: paragraphs or lines.

use super::sentences::{Cut, newlines};

/// Paragraphs between blank lines; lines where no line is blank, as in a list of short texts.
pub(super) fn split(text: &str, cut: &mut Cut<'_>) {
    let has_blank = text.trim().split('\n').any(|line| line.trim().is_empty());
    match has_blank {
        true => split_at_blank_lines(text, cut),
        false => split_lines(text, cut),
    }
}

pub(super) fn split_at_blank_lines(text: &str, cut: &mut Cut<'_>) {
    let (mut start, mut line) = (0, 1);
    let mut at = 0;
    for own in text.split_inclusive('\n') {
        if own.trim().is_empty() {
            let paragraph = text.get(start..at).unwrap_or_default();
            cut.prose("", paragraph, line);
            line += newlines(paragraph) + 1;
            start = at + own.len();
        }
        at += own.len();
    }
    cut.prose("", text.get(start..).unwrap_or_default(), line);
}

pub(super) fn split_lines(text: &str, cut: &mut Cut<'_>) {
    for (number, line) in (1..).zip(text.split('\n')) {
        cut.prose("", line.trim_end_matches('\r'), number);
    }
}

#[cfg(test)]
mod tests {
    use crate::passage::Form;
    use crate::passage::sentences::tests::split;

    fn places(form: Form, text: &str) -> Vec<(u64, u64, String)> {
        let found = split(form, 100, text);
        found.into_iter().map(|(_, line, end, text)| (line, end, text)).collect()
    }

    #[test]
    fn paragraphs_end_at_blank_lines() {
        let text = "\n\na b\nc\n \t\n\nd\r\n\r\n  e\n";
        let expected = [(3, 4, "a b\nc"), (7, 7, "d"), (9, 9, "  e")];
        let expected = expected.map(|(line, end, text)| (line, end, text.to_owned()));
        assert_eq!(places(Form::Plain, text), expected);
        assert_eq!(places(Form::Paragraphs, "a\nb"), [(1, 2, "a\nb".to_owned())]);
    }

    #[test]
    fn a_text_without_blank_lines_is_a_list() {
        let expected = [(1, 1, "a b".to_owned()), (2, 2, "c".to_owned())];
        assert_eq!(places(Form::Plain, "a b\nc\n"), expected);
        assert_eq!(places(Form::Lines, "a b\nc\n\n"), expected);
        assert_eq!(places(Form::Plain, " \n\n"), []);
    }
}
