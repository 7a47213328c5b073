//! A `.fifu` file opened for lookup.

use std::path::Path;

use nanoembed_core::event::{Event, Mode};
use nanoembed_core::format::finalfusion::{
    Finalfusion, FinalfusionDecoder, FinalfusionLayout, MAX_ITEM_BYTES,
};
use nanoembed_core::read::{ReadAt, Seek};
use nanoembed_core::words::{Index, IndexOptions, Memory, Source, Stored, Words};
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use super::policy::Policy;
use crate::error::{Error, Result, name_of};
use crate::files::mapped_file::MappedFile;
use crate::files::on_disk::OnDisk;
use crate::signature::foreign;

/// Words of a mapped file with an index.
pub type Indexed<'b> = Words<Memory<'b>, Vec<u64>>;

/// Words of a file that is read where it is needed.
pub type ScannedOnDisk<'d> = Words<Stored<&'d OnDisk>>;

/// A file in memory, its structure checked.
pub struct WordFile<'b> {
    pub name: String,
    pub file: Finalfusion<'b>,
    policy: Policy,
}

impl<'b> WordFile<'b> {
    /// Checks the structure of the file at `path`, whose bytes are these.
    pub fn parse(path: &Path, bytes: &'b MappedFile, policy: Policy) -> Result<Self> {
        Self::new(name_of(path), bytes, policy)
    }

    /// Checks the structure of the file called `name`, whose bytes are these.
    pub(super) fn new(name: String, bytes: &'b [u8], policy: Policy) -> Result<Self> {
        let decoder = FinalfusionDecoder::new(Mode::Lenient).broken_utf8(policy.core_utf8());
        match Finalfusion::parse_with(decoder, bytes) {
            Ok(file) => Ok(Self { name, file, policy }),
            Err(error) => Err(foreign::failure(name, bytes, error)),
        }
    }

    pub fn failure(&self, error: CoreError) -> Error {
        Error::in_file(&self.name, error)
    }

    /// The error of looking up this word.
    pub fn failure_of(&self, word: &str, error: CoreError) -> Error {
        failure_of_word(&self.name, word, error)
    }

    /// The words, found by looking through them.
    pub fn scanned(&self) -> Words<Memory<'b>> {
        Words::scan(Memory(self.file.bytes()), *self.file.layout())
    }

    /// The words with an index of them.
    pub fn indexed(&self) -> Result<Indexed<'b>> {
        let source = Memory(self.file.bytes());
        let layout = *self.file.layout();
        let index = index(&source, &layout, self.policy, &mut []).map_err(|e| self.failure(e))?;
        Ok(Words::with_index(source, layout, index))
    }
}

/// The error of looking up a word in the file called `name`.
pub fn failure_of_word(name: &str, word: &str, error: CoreError) -> Error {
    if error.kind() != ErrorKind::InvalidArgument {
        return Error::in_file(name, error);
    }
    let start: String = word.chars().take(20).collect();
    let message = format!(
        "the word {start:?}… of {} bytes is too long for as many n-grams as the file wants",
        word.len()
    );
    Error::input(ErrorKind::InvalidArgument, message).at(name)
}

fn index(
    source: &impl Source,
    layout: &FinalfusionLayout,
    policy: Policy,
    scratch: &mut [u8],
) -> Result<Index<Vec<u64>>, CoreError> {
    use std::hash::{BuildHasher, RandomState};
    let needed = Index::memory_needed(layout);
    let needed = needed.ok_or(CoreError::without_offset(ErrorKind::BufferTooSmall))?;
    // Every word has four bytes at least in the file, so this is bounded by the file's size.
    let seed = RandomState::new().hash_one(0);
    let options = IndexOptions { seed, duplicates: policy.core_duplicates() };
    Index::build(source, layout, options, limit::filled(needed, 0)?, scratch)
}

impl OnDisk {
    /// Reads everything but the vectors, once, through a small window; on the way the rows of
    /// `wanted` are found, the first of words that stand there twice.
    pub fn words(
        &self,
        wanted: &[String],
        policy: Policy,
    ) -> Result<(ScannedOnDisk<'_>, Vec<Option<u32>>), CoreError> {
        let decoder = FinalfusionDecoder::new(Mode::Lenient).broken_utf8(policy.core_utf8());
        let whole = usize::try_from(self.len()).unwrap_or(usize::MAX);
        let mut buffer = limit::filled(MAX_ITEM_BYTES.min(whole), 0)?;
        let mut seek = Seek::new(self, decoder, &mut buffer).without_data();
        let mut rows = limit::filled(wanted.len(), None)?;
        let mut on_event = |event: Event<'_>| {
            if let Event::Token { id, bytes } = event {
                for (word, row) in wanted.iter().zip(&mut rows) {
                    if row.is_none() && word.as_bytes() == bytes {
                        *row = Some(id);
                    }
                }
            }
            Ok(())
        };
        while seek.next_event(&mut on_event)? {}
        let layout = seek.decoder().layout().ok_or(CoreError::new(0, ErrorKind::UnexpectedEnd))?;
        Ok((Words::scan(Stored(self), layout), rows))
    }
}
