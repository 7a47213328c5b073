//! Texts continued piece by piece.

use std::sync::{Arc, Mutex, PoisonError};

use nanoembed::{GenerationSettings, Generator, Message, Prompt, Sampling};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::ThreadPool;

use crate::error::OrException;

/// The arguments of a request.
#[derive(FromPyObject)]
pub(crate) struct Request {
    /// A text in which special tokens are spelled.
    #[pyo3(item)]
    template: Option<String>,
    /// A text that is only text.
    #[pyo3(item)]
    text: Option<String>,
    /// Pairs of a role and a text.
    #[pyo3(item)]
    messages: Option<Vec<(String, String)>>,
    #[pyo3(item)]
    max_tokens: usize,
    #[pyo3(item)]
    temperature: Option<f32>,
    #[pyo3(item)]
    top_k: Option<usize>,
    #[pyo3(item)]
    top_p: Option<f32>,
    #[pyo3(item)]
    min_p: Option<f32>,
    #[pyo3(item)]
    repetition_penalty: Option<f32>,
    #[pyo3(item)]
    presence_penalty: f32,
    #[pyo3(item)]
    frequency_penalty: f32,
    #[pyo3(item)]
    seed: u64,
    #[pyo3(item)]
    stop: Vec<String>,
}

impl Request {
    /// The choice of tokens: the model's own but for what is asked for.
    fn sampling(&self, own: Sampling) -> Sampling {
        let asked = GenerationSettings {
            temperature: self.temperature,
            top_k: self.top_k,
            top_p: self.top_p,
            min_p: self.min_p,
            repetition_penalty: self.repetition_penalty,
            presence_penalty: Some(self.presence_penalty),
            frequency_penalty: Some(self.frequency_penalty),
        };
        own.with(&asked).max_tokens(self.max_tokens).seed(self.seed)
    }
}

/// The pieces of a continuation, an iterator of strings.
#[pyclass(frozen, module = "nanoembed._native")]
pub(crate) struct Pieces {
    pieces: Mutex<nanoembed::Pieces>,
    threads: Arc<ThreadPool>,
}

impl Pieces {
    pub(crate) fn begin(
        py: Python<'_>,
        generator: &Generator,
        request: &Request,
        threads: Arc<ThreadPool>,
    ) -> PyResult<Self> {
        let messages = request.messages.iter().flatten().map(message);
        let messages: Vec<Message<'_>> = messages.collect::<PyResult<_>>()?;
        let prompt = match (&request.template, &request.text) {
            (Some(template), _) => Prompt::WithSpecialTokens(template),
            (None, Some(text)) => Prompt::Text(text),
            (None, None) => Prompt::Chat(&messages),
        };
        let sampling = request.sampling(generator.sampling());
        let pieces = py.detach(|| threads.install(|| generator.generate(prompt, sampling)));
        let pieces = Mutex::new(pieces.or_exception(py)?.until(&request.stop));
        Ok(Self { pieces, threads })
    }
}

fn message((role, content): &(String, String)) -> PyResult<Message<'_>> {
    match role.as_str() {
        "system" => Ok(Message::system(content)),
        "user" => Ok(Message::user(content)),
        "assistant" => Ok(Message::assistant(content)),
        other => Err(PyValueError::new_err(format!(
            "the role {other:?} is not system, user or assistant"
        ))),
    }
}

#[pymethods]
impl Pieces {
    const fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let next = py.detach(|| {
            let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
            // A lock stays in its thread, and what it guards need not.
            let pieces = &mut *pieces;
            self.threads.install(|| pieces.next())
        });
        next.transpose().or_exception(py)
    }

    /// The number of tokens of the prompt.
    #[getter]
    fn prompt_tokens(&self) -> usize {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner).prompt_tokens()
    }

    /// The ids of the tokens so far.
    #[getter]
    fn ids(&self) -> Vec<u32> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner).ids().to_vec()
    }
}
