//! Word vectors, ready to be looked up.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use nanoembed_core::limit;
use nanoembed_core::words::Scored;

use super::convert::{WordOptions, as_finalfusion};
use super::file::{Indexed, WordFile};
use super::nearest::Nearest;
use super::policy::{Policy, lossy};
use super::read::start::Start;
use super::similar::{analogous, no_vector, similar};
use crate::bytes::Bytes;
use crate::error::{Result, name_of};
use crate::files::literal;
use crate::limits::Limits;
use crate::progress::Silent;
use crate::signature::word_form::Form;

/// Word vectors with an index of their words. Clones share them.
///
/// ```
/// let words = nanoembed::Words::open("../ffi/tests/data/words.fifu")?;
/// for neighbour in words.similar("computer", 3)? {
///     println!("{:.3}  {}", neighbour.similarity, neighbour.word);
/// }
/// # Ok::<(), nanoembed::Error>(())
/// ```
#[derive(Clone)]
pub struct Words(Arc<Inner>);

struct Inner {
    // Declared before `_bytes`, which they borrow from.
    opened: WordFile<'static>,
    indexed: Indexed<'static>,
    _bytes: Bytes,
}

/// A word that is near another.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Neighbour {
    /// The word; invalid UTF-8 in it is replaced by U+FFFD.
    pub word: String,
    /// The cosine of the angle between both vectors.
    pub similarity: f32,
}

impl Words {
    /// Opens a file of word vectors: finalfusion as it is; word2vec, text (GloVe), fastText and
    /// floret through a temporary file.
    ///
    /// # Errors
    ///
    /// Fails if the file is invalid or cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::options().open(path)
    }

    /// Word vectors in memory: the bytes of a file of any form that [`open`](Self::open) takes.
    ///
    /// ```
    /// let text = "king 0.5 0.1\nqueen 0.4 0.2\n";
    /// let words = nanoembed::Words::from_bytes(text.as_bytes())?;
    /// assert_eq!(words.get("queen")?.map(|vector| vector.len()), Some(2));
    /// # Ok::<(), nanoembed::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Self> {
        Self::options().from_bytes(bytes)
    }

    /// Options for opening word vectors.
    #[must_use]
    pub fn options() -> WordsOptions {
        WordsOptions::default()
    }

    fn open_with(path: &Path, &WordsOptions { policy, limits }: &WordsOptions) -> Result<Self> {
        let path = &*literal(path);
        let options = WordOptions { policy, ..WordOptions::default() };
        let start = Start::open(path)?;
        limits.check_file_bytes(start.bytes.unwrap_or_default(), &start.name)?;
        let bytes = as_finalfusion(start, path, &options, &Silent)?;
        Self::from_finalfusion(name_of(path), bytes.into(), policy)
    }

    /// The bytes of a `.fifu` file called `name`.
    fn from_finalfusion(name: String, bytes: Bytes, policy: Policy) -> Result<Self> {
        // SAFETY: a clone of the bytes stays beside what borrows from them, and is dropped behind
        // it; nothing that borrows from them is handed out for longer.
        let borrowed = unsafe { bytes.unbound() };
        let opened = WordFile::new(name, borrowed, policy)?;
        let indexed = opened.indexed()?;
        Ok(Self(Arc::new(Inner { opened, indexed, _bytes: bytes })))
    }

    /// The number of elements of a vector.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.0.indexed.cols()
    }

    /// The number of words; models with subwords have vectors for others too.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.indexed.layout().vocabulary.words as usize
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The words in the order of the file; invalid UTF-8 is replaced by U+FFFD.
    pub fn iter(&self) -> impl Iterator<Item = String> + '_ {
        self.0.opened.file.words().map(|word| String::from_utf8_lossy(word).into_owned())
    }

    /// True if `word` is one of the file's words; others may have a vector by their subwords.
    ///
    /// # Errors
    ///
    /// If the file has been changed under this.
    pub fn contains(&self, word: &str) -> Result<bool> {
        let Inner { opened, indexed, .. } = &*self.0;
        let found = indexed.find(word.as_bytes()).map_err(|error| opened.failure(error))?;
        Ok(found.is_some())
    }

    /// The vector of `word`, as long as the file says that it was; `None` without one.
    ///
    /// # Errors
    ///
    /// If the word is longer than the file's subwords allow.
    pub fn get(&self, word: &str) -> Result<Option<Vec<f32>>> {
        let Inner { opened, indexed, .. } = &*self.0;
        let filled = |length| limit::filled(length, 0.0).map_err(|error| opened.failure(error));
        let mut vector = filled(indexed.cols())?;
        let mut scratch = filled(indexed.scratch_needed())?;
        let found = indexed.vector(word, &mut vector, &mut scratch);
        let found = found.map_err(|error| opened.failure_of(word, error))?;
        Ok(found.map(|found| {
            vector.iter_mut().for_each(|value| *value *= found.norm);
            vector
        }))
    }

    /// The `count` words that are nearest to `word`, without it, the nearest first.
    ///
    /// # Errors
    ///
    /// [`Kind::NotFound`](crate::Kind::NotFound) if the word has no vector.
    pub fn similar(&self, word: &str, count: usize) -> Result<Vec<Neighbour>> {
        let Inner { opened, indexed, .. } = &*self.0;
        let found = similar((opened, indexed, &self.nearest()?), &[word], count)?;
        match found.into_iter().next().flatten() {
            Some(found) => self.neighbours(&found),
            None => Err(no_vector(opened, word)),
        }
    }

    /// The `count` words that are to `c` as `b` is to `a`, without these three, the nearest first.
    ///
    /// # Errors
    ///
    /// [`Kind::NotFound`](crate::Kind::NotFound) if one of the words has no vector.
    pub fn analogy(&self, [a, b, c]: [&str; 3], count: usize) -> Result<Vec<Neighbour>> {
        let Inner { opened, indexed, .. } = &*self.0;
        let nearest = self.nearest()?;
        let found = analogous((opened, indexed, &nearest), [a, b, c], [true; 3], count)?;
        self.neighbours(&found)
    }

    fn nearest(&self) -> Result<Nearest<'_, 'static>> {
        let Inner { opened, indexed, .. } = &*self.0;
        Nearest::among(indexed).map_err(|error| opened.failure(error))
    }

    fn neighbours(&self, found: &[Scored]) -> Result<Vec<Neighbour>> {
        let Inner { opened, indexed, .. } = &*self.0;
        let neighbour = |scored: &Scored| {
            let word = lossy(indexed.word(scored.row)?)?;
            Ok(Neighbour { word, similarity: scored.cosine() })
        };
        limit::gathered(found.iter().map(neighbour)).map_err(|error| opened.failure(error))
    }
}

