//! Values of a text in memory, read in place: no tree, no memory.

use super::lexer::LexemeKind;
use super::spelling::{is, number_f64, number_u64};
use super::tokens::JsonTokens;
use crate::error::{Error, ErrorKind, Result};

/// A value of a text that is valid JSON.
///
/// ```
/// use nanoembed_core::text::json::Value;
///
/// let config = Value::parse(r#"{"hidden_size": 384, "layers": [1, 2]}"#, 0)?;
/// assert_eq!(config.member("hidden_size").and_then(|size| size.as_u64()), Some(384));
/// assert_eq!(config.member("layers").map(|layers| layers.items().count()), Some(2));
/// # Ok::<(), nanoembed_core::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Value<'t> {
    /// The value's text, from its first byte to its last.
    spelling: &'t str,
    offset: u64,
}

impl core::fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // The start is enough for a vocabulary.
        let start = self.spelling.char_indices().nth(80).map_or(self.spelling.len(), |(at, _)| at);
        let start = self.spelling.get(..start).unwrap_or_default();
        f.debug_struct("Value").field("start", &start).field("offset", &self.offset).finish()
    }
}

impl<'t> Value<'t> {
    /// Parses `text`, which is at the absolute `offset`, and validates all of it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadJson`], [`ErrorKind::InvalidUtf8`] or [`ErrorKind::TooDeep`] at the
    /// offending byte.
    pub fn parse(text: &'t str, offset: u64) -> Result<Self> {
        for token in JsonTokens::new(text.as_bytes(), offset) {
            token?;
        }
        let start = text.len().saturating_sub(text.trim_ascii_start().len());
        Ok(Self { spelling: text.trim_ascii(), offset: offset.saturating_add(start as u64) })
    }

    /// The value that begins at byte `start` of a text that is valid JSON.
    pub(crate) fn at(text: &'t str, start: usize) -> Option<Self> {
        let rest = text.get(start..)?;
        let spelling = rest.get(..length_of(rest.as_bytes()))?;
        (!spelling.is_empty()).then_some(Self { spelling, offset: start as u64 })
    }

    /// Absolute offset of the value's first byte.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// The value as the text spells it; a string includes its quotes.
    #[must_use]
    pub const fn spelling(&self) -> &'t str {
        self.spelling
    }

    /// Its kind; for arrays and objects that of their first lexeme.
    #[must_use]
    pub fn kind(&self) -> LexemeKind {
        match self.spelling.as_bytes().first() {
            Some(b'{') => LexemeKind::BeginObject,
            Some(b'[') => LexemeKind::BeginArray,
            Some(b'"') => LexemeKind::String,
            Some(b't') => LexemeKind::Bool(true),
            Some(b'f') => LexemeKind::Bool(false),
            Some(b'-' | b'0'..=b'9') => LexemeKind::Number,
            _ => LexemeKind::Null,
        }
    }

    /// Returns true if it is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.kind() == LexemeKind::Null
    }

    /// The contents of a string without its quotes, escapes unresolved: see
    /// [`chars`](super::chars).
    #[must_use]
    pub fn as_text(&self) -> Option<&'t str> {
        self.spelling.strip_prefix('"')?.strip_suffix('"')
    }

    /// Returns true if it is the string `text`.
    #[must_use]
    pub fn is_text(&self, text: &str) -> bool {
        self.as_text().is_some_and(|spelling| is(spelling, text))
    }

    /// Its boolean value.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self.kind() {
            LexemeKind::Bool(truth) => Some(truth),
            _ => None,
        }
    }

    /// Its number.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        (self.kind() == LexemeKind::Number).then(|| number_f64(self.spelling)).flatten()
    }

    /// Its number, if that is an integer from 0 to 2⁶⁴ − 1 without fraction and exponent.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        (self.kind() == LexemeKind::Number).then(|| number_u64(self.spelling)).flatten()
    }

    /// The items of an array; none of other values.
    pub fn items(&self) -> impl Iterator<Item = Self> + use<'t> {
        let mut rest = self.inside(LexemeKind::BeginArray);
        core::iter::from_fn(move || rest.value())
    }

    /// An object's members: their names without the quotes, escapes unresolved, and their values;
    /// none for other values.
    pub fn members(&self) -> impl Iterator<Item = (&'t str, Self)> + use<'t> {
        let mut rest = self.inside(LexemeKind::BeginObject);
        core::iter::from_fn(move || {
            let name = rest.value()?.as_text()?;
            Some((name, rest.value()?))
        })
    }

    /// The member called `name`; the last one if there are several.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<Self> {
        let found = self.members().filter(|(known, _)| is(known, name));
        found.last().map(|(_, value)| value)
    }

    /// The error of an invalid value.
    #[must_use]
    pub const fn bad(&self) -> Error {
        Error::new(self.offset, ErrorKind::BadMetadata)
    }

    fn inside(&self, kind: LexemeKind) -> Rest<'t> {
        let text =
            if self.kind() == kind { self.spelling.get(1..).unwrap_or_default() } else { "" };
        Rest { text, offset: self.offset.saturating_add(1) }
    }
}

