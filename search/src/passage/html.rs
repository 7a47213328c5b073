//! HTML: its text without markup, in headings with their sections.
//!
//! The text has as many line ends before each of its letters as the file, so that lines count the
//! same in both.

use super::sections::{self, Heading};
use super::sentences::Cut;
use super::{Passage, head};

/// Elements without text for people.
const WITHOUT_TEXT: [&str; 5] = ["script", "style", "noscript", "template", "svg"];

/// Elements that do not separate words.
const INLINE: [&str; 24] = [
    "a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "em", "font", "i", "kbd", "mark", "q",
    "s", "samp", "small", "span", "strong", "sub", "sup", "u", "var", "wbr",
];

/// Names of characters that are frequent in texts.
const ENTITIES: [(&str, &str); 32] = [
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", " "),
    ("copy", "©"),
    ("reg", "®"),
    ("trade", "™"),
    ("hellip", "…"),
    ("mdash", "—"),
    ("ndash", "–"),
    ("lsquo", "‘"),
    ("rsquo", "’"),
    ("ldquo", "“"),
    ("rdquo", "”"),
    ("laquo", "«"),
    ("raquo", "»"),
    ("bull", "•"),
    ("middot", "·"),
    ("times", "×"),
    ("deg", "°"),
    ("euro", "€"),
    ("shy", ""),
    ("auml", "ä"),
    ("ouml", "ö"),
    ("uuml", "ü"),
    ("szlig", "ß"),
    ("eacute", "é"),
    ("egrave", "è"),
    ("agrave", "à"),
    ("ccedil", "ç"),
];

pub(super) fn split(markup: &str, cut: &mut Cut<'_>) {
    let Page { text, headings, .. } = Page::read(markup);
    let first = cut.passages.len();
    sections::split(&text, &headings, cut);
    for passage in cut.passages.iter_mut().skip(first) {
        remove_blank_lines(passage);
    }
}

fn remove_blank_lines(passage: &mut Passage) {
    let text = without_blank_lines(&passage.text);
    let mut from = 0;
    for part in &mut passage.parts {
        let own = without_blank_lines(passage.text.get(part.range.clone()).unwrap_or_default());
        // An equal text before it would serve as well.
        from += text.get(from..).and_then(|rest| rest.find(&own)).unwrap_or(0);
        part.range = from..(from + own.len()).min(text.len());
    }
    passage.text = text;
}

