//! The prompt of a workspace in lent memory.

#[cfg(feature = "families")]
use nanoembed_core::describe::folder::{FolderPrompt, FolderPrompts};
#[cfg(feature = "families")]
use nanoembed_core::text::json::unescape;

#[cfg(feature = "families")]
use crate::memory::LentSlice;
#[cfg(feature = "families")]
use crate::status::{Outcome, invalid, too_small};

/// The least memory for a prompt, in bytes.
#[cfg(feature = "families")]
pub(crate) const LEAST: usize = 256;

/// A request for one of the model's prompts, or for a text.
#[cfg(feature = "families")]
#[derive(Clone, Copy, Debug)]
pub(crate) enum Chosen<'t> {
    Own(FolderPrompt<'t>),
    Text(&'t str),
}

#[cfg(feature = "families")]
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

/// The prompt before the texts of a workspace.
#[cfg(feature = "families")]
#[derive(Debug)]
pub(crate) struct Prompt {
    room: LentSlice<u8>,
    length: usize,
    /// First tokens of a text behind it that are left out of pooling.
    skipped: usize,
}

#[cfg(feature = "families")]
impl Prompt {
    pub(crate) const fn new(room: &'static mut [u8]) -> Self {
        Self { room: LentSlice(room), length: 0, skipped: 0 }
    }

    pub(crate) fn text(&self) -> &str {
        let bytes = self.room.0.get(..self.length).unwrap_or_default();
        core::str::from_utf8(bytes).unwrap_or_default()
    }

    pub(crate) const fn skipped(&self) -> usize {
        self.skipped
    }

    /// Takes another prompt, of which no tokens are left out.
    pub(crate) fn choose(&mut self, prompts: &FolderPrompts<'_>, chosen: Chosen<'_>) -> Outcome {
        // One that is refused leaves none behind.
        (self.length, self.skipped) = (0, 0);
        self.length = chosen.write(prompts, self.room.0)?;
        Ok(())
    }

    pub(crate) const fn skip(&mut self, tokens: usize) {
        self.skipped = tokens;
    }
}

/// No prompt: the models of this build have none.
#[cfg(not(feature = "families"))]
#[derive(Debug)]
pub(crate) struct Prompt;

#[cfg(not(feature = "families"))]
impl Prompt {
    pub(crate) const fn new(_: &[u8]) -> Self {
        Self
    }

    pub(crate) const fn skipped(&self) -> usize {
        0
    }
}
