//! The template of a reranker: a prompt with places for a question, a text and an instruction.
//!
//! That of a GGUF file has `{query}` and `{document}` for places (`places`). A folder's
//! `chat_template.jinja` is read as transformers renders it, from messages with the roles `query`, `document`
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

mod places;
mod rendering;

use self::rendering::{MESSAGES, Rendering, unsupported};
use super::texts::{ReadText, TextPath};
use crate::error::Result;
use crate::text::json::Read;

/// The file.
pub const CHAT_TEMPLATE: &str = "chat_template.jinja";

/// The language of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateForm {
    /// Jinja, of which some constructs are known.
    Jinja,
    /// `{query}` and `{document}` are places, and all else is text.
    Places,
}

/// The prompt of a reranker, which has been checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChatTemplate<'t> {
    text: &'t str,
    form: TemplateForm,
    takes_instruction: bool,
}

/// The text of a template, which has not been checked: builds that render none only see that it is
/// there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemplateText<'t> {
    pub(in crate::describe) path: TextPath<'t>,
    pub(in crate::describe) text: &'t str,
    pub(in crate::describe) form: TemplateForm,
}

impl<'t> TemplateText<'t> {
    /// The template.
    ///
    /// # Errors
    ///
    /// As [`ChatTemplate::read`].
    pub fn checked(&self) -> ReadText<'t, ChatTemplate<'t>> {
        ChatTemplate::read(self.text, self.form).map_err(|fault| self.path.fault(fault))
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
    /// [`UnsupportedSetting`](crate::ErrorKind::UnsupportedSetting) at a construct that is not known,
    /// and for a template that does not show both the question and the text.
    pub fn read(text: &'t str, form: TemplateForm) -> Read<'t, Self> {
        let mut takes_instruction = false;
        for has_instruction in [true, false] {
            let mut shown = [false; 2];
            run(text, form, has_instruction, &mut |part| {
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
        Ok(Self { text, form, takes_instruction })
    }

    /// The text of the file.
    #[must_use]
    pub const fn text(&self) -> &'t str {
        self.text
    }

    /// The language of the template.
    #[must_use]
    pub const fn form(&self) -> TemplateForm {
        self.form
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
    pub fn each(
        text: &'t str,
        form: TemplateForm,
        has_instruction: bool,
        put: PutPart<'_, 't>,
    ) -> Result<()> {
        run(text, form, has_instruction, put).map_err(|fault| fault.error)
    }
}

fn run<'t>(
    text: &'t str,
    form: TemplateForm,
    has_instruction: bool,
    put: PutPart<'_, 't>,
) -> Read<'t, ()> {
    match form {
        TemplateForm::Jinja => Rendering::new(text, has_instruction).run(put),
        TemplateForm::Places => places::run(text, put),
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::String;
    use std::vec;

    use super::*;
    use crate::error::ErrorKind;
    use crate::text::json::Fault;

    fn rendered(text: &str, has_instruction: bool) -> Read<'_, String> {
        rendered_as(TemplateForm::Jinja, text, has_instruction)
    }

    fn rendered_as(form: TemplateForm, text: &str, has_instruction: bool) -> Read<'_, String> {
        let mut out = String::new();
        ChatTemplate::read(text, form)?;
        let put = &mut |part: TemplatePart<'_>| {
            out.push_str(match part {
                TemplatePart::Text(text) => text,
                TemplatePart::Query => "[q]",
                TemplatePart::Document => "[d]",
                TemplatePart::Instruction => "[i]",
            });
            Ok(())
        };
        ChatTemplate::each(text, form, has_instruction, put).map_err(Fault::from_error)?;
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
        assert!(ChatTemplate::read(&text, TemplateForm::Jinja).unwrap().takes_instruction());
        let without = [QUERY, DOCUMENT].concat();
        assert!(!ChatTemplate::read(&without, TemplateForm::Jinja).unwrap().takes_instruction());
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
    fn places_of_gguf_files_are_filled_and_all_else_is_text() {
        let text = "{{ a }}{{query}}\r\n{document}{docu{query\n";
        let filled = rendered_as(TemplateForm::Places, text, true).unwrap();
        assert_eq!(filled, "{{ a }}{[q]}\r\n[d]{docu{query\n");
        for text in ["", "{query}", "{document}", "{ query }{document}"] {
            let fault = ChatTemplate::read(text, TemplateForm::Places).unwrap_err();
            assert_eq!(fault.key, "messages");
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
            let fault = ChatTemplate::read(&text, TemplateForm::Jinja).unwrap_err();
            let never = key == "n";
            assert!(fault.key == key || never && fault.key == "never", "{tag}: {fault:?}");
            assert_eq!(fault.error.kind(), ErrorKind::UnsupportedSetting);
        }
        for text in ["", QUERY, DOCUMENT] {
            assert_eq!(ChatTemplate::read(text, TemplateForm::Jinja).unwrap_err().key, "messages");
        }
    }
}
