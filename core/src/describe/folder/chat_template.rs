//! `chat_template.jinja` of a reranker: a prompt with places for a question, a text and an
//! instruction.
//!
//! A template is read as transformers renders it, from messages with the roles `query`, `document`
//! and, with an instruction, `system`: blocks take the spaces before them on their line and the
//! line break after them (`lstrip_blocks`, `trim_blocks`), and the file's last line break does not
//! count. The constructs of Jinja that are known:
//!
//! | construct | |
//! |---|---|
//! | `{% set NAME = EXPRESSION %}` | a variable |
//! | `{{ EXPRESSION }}` | a part of the prompt |
//! | `{# … #}` | a comment |
//! | `messages` | all messages |
//! | `x \| selectattr("role", "eq", ROLE)` | the messages of a role; `equalto` and `==` are `eq` |
//! | `x \| map(attribute="content")` | their contents |
//! | `x \| first`, `x \| last`, `x \| list` | one of them, or the same list |
//! | `x \| default(TEXT)`, `x \| d(TEXT)` | the text if there is none |
//! | `x.content`, `x["content"]` | the content of a message |
//! | `"text"`, `'text'`, `( … )` | a text without backslashes; parentheses |
//!
//! All others are rejected by name: without them, another prompt would be rendered.

use super::texts::{ReadText, TextPath};
use crate::error::{Error, ErrorKind, Result};
use crate::text::json::{Fault, Read};

/// The file.
pub const CHAT_TEMPLATE: &str = "chat_template.jinja";

/// The largest number of variables.
const MOST_VARIABLES: usize = 16;

/// The largest number of parentheses within each other.
const MOST_DEPTH: usize = 8;

/// The prompt of a reranker, which has been checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChatTemplate<'t> {
    text: &'t str,
    takes_instruction: bool,
}

/// The text of a template, which has not been checked: builds that render none only see that it is
/// there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemplateText<'t> {
    pub(super) path: TextPath<'t>,
    pub(super) text: &'t str,
}

impl<'t> TemplateText<'t> {
    /// The template.
    ///
    /// # Errors
    ///
    /// As [`ChatTemplate::read`].
    pub fn checked(&self) -> ReadText<'t, ChatTemplate<'t>> {
        ChatTemplate::read(self.text).map_err(|fault| self.path.fault(fault))
    }
}

/// A part of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplatePart<'t> {
    /// A text.
    Text(&'t str),
    /// The question.
    Query,
    /// The text that is compared with the question.
    Document,
    /// The instruction.
    Instruction,
}

/// Takes the parts of a prompt in their order.
pub type PutPart<'p, 't> = &'p mut dyn FnMut(TemplatePart<'t>) -> Result<()>;

impl<'t> ChatTemplate<'t> {
    /// The template with this text.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnsupportedSetting`] at a construct that is not known, and for a template that
    /// does not show both the question and the text.
    pub fn read(text: &'t str) -> Read<'t, Self> {
        let mut takes_instruction = false;
        for has_instruction in [true, false] {
            let mut shown = [false; 2];
            Rendering::new(text, has_instruction).run(&mut |part| {
                match part {
                    TemplatePart::Query => shown = [true, shown[1]],
                    TemplatePart::Document => shown = [shown[0], true],
                    TemplatePart::Instruction => takes_instruction = true,
                    TemplatePart::Text(_) => {}
                }
                Ok(())
            })?;
            if shown != [true; 2] {
                let only = "the template has to show the messages of the roles query and document";
                return Err(unsupported(0, MESSAGES, only));
            }
        }
        Ok(Self { text, takes_instruction })
    }

    /// The text of the file.
    #[must_use]
    pub const fn text(&self) -> &'t str {
        self.text
    }

    /// Returns true if the template has a place for an instruction.
    #[must_use]
    pub const fn takes_instruction(&self) -> bool {
        self.takes_instruction
    }

    /// Calls `put` with the parts of the prompt that the template with this text makes, in order.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read); any error of `put`.
    pub fn each(text: &'t str, has_instruction: bool, put: PutPart<'_, 't>) -> Result<()> {
        Rendering::new(text, has_instruction).run(put).map_err(|fault| fault.error)
    }
}

/// The variable with all messages.
const MESSAGES: &str = "messages";

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
struct Rendering<'t> {
    text: &'t str,
    at: usize,
    has_instruction: bool,
    variables: heapless::Vec<(&'t str, Value<'t>), MOST_VARIABLES>,
}

impl<'t> Rendering<'t> {
    fn new(text: &'t str, has_instruction: bool) -> Self {
        let text = text.strip_suffix('\n').unwrap_or(text);
        Self { text, at: 0, has_instruction, variables: heapless::Vec::new() }
    }

