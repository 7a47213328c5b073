//! A product-quantised `.fifu` file as one of plain vectors.

use std::path::PathBuf;

use nanoembed_core::format::finalfusion::Storage;

use super::derivation;
use super::file::WordFile;
use super::policy::Policy;
use crate::error::{Error, Result};
use crate::files::mapped_file::MappedFile;
use crate::files::new_file::NewFile;
use crate::progress::{Observer, Progress};

/// The codes of a product-quantised `.fifu` file on their way back to vectors. Words, n-grams,
/// metadata and lengths stay.
#[derive(Clone, Debug)]
pub struct Reconstruction {
    input: PathBuf,
    output: PathBuf,
    policy: Policy,
}

impl Reconstruction {
    /// A reconstruction of the `.fifu` file `input` in the `.fifu` file `output`.
    pub fn new(input: impl Into<PathBuf>, output: impl Into<PathBuf>) -> Self {
        Self { input: input.into(), output: output.into(), policy: Policy::default() }
    }

    /// The policy for words that the file gets wrong.
    #[must_use]
    pub const fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Writes the output.
    ///
    /// # Errors
    ///
    /// Fails if the input is invalid, its vectors are not quantised, or the output cannot be
    /// written.
    pub fn run(&self, observer: &dyn Observer) -> Result<()> {
        let bytes = MappedFile::open(&self.input)?;
        let opened = WordFile::parse(&self.input, &bytes, self.policy)?;
        let storage = &opened.file.layout().storage;
        if matches!(storage, Storage::Array(_)) {
            return Err(Error::bad_input("the vectors are not quantised").at(&opened.name));
        }
        let mut file = NewFile::create(&self.output, true)?;
        let name = file.name();
        let row_bytes = u64::from(storage.cols()) * 4;
        let total = storage.rows().saturating_mul(row_bytes);
        let progress = Progress::bytes(observer, "reconstructing", total);
        derivation::reconstruct(&opened, (&mut file, &name), || progress.advance(row_bytes))?;
        drop(progress);
        file.commit()
    }
}
