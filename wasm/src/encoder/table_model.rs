//! Static models: a table with a vector for each token.

use alloc::string::String;
use alloc::vec::Vec;

use nanoembed_core::owned::{Prompt, TableFile, Tokenized};

use super::EncoderModel;
use super::prompt_choice::PromptChoice;
use super::prompting::{Prompting, lacks};
use super::text_queue::TextQueue;
use crate::failure::Result;

impl EncoderModel for TableFile<Vec<u8>> {
    fn dims(&self) -> usize {
        self.dimensions()
    }

    fn max_tokens(&self) -> usize {
        self.usual_tokens()
    }

    fn positions(&self) -> usize {
        TableFile::positions(self)
    }

    fn tokenize(&mut self, text: &str, limit: usize) -> Result<Tokenized> {
        Ok(TableFile::tokenize(self, text, limit)?)
    }

    fn embed(&mut self, texts: &TextQueue, _: usize, _: bool, out: &mut [f32]) -> Result<()> {
        Ok(TableFile::embed(self, &texts.ids, &texts.lengths, out)?)
    }
}

impl Prompting for TableFile<Vec<u8>> {
    fn choose(&self, choice: PromptChoice, text: String) -> Result<String> {
        match choice {
            PromptChoice::Text => Ok(text),
            PromptChoice::Named => Err(lacks(&[], &["no prompt \"", &text, "\""])),
            _ => Ok(String::new()),
        }
    }

    fn prompt(&mut self, prompt: &str) -> Result<Prompt> {
        Ok(Prompt::pooled(prompt)?)
    }
}