/// The rest of an array or object.
struct Rest<'t> {
    text: &'t str,
    offset: u64,
}

impl<'t> Rest<'t> {
    /// The next value or name.
    fn value(&mut self) -> Option<Value<'t>> {
        let between = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':');
        let start = self.text.bytes().take_while(between).count();
        self.pass(start)?;
        let length = length_of(self.text.as_bytes());
        let value = Value { spelling: self.text.get(..length)?, offset: self.offset };
        self.pass(length)?;
        (length > 0).then_some(value)
    }

    fn pass(&mut self, bytes: usize) -> Option<()> {
        self.text = self.text.get(bytes..)?;
        self.offset = self.offset.saturating_add(bytes as u64);
        Some(())
    }
}

/// The length in bytes of the value at the start of valid JSON; 0 at the end of its container.
fn length_of(text: &[u8]) -> usize {
    let scalar_ends =
        |byte: &u8| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b']' | b'}');
    match text.first() {
        Some(b'"') => string_length(text),
        Some(b'{' | b'[') => nested_length(text),
        _ => text.iter().take_while(|byte| scalar_ends(byte)).count(),
    }
}

fn string_length(text: &[u8]) -> usize {
    let mut at = 1_usize;
    loop {
        match text.get(at) {
            Some(b'"') | None => return at.saturating_add(1).min(text.len()),
            Some(b'\\') => at = at.saturating_add(2),
            Some(_) => at = at.saturating_add(1),
        }
    }
}

fn nested_length(text: &[u8]) -> usize {
    let (mut at, mut depth) = (0_usize, 0_usize);
    while let Some(byte) = text.get(at) {
        match byte {
            b'{' | b'[' => depth = depth.saturating_add(1),
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let string = string_length(text.get(at..).unwrap_or_default());
                at = at.saturating_add(string);
                continue;
            }
            _ => {}
        }
        at = at.saturating_add(1);
        if depth == 0 {
            break;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_where_they_are_spelled() {
        let text = " {\"a\": [1, \"x]\\\"\", {\"b\": null}], \"c\":true , \"a\\u0062\": -2.5e1}";
        let value = Value::parse(text, 10).unwrap();
        assert_eq!(value.offset(), 11);
        let names: [_; 3] = {
            let mut members = value.members();
            [(); 3].map(|()| members.next().unwrap().0)
        };
        assert_eq!(names, ["a", "c", "a\\u0062"]);
        let list = value.member("a").unwrap();
        assert_eq!(text.get(list.offset() as usize - 10..).unwrap().chars().next(), Some('['));
        let mut items = list.items();
        assert_eq!(items.next().unwrap().as_u64(), Some(1));
        assert!(items.next().unwrap().is_text("x]\""));
        let nested = items.next().unwrap();
        assert!(nested.member("b").unwrap().is_null());
        assert!(items.next().is_none());
        assert_eq!(value.member("c").unwrap().as_bool(), Some(true));
        assert_eq!(value.member("ab").unwrap().as_f64(), Some(-25.0));
        assert_eq!(value.member("d"), None);
    }

    #[test]
    fn what_is_no_json_is_refused_and_empty_things_are_empty() {
        for bad in ["", "{", "[1,]", "{\"a\"}", "[1] 2", "\u{feff}1"] {
            assert!(Value::parse(bad, 0).is_err(), "{bad}");
        }
        for (empty, kind) in [("[]", LexemeKind::BeginArray), ("{ }", LexemeKind::BeginObject)] {
            let value = Value::parse(empty, 0).unwrap();
            assert_eq!(
                (value.kind(), value.items().count(), value.members().count()),
                (kind, 0, 0)
            );
        }
    }

    #[test]
    fn only_the_start_of_a_long_value_is_printed() {
        extern crate std;
        let text = std::format!("\"{}\"", "\u{e9}".repeat(100));
        let printed = std::format!("{:?}", Value::parse(&text, 7).unwrap());
        let start = std::format!("\"{}", "\u{e9}".repeat(79));
        assert_eq!(printed, std::format!("Value {{ start: {start:?}, offset: 7 }}"));
    }
}
