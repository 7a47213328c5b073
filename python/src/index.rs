//! Search in files, folders and texts by the crate `nanoembed-search`.

use std::path::{Path, PathBuf};

use nanoembed::{Encoder, VectorKind, name_of};
use nanoembed_search::{
    By, Cutting, Form, KNOWS_ENGLISH, Query, Tree, TreeOptions, Walk, cache_folder, drop_index,
    index_status,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::OrException;
use crate::files::named;
use crate::model::{Model, all_texts};
use crate::texts::{Policy, Texts};
use crate::watch::watched;

/// The files and folders to search, and options for reading them.
#[derive(FromPyObject)]
pub(crate) struct Files {
    #[pyo3(item)]
    paths: Vec<PathBuf>,
    #[pyo3(item)]
    glob: Vec<String>,
    #[pyo3(item)]
    types: Vec<String>,
    #[pyo3(item)]
    hidden: bool,
    #[pyo3(item)]
    no_ignore: bool,
    /// `line` or `paragraph`.
    #[pyo3(item)]
    unit: Option<String>,
    #[pyo3(item)]
    lossy: bool,
    /// True if folders have an index in the user's folder for caches.
    #[pyo3(item)]
    keep: bool,
}

impl Files {
    fn options(&self, encoder: &Encoder) -> PyResult<TreeOptions> {
        let form = match self.unit.as_deref() {
            None => None,
            Some("line") => Some(Form::Lines),
            Some("paragraph") => Some(Form::Paragraphs),
            Some(other) => {
                let message = format!("unit={other:?} is not line or paragraph");
                return Err(PyValueError::new_err(message));
            }
        };
        let walk = Walk::default().globs(self.glob.clone()).types(self.types.clone());
        Ok(TreeOptions {
            walk: walk.hidden(self.hidden).no_ignore(self.no_ignore),
            cutting: Cutting { form, lossy: self.lossy },
            store: cache_folder().filter(|_| self.keep),
            vectors: encoder.vector_kind() == VectorKind::Dense,
            ..TreeOptions::default()
        })
    }

    fn folders(&self) -> impl Iterator<Item = &PathBuf> {
        self.paths.iter().filter(|path| path.is_dir())
    }
}

/// The arguments of a search.
#[derive(FromPyObject)]
pub(crate) struct Request {
    #[pyo3(item)]
    query: String,
    #[pyo3(item)]
    k: usize,
    /// `both`, `words` or `meaning`.
    #[pyo3(item)]
    by: String,
    #[pyo3(item)]
    vectors: Option<String>,
    #[pyo3(item)]
    min: Option<f32>,
    /// The model that orders the best.
    #[pyo3(item)]
    rerank: Option<Py<Model>>,
}

impl Request {
    fn query(&self) -> PyResult<Query<'_>> {
        let by = self.by.parse::<By>().map_err(|_| {
            PyValueError::new_err(format!("by={:?} is not both, words or meaning", self.by))
        })?;
        let vectors = self.vectors.as_deref();
        let vectors = vectors.map(|name| named::<VectorKind>("vectors", name)).transpose()?;
        Ok(Query { by, vectors, ..Query::new(&self.query).at_least(self.k) })
    }
}

/// A passage: file, first line, last line, text, score, similarity, and the members of its JSON line as
/// JSON.
type Hit = (String, u64, u64, String, f32, Option<f32>, Option<String>);

/// A folder's index: its folder, numbers of files, passages and bytes, its age in seconds, and its file.
type Status = (String, u64, u64, u64, u64, String);

/// Passages that are searched.
#[pyclass(frozen, module = "nanoembed._native")]
pub(crate) struct Index {
    tree: Tree,
    model: Py<Model>,
}

#[pymethods]
impl Index {
    /// The passages of files and folders. Embeds those that have no vectors yet.
    #[staticmethod]
    #[pyo3(signature = (model, files, *, progress))]
    fn open(
        py: Python<'_>,
        model: Py<Model>,
        files: Files,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let encoder = model.get().encoder(py)?;
        let options = files.options(encoder)?;
        let tree = watched(py, &*model.get().pool()?, progress.as_ref(), |observer| {
            Tree::open(&files.paths, &options, encoder, observer)
        })?;
        Ok(Self { tree, model })
    }