/// Lines that are blank because there was markup say nothing.
fn without_blank_lines(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

#[derive(Default)]
struct Page {
    text: String,
    headings: Vec<Heading>,
    /// The heading that has not ended yet.
    open: Option<(usize, u8)>,
}

impl Page {
    fn read(markup: &str) -> Self {
        let mut page = Self::default();
        let mut rest = markup;
        while let Some(at) = rest.find(['<', '&']) {
            let (text, from) = rest.split_at(at);
            page.put(text);
            rest = match from.starts_with('&') {
                true => page.entity(from),
                false => page.tag(from),
            };
        }
        page.put(rest);
        page.close();
        page
    }

    /// Adds text; runs of blanks on a line become one.
    fn put(&mut self, text: &str) {
        for letter in text.chars() {
            match letter {
                '\n' => self.text.push('\n'),
                letter if letter.is_whitespace() => self.space(),
                letter => self.text.push(letter),
            }
        }
    }

    fn space(&mut self) {
        if !self.text.ends_with(char::is_whitespace) {
            self.text.push(' ');
        }
    }

    /// Keeps only the line ends of what is left out.
    fn skip(&mut self, markup: &str) {
        self.text.extend(markup.chars().filter(|letter| *letter == '\n'));
    }

    /// Adds the character of an entity; returns what follows.
    fn entity<'m>(&mut self, markup: &'m str) -> &'m str {
        // The longest name of HTML has 31 letters.
        let named = head(markup, 33).strip_prefix('&').and_then(|start| start.split_once(';'));
        let spelled = named.and_then(|(name, _)| spelled(name));
        if let (Some(spelled), Some((name, _))) = (spelled, named) {
            self.put(&spelled);
            return markup.get(name.len() + 2..).unwrap_or_default();
        }
        self.text.push('&');
        markup.get(1..).unwrap_or_default()
    }

    /// Reads a tag or comment; returns what follows.
    fn tag<'m>(&mut self, markup: &'m str) -> &'m str {
        if let Some(comment) = markup.strip_prefix("<!--") {
            let end = comment.find("-->").map_or(comment.len(), |end| end + 3);
            let (comment, rest) = comment.split_at(end);
            self.skip(comment);
            return rest;
        }
        let name = markup.get(1..).unwrap_or_default();
        let is_end = name.starts_with('/');
        let name = name.trim_start_matches('/');
        if !name
            .starts_with(|letter: char| letter.is_ascii_alphabetic() || matches!(letter, '!' | '?'))
        {
            self.text.push('<');
            return markup.get(1..).unwrap_or_default();
        }
        let length =
            name.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(name.len());
        let name = name.get(..length).unwrap_or_default().to_ascii_lowercase();
        let (tag, rest) = markup.split_at(tag_end(markup));
        if !INLINE.contains(&&*name) {
            self.space();
        }
        if let Some(level) = heading_level(&name) {
            self.close();
            if !is_end {
                self.open = Some((self.text.len(), level));
            }
        }
        self.skip(tag);
        match WITHOUT_TEXT.contains(&&*name) && !is_end && !tag.ends_with("/>") {
            true => self.element(&name, rest),
            false => rest,
        }
    }

    /// Leaves out the rest of an element without text; returns what follows.
    fn element<'m>(&mut self, name: &str, rest: &'m str) -> &'m str {
        let is_end = |at: &usize| {
            let own = rest.get(at + 2..at + 2 + name.len());
            own.is_some_and(|own| own.eq_ignore_ascii_case(name))
        };
        let end = rest.match_indices("</").map(|(at, _)| at).find(is_end).unwrap_or(rest.len());
        let (left_out, rest) = rest.split_at(end);
        self.skip(left_out);
        rest
    }

    /// Ends the heading that is open.
    fn close(&mut self) {
        let Some((start, level)) = self.open.take() else { return };
        let words = self.text.get(start..).unwrap_or_default().split_whitespace();
        let title = words.collect::<Vec<_>>().join(" ");
        self.headings.push(Heading { start, end: self.text.len(), level, title });
    }
}

/// The length of a tag; `>` in quotes does not end it, but a line end in quotes that never close does.
fn tag_end(markup: &str) -> usize {
    let mut quote = None;
    for (at, byte) in markup.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at + 1,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    markup.find('>').map_or(markup.len(), |end| end + 1)
}

fn heading_level(name: &str) -> Option<u8> {
    let level = name.strip_prefix('h')?.parse().ok()?;
    (1..=6).contains(&level).then_some(level)
}

fn spelled(name: &str) -> Option<String> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => number.parse(),
        };
        // A line end would be one more than the file has.
        let letter = char::from_u32(code.ok()?).filter(|letter| !letter.is_control());
        return letter.map(String::from);
    }
    ENTITIES.iter().find(|(own, _)| *own == name).map(|(_, spelled)| (*spelled).to_owned())
}

#[cfg(test)]
mod tests {
    use crate::passage::Form;
    use crate::passage::sentences::tests::split;

    #[test]
    fn sections_are_text_without_markup() {
        let text = "<!doctype html><title>T &amp; x</title>\n<style>p { a: b }\n</style>\n\
            <h1 class=\"a>b\">Big\n  one</h1><p>A <b>bo</b>ld p&#97;r&#x61; 1 < 2 &unknown; <!-- no\n -->\n\
            <H2>Small</H2>x<br>y<script>\nif (a </b) {}</SCRIPT>z";
        let found = split(Form::Html, 100, text);
        let found: Vec<_> =
            found.iter().map(|(h, line, end, t)| (h.as_str(), *line, *end, t.as_str())).collect();
        let expected = [
            ("", 1, 1, "T & x"),
            ("", 4, 5, "Big\none A bold para 1 < 2 &unknown;"),
            ("Big one", 7, 8, "Small x y\nz"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn broken_markup_ends() {
        for text in [
            "<",
            "<a",
            "<a href=\"x",
            "&",
            "&#x;",
            "<script>",
            "</",
            "<!--",
            "<h1>a",
            "<h1",
            "&#10;",
        ] {
            split(Form::Html, 100, text);
        }
        assert_eq!(split(Form::Html, 100, "<p title=\"x>a</p> b")[0].3, "a b");
    }
}
