//! Static models: a table with a vector for each token.

#[cfg(feature = "encoders")]
use alloc::string::String;
use alloc::vec::Vec;

#[cfg(feature = "encoders")]
use nanoembed_core::owned::Prompt;
use nanoembed_core::owned::{TableFile, Tokenized};

#[cfg(feature = "encoders")]
use crate::before::Before;
use crate::encoder_model::EncoderModel;
#[cfg(feature = "encoders")]
use crate::encoder_model::lacks;
use crate::failure::Result;
use crate::waiting::Waiting;

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

    #[cfg(feature = "encoders")]
    fn choose(&self, before: Before, text: String) -> Result<String> {
        match before {
            Before::Text => Ok(text),
            Before::Named => Err(lacks(&[], &["no prompt \"", &text, "\""])),
            _ => Ok(String::new()),
        }
    }

    #[cfg(feature = "encoders")]
    fn prompt(&mut self, prompt: &str) -> Result<Prompt> {
        Ok(Prompt::pooled(prompt)?)
    }
}
