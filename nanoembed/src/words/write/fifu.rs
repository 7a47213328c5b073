//! `.fifu` files by the core's writer.

use std::borrow::Borrow;
use std::cell::Cell;
use std::io::{self, Write};

use nanoembed_core::format::finalfusion::{FinalfusionPlan, FinalfusionWriter};
use nanoembed_core::sink::Sink;
use nanoembed_core::subword::{Bracket, Subwords, WordVocabulary};
use nanoembed_core::{Error as CoreError, ErrorKind};

use crate::error::{Error, Result};

/// The core's writer over a file of this program.
pub type FifuWriter<'w> = FinalfusionWriter<'w, ToFile<'w>>;

/// Takes the bytes that the core writes, and keeps the error that stopped it.
pub struct ToFile<'f> {
    file: &'f mut dyn Write,
    failed: &'f Cell<Option<io::Error>>,
}

impl Sink for ToFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), CoreError> {
        self.file.write_all(bytes).map_err(|error| {
            self.failed.set(Some(error));
            CoreError::without_offset(ErrorKind::WriteFailed)
        })
    }
}

/// An error that stops the writing of a file: the core's, or that of its content's source.
pub enum Stop {
    Core(CoreError),
    Content(Error),
    Spool(io::Error),
}

impl From<CoreError> for Stop {
    fn from(error: CoreError) -> Self {
        Self::Core(error)
    }
}

impl From<Error> for Stop {
    fn from(failure: Error) -> Self {
        Self::Content(failure)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Spool(error)
    }
}

/// Writes one file called `name`: `body` gives words, n-grams and data to the writer.
pub fn write(
    plan: FinalfusionPlan<'_>,
    (file, name): (&mut dyn Write, &str),
    body: impl FnOnce(&mut FifuWriter<'_>) -> Result<(), Stop>,
) -> Result<()> {
    let failed = Cell::new(None);
    let written = write_to(plan, ToFile { file, failed: &failed }, body);
    written.map_err(|stop| match (stop, failed.take()) {
        (_, Some(error)) | (Stop::Spool(error), None) => Error::writing(name, &error),
        (Stop::Core(error), None) => Error::in_file(name, error),
        (Stop::Content(failure), None) => failure,
    })
}

fn write_to<'w>(
    plan: FinalfusionPlan<'w>,
    sink: ToFile<'w>,
    body: impl FnOnce(&mut FifuWriter<'w>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let mut writer = FinalfusionWriter::new(plan, sink)?;
    body(&mut writer)?;
    writer.finish()?;
    Ok(())
}

/// Writes numbers, little-endian.
pub fn floats(
    writer: &mut FifuWriter<'_>,
    numbers: impl IntoIterator<Item: Borrow<f32>>,
) -> Result<(), CoreError> {
    let mut piece = [[0; 4]; 256];
    let mut numbers = numbers.into_iter();
    loop {
        let mut count = 0;
        for (to, number) in piece.iter_mut().zip(&mut numbers) {
            *to = number.borrow().to_le_bytes();
            count += 1;
        }
        match &piece[..count] {
            [] => return Ok(()),
            piece => writer.data(piece.as_flattened())?,
        }
    }
}

/// A vocabulary of words only.
pub const fn simple(words: u32) -> WordVocabulary {
    WordVocabulary {
        words,
        subwords: Subwords::None,
        min_n: 0,
        max_n: 0,
        begin: Bracket::BEGIN,
        end: Bracket::END,
    }
}
