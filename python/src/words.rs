//! Word vectors.

use std::path::PathBuf;

use nanoembed::Neighbour;
use pyo3::prelude::*;

use crate::error::OrException;
use crate::limits::{Given, limits};
use crate::rows::Rows;
use crate::threads::Chosen;

/// Word vectors with an index of their words.
#[pyclass(frozen, module = "nanoembed._native")]
pub(crate) struct Words {
    words: nanoembed::Words,
    threads: Chosen,
}

#[pymethods]
impl Words {
    #[new]
    #[pyo3(signature = (path, *, threads, limits))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        threads: Option<usize>,
        limits: Option<Given>,
    ) -> PyResult<Self> {
        let threads = Chosen::new(threads)?;
        let options = nanoembed::Words::options().limits(self::limits(limits.as_ref()));
        let pool = threads.pool()?;
        let words = py.detach(|| pool.install(|| options.open(path)));
        Ok(Self { words: words.or_exception(py)?, threads })
    }

    fn __len__(&self) -> usize {
        self.words.len()
    }

    #[getter]
    fn dimensions(&self) -> usize {
        self.words.dimensions()
    }

    /// All words in the order of the file.
    fn words(&self) -> Vec<String> {
        self.words.iter().collect()
    }

    fn contains(&self, py: Python<'_>, word: &str) -> PyResult<bool> {
        self.words.contains(word).or_exception(py)
    }

    /// The vectors of words, null for those that have none.
    fn vectors(&self, py: Python<'_>, words: Vec<String>) -> PyResult<Option<Rows>> {
        let vectors = py.detach(|| {
            words.iter().map(|word| self.words.get(word)).collect::<nanoembed::Result<Vec<_>>>()
        });
        Rows::from_vectors(&vectors.or_exception(py)?, self.words.dimensions())
    }

    fn similar(&self, py: Python<'_>, word: &str, k: usize) -> PyResult<Vec<(String, f32)>> {
        let pool = self.threads.pool()?;
        let found = py.detach(|| pool.install(|| self.words.similar(word, k)));
        Ok(pairs(found.or_exception(py)?))
    }

    fn analogy(
        &self,
        py: Python<'_>,
        words: (String, String, String),
        k: usize,
    ) -> PyResult<Vec<(String, f32)>> {
        let pool = self.threads.pool()?;
        let (a, b, c) = &words;
        let found = py.detach(|| pool.install(|| self.words.analogy([a, b, c], k)));
        Ok(pairs(found.or_exception(py)?))
    }
}

fn pairs(found: Vec<Neighbour>) -> Vec<(String, f32)> {
    found.into_iter().map(|near| (near.word, near.similarity)).collect()
}
