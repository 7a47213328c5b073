//! The prompt of a workspace in lent memory.

use nanoembed_core::describe::folder::{FolderPrompt, FolderPrompts};
use nanoembed_core::text::json::unescape;

use crate::leaf::{self, Part};
use crate::memory::LentSlice;
use crate::status::{Outcome, invalid, too_small};

/// The least memory for a prompt, in bytes.
pub(crate) const LEAST: usize = 256;

/// A request for one of the model's prompts, or for a text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Chosen<'t> {
    Own(FolderPrompt<'t>),
    Text(&'t str),
}

impl Chosen<'_> {
    pub(crate) const USUAL: Self = Self::Own(FolderPrompt::Usual);

    /// Writes the prompt into `room`, and answers its length.
    pub(crate) fn write(&self, prompts: &FolderPrompts<'_>, room: &mut [u8]) -> Outcome<usize> {
        let text = match *self {
            Self::Own(wanted) => {
                let spelled = prompts.choose(wanted).ok_or(invalid("prompt"))?;
                return Ok(unescape(spelled, room).ok_or(too_small(spelled.len()))?.len());
            }
            Self::Text(text) => text,
        };
        let place = room.get_mut(..text.len()).ok_or(too_small(text.len()))?;
        place.iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from);
        Ok(text.len())
    }
}

/// The prompt before the texts of a workspace; BERT and static models have none.
#[derive(Debug)]
pub(crate) struct Prompt(Option<Part<leaf::Families, PromptText>>);

#[derive(Debug)]
struct PromptText {
    room: LentSlice<u8>,
    length: usize,
    /// First tokens of a text after it that are left out of pooling.
    skipped: usize,
}

impl Prompt {
    pub(crate) fn new(room: &'static mut [u8]) -> Self {
        let text = PromptText { room: LentSlice(room), length: 0, skipped: 0 };
        Self(leaf::Families::built_in().ok().map(|leaf| Part::new(leaf, text)))
    }

    pub(crate) fn text(&self) -> &str {
        let Some(text) = &self.0 else { return "" };
        let bytes = text.room.0.get(..text.length).unwrap_or_default();
        core::str::from_utf8(bytes).unwrap_or_default()
    }

    pub(crate) fn skipped(&self) -> usize {
        self.0.as_ref().map_or(0, |text| text.skipped)
    }

    /// Takes another prompt, of which no tokens are left out.
    pub(crate) fn choose(&mut self, prompts: &FolderPrompts<'_>, chosen: Chosen<'_>) -> Outcome {
        let text = self.0.as_mut().ok_or(invalid("prompt"))?;
        // After one that is refused there is none.
        (text.length, text.skipped) = (0, 0);
        text.length = chosen.write(prompts, text.room.0)?;
        Ok(())
    }

    pub(crate) fn skip(&mut self, tokens: usize) {
        if let Some(text) = &mut self.0 {
            text.skipped = tokens;
        }
    }
}
