//! The part of TOML that metadata of embedding files uses: `key = scalar` lines under `[table]`
//! headings.
//!
//! [`TomlEntries`] walks over a document without memory of its own and borrows keys and values from it.
//! Arrays, inline tables and dates are passed on as they are spelled ([`TomlValue::Other`]); brackets
//! are counted, not followed, so that no depth of nesting matters. Source:
//! <https://toml.io/en/v1.0.0>.
//!
//! ```
//! use nanoembed_core::text::toml::{TomlEntries, TomlValue};
//!
//! let document = "title = \"x\"\n[common_config]\ndims = 300 # per word\n";
//! let entries: Result<Vec<_>, _> = TomlEntries::new(document).collect();
//! let entries = entries?;
//! assert_eq!((entries[1].table, entries[1].key), ("common_config", "dims"));
//! assert!(matches!(entries[1].value, TomlValue::Integer(300)));
//! # Ok::<(), nanoembed_core::Error>(())
//! ```

use core::fmt;

use crate::error::{Error, ErrorKind, Result};

/// A key and its value.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct TomlEntry<'a> {
    /// The heading above the entry, as spelled between the brackets; empty before the first
    /// heading.
    pub table: &'a str,
    /// The key as spelled; a key that is one quoted string is without its quotes.
    pub key: &'a str,
    /// The value.
    pub value: TomlValue<'a>,
    /// Offset of the key in the document.
    pub offset: usize,
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TomlValue<'a> {
    /// A string.
    Text(Text<'a>),
    /// An integer, in base 10, 16, 8 or 2.
    Integer(i64),
    /// A float: a number, infinity or NaN.
    Float(f64),
    /// A boolean.
    Bool(bool),
    /// An array, an inline table, a date, or an integer beyond 64 bits, as spelled.
    Other(&'a str),
}

/// A string as spelled between its quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'a> {
    raw: &'a str,
    has_escapes: bool,
}

impl<'a> Text<'a> {
    /// The characters with escapes resolved. An escape that TOML does not define gives U+FFFD.
    pub fn chars(self) -> impl Iterator<Item = char> + 'a {
        let mut rest = self.raw.chars();
        core::iter::from_fn(move || {
            let letter = rest.next()?;
            if letter != '\\' || !self.has_escapes {
                return Some(letter);
            }
            unescape(&mut rest)
        })
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chars().try_for_each(|letter| fmt::Write::write_char(f, letter))
    }
}

/// Resolves the escape after a backslash; a backslash at a line's end gives the first character of
/// the continued text.
fn unescape(rest: &mut core::str::Chars<'_>) -> Option<char> {
    let hex = |rest: &mut core::str::Chars<'_>, digits: usize| {
        let mut code = 0_u32;
        for _ in 0..digits {
            let digit = rest.next().and_then(|digit| digit.to_digit(16));
            code = code
                .checked_mul(16)
                .zip(digit)
                .and_then(|(code, digit)| code.checked_add(digit))?;
        }
        char::from_u32(code)
    };
    let wrong = char::REPLACEMENT_CHARACTER;
    let mut letter = rest.next();
    // A line that ends in a backslash continues with the next character that is not a blank, which
    // may be another backslash.
    while letter.is_some_and(|letter| letter.is_ascii_whitespace()) {
        match rest.find(|letter| !letter.is_ascii_whitespace())? {
            '\\' => letter = rest.next(),
            letter => return Some(letter),
        }
    }
    Some(match letter {
        Some('b') => '\u{8}',
        Some('t') => '\t',
        Some('n') => '\n',
        Some('f') => '\u{c}',
        Some('r') => '\r',
        Some('e') => '\u{1b}',
        Some(letter @ ('"' | '\\')) => letter,
        Some('u') => hex(rest, 4).unwrap_or(wrong),
        Some('U') => hex(rest, 8).unwrap_or(wrong),
        _ => wrong,
    })
}

/// Iterates over the entries of a document; ends after an error.
#[derive(Clone, Debug)]
pub struct TomlEntries<'a> {
    document: &'a str,
    at: usize,
    table: &'a str,
}

impl<'a> TomlEntries<'a> {
    /// The entries of `document`.
    #[must_use]
    pub const fn new(document: &'a str) -> Self {
        Self { document, at: 0, table: "" }
    }