    fn run(&mut self, put: PutPart<'_, 't>) -> Read<'t, ()> {
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

fn unsupported<'t>(at: usize, key: &'t str, only: &'static str) -> Fault<'t> {
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

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::String;
    use std::vec;

    use super::*;

    fn rendered(text: &str, has_instruction: bool) -> Read<'_, String> {
        let mut out = String::new();
        ChatTemplate::read(text)?;
        let put = &mut |part: TemplatePart<'_>| {
            out.push_str(match part {
                TemplatePart::Text(text) => text,
                TemplatePart::Query => "[q]",
                TemplatePart::Document => "[d]",
                TemplatePart::Instruction => "[i]",
            });
            Ok(())
        };
        ChatTemplate::each(text, has_instruction, put).map_err(Fault::from_error)?;
        Ok(out)
    }

    const QUERY: &str = r#"{{ (messages | selectattr("role", "eq", "query") | first).content }}"#;
    const DOCUMENT: &str =
        r#"{{ (messages|selectattr('role','equalto','document')|list|last)["content"] }}"#;

    #[test]
    fn a_prompt_has_its_parts_in_order() {
        let text = "{#- none -#}
            {%- set said = messages | selectattr(\"role\", \"==\", \"system\")
                | map(attribute=\"content\") | first | default('usual') -%}
            <{{ said }}>\n";
        let text = [text, QUERY, "|", DOCUMENT, "\n\n"].concat();
        assert_eq!(rendered(&text, true).unwrap(), "<[i]>\n[q]|[d]\n");
        assert_eq!(rendered(&text, false).unwrap(), "<usual>\n[q]|[d]\n");
        assert!(ChatTemplate::read(&text).unwrap().takes_instruction());
        let without = [QUERY, DOCUMENT].concat();
        assert!(!ChatTemplate::read(&without).unwrap().takes_instruction());
        let not_defined = "{{ messages | selectattr('role', 'eq', 'system') | first }}";
        assert_eq!(rendered(&[not_defined, &without].concat(), false).unwrap_err().key, "messages");
    }

    /// As Jinja 3.1 renders them with `trim_blocks` and `lstrip_blocks`.
    #[test]
    fn white_space_around_tags_is_that_of_transformers() {
        let set = "{% set a = 'A' %}";
        for (before, expected) in [
            (vec!["  ", set, "\n  x\n"], "  x\n"),
            (vec!["y  ", set, "\n\n  x"], "y  \n  x"),
            (vec!["y\n\t ", set, " \nx"], "y\n \nx"),
            (vec!["y\n ", "{%- set a = 'A' -%}", "\n \n x"], "yx"),
            (vec!["  {{ 'b' }}\n", set, "c"], "  b\nc"),
            (vec!["  {{- 'b' -}}  \n\n c"], "bc"),
            (vec!["  {# - #}\n {#- - -#} c"], "c"),
            (vec![set, "\n  ", set, "{{ a }}"], "A"),
            (vec![set, "  ", set, "{{ a }}"], "  A"),
            (vec!["a {b} {", "c }}"], "a {b} {c }}"),
        ] {
            let text = [&before.concat(), "!", QUERY, DOCUMENT].concat();
            let expected = [expected, "![q][d]"].concat();
            assert_eq!(rendered(&text, false).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        for (tag, key) in [
            ("{% if messages %}", "if"),
            ("{% for message in messages %}", "for"),
            ("{% set a, b = messages %}", "a"),
            ("{% set messages = 'x' %}", "messages"),
            ("{{ bos_token }}", "bos_token"),
            ("{{ messages }}", "messages"),
            ("{{ messages[0].content }}", "0"),
            ("{{ messages | first }}", "first"),
            ("{{ 'a' | trim }}", "trim"),
            ("{{ 'a' ~ 'b' }}", "~"),
            ("{{ 'a\\n' }}", "'"),
            ("{{ 'a' +}}", "+"),
            ("{{ messages | selectattr('role', 'ne', 'query') | first }}", "selectattr"),
            ("{{ messages | map(attribute='role') | first }}", "map"),
            ("{{ 'a' | default('b', true) }}", ","),
            ("{{ (messages | selectattr('role', 'eq', 'query') | first).role }}", "."),
            ("{{ (messages | selectattr('role', 'eq', 'system') | first).content }}", "."),
            ("{{ ((((((((('a'))))))))) }}", "("),
            ("{# never closed", "n"),
            ("a\r\n", "\\r"),
        ] {
            let text = [tag, QUERY, DOCUMENT].concat();
            let fault = ChatTemplate::read(&text).unwrap_err();
            let never = key == "n";
            assert!(fault.key == key || never && fault.key == "never", "{tag}: {fault:?}");
            assert_eq!(fault.error.kind(), ErrorKind::UnsupportedSetting);
        }
        for text in ["", QUERY, DOCUMENT] {
            assert_eq!(ChatTemplate::read(text).unwrap_err().key, "messages");
        }
    }
}