    /// Texts as passages, each with the name to show for it: its number, unless there are names.
    #[staticmethod]
    #[pyo3(signature = (model, texts, names, *, progress))]
    fn from_texts(
        py: Python<'_>,
        model: Py<Model>,
        texts: &Bound<'_, PyAny>,
        names: Option<Vec<String>>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let texts = Texts::from_object(texts, Policy::STRICT)?;
        let texts = all_texts(&texts)?;
        let names = names.unwrap_or_else(|| (0..texts.len()).map(|at| at.to_string()).collect());
        if names.len() != texts.len() {
            let message = format!("{} names for {} texts", names.len(), texts.len());
            return Err(PyValueError::new_err(message));
        }
        let named: Vec<(&str, &str)> = names.iter().map(String::as_str).zip(texts).collect();
        let encoder = model.get().encoder(py)?;
        let tree = watched(py, &*model.get().pool()?, progress.as_ref(), |observer| {
            Tree::from_texts(&named, encoder, observer)
        })?;
        Ok(Self { tree, model })
    }

    /// The number of different passages.
    fn __len__(&self) -> usize {
        self.tree.passages()
    }

    /// Warnings about files that could not be read.
    #[getter]
    fn messages(&self) -> Vec<String> {
        self.tree.messages()
    }

    /// The number of texts that had to be embedded.
    #[getter]
    const fn embedded(&self) -> u64 {
        self.tree.embedded
    }

    /// The best passages, whether the model takes fewer tokens than the query has, and a warning.
    #[pyo3(signature = (request, *, progress))]
    fn search(
        &self,
        py: Python<'_>,
        request: Request,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(Vec<Hit>, bool, Option<&'static str>)> {
        let model = self.model.get();
        let (encoder, query) = (model.encoder(py)?, request.query()?);
        query.check().or_exception(py)?;
        let second = request.rerank.as_ref().map(|model| model.get().reranker()).transpose()?;
        let answers = watched(py, &*model.pool()?, progress.as_ref(), |observer| {
            let mut answers = self.tree.search(&query, encoder, observer)?;
            if let Some(second) = &second {
                answers.rerank(&query, second, observer)?;
            }
            if let Some(least) = request.min {
                answers.leave_out_below(least);
            }
            Ok(answers)
        })?;
        let hits = answers.best(request.k).map(|it| {
            let members = it.members().map(|members| serde_json::Value::from(members).to_string());
            let (file, text) = (it.file.to_owned(), it.text.to_owned());
            (file, it.line, it.end_line, text, it.score, it.similarity, members)
        });
        let warning = answers.leans_on_words.then_some(KNOWS_ENGLISH);
        Ok((hits.collect(), answers.query_truncated, warning))
    }
}

/// The indices that folders have.
#[pyfunction]
pub(crate) fn index_states(
    py: Python<'_>,
    model: Py<Model>,
    files: Files,
) -> PyResult<Vec<Status>> {
    let states = of_each_folder(py, &model, &files, index_status)?;
    let state = |it: nanoembed_search::IndexStatus| {
        let age = it.age().as_secs();
        (name_of(&it.root), it.files, it.passages, it.bytes, age, name_of(&it.index))
    };
    Ok(states.into_iter().map(state).collect())
}

/// Removes the indices that folders have; returns their folders.
#[pyfunction]
pub(crate) fn drop_indices(
    py: Python<'_>,
    model: Py<Model>,
    files: Files,
) -> PyResult<Vec<String>> {
    let dropped = of_each_folder(py, &model, &files, drop_index)?;
    Ok(dropped.iter().map(|folder| name_of(folder)).collect())
}

/// What `act` finds out about the index of each folder.
fn of_each_folder<T: Send>(
    py: Python<'_>,
    model: &Py<Model>,
    files: &Files,
    act: impl Fn(&Path, &TreeOptions, &Encoder) -> nanoembed::Result<Option<T>> + Send + Sync,
) -> PyResult<Vec<T>> {
    let encoder = model.get().encoder(py)?;
    let options = files.options(encoder)?;
    watched(py, &*model.get().pool()?, None, |_| {
        let all = files.folders().map(|folder| act(folder, &options, encoder));
        all.filter_map(Result::transpose).collect()
    })
}
