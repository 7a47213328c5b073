//! Encoders in `.weights` and `.amb` files, in less code.

use alloc::string::String;
use alloc::vec::Vec;

use nanoembed_core::describe::folder::FolderPrompt;
use nanoembed_core::owned::{EncoderFile, EncoderRoom, Prompt, TextRoom, Tokenized};
use self_cell::{MutBorrow, self_cell};

use super::EncoderModel;
use super::handle::{Handle, handle};
use super::prompt_choice::PromptChoice;
use super::prompting::{Prompting, lacks};
use super::sessions::{Sessions, precise};
use super::text_queue::TextQueue;
use crate::failure::Result;

/// An encoder over its file.
pub(crate) struct FileModel {
    model: Handle<OpenedFile>,
    texts: TextRoom,
    sessions: Sessions,
}

pub(crate) struct Memory {
    file: Vec<u8>,
    room: MutBorrow<EncoderRoom>,
}

self_cell!(
    pub(crate) struct OpenedFile {
        owner: Memory,
        #[covariant]
        dependent: EncoderFile,
    }
);

impl FileModel {
    /// The model in a file.
    pub(crate) fn open(file: Vec<u8>) -> Result<Self> {
        let room = MutBorrow::new(EncoderRoom::default());
        let opened = OpenedFile::try_new(Memory { file, room }, |Memory { file, room }| {
            EncoderFile::open(file, room.borrow_mut()).map_err(|fault| fault.error)
        })?;
        Ok(Self::new(handle(opened)))
    }

    pub(crate) fn new(model: Handle<OpenedFile>) -> Self {
        Self { model, texts: TextRoom::default(), sessions: Sessions::default() }
    }

    #[cfg(feature = "shared")]
    pub(crate) const fn handle(&self) -> &Handle<OpenedFile> {
        &self.model
    }
}

impl EncoderModel for FileModel {
    fn dims(&self) -> usize {
        self.model.borrow_dependent().dimensions()
    }

    fn max_tokens(&self) -> usize {
        self.model.borrow_dependent().usual_tokens()
    }

    fn positions(&self) -> usize {
        self.model.borrow_dependent().positions()
    }

    fn tokenize(&mut self, text: &str, limit: usize) -> Result<Tokenized> {
        Ok(self.model.borrow_dependent().encode(text, limit, &mut self.texts)?)
    }

    fn embed(
        &mut self,
        texts: &TextQueue,
        skipped: usize,
        is_precise: bool,
        out: &mut [f32],
    ) -> Result<()> {
        let (model, TextQueue { ids, lengths }) = (self.model.borrow_dependent(), texts);
        Ok(self.sessions.with(
            precise(model.plan(texts.tokens()), is_precise),
            |plan| model.session_for(plan),
            |session| model.embed(session, ids, lengths, skipped, out),
        )?)
    }
}

impl Prompting for FileModel {
    fn prompts(&self) -> Vec<String> {
        self.model.borrow_dependent().prompts()
    }

    fn choose(&self, choice: PromptChoice, text: String) -> Result<String> {
        let model = self.model.borrow_dependent();
        let chosen = match choice {
            PromptChoice::Usual => model.named_prompt(FolderPrompt::Usual),
            PromptChoice::Text => return Ok(text),
            PromptChoice::Named => model.named_prompt(FolderPrompt::Named(&text)),
            PromptChoice::Query => model.named_prompt(FolderPrompt::Query),
            PromptChoice::Document => model.named_prompt(FolderPrompt::Document),
        };
        chosen.ok_or_else(|| lacks(&self.prompts(), &["no prompt \"", &text, "\""]))
    }

    fn prompt(&mut self, prompt: &str) -> Result<Prompt> {
        Ok(self.model.borrow_dependent().prompt(prompt, &mut self.texts)?)
    }
}
