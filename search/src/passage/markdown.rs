//! Markdown: headings with their sections. What is in fences of code is no heading.

use super::sections::{self, Heading};
use super::sentences::Cut;

pub(super) fn split(text: &str, cut: &mut Cut<'_>) {
    sections::split(text, &headings(text), cut);
}

fn headings(text: &str) -> Vec<Heading> {
    let mut headings = Vec::new();
    let mut fence: Option<&str> = None;
    let mut before: Option<(usize, &str)> = None;
    let mut at = front_matter(text);
    for line in text.get(at..).unwrap_or_default().split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        let own = line.trim_end();
        if let Some(mark) = fence_of(own.trim_start()) {
            fence = match fence {
                None => Some(mark),
                Some(open) if mark.starts_with(open) => None,
                open => open,
            };
            before = None;
            continue;
        }
        if fence.is_some() {
            continue;
        }
        if let Some((level, title)) = with_hashes(own) {
            headings.push(Heading { start, end, level, title: title.into() });
            before = None;
        } else if let (Some(level), Some((start, title))) = (underline(own), before) {
            headings.push(Heading { start, end, level, title: title.into() });
            before = None;
        } else {
            let title = own.trim();
            // A paragraph of several lines is no heading.
            before = (!title.is_empty() && before.is_none()).then_some((start, title));
        }
    }
    headings
}

/// The length of the settings between `---` at the start.
fn front_matter(text: &str) -> usize {
    let Some(rest) = text.strip_prefix("---\n") else { return 0 };
    rest.find("\n---\n").map_or(0, |end| 4 + end + 5)
}

/// The run of backticks or tildes that opens or closes a fence.
fn fence_of(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(mark).len();
    (length >= 3).then(|| line.get(..length)).flatten()
}

fn with_hashes(line: &str) -> Option<(u8, &str)> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    let is_heading = (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']));
    let title = rest.trim().trim_end_matches('#').trim_end();
    is_heading.then(|| Some((u8::try_from(level).ok()?, title))).flatten()
}

fn underline(line: &str) -> Option<u8> {
    let is_of = |mark: char| line.len() >= 2 && line.chars().all(|letter| letter == mark);
    match () {
        () if is_of('=') => Some(1),
        () if is_of('-') => Some(2),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::passage::Form;
    use crate::passage::sentences::tests::split;

    #[test]
    fn sections_have_the_headings_around_them() {
        let text = "\
---
title: x
# no heading
---
Before.
# Guide
## Install
Run it.
```sh
# a comment
```
### Linux ##
apt.

Uninstall
---------
rm.
##no heading
# Next
";
        let found = split(Form::Markdown, 100, text);
        let expected = [
            ("", 1, 5, "---\ntitle: x\n# no heading\n---\nBefore."),
            ("Guide", 7, 11, "## Install\nRun it.\n```sh\n# a comment\n```"),
            ("Guide › Install", 12, 13, "### Linux ##\napt."),
            ("Guide", 15, 18, "Uninstall\n---------\nrm.\n##no heading"),
            ("", 19, 19, "# Next"),
        ];
        let found: Vec<_> =
            found.iter().map(|(h, line, end, t)| (h.as_str(), *line, *end, t.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn parts_of_a_long_section_have_its_heading() {
        let text = "# A\n## B\nOne two three four. Five six seven eight. Nine ten.\n";
        let found = split(Form::Markdown, 12, text);
        let headings: Vec<&str> = found.iter().map(|(heading, ..)| heading.as_str()).collect();
        assert_eq!(headings, ["A", "A › B"]);
        assert!(found.iter().all(|(heading, .., text)| {
            (heading.to_owned() + " " + text).split_whitespace().count() <= 10
        }));
        assert_eq!(found.last().unwrap().3, "Five six seven eight. Nine ten.");
    }
}
