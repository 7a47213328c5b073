//! The prompt of a reranker that is a causal model.

use alloc::string::String;

use crate::describe::folder::{ChatTemplate, TemplateForm, TemplatePart};
use crate::error::Result;
use crate::limit::{copied, write};

/// A chat template that makes one text of a question, a text and an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairTemplate {
    text: String,
    form: TemplateForm,
    takes_instruction: bool,
}

/// The texts that a template makes one text of.
#[derive(Clone, Copy, Debug)]
pub(in crate::owned) struct Filled<'t> {
    /// An empty one stands for the template's own.
    pub(in crate::owned) instruction: &'t str,
    pub(in crate::owned) query: &'t str,
    pub(in crate::owned) document: &'t str,
}

impl PairTemplate {
    /// A copy of `template`.
    pub(super) fn from_described(template: &ChatTemplate<'_>) -> Result<Self> {
        let (form, takes_instruction) = (template.form(), template.takes_instruction());
        Ok(Self { text: copied(template.text())?, form, takes_instruction })
    }

    /// A copy of the template.
    pub(in crate::owned) fn copy(&self) -> Result<Self> {
        Ok(Self { text: copied(&self.text)?, ..*self })
    }

    /// Returns true if the template has a place for an instruction.
    #[must_use]
    pub const fn takes_instruction(&self) -> bool {
        self.takes_instruction
    }

    /// The text that the template makes of these.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](crate::ErrorKind::NoMemory).
    pub(in crate::owned) fn render(&self, texts: &Filled<'_>) -> Result<String> {
        let Filled { instruction, query, document } = *texts;
        let mut rendered = String::new();
        ChatTemplate::each(&self.text, self.form, !instruction.is_empty(), &mut |part| {
            let part = match part {
                TemplatePart::Text(text) => text,
                TemplatePart::Query => query,
                TemplatePart::Document => document,
                TemplatePart::Instruction => instruction,
            };
            write(&mut rendered, part)
        })?;
        Ok(rendered)
    }
}
