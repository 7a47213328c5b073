//! The walk through a template that makes the parts of a prompt.

use super::{PutPart, TemplatePart};
use crate::error::{Error, ErrorKind};
use crate::text::json::{Fault, Read};

/// The largest number of variables.
const MOST_VARIABLES: usize = 16;

/// The largest number of parentheses within each other.
const MOST_DEPTH: usize = 8;

/// The variable with all messages.
pub(super) const MESSAGES: &str = "messages";

/// A role of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    System,
    Query,
    Document,
}

/// Some of the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Selected {
    All,
    One(Role),
    Nothing,
}

/// The value of an expression.
#[derive(Clone, Copy, Debug)]
enum Value<'t> {
    Text(&'t str),
    Messages(Selected),
    Contents(Selected),
    Message(Role),
    Content(Role),
    Undefined,
}

/// What follows the last tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// A text as it is.
    Text,
    /// The end of a block, which takes a line break.
    Block,
    /// A tag that takes all white space.
    Stripping,
}

/// A template on its way.
pub(super) struct Rendering<'t> {
    text: &'t str,
    at: usize,
    has_instruction: bool,
    variables: heapless::Vec<(&'t str, Value<'t>), MOST_VARIABLES>,
}

impl<'t> Rendering<'t> {
    pub(super) fn new(text: &'t str, has_instruction: bool) -> Self {
        let text = text.strip_suffix('\n').unwrap_or(text);
        Self { text, at: 0, has_instruction, variables: heapless::Vec::new() }
    }

