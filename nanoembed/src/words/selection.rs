//! A `.fifu` file of words that are chosen one by one.

use std::io::Write;
use std::path::Path;

use nanoembed_core::format::finalfusion::FinalfusionPlan;
use nanoembed_core::limit;
use nanoembed_core::subword::WordVocabulary;

use super::vocabulary::{NotAdded, WordList};
use super::write::fifu::{self, simple};
use super::write::spool::RowSpool;
use crate::error::{Error, Result, name_of};

/// Words with their vectors, which wait in a file.
pub struct Selected {
    words: WordList,
    norms: Vec<f32>,
    spool: RowSpool,
    name: String,
}

impl Selected {
    /// No words yet; their vectors wait in the folder of `output`.
    pub fn beside(output: &Path) -> Result<Self> {
        let name = name_of(output);
        let spool = RowSpool::beside(output).map_err(|error| Error::writing(&name, &error))?;
        Ok(Self { words: WordList::default(), norms: Vec::new(), spool, name })
    }

    /// Adds a word unless it is there.
    pub fn push(&mut self, word: &str, vector: &[f32], norm: f32) -> Result<()> {
        let failed = |error| Error::in_file(&self.name, error);
        match self.words.insert(word.as_bytes()) {
            Ok(_) => limit::push(&mut self.norms, norm).map_err(failed)?,
            Err(NotAdded::Failed(error)) => return Err(failed(error)),
            Err(NotAdded::Known(_) | NotAdded::Full) => return Ok(()),
        }
        self.spool.push(vector).map_err(|error| Error::writing(&self.name, &error))
    }

    /// The number of words.
    pub fn count(&self) -> u32 {
        self.words.len()
    }

    pub fn word_bytes(&self) -> u64 {
        self.words.bytes()
    }

    pub fn vocabulary(&self) -> WordVocabulary {
        simple(self.words.len())
    }

    /// Writes the file.
    pub fn write(self, plan: FinalfusionPlan<'_>, to: (&mut dyn Write, &str)) -> Result<()> {
        let Self { words, norms, spool, .. } = self;
        fifu::write(plan, to, |writer| {
            words.iter().try_for_each(|word| writer.word(word))?;
            spool.replay(|bytes| Ok(writer.data(bytes)?))?;
            Ok(fifu::floats(writer, &norms)?)
        })
    }
}