    fn rest(&self) -> &'a str {
        self.document.get(self.at..).unwrap_or("")
    }

    fn advance(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes);
    }

    fn error(&self) -> Error {
        Error::new(self.at as u64, ErrorKind::BadToml)
    }

    /// Skips blanks, line ends and comments.
    fn skip_blank(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.trim_start_matches([' ', '\t', '\n', '\r']);
            self.advance(rest.len().saturating_sub(blank.len()));
            if !blank.starts_with('#') {
                return;
            }
            self.advance(blank.find('\n').unwrap_or(blank.len()));
        }
    }

    fn skip_spaces(&mut self) {
        let rest = self.rest();
        self.advance(rest.len().saturating_sub(rest.trim_start_matches([' ', '\t']).len()));
    }

    /// Reads the end of a line, which may contain only a comment.
    fn line_end(&mut self) -> Result<()> {
        self.skip_spaces();
        let rest = self.rest();
        if rest.is_empty() || rest.starts_with(['\n', '#']) || rest.starts_with("\r\n") {
            Ok(())
        } else {
            Err(self.error())
        }
    }

    fn heading(&mut self) -> Result<()> {
        let rest = self.rest();
        let (open, close) = if rest.starts_with("[[") { ("[[", "]]") } else { ("[", "]") };
        let line = rest.lines().next().unwrap_or("");
        let inside = line.strip_prefix(open).ok_or(self.error())?;
        let length = inside.find(close).ok_or(self.error())?;
        self.table = inside.get(..length).unwrap_or("").trim();
        self.advance(length.saturating_add(open.len()).saturating_add(close.len()));
        self.line_end()
    }

    fn entry(&mut self) -> Result<TomlEntry<'a>> {
        let offset = self.at;
        let key = self.key()?;
        self.skip_spaces();
        let value = self.value()?;
        self.line_end()?;
        Ok(TomlEntry { table: self.table, key, value, offset })
    }

    /// Reads a key and its `=`.
    fn key(&mut self) -> Result<&'a str> {
        let rest = self.rest();
        let line = rest.lines().next().unwrap_or("");
        let mut quote = None;
        let end = line.bytes().position(|byte| match quote {
            Some(open) => {
                quote = (byte != open).then_some(open);
                false
            }
            None => {
                quote = matches!(byte, b'"' | b'\'').then_some(byte);
                byte == b'='
            }
        });
        let key = end.and_then(|end| line.get(..end)).ok_or(self.error())?.trim();
        let unquoted = ['"', '\''].iter().find_map(|quote| {
            let inside = key.strip_prefix(*quote)?.strip_suffix(*quote)?;
            (!inside.contains(*quote)).then_some(inside)
        });
        if key.is_empty() {
            return Err(self.error());
        }
        self.advance(end.unwrap_or(0).saturating_add(1));
        Ok(unquoted.unwrap_or(key))
    }

    fn value(&mut self) -> Result<TomlValue<'a>> {
        let rest = self.rest();
        let value = if rest.starts_with(['"', '\'']) {
            let (text, used) = text(rest).ok_or(self.error())?;
            self.advance(used);
            return Ok(TomlValue::Text(text));
        } else if rest.starts_with(['[', '{']) {
            let used = nested(rest).ok_or(self.error())?;
            TomlValue::Other(rest.get(..used).unwrap_or(""))
        } else {
            // A date and a time may be separated by one blank.
            let end = rest.find(['\n', '\r', '#', ',']).unwrap_or(rest.len());
            scalar(rest.get(..end).unwrap_or("").trim_end()).ok_or(self.error())?
        };
        let used = match value {
            TomlValue::Other(spelled) => spelled.len(),
            _ => rest.find([' ', '\t', '\n', '\r', '#']).unwrap_or(rest.len()),
        };
        self.advance(used);
        Ok(value)
    }
}

impl<'a> Iterator for TomlEntries<'a> {
    type Item = Result<TomlEntry<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.skip_blank();
            if self.rest().is_empty() {
                return None;
            }
            let read = if self.rest().starts_with('[') {
                match self.heading() {
                    Ok(()) => continue,
                    Err(error) => Err(error),
                }
            } else {
                self.entry()
            };
            if read.is_err() {
                self.at = self.document.len();
            }
            return Some(read);
        }
    }
}

