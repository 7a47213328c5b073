//! Hashed n-grams as a list of those that the words have.

use std::path::PathBuf;

use super::derivation;
use super::file::WordFile;
use super::policy::Policy;
use crate::error::Result;
use crate::files::mapped_file::MappedFile;
use crate::files::new_file::NewFile;

/// The hashed n-grams of a `.fifu` file on their way to a list of those that its words have. Buckets
/// that no word uses are dropped, which makes most files a good deal smaller; unknown words are then
/// made of n-grams that known words have too.
#[derive(Clone, Debug)]
pub struct ExplicitNgrams {
    input: PathBuf,
    output: PathBuf,
    policy: Policy,
}

/// The number of buckets of a file, and of those that its words use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Buckets {
    /// All of them.
    pub total: u64,
    /// Those that words use.
    pub used: u64,
}

impl ExplicitNgrams {
    /// The n-grams of the `.fifu` file `input` listed in the `.fifu` file `output`.
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
    /// Fails if the input is invalid, its vocabulary has no buckets, or the output cannot be
    /// written.
    pub fn run(&self) -> Result<Buckets> {
        let bytes = MappedFile::open(&self.input)?;
        let opened = WordFile::parse(&self.input, &bytes, self.policy)?;
        let mut file = NewFile::create(&self.output, true)?;
        let name = file.name();
        let [total, used] = derivation::bucket_to_explicit(&opened, (&mut file, &name))?;
        file.commit()?;
        Ok(Buckets { total, used })
    }
}