    pub(super) fn run(&mut self, put: PutPart<'_, 't>) -> Read<'t, ()> {
        if let Some(at) = self.text.bytes().position(|byte| byte == b'\r') {
            return Err(unsupported(at, "\\r", "line breaks are \\n alone"));
        }
        let (mut after, mut starts_line) = (After::Text, true);
        loop {
            starts_line |= self.trim_start(after);
            let (start, tag) = self.next_tag();
            let mut text = self.text.get(self.at..start).unwrap_or_default();
            self.at = start.saturating_add(tag.map_or(0, |_| 2));
            if tag.is_some() && self.take("-") {
                text = text.trim_end_matches(is_space);
            } else if matches!(tag, Some(b'%' | b'#')) {
                text = without_indent(text, starts_line);
            }
            if !text.is_empty() {
                put(TemplatePart::Text(text)).map_err(Fault::from_error)?;
            }
            let Some(tag) = tag else { return Ok(()) };
            after = match tag {
                b'#' => self.comment()?,
                b'{' => self.output(put)?,
                _ => self.set()?,
            };
            starts_line = false;
        }
    }

    /// Takes the white space after a tag; returns true if it ends with a line break.
    fn trim_start(&mut self, after: After) -> bool {
        let rest = self.rest();
        let left = match after {
            After::Text => rest,
            After::Block => rest.strip_prefix('\n').unwrap_or(rest),
            After::Stripping => rest.trim_start_matches(is_space),
        };
        let start = self.at;
        self.at = self.text.len().saturating_sub(left.len());
        self.text.get(start..self.at).is_some_and(|taken| taken.ends_with('\n'))
    }

    /// The start of the next tag and its second character; the end of the text if there is none.
    fn next_tag(&self) -> (usize, Option<u8>) {
        let bytes = self.text.as_bytes();
        for (at, pair) in bytes.windows(2).enumerate().skip(self.at) {
            if let [b'{', kind @ (b'%' | b'{' | b'#')] = pair {
                return (at, Some(*kind));
            }
        }
        (bytes.len(), None)
    }

    fn comment(&mut self) -> Read<'t, After> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let found = bytes.windows(2).enumerate().skip(start).find(|(_, pair)| *pair == b"#}");
        let Some((end, _)) = found else { return Err(self.unknown(start)) };
        self.at = end.saturating_add(2);
        let strips = self.text.get(start..end).is_some_and(|text| text.ends_with('-'));
        Ok(if strips { After::Stripping } else { After::Block })
    }

    fn output(&mut self, put: PutPart<'_, 't>) -> Read<'t, After> {
        self.spaces();
        let start = self.at;
        let part = match self.expression(0)? {
            Value::Text(text) => Some(TemplatePart::Text(text)),
            Value::Content(Role::Query) => Some(TemplatePart::Query),
            Value::Content(Role::Document) => Some(TemplatePart::Document),
            Value::Content(Role::System) => Some(TemplatePart::Instruction),
            Value::Undefined => None,
            Value::Messages(_) | Value::Contents(_) | Value::Message(_) => {
                return Err(self.refuse(start, "only a content or a text is shown"));
            }
        };
        if let Some(part) = part {
            put(part).map_err(Fault::from_error)?;
        }
        self.end("}}", After::Text)
    }

    fn set(&mut self) -> Read<'t, After> {
        self.spaces();
        let start = self.at;
        if self.name() != "set" {
            return Err(self.refuse(start, "the only statement that is known is set"));
        }
        self.spaces();
        let named = self.at;
        let name = self.name();
        self.spaces();
        if name.is_empty() || name == MESSAGES || !self.take("=") {
            return Err(self.unknown(named));
        }
        let value = self.expression(0)?;
        self.variables.retain(|(known, _)| *known != name);
        let full = |_| unsupported(named, name, "no template has as many variables");
        self.variables.push((name, value)).map_err(full)?;
        self.end("%}", After::Block)
    }

    /// The end of a tag.
    fn end(&mut self, mark: &str, after: After) -> Read<'t, After> {
        self.spaces();
        let start = self.at;
        let after = if self.take("-") { After::Stripping } else { after };
        if self.take(mark) { Ok(after) } else { Err(self.unknown(start)) }
    }

    fn expression(&mut self, depth: usize) -> Read<'t, Value<'t>> {
        self.spaces();
        let start = self.at;
        let value = match self.rest().as_bytes().first() {
            Some(b'"' | b'\'') => Value::Text(self.string()?),
            Some(b'(') if depth < MOST_DEPTH => {
                self.take("(");
                let value = self.expression(depth.saturating_add(1))?;
                self.needed(")")?;
                value
            }
            _ => self.variable(start)?,
        };
        let mut value = self.content(value)?;
        loop {
            self.spaces();
            if !self.take("|") {
                return Ok(value);
            }
            value = self.filtered(value)?;
        }
    }

    /// The value of the variable whose name begins at `start`.
    fn variable(&mut self, start: usize) -> Read<'t, Value<'t>> {
        let name = self.name();
        if name == MESSAGES {
            return Ok(Value::Messages(Selected::All));
        }
        let found = self.variables.iter().find(|(known, _)| *known == name);
        let only = "messages are the only variable that is given";
        found.map(|(_, value)| *value).ok_or_else(|| self.refuse(start, only))
    }

    /// The content of the message that is `value`, if that is what follows; else `value`.
    fn content(&mut self, value: Value<'t>) -> Read<'t, Value<'t>> {
        const CONTENT: &str = "content";
        self.spaces();
        let start = self.at;
        let member = if self.take(".") {
            self.name()
        } else if self.take("[") {
            self.spaces();
            let member = self.string()?;
            self.needed("]")?;
            member
        } else {
            return Ok(value);
        };
        match value {
            Value::Message(role) if member == CONTENT => Ok(Value::Content(role)),
            Value::Undefined => Err(self.refuse(start, "without an instruction there is none")),
            _ => Err(self.refuse(start, "only the content of one message is read")),
        }
    }

    fn filtered(&mut self, value: Value<'t>) -> Read<'t, Value<'t>> {
        self.spaces();
        let start = self.at;
        let name = self.name();
        let unfit = "it is applied to other values than here";
        match (name, value) {
            ("selectattr", Value::Messages(among)) => {
                let role = self.role(start)?;
                Ok(Value::Messages(match (role, among) {
                    (Some(Role::System), _) if !self.has_instruction => Selected::Nothing,
                    (Some(role), Selected::All) => Selected::One(role),
                    (Some(role), Selected::One(only)) if role == only => among,
                    _ => Selected::Nothing,
                }))
            }
            ("map", Value::Messages(among)) => {
                self.needed("(")?;
                self.spaces();
                let named = self.at;
                if self.name() != "attribute" {
                    return Err(self.unknown(named));
                }
                self.needed("=")?;
                self.spaces();
                if self.string()? != "content" {
                    return Err(self.refuse(start, "only contents are taken"));
                }
                self.needed(")")?;
                Ok(Value::Contents(among))
            }
            ("first" | "last", Value::Messages(Selected::One(role))) => Ok(Value::Message(role)),
            ("first" | "last", Value::Contents(Selected::One(role))) => Ok(Value::Content(role)),
            (
                "first" | "last",
                Value::Messages(Selected::Nothing) | Value::Contents(Selected::Nothing),
            ) => Ok(Value::Undefined),
            ("list", Value::Messages(_) | Value::Contents(_)) => Ok(value),
            ("default" | "d", _) => {
                self.needed("(")?;
                self.spaces();
                let text = self.string()?;
                self.needed(")")?;
                Ok(if matches!(value, Value::Undefined) { Value::Text(text) } else { value })
            }
            ("selectattr" | "map" | "first" | "last" | "list", _) => Err(self.refuse(start, unfit)),
            _ => Err(self.refuse(start, "a filter that is not known here")),
        }
    }

    /// The role in the arguments of a filter that selects messages; `None` if no message has it.
    fn role(&mut self, start: usize) -> Read<'t, Option<Role>> {
        self.needed("(")?;
        let mut arguments = [""; 3];
        for (at, argument) in arguments.iter_mut().enumerate() {
            if at > 0 {
                self.needed(",")?;
            }
            self.spaces();
            *argument = self.string()?;
        }
        self.needed(")")?;
        match arguments {
            ["role", "eq" | "equalto" | "==", role] => Ok(match role {
                "system" => Some(Role::System),
                "query" => Some(Role::Query),
                "document" => Some(Role::Document),
                _ => None,
            }),
            _ => Err(self.refuse(start, "only messages of equal roles are selected")),
        }
    }

    /// Takes a string with its quotes; returns the text between them.
    fn string(&mut self) -> Read<'t, &'t str> {
        let start = self.at;
        let rest = self.rest();
        let Some(quote @ (b'"' | b'\'')) = rest.as_bytes().first().copied() else {
            return Err(self.unknown(start));
        };
        let inner = rest.get(1..).unwrap_or_default();
        let end = inner.bytes().position(|byte| byte == quote || byte == b'\\');
        let end = end.filter(|end| inner.as_bytes().get(*end) == Some(&quote));
        let Some(string) = end.and_then(|end| inner.get(..end)) else {
            return Err(self.refuse(start, "only strings without backslashes are known"));
        };
        self.at = start.saturating_add(string.len()).saturating_add(2);
        Ok(string)
    }

    /// Takes a name; empty if there is none.
    fn name(&mut self) -> &'t str {
        let rest = self.rest();
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let length = rest.bytes().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        self.at = self.at.saturating_add(length);
        rest.get(..length).unwrap_or_default()
    }

    /// Takes `mark` after spaces.
    fn needed(&mut self, mark: &str) -> Read<'t, ()> {
        self.spaces();
        let start = self.at;
        if self.take(mark) { Ok(()) } else { Err(self.unknown(start)) }
    }

    /// Takes `mark` if it is next.
    fn take(&mut self, mark: &str) -> bool {
        let is_next = self.rest().starts_with(mark);
        if is_next {
            self.at = self.at.saturating_add(mark.len());
        }
        is_next
    }

    fn spaces(&mut self) {
        let rest = self.rest();
        let left = rest.trim_start_matches(is_space);
        self.at = self.text.len().saturating_sub(left.len());
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Rejects what begins at `start`.
    fn unknown(&self, start: usize) -> Fault<'t> {
        self.refuse(start, "it is not known in templates of rerankers")
    }

    /// Rejects what begins at `start`, by the first word there.
    fn refuse(&self, start: usize, only: &'static str) -> Fault<'t> {
        let rest = self.text.get(start..).unwrap_or_default();
        let rest = rest.trim_start_matches(is_space);
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let word = rest.char_indices().find(|(_, c)| !is_part(*c)).map_or(rest.len(), |(at, _)| at);
        let first = rest.chars().next().map_or(0, char::len_utf8);
        unsupported(start, rest.get(..word.max(first)).unwrap_or_default(), only)
    }
}

pub(super) fn unsupported<'t>(at: usize, key: &'t str, only: &'static str) -> Fault<'t> {
    Fault { error: Error::new(at as u64, ErrorKind::UnsupportedSetting), key, only }
}

/// White space as Python's regular expressions know it.
const fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// A text without the spaces before a tag on the same line.
fn without_indent(text: &str, starts_line: bool) -> &str {
    let line = text.bytes().rposition(|byte| byte == b'\n').map(|at| at.saturating_add(1));
    let start = match (line, starts_line) {
        (Some(start), _) => start,
        (None, true) => 0,
        (None, false) => return text,
    };
    match text.get(start..) {
        Some(indent) if indent.chars().all(is_space) => text.get(..start).unwrap_or_default(),
        _ => text,
    }
}