/// A string and its length in bytes, quotes included.
fn text(rest: &str) -> Option<(Text<'_>, usize)> {
    let quotes =
        ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quotes| rest.starts_with(quotes))?;
    let (has_escapes, is_long) = (quotes.starts_with('"'), quotes.len() == 3);
    let inside = rest.get(quotes.len()..)?;
    let mut skip = false;
    for (at, letter) in inside.char_indices() {
        if core::mem::take(&mut skip) {
            continue;
        }
        if !is_long && letter == '\n' {
            return None;
        }
        skip = has_escapes && letter == '\\';
        let after = inside.get(at..)?;
        // The first of four or five quotes belong to the text.
        let is_end = after.starts_with(quotes)
            && !(is_long && after.get(1..).is_some_and(|next| next.starts_with(quotes)));
        if is_end {
            let raw = inside.get(..at)?;
            let raw = if is_long {
                raw.strip_prefix("\r\n").or(raw.strip_prefix('\n')).unwrap_or(raw)
            } else {
                raw
            };
            let used = at.checked_add(quotes.len())?.checked_add(quotes.len())?;
            return Some((Text { raw, has_escapes }, used));
        }
    }
    None
}

/// The length in bytes of an array or inline table, whatever its contents.
fn nested(rest: &str) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0_usize);
    while let Some(here) = rest.get(at..) {
        let used = match here.chars().next()? {
            '"' | '\'' => text(here)?.1,
            '#' => here.find('\n')?,
            '[' | '{' => {
                depth = depth.checked_add(1)?;
                1
            }
            ']' | '}' => {
                depth = depth.checked_sub(1)?;
                1
            }
            other => other.len_utf8(),
        };
        at = at.checked_add(used)?;
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

fn scalar(spelled: &str) -> Option<TomlValue<'_>> {
    match spelled {
        "true" => return Some(TomlValue::Bool(true)),
        "false" => return Some(TomlValue::Bool(false)),
        "inf" | "+inf" => return Some(TomlValue::Float(f64::INFINITY)),
        "-inf" => return Some(TomlValue::Float(f64::NEG_INFINITY)),
        "nan" | "+nan" | "-nan" => return Some(TomlValue::Float(f64::NAN)),
        _ => {}
    }
    // Digits with single underscores between them; the longest valid number is short.
    let mut plain = heapless::String::<64>::new();
    for letter in spelled.chars().filter(|letter| *letter != '_') {
        if plain.push(letter).is_err() {
            return Some(TomlValue::Other(spelled));
        }
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = plain.strip_prefix(prefix) {
            return i64::from_str_radix(digits, radix).ok().map(TomlValue::Integer);
        }
    }
    let digit = |letter: char| letter.is_ascii_digit();
    if !plain.trim_start_matches(['+', '-']).starts_with(digit) {
        return None;
    }
    if let Ok(integer) = plain.parse() {
        return Some(TomlValue::Integer(integer));
    }
    if plain.contains(['.', 'e', 'E'])
        && !plain.contains([':', 'T'])
        && let Ok(float) = plain.parse()
    {
        return Some(TomlValue::Float(float));
    }
    let is_integer = plain.trim_start_matches(['+', '-']).chars().all(digit);
    let is_time = |letter: char| digit(letter) || "+-:.TZtz ".contains(letter);
    let is_date = spelled.contains(['-', ':']) && spelled.chars().all(is_time);
    (is_integer || is_date).then_some(TomlValue::Other(spelled))
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    fn entries(document: &str) -> heapless::Vec<TomlEntry<'_>, 8> {
        let mut entries = heapless::Vec::new();
        TomlEntries::new(document).for_each(|entry| entries.push(entry.unwrap()).unwrap());
        entries
    }

    #[track_caller]
    fn assert_texts<const N: usize>(document: &str, expected: [&str; N]) {
        let entries = entries(document);
        assert_eq!(entries.len(), N);
        for (entry, expected) in entries.iter().zip(expected) {
            let TomlValue::Text(text) = entry.value else { panic!("{:?}", entry.value) };
            assert!(text.chars().eq(expected.chars()), "{text}");
        }
    }

    #[test]
    fn scalars_of_every_kind_under_headings() {
        let document = "a = 1_000 # one\r\n b.c = 0x10\n\"d e\" = 1.5e3\n\n[t.u]\nf = true\nh = inf\n[[v]]\ni = +7\n";
        let found = entries(document);
        let expected = [
            ("", "a", TomlValue::Integer(1000)),
            ("", "b.c", TomlValue::Integer(16)),
            ("", "d e", TomlValue::Float(1500.0)),
            ("t.u", "f", TomlValue::Bool(true)),
            ("t.u", "h", TomlValue::Float(f64::INFINITY)),
            ("v", "i", TomlValue::Integer(7)),
        ];
        assert!(found.iter().map(|e| (e.table, e.key, e.value)).eq(expected));
        assert_eq!(found[1].offset, 18);
    }

    #[test]
    fn texts_of_all_four_quotes() {
        assert_texts(r#"a = "x\t\u00e9\\\"" # c"#, ["x\té\\\""]);
        assert_texts(r"a = 'C:\new' ", [r"C:\new"]);
        assert_texts("a = \"\"\"\nx\ny \\\n   z\"\"\"\"\n", ["x\ny z\""]);
        assert_texts("a = '''it's'''\nb = ''", ["it's", ""]);
        assert_texts(r#"a = "\q\uD800""#, ["\u{fffd}\u{fffd}"]);
    }

    #[test]
    fn any_number_of_lines_may_go_on() {
        assert_texts(&std::format!("a = \"\"\"x{} \\ty\"\"\"", "\\\n".repeat(300_000)), ["x\ty"]);
        assert_texts("a = \"\"\"x\\\n \\\n \\\\y\\ \n\"\"\"", ["x\\y"]);
    }

    #[test]
    fn what_is_not_a_scalar_is_passed_on_as_it_is_spelled() {
        let document = "a = [1, \"]\", # ]\n [2]]\nb = {c = 1, d = [2]} \ne = 1979-05-27 07:32:00Z\nf = 99999999999999999999\n";
        let expected = [
            TomlValue::Other("[1, \"]\", # ]\n [2]]"),
            TomlValue::Other("{c = 1, d = [2]}"),
            TomlValue::Other("1979-05-27 07:32:00Z"),
            TomlValue::Other("99999999999999999999"),
        ];
        assert!(entries(document).iter().map(|entry| entry.value).eq(expected));
    }

    #[test]
    fn what_is_not_toml_is_refused_where_it_stands() {
        for (document, offset) in [
            ("a", 0),
            ("= 1", 0),
            ("a = 1 2", 4),
            ("a = ", 4),
            ("a = x", 4),
            ("x = 1\na = \"y", 10),
            ("a = [1", 4),
            ("[t\na = 1", 0),
            ("a = \"x\ny\"", 4),
            ("[t] x", 4),
        ] {
            let error = TomlEntries::new(document).find_map(Result::err);
            assert_eq!(error, Some(Error::new(offset, ErrorKind::BadToml)), "{document:?}");
        }
        // The depth of nesting is irrelevant.
        let mut deep = [b'['; 100_000];
        deep[..4].copy_from_slice(b"a = ");
        assert!(TomlEntries::new(core::str::from_utf8(&deep).unwrap()).next().unwrap().is_err());
    }

    #[test]
    fn every_escape_is_the_character_that_it_stands_for() {
        let document = r#"a = "\b\t\n\f\r\e\"\\\u00e9\U0001F600""#;
        assert_texts(document, ["\u{8}\t\n\u{c}\r\u{1b}\"\\\u{e9}\u{1F600}"]);
        let TomlValue::Text(text) = entries(document)[0].value else { panic!("a text") };
        assert_eq!(std::format!("{text}"), "\u{8}\t\n\u{c}\r\u{1b}\"\\\u{e9}\u{1F600}");
    }

    #[test]
    fn numbers_without_an_end_and_those_that_are_none_are_known() {
        let found = entries("a = -inf\nb = +inf\nc = nan\nd = -nan\n");
        assert_eq!(found[0].value, TomlValue::Float(f64::NEG_INFINITY));
        assert_eq!(found[1].value, TomlValue::Float(f64::INFINITY));
        for entry in &found[2..] {
            assert!(
                matches!(entry.value, TomlValue::Float(value) if value.is_nan()),
                "{}",
                entry.key
            );
        }
        // Longer than any valid number.
        let digits = "1".repeat(65);
        let document = std::format!("a = {digits}");
        assert_eq!(entries(&document)[0].value, TomlValue::Other(&digits));
    }
}