/// Options for opening word vectors.
///
/// ```
/// use nanoembed::Words;
/// use nanoembed::words::{OnDuplicate, Policy};
///
/// let policy = Policy::default().duplicates(OnDuplicate::First);
/// let words = Words::options().policy(policy).open("../ffi/tests/data/words.fifu")?;
/// # Ok::<(), nanoembed::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct WordsOptions {
    policy: Policy,
    limits: Limits,
}

impl WordsOptions {
    /// The policy for words that the file gets wrong.
    #[must_use]
    pub const fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// The most bytes of the file, instead of the defaults of [`Limits`]. Looking words up takes
    /// memory for a vector or two, so `session_bytes` does not count.
    #[must_use]
    pub const fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Opens a file: see [`Words::open`].
    ///
    /// # Errors
    ///
    /// As [`Words::open`].
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Words> {
        Words::open_with(path.as_ref(), self)
    }

    /// Word vectors in memory: see [`Words::from_bytes`].
    ///
    /// # Errors
    ///
    /// As [`Words::open`].
    pub fn from_bytes(&self, bytes: impl Into<Bytes>) -> Result<Words> {
        let (bytes, name) = (bytes.into(), "the word vectors");
        self.limits.check_file_bytes(bytes.len() as u64, name)?;
        let start = Start::from_bytes(name, &bytes);
        let fifu = match start.form() {
            Some(Form::Finalfusion) => bytes.clone(),
            _ => {
                let options = WordOptions { policy: self.policy, ..WordOptions::default() };
                as_finalfusion(start, Path::new("-"), &options, &Silent)?.into()
            }
        };
        Words::from_finalfusion(name.to_owned(), fifu, self.policy)
    }
}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Words")
            .field("file", &self.0.opened.name)
            .field("words", &self.len())
            .field("dimensions", &self.dimensions())
            .finish_non_exhaustive()
    }
}
