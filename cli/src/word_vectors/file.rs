//! A `.fifu` file opened for lookup.

use std::path::Path;

use nanoembed_core::event::{Event, Mode};
use nanoembed_core::format::finalfusion::{Decoder, Finalfusion, Layout, MAX_ITEM_BYTES};
use nanoembed_core::read::{ReadAt, Seek};
use nanoembed_core::words::{Index, IndexOptions, Memory, Source, Stored, Words};
use nanoembed_core::{Error, ErrorKind};

use super::policy::PolicyArgs;
use crate::error::{Failure, Result, name_of};
use crate::foreign;
use crate::mapped::Mapped;
use crate::on_disk::OnDisk;

/// Words of a mapped file with an index.
pub(crate) type Indexed<'b> = Words<Memory<'b>, Vec<u64>>;

/// Words of a file that is read where it is needed.
pub(crate) type ScannedOnDisk<'d> = Words<Stored<&'d OnDisk>>;

/// A file in memory, its structure checked.
pub(crate) struct Opened<'b> {
    pub(crate) name: String,
    pub(crate) file: Finalfusion<'b>,
    policy: PolicyArgs,
}

impl<'b> Opened<'b> {
    /// Checks the structure of the file at `path`, whose bytes are these.
    pub(crate) fn parse(path: &Path, bytes: &'b Mapped, policy: PolicyArgs) -> Result<Self> {
        let name = name_of(path);
        let decoder = Decoder::new(Mode::Lenient).broken_utf8(policy.core_utf8());
        match Finalfusion::parse_with(decoder, bytes) {
            Ok(file) => Ok(Self { name, file, policy }),
            Err(error) => Err(foreign::failure(name, bytes, error)),
        }
    }

    pub(crate) fn failure(&self, error: Error) -> Failure {
        Failure::of_file(&self.name, error)
    }

    /// What went wrong with this word.
    pub(crate) fn failure_of(&self, word: &str, error: Error) -> Failure {
        failure_of_word(&self.name, word, error)
    }

    /// The words, found by looking through them.
    pub(crate) fn scanned(&self) -> Words<Memory<'b>> {
        Words::scan(Memory(self.file.bytes()), *self.file.layout())
    }

    /// The words with an index of them.
    pub(crate) fn indexed(&self) -> Result<Indexed<'b>> {
        let source = Memory(self.file.bytes());
        let layout = *self.file.layout();
        let index = index(&source, &layout, self.policy, &mut []).map_err(|e| self.failure(e))?;
        Ok(Words::with_index(source, layout, index))
    }
}

/// What went wrong with a word that was looked up in the file called `name`.
pub(crate) fn failure_of_word(name: &str, word: &str, error: Error) -> Failure {
    if error.kind != ErrorKind::InvalidArgument {
        return Failure::of_file(name, error);
    }
    let start: String = word.chars().take(20).collect();
    let message = format!(
        "the word {start:?}… of {} bytes is too long for as many n-grams as the file wants",
        word.len()
    );
    Failure::input(ErrorKind::InvalidArgument, message).at(name)
}

fn index(
    source: &impl Source,
    layout: &Layout,
    policy: PolicyArgs,
    scratch: &mut [u8],
) -> Result<Index<Vec<u64>>, Error> {
    use std::hash::{BuildHasher, RandomState};
    let needed = Index::memory_needed(layout);
    let needed = needed.ok_or(Error::without_offset(ErrorKind::BufferTooSmall))?;
    // Every word has four bytes at least in the file, so this is bounded by the file's size.
    let seed = RandomState::new().hash_one(0);
    let options = IndexOptions { seed, duplicates: policy.core_duplicates() };
    Index::build(source, layout, options, vec![0; needed], scratch)
}

impl OnDisk {
    /// Reads everything but the vectors, once, through a small window; on the way the rows of
    /// `wanted` are found, the first of words that stand there twice.
    pub(crate) fn words(
        &self,
        wanted: &[String],
        policy: PolicyArgs,
    ) -> Result<(ScannedOnDisk<'_>, Vec<Option<u32>>), Error> {
        let decoder = Decoder::new(Mode::Lenient).broken_utf8(policy.core_utf8());
        let whole = usize::try_from(self.len()).unwrap_or(usize::MAX);
        let mut buffer = vec![0; MAX_ITEM_BYTES.min(whole)];
        let mut seek = Seek::new(self, decoder, &mut buffer).without_data();
        let mut rows = vec![None; wanted.len()];
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
        let layout = seek.decoder().layout().ok_or(Error::new(0, ErrorKind::UnexpectedEnd))?;
        Ok((Words::scan(Stored(self), layout), rows))
    }
}
