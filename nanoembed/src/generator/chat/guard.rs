//! What a template may contain, and bounds for the values that it makes.
//!
//! Fuel bounds the steps of a template and the bytes of its texts. It does not bound lists in lists:
//! `{% set a = [a, a] %}`, sixty times, takes few steps, and to print or to compare the result takes
//! 2⁶⁰. So every value that a template stores is weighed: `{% set a = X %}` becomes
//! `{% set a = __stored((X)) %}`, and the same is done with the parameters of macros. Between, a value
//! grows by no more than an expression has characters, as `*` and tags that bind names in other ways
//! are rejected by name.

use std::borrow::Cow;

use minijinja::value::{DynObject, ValueKind};
use minijinja::{Error, ErrorKind, State, Value};

/// The functions that weigh a value: of a variable, and of a member of a namespace.
pub(super) const STORED: &str = "__stored";
pub(super) const STORED_MEMBER: &str = "__stored_member";

/// The most levels of lists in a stored value.
const MOST_LEVELS: usize = 24;

/// Bytes of text that weigh as much as an item.
const BYTES_PER_ITEM: usize = 64;

/// Tags that are left as they are.
const TAGS: [&str; 12] = [
    "for", "endfor", "if", "elif", "else", "endif", "set", "endset", "macro", "endmacro", "break",
    "continue",
];

/// A construct that is not supported, and its line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) construct: String,
    pub(super) line: usize,
}

/// The template with stored values weighed. Blocks of `generation`, which mark answers for training,
/// become blocks that are always rendered.
pub(super) fn guarded(source: &str) -> Result<String, Refused> {
    let mut guarded = String::with_capacity(source.len() * 2);
    let mut rest = source;
    let line = |rest: &str| {
        let read = source.get(..source.len() - rest.len()).unwrap_or_default();
        read.matches('\n').count() + 1
    };
    while let Some(start) = start_of_tag(rest) {
        let (before, tag) = rest.split_at(start);
        guarded.push_str(before);
        let refuse = |construct: &str| Refused { construct: construct.to_owned(), line: line(tag) };
        let end = match tag.get(..2) {
            Some("{#") => tag.find("#}").map(|end| end + 2),
            Some("{{") => end_of_tag(tag, "}}").map_err(refuse)?,
            _ => end_of_tag(tag, "%}").map_err(refuse)?,
        };
        // What never ends is an error of syntax, which the parser explains.
        let (tag, after) = tag.split_at(end.unwrap_or(tag.len()));
        let tag = &joined(tag);
        match tag.strip_prefix("{%") {
            Some(_) if end.is_some() => {
                guarded.push_str(&guarded_tag(tag).map_err(|it| refuse(&it))?);
            }
            _ => guarded.push_str(tag),
        }
        rest = after;
    }
    guarded.push_str(rest);
    Ok(guarded)
}

/// The place of the next tag or comment.
fn start_of_tag(text: &str) -> Option<usize> {
    let is_tag = |at: &usize| rest(text, at + 1).starts_with(['{', '%', '#']);
    text.match_indices('{').map(|(at, _)| at).find(is_tag)
}

/// The end of a tag that begins `text`, after its closing bracket; `None` if it has none.
fn end_of_tag(text: &str, closing: &str) -> Result<Option<usize>, &'static str> {
    let mut depth = 0_usize;
    for token in Tokens::new(text, 2) {
        match token {
            Token { text: _, at, is_text: false }
                if depth == 0 && rest(text, at).starts_with(closing) =>
            {
                return Ok(Some(at + 2));
            }
            Token { text: "(" | "[" | "{", .. } => depth += 1,
            Token { text: ")" | "]" | "}", .. } => depth = depth.saturating_sub(1),
            Token { text: "*", .. } => return Err("*"),
            _ => {}
        }
    }
    Ok(None)
}

fn rest(text: &str, at: usize) -> &str {
    text.get(at..).unwrap_or_default()
}

/// A tag without the line breaks that follow a backslash in a text: as in Python, the text goes on.
fn joined(tag: &str) -> Cow<'_, str> {
    if !tag.contains("\\\n") || tag.starts_with("{#") {
        return tag.into();
    }
    let mut joined = String::with_capacity(tag.len());
    let mut end = 0;
    for token in Tokens::new(tag, 2).filter(|token| token.is_text) {
        joined.push_str(tag.get(end..token.at).unwrap_or_default());
        let mut chars = token.text.chars();
        while let Some(c) = chars.next() {
            match (c, chars.clone().next()) {
                ('\\', Some('\n')) => drop(chars.next()),
                ('\\', Some(escaped)) => {
                    joined.extend([c, escaped]);
                    chars.next();
                }
                _ => joined.push(c),
            }
        }
        end = token.at + token.text.len();
    }
    joined.push_str(rest(tag, end));
    joined.into()
}

