//! Options of a conversion of word vectors, and those that mean nothing for it.

use std::path::PathBuf;

use super::{Form, Policy, Report, Started};
use crate::error::{Error, Result};
use crate::progress::Observer;

/// A file of word vectors on its way into another form: foreign forms become a `.fifu` file, and
/// such a file becomes a foreign form. An option that means nothing for the conversion is refused
/// when it runs.
///
/// ```
/// use nanoembed::Silent;
/// use nanoembed::words::Conversion;
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let output = folder.path().join("words.vec");
/// let report = Conversion::new("../ffi/tests/data/words.fifu", &output).run(&Silent)?;
/// println!("{} words", report.words);
/// # Ok::<(), nanoembed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Conversion {
    pub(super) input: PathBuf,
    pub(super) output: PathBuf,
    pub(super) from: Option<Form>,
    pub(super) to: Option<Form>,
    pub(super) options: WordOptions,
    pub(super) metadata: Vec<(String, String)>,
}

/// Options for reading and writing words and vectors.
#[derive(Clone, Debug, Default)]
pub(in crate::words) struct WordOptions {
    pub(in crate::words) policy: Policy,
    pub(in crate::words) no_normalize: bool,
    pub(in crate::words) first: Option<u64>,
    pub(in crate::words) ignore_count: bool,
    pub(in crate::words) normalized: bool,
}

impl Conversion {
    /// A conversion of the file `input` to `output`, in the form that its ending stands for. `-` is
    /// stdin or stdout.
    pub fn new(input: impl Into<PathBuf>, output: impl Into<PathBuf>) -> Self {
        Self {
            input: input.into(),
            output: output.into(),
            from: None,
            to: None,
            options: WordOptions::default(),
            metadata: Vec::new(),
        }
    }

    /// The form of the input, instead of the one its first bytes tell.
    #[must_use]
    pub fn from(self, form: impl Into<Option<Form>>) -> Self {
        Self { from: form.into(), ..self }
    }

    /// The form of the output, instead of the one its ending names.
    #[must_use]
    pub fn to(self, form: impl Into<Option<Form>>) -> Self {
        Self { to: form.into(), ..self }
    }

    /// The policy for words that the input gets wrong.
    #[must_use]
    pub const fn policy(mut self, policy: Policy) -> Self {
        self.options.policy = policy;
        self
    }

    /// With true, vectors in a `.fifu` file have length 1, with their original lengths beside them,
    /// which is the default; otherwise they stay as they are.
    #[must_use]
    pub const fn normalize(mut self, normalize: bool) -> Self {
        self.options.no_normalize = !normalize;
        self
    }

    /// Reads only so many words.
    #[must_use]
    pub fn first(mut self, words: impl Into<Option<u64>>) -> Self {
        self.options.first = words.into();
        self
    }

    /// Takes the words that are there, however many the first line announces.
    #[must_use]
    pub const fn ignore_count(mut self, ignore: bool) -> Self {
        self.options.ignore_count = ignore;
        self
    }

    /// Writes vectors of length 1 to other files than `.fifu` instead of their original lengths.
    #[must_use]
    pub const fn normalized(mut self, normalized: bool) -> Self {
        self.options.normalized = normalized;
        self
    }

    /// Adds an entry to the metadata of a `.fifu` file, or gives one another value. A key in a table
    /// has the table's name and a dot before it.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.push((key.into(), value.into()));
        self
    }

    /// Looks at the input; `None` if it has no word vectors, whatever its name.
    #[doc(hidden)]
    pub fn start(&self) -> Result<Option<Started<'_>>> {
        Started::from_conversion(self)
    }

    /// Converts.
    ///
    /// # Errors
    ///
    /// Fails if the input is invalid or has no word vectors, an option means nothing for this
    /// conversion, or the output cannot be written.
    pub fn run(&self, observer: &dyn Observer) -> Result<Report> {
        match self.start()? {
            Some(started) => started.run(observer),
            None => Err(Error::bad_input("the file has no word vectors").at(self.input.display())),
        }
    }

    /// Refuses the first option that was given and means nothing for this conversion.
    pub(super) fn check_options(&self, from: Form, to: Form) -> Result<()> {
        let options = &self.options;
        let is_import = from != Form::Finalfusion;
        let has_count = matches!(from, Form::Word2vec | Form::Textdims);
        let is_export = !matches!(to, Form::Finalfusion | Form::Floret);
        let rules = [
            (
                "metadata",
                !self.metadata.is_empty() && to != Form::Finalfusion,
                "is for models and `.fifu` files",
            ),
            (
                "no_normalize",
                options.no_normalize && !is_import,
                "is for word vectors that are no `.fifu` file yet",
            ),
            (
                "first",
                options.first.is_some() && (!is_import || from == Form::Floret),
                "is for word2vec, text and fastText files",
            ),
            (
                "ignore_count",
                options.ignore_count && !has_count,
                "is for files whose first line announces their words",
            ),
            (
                "normalized",
                options.normalized && !is_export,
                "is for vectors of words in other files than `.fifu`",
            ),
        ];
        match rules.into_iter().find(|(_, is_refused, _)| *is_refused) {
            Some((option, _, why)) => Err(Error::argument(option, why)),
            None => Ok(()),
        }
    }
}
