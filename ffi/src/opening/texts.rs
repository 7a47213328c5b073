//! The texts of a folder in an `.amb` file, in scratch memory.

use nanoembed_core::event::Format;
use nanoembed_core::format::amb::Amb;
use nanoembed_core::format::sniff;
use nanoembed_core::source::{AmbFolder, FolderFile, ModelSource};

use super::scratch::PassMemory;
use crate::memory::Sum;
use crate::memory_file;
use crate::source::Bytes;
use crate::status::Outcome;

/// The `.amb` file in memory, if it keeps the texts of a folder.
fn amb(source: &Bytes) -> Outcome<Option<Amb<'static>>> {
    let Some(bytes) = source.memory().filter(|it| sniff(it) == Some(Format::Amb)) else {
        return Ok(None);
    };
    let amb = memory_file::amb(bytes)?;
    let has_texts = ModelSource::Amb(amb).has_folder_texts();
    Ok(Some(amb).filter(|_| has_texts))
}

/// Adds what the texts of a file take, if it is one.
#[inline(never)] // so that reading the file has its stack to itself
pub(super) fn add_bytes(source: &Bytes, sum: &mut Sum) -> Outcome {
    // What is wrong with it is said when it is read.
    let Ok(Some(amb)) = amb(source) else { return Ok(()) };
    sum.add::<u8>(AmbFolder::bytes_needed(&amb).unwrap_or_default())
}

/// The file with its texts, if it is one.
#[inline(never)] // as before
pub(super) fn amb_folder(
    source: &Bytes,
    memory: &mut PassMemory,
) -> Outcome<Option<FolderFile<'static>>> {
    let Some(amb) = amb(source)? else { return Ok(None) };
    let texts = memory.rest.filled(AmbFolder::bytes_needed(&amb)?, 0)?;
    Ok(Some(AmbFolder::open(amb, texts)?.into()))
}