/// A whole tag `{% … %}`, rewritten.
fn guarded_tag(tag: &str) -> Result<String, String> {
    let inner = tag.strip_prefix("{%").and_then(|it| it.strip_suffix("%}")).unwrap_or_default();
    let (open, inner) = match inner.strip_prefix(['-', '+']) {
        Some(inner) => (tag.get(..3).unwrap_or("{%"), inner),
        None => ("{%", inner),
    };
    let (close, inner) = match inner.strip_suffix('-') {
        Some(inner) => ("-%}", inner),
        None => match inner.strip_suffix('+') {
            Some(inner) => ("+%}", inner),
            None => ("%}", inner),
        },
    };
    let name_start = inner.len() - inner.trim_start().len();
    let body = rest(inner, name_start);
    let name_end =
        body.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(body.len());
    let (name, body) = body.split_at(name_end);
    let spaces = inner.get(..name_start).unwrap_or_default();
    match name {
        "generation" => Ok(format!("{open}{spaces}if true{body}{close}")),
        "endgeneration" => Ok(format!("{open}{spaces}endif{body}{close}")),
        "set" => Ok(match equals_sign(body) {
            Some(at) if !rest(body, at + 1).trim().is_empty() => {
                let (target, value) = body.split_at(at);
                let stored = if target.contains('.') { STORED_MEMBER } else { STORED };
                let value = rest(value, 1);
                format!("{open}{spaces}set{target}= {stored}(({value})) {close}")
            }
            _ => tag.to_owned(),
        }),
        "macro" => {
            let stored = parameters(body)
                .into_iter()
                .map(|name| format!("{{% set {name} = {STORED}({name}) {close}"));
            Ok([tag.to_owned()].into_iter().chain(stored).collect())
        }
        "for" if Tokens::new(body, 0).any(|token| token.text == "recursive" && !token.is_text) => {
            Err("recursive".into())
        }
        known if TAGS.contains(&known) => Ok(tag.to_owned()),
        other => Err(other.to_owned()),
    }
}

/// The place of the sign between a variable and its value.
fn equals_sign(body: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for token in Tokens::new(body, 0) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            "=" if depth == 0 && !token.is_text => return Some(token.at),
            _ => {}
        }
    }
    None
}

/// The names of a macro's parameters.
fn parameters(body: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let (mut depth, mut is_expected) = (0_usize, false);
    for token in Tokens::new(body, 0) {
        match token.text {
            "(" | "[" | "{" => {
                depth += 1;
                is_expected = depth == 1;
            }
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            "," if depth == 1 => is_expected = true,
            name if is_expected && depth == 1 && !token.is_text => {
                names.push(name);
                is_expected = false;
            }
            _ => {}
        }
    }
    names
}

/// The tokens of an expression: words, texts and single characters, without white space.
struct Tokens<'t> {
    text: &'t str,
    at: usize,
}

struct Token<'t> {
    text: &'t str,
    at: usize,
    /// True for a text in quotation marks.
    is_text: bool,
}

impl<'t> Tokens<'t> {
    const fn new(text: &'t str, at: usize) -> Self {
        Self { text, at }
    }
}

impl<'t> Iterator for Tokens<'t> {
    type Item = Token<'t>;

    fn next(&mut self) -> Option<Token<'t>> {
        let left = rest(self.text, self.at);
        let at = self.at + (left.len() - left.trim_start().len());
        let left = left.trim_start();
        let first = left.chars().next()?;
        let (length, is_text) = match first {
            '\'' | '"' => (quoted(left, first), true),
            _ if first.is_alphanumeric() || first == '_' => {
                let end = left.find(|c: char| !c.is_alphanumeric() && c != '_');
                (end.unwrap_or(left.len()), false)
            }
            _ => (first.len_utf8(), false),
        };
        self.at = at + length;
        Some(Token { text: left.get(..length)?, at, is_text })
    }
}

