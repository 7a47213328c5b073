//! Lines of JSON that a terminal does not act on: what JSON lets stand in a string as it is, though
//! terminals act on it, is spelled by its escapes, which mean the same.

use std::io::{self, Write};

use nanoembed::escape;
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

/// Writes a value and the line's end.
pub(crate) fn write_line(mut to: impl Write, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(&mut to, Shown))?;
    to.write_all(b"\n")
}

struct Shown;

impl Formatter for Shown {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(escape::acts) {
            let (plain, from) = rest.split_at(at);
            writer.write_all(plain.as_bytes())?;
            let mut letters = from.chars();
            // All of them have four digits.
            if let Some(letter) = letters.next() {
                write!(writer, "\\u{:04x}", u32::from(letter))?;
            }
            rest = letters.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_terminals_act_on_is_escaped_and_means_the_same() {
        let text = "a\u{9b}\x7f\u{202e}\u{2028}\x1b[m\t\"日\n";
        let mut line = Vec::new();
        write_line(&mut line, &[text]).unwrap();
        let line = String::from_utf8(line).unwrap();
        assert!(!line.trim_end_matches('\n').contains(escape::acts), "{line}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&line).unwrap(), [text]);
    }
}
