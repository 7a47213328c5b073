//! Static models: a table with a vector for each token.

use alloc::string::String;
use alloc::vec::Vec;

use nanoembed_core::owned::{Prompt, TableFile, Tokenized};

use super::EncoderModel;
use super::before::Before;
use super::prompted::{Prompted, lacks};
use super::waiting::Waiting;
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

    fn embed(&mut self, texts: &Waiting, _: usize, _: bool, out: &mut [f32]) -> Result<()> {
        Ok(TableFile::embed(self, &texts.ids, &texts.lengths, out)?)
    }
}

impl Prompted for TableFile<Vec<u8>> {
    fn choose(&self, before: Before, text: String) -> Result<String> {
        match before {
            Before::Text => Ok(text),
            Before::Named => Err(lacks(&[], &["no prompt \"", &text, "\""])),
            _ => Ok(String::new()),
        }
    }

    fn prompt(&mut self, prompt: &str) -> Result<Prompt> {
        Ok(Prompt::pooled(prompt)?)
    }
}