/// The length of a text in quotation marks that begins here; backslashes escape.
fn quoted(text: &str, mark: char) -> usize {
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            _ if c == mark => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The weight of a value: its items and their items, and its texts.
///
/// # Errors
///
/// If it is more than `most`, has too many levels, or contains a namespace.
pub(super) fn weight(value: &Value, most: usize) -> Result<usize, Error> {
    let mut weighed = Weighed { left: most };
    weighed.add(value, 0)?;
    Ok(most - weighed.left)
}

struct Weighed {
    left: usize,
}

impl Weighed {
    fn take(&mut self, items: usize) -> Result<(), Error> {
        self.left =
            self.left.checked_sub(items).ok_or_else(|| Error::from(ErrorKind::OutOfFuel))?;
        Ok(())
    }

    fn add(&mut self, value: &Value, level: usize) -> Result<(), Error> {
        self.take(1)?;
        match value.kind() {
            ValueKind::String | ValueKind::Bytes => {
                self.take(value.as_str().map_or(0, str::len) / BYTES_PER_ITEM)
            }
            ValueKind::Seq | ValueKind::Map | ValueKind::Iterable => {
                if level > MOST_LEVELS || level > 0 && value.as_object().is_some_and(is_namespace) {
                    return Err(Error::from(ErrorKind::OutOfFuel));
                }
                let is_map = value.kind() == ValueKind::Map;
                for item in value.try_iter()?.checked() {
                    let item = item?;
                    if is_map {
                        self.add(&value.get_item(&item)?, level + 1)?;
                    }
                    self.add(&item, level + 1)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Returns true for what the function `namespace` makes, whose members a template may change later.
fn is_namespace(object: &DynObject) -> bool {
    object.type_name().ends_with("::Namespace")
}

/// The value to store, weighed.
pub(super) fn stored(
    state: &State<'_, '_>,
    value: Value,
    most: usize,
    is_member: bool,
) -> Result<Value, Error> {
    if is_member && value.as_object().is_some_and(is_namespace) {
        let message = "a namespace in a namespace is not supported";
        return Err(Error::new(ErrorKind::InvalidOperation, message));
    }
    // What is made as it is read would be made anew at each reading.
    let value = match value.kind() {
        ValueKind::Iterable => {
            value.try_iter()?.checked().collect::<Result<Vec<Value>, Error>>().map(Value::from)?
        }
        _ => value,
    };
    let weight = weight(&value, most)?;
    state.consume_fuel((weight / 16) as u64)?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_values_are_weighed_and_all_else_is_as_it_was() {
        for (source, expected) in [
            ("a {{ b }} {# {% c %} #}\n", "a {{ b }} {# {% c %} #}\n"),
            ("{%- set a = b -%}", "{%- set a = __stored(( b )) -%}"),
            ("{% set a, b = 1, 2 %}", "{% set a, b = __stored(( 1, 2 )) %}"),
            ("{% set n.a='=%}' %}", "{% set n.a= __stored_member(('=%}' )) %}"),
            ("{% set a = b == c %}", "{% set a = __stored(( b == c )) %}"),
            ("{% set a %}x{% endset %}", "{% set a %}x{% endset %}"),
            ("{{ {'a': {'b': 1}} }}{%if a%}", "{{ {'a': {'b': 1}} }}{%if a%}"),
            ("{% generation %}x{%- endgeneration -%}", "{% if true %}x{%- endif -%}"),
            (
                "{% macro f(a, b=(1, [2])) -%}",
                "{% macro f(a, b=(1, [2])) -%}{% set a = __stored(a) -%}{% set b = __stored(b) -%}",
            ),
            ("{% macro f() %}", "{% macro f() %}"),
            ("{{ '\\'}}' }}", "{{ '\\'}}' }}"),
            ("{{ 'a\\\nb\\\\\n' }}\\\n", "{{ 'ab\\\\\n' }}\\\n"),
            ("{% set a = %}", "{% set a = %}"),
            ("{{ a", "{{ a"),
            ("{# a", "{# a"),
        ] {
            assert_eq!(guarded(source).as_deref(), Ok(expected), "{source}");
        }
    }

    #[test]
    fn what_would_make_more_of_a_value_is_refused_by_name() {
        for (source, construct, line) in [
            ("{{ a * 2 }}", "*", 1),
            ("\n{{ f(*a) }}", "*", 2),
            ("{% with a = b %}", "with", 1),
            ("{% include 'a' %}", "include", 1),
            ("\n\n{%- for a in b recursive %}", "recursive", 3),
            ("{% call f() %}", "call", 1),
            ("{% raw %}", "raw", 1),
        ] {
            let refused = guarded(source).unwrap_err();
            assert_eq!((&*refused.construct, refused.line), (construct, line), "{source}");
        }
        assert!(guarded("{{ '*' }}{# * #} * ").is_ok());
    }

    #[test]
    fn weights_count_items_as_often_as_they_are_there() {
        let mut list = Value::from(vec![1, 2]);
        assert_eq!(weight(&list, 100).unwrap(), 3);
        assert_eq!(weight(&Value::from("a".repeat(640)), 100).unwrap(), 11);
        assert_eq!(weight(&Value::from_pairs([("a", list.clone())]), 100).unwrap(), 5);
        for _ in 0..20 {
            list = Value::from(vec![list.clone(), list]);
        }
        assert_eq!(weight(&list, 100_000).unwrap_err().kind(), ErrorKind::OutOfFuel);
        let mut deep = Value::from(1);
        for _ in 0..=MOST_LEVELS + 1 {
            deep = Value::from(vec![deep]);
        }
        assert_eq!(weight(&deep, 100_000).unwrap_err().kind(), ErrorKind::OutOfFuel);
    }
}
