//! Models of texts: embedding, comparing, continuing, tokenising.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use nanoembed::open::reading::Reading;
use nanoembed::open::source::Source;
use nanoembed::{
    Bytes, Encoder, Limits, Model as AnyModel, ModelOptions, Prefix, Reranker, Role, Tokenizer,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::ThreadPool;

use crate::error::OrException;
use crate::generate::{Pieces, Request};
use crate::limits::{Given, limits};
use crate::other_vectors::{self, Multi, Sparse};
use crate::rows::{Lent, Rows, Writer, precision};
use crate::texts::{OK, Policy, Row, TRUNCATED, Texts};
use crate::threads::Chosen;
use crate::watch::{warn, watched};

/// Tokens of a text that a model that continues texts embeds, unless more are asked for.
const TOKENS_OF_DECODERS: usize = 512;

/// A model of texts.
#[pyclass(frozen, module = "nanoembed._native")]
pub(crate) struct Model {
    origin: Origin,
    options: ModelOptions,
    /// As it was asked for.
    max_tokens: Option<usize>,
    limits: Limits,
    reading: Reading,
    opened: AnyModel,
    threads: Chosen,
    /// The encoder that a model that continues texts embeds by.
    pooled: OnceLock<Encoder>,
    /// For texts of each role, which in a model with a Router may have one of their own.
    tokenizers: [OnceLock<Tokenizer>; 3],
}

/// The origin of the model.
enum Origin {
    BuiltIn,
    Path(PathBuf),
    Bytes(Bytes),
}

/// The prompt before texts: at most one of these.
#[derive(FromPyObject)]
struct Before {
    #[pyo3(item)]
    prompt: Option<String>,
    #[pyo3(item)]
    prompt_name: Option<String>,
    /// `query` or `document`: the model's own prompt for these, which it must have.
    #[pyo3(item)]
    role: Option<String>,
    /// The same, where it has one.
    #[pyo3(item)]
    usual_role: Option<String>,
}

impl Before {
    fn prefix(&self) -> PyResult<Option<Prefix>> {
        let named = |name: &String| Prefix::Named(name.clone());
        let text = self.prompt.as_ref().map(|text| Prefix::Text(text.clone()));
        let named = text.or_else(|| self.prompt_name.as_ref().map(named));
        match (named, self.role.as_deref()) {
            (Some(prefix), _) => Ok(Some(prefix)),
            (None, None) => Ok(None),
            (None, Some("query")) => Ok(Some(Prefix::Query)),
            (None, Some("document")) => Ok(Some(Prefix::Document)),
            (None, Some(other)) => Err(not_a_role(other)),
        }
    }

    fn role(&self) -> PyResult<Role> {
        role(self.usual_role.as_deref())
    }
}

/// The role of this name.
pub(crate) fn role(name: Option<&str>) -> PyResult<Role> {
    match name {
        None => Ok(Role::Text),
        Some("query") => Ok(Role::Query),
        Some("document") => Ok(Role::Document),
        Some(other) => Err(not_a_role(other)),
    }
}

fn not_a_role(other: &str) -> PyErr {
    PyValueError::new_err(format!("as_={other:?} is not query or document"))
}

/// The outcome of embedding: the vectors if they are not in the caller's memory, a status for each,
/// the number of tokens (u32), and the scale of codes (f32, for bytes).
type Embedded<'py> = (Option<Rows>, Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// The ids of a text, and whether it has more.
type Tokens = (Vec<u32>, bool);

#[pymethods]
impl Model {
    #[new]
    #[pyo3(signature = (path, data, *, threads, memory, max_tokens, precise, requantize, limits, allow_unknown, adapter))]
    #[expect(clippy::too_many_arguments, reason = "they are named")]
    fn new(
        py: Python<'_>,
        path: Option<PathBuf>,
        data: Option<Vec<u8>>,
        threads: Option<usize>,
        memory: Option<u64>,
        max_tokens: Option<usize>,
        precise: bool,
        requantize: bool,
        limits: Option<Given>,
        allow_unknown: Vec<String>,
        adapter: Option<PathBuf>,
    ) -> PyResult<Self> {
        let threads = Chosen::new(threads)?;
        let limits = self::limits(limits.as_ref());
        let options = AnyModel::options().max_tokens(max_tokens).memory(memory);
        let options = options.precise(precise).requantize(requantize).limits(limits);
        let reading = Reading { unknown: allow_unknown, adapter, ..Reading::default() };
        let options = options.reading(reading.clone());
        let origin = match (path, data) {
            (Some(path), _) => Origin::Path(path),
            (None, Some(data)) => Origin::Bytes(data.into()),
            (None, None) => Origin::BuiltIn,
        };
        let pool = threads.pool()?;
        let opened = py.detach(|| {
            pool.install(|| match &origin {
                Origin::Path(path) => options.open(path),
                Origin::Bytes(bytes) => options.from_bytes(bytes.clone()),
                Origin::BuiltIn => options.built_in(),
            })
        });
        let opened = opened.or_exception(py)?;
        warn(py, opened.warnings())?;
        let (pooled, tokenizers) = Default::default();
        let model = Self {
            origin,
            options,
            max_tokens,
            limits,
            reading,
            opened,
            threads,
            pooled,
            tokenizers,
        };
        if matches!(model.opened, AnyModel::Words(_)) {
            return Err(PyTypeError::new_err("the file has word vectors: WordVectors opens it"));
        }
        Ok(model)
    }

    /// `encoder`, `cross-encoder` or `generator`.
    #[getter]
    const fn kind(&self) -> &'static str {
        match &self.opened {
            AnyModel::CrossEncoder(_) => "cross-encoder",
            AnyModel::Generator(_) => "generator",
            _ => "encoder",
        }
    }

    #[getter]
    fn dimensions(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.encoder(py)?.dimensions())
    }

    #[getter]
    fn max_tokens(&self, py: Python<'_>) -> PyResult<usize> {
        match &self.opened {
            AnyModel::CrossEncoder(model) => Ok(model.max_tokens()),
            _ => Ok(self.encoder(py)?.max_tokens()),
        }
    }

    /// The fingerprint of the vectors, as hexadecimal digits.
    #[getter]
    fn fingerprint(&self, py: Python<'_>) -> PyResult<String> {
        let encoder = self.encoder(py)?;
        let pool = self.threads.pool()?;
        let fingerprint = py.detach(|| pool.install(|| encoder.fingerprint()));
        Ok(fingerprint.or_exception(py)?.to_string())
    }

    #[getter]
    fn positions(&self, py: Python<'_>) -> PyResult<usize> {
        match &self.opened {
            AnyModel::CrossEncoder(model) => Ok(model.positions()),
            AnyModel::Generator(model) => Ok(model.positions()),
            _ => Ok(self.encoder(py)?.positions()),
        }
    }

    #[getter]
    fn labels(&self) -> PyResult<Vec<String>> {
        Ok(self.reranker()?.labels().to_vec())
    }

    #[pyo3(signature = (
        texts, before, *, truncate_dim, normalize, dtype, out, strict, nulls, progress
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are named")]
    fn embed<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        before: Before,
        truncate_dim: Option<usize>,
        normalize: bool,
        dtype: &str,
        out: Option<&Bound<'py, PyAny>>,
        strict: bool,
        nulls: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Embedded<'py>> {
        let encoder = self.encoder_for(py, &before, truncate_dim, normalize)?;
        let (precision, role) = (precision(dtype)?, before.role()?);
        let texts = Texts::from_object(texts, Policy { strict, nulls })?;
        let rows = texts.rows()?;
        let given: Vec<&str> = rows.iter().filter_map(|row| row.ok()).collect();
        let out = out.map(Lent::from_object).transpose()?;
        let mut writer = Writer::new(precision, (rows.len(), encoder.dimensions()), out)?;
        let mut status = Vec::with_capacity(rows.len());
        let mut tokens = Vec::with_capacity(rows.len() * size_of::<u32>());
        let pool = self.threads.pool()?;
        watched(py, &pool, progress.as_ref(), |observer| {
            let mut waiting = rows.iter();
            // Rows without a text stand between those that have one.
            let mut skip = |writer: &mut Writer<'_>, status: &mut Vec<u8>, tokens: &mut Vec<u8>| {
                while let Some(Err(why)) = waiting.next() {
                    writer.skip();
                    status.push(*why as u8);
                    tokens.extend([0; size_of::<u32>()]);
                }
            };
            let width = encoder.dimensions();
            encoder.embed_parts(role, &given, observer, |vectors, lengths| {
                for (vector, length) in vectors.chunks_exact(width).zip(lengths) {
                    skip(&mut writer, &mut status, &mut tokens);
                    writer.push(vector);
                    status.push(if length.truncated { TRUNCATED } else { OK });
                    tokens.extend(u32::try_from(length.tokens).unwrap_or(u32::MAX).to_ne_bytes());
                }
                Ok(())
            })?;
            skip(&mut writer, &mut status, &mut tokens);
            Ok(())
        })?;
        let scales: Vec<u8> = writer.scales.iter().flat_map(|x| x.to_ne_bytes()).collect();
        let has_none = |row: usize| rows.get(row).is_none_or(Row::is_err);
        Ok((
            writer.finish(has_none),
            PyBytes::new(py, &status),
            PyBytes::new(py, &tokens),
            PyBytes::new(py, &scales),
        ))
    }

    /// The sparse vectors of texts.
    #[pyo3(signature = (texts, before, *, strict, nulls, progress))]
    fn embed_sparse<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        before: Before,
        strict: bool,
        nulls: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Sparse<'py>> {
        let (encoder, role) = (self.encoder_for(py, &before, None, false)?, before.role()?);
        let texts = Texts::from_object(texts, Policy { strict, nulls })?;
        let rows = texts.rows()?;
        let given: Vec<&str> = rows.iter().filter_map(|row| row.ok()).collect();
        let pool = self.threads.pool()?;
        let (vectors, lengths) = watched(py, &pool, progress.as_ref(), |observer| {
            encoder.embed_sparse_watched(role, &given, observer)
        })?;
        Ok(other_vectors::sparse(py, &rows, &vectors, &lengths))
    }

    /// The vectors of the tokens of texts.
    #[pyo3(signature = (texts, before, *, strict, nulls, progress))]
    fn embed_multi<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        before: Before,
        strict: bool,
        nulls: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Multi<'py>> {
        let (encoder, role) = (self.encoder_for(py, &before, None, false)?, before.role()?);
        let texts = Texts::from_object(texts, Policy { strict, nulls })?;
        let rows = texts.rows()?;
        let given: Vec<&str> = rows.iter().filter_map(|row| row.ok()).collect();
        let pool = self.threads.pool()?;
        let (vectors, lengths) = watched(py, &pool, progress.as_ref(), |observer| {
            encoder.embed_multi_watched(role, &given, observer)
        })?;
        other_vectors::multi(py, &rows, encoder.multi_dimensions(), &vectors, &lengths)
    }

    /// Ids of each text, and whether it has more; `None` for a row without a text.
    #[pyo3(signature = (texts, before, *, max_tokens, strict, nulls))]
    fn tokenize(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        before: Before,
        max_tokens: Option<usize>,
        strict: bool,
        nulls: bool,
    ) -> PyResult<Vec<Option<Tokens>>> {
        let prefix = before.prefix()?.unwrap_or_default();
        let tokenizer = self.tokenizer(py, Role::from_prompt(&prefix))?;
        let prompt = tokenizer.prompt(&prefix).or_exception(py)?;
        let limit = match max_tokens {
            None => Some(self.embedded_tokens(py)?),
            Some(0) => None,
            asked => tokenizer.limit(asked).or_exception(py)?,
        };
        let texts = Texts::from_object(texts, Policy { strict, nulls })?;
        let rows = texts.rows()?;
        let encoded = py.detach(|| {
            let encode = |row: &Row<'_>| {
                let Ok(text) = row else { return Ok(None) };
                let tokens = match prompt.is_empty() {
                    true => tokenizer.encode(text, limit)?,
                    false => tokenizer.encode(&format!("{prompt}{text}"), limit)?,
                };
                Ok(Some((tokens.ids, tokens.truncated)))
            };
            rows.iter().map(encode).collect::<nanoembed::Result<_>>()
        });
        encoded.or_exception(py)
    }

    /// A token as the vocabulary spells it.
    fn token(&self, py: Python<'_>, id: u32) -> PyResult<Option<String>> {
        match &self.opened {
            AnyModel::Encoder(encoder) => Ok(encoder.token(id)),
            _ => Ok(self.tokenizer(py, Role::Text)?.token(id)),
        }
    }

    /// The text of each list of token ids.
    fn detokenize(&self, py: Python<'_>, lists: Vec<Vec<u32>>) -> PyResult<Vec<String>> {
        let tokenizer = self.tokenizer(py, Role::Text)?;
        let decode =
            || -> nanoembed::Result<_> { lists.iter().map(|ids| tokenizer.decode(ids)).collect() };
        py.detach(decode).or_exception(py)
    }

    /// Texts by how well they answer a question: which, and how well.
    #[pyo3(signature = (query, texts, before, *, progress))]
    fn rerank(
        &self,
        py: Python<'_>,
        query: &str,
        texts: &Bound<'_, PyAny>,
        before: Before,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<(usize, f32)>> {
        let model = &self.instructed(py, &before)?;
        let texts = Texts::from_object(texts, Policy::STRICT)?;
        let given = all_texts(&texts)?;
        let pool = self.threads.pool()?;
        let ranked = watched(py, &pool, progress.as_ref(), |observer| {
            model.rerank_watched(query, &given, observer)
        })?;
        Ok(ranked.into_iter().map(|ranked| (ranked.index, ranked.score)).collect())
    }

    /// Logits and scores of each pair.
    #[pyo3(signature = (queries, texts, before, *, progress))]
    fn score(
        &self,
        py: Python<'_>,
        queries: &Bound<'_, PyAny>,
        texts: &Bound<'_, PyAny>,
        before: Before,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<(Vec<f32>, Vec<f32>)>> {
        let model = &self.instructed(py, &before)?;
        let (queries, texts) = (
            Texts::from_object(queries, Policy::STRICT)?,
            Texts::from_object(texts, Policy::STRICT)?,
        );
        let (queries, texts) = (all_texts(&queries)?, all_texts(&texts)?);
        if queries.len() != texts.len() {
            let message = format!("{} queries and {} texts", queries.len(), texts.len());
            return Err(PyValueError::new_err(message));
        }
        let pairs: Vec<(&str, &str)> = queries.into_iter().zip(texts).collect();
        let pool = self.threads.pool()?;
        let scores = watched(py, &pool, progress.as_ref(), |observer| {
            model.score_pairs_watched(&pairs, observer)
        })?;
        Ok(scores.into_iter().map(|score| (score.logits, score.scores)).collect())
    }

    /// Reads the prompt: a text, or pairs of role and content.
    fn generate(&self, py: Python<'_>, request: Request) -> PyResult<Pieces> {
        match &self.opened {
            AnyModel::Generator(generator) => {
                Pieces::begin(py, generator, &request, self.threads.pool()?)
            }
            _ => Err(PyTypeError::new_err(format!(
                "the model continues no texts: it is of kind {}",
                self.kind()
            ))),
        }
    }
}

impl Model {
    /// The threads that compute.
    pub(crate) fn pool(&self) -> PyResult<Arc<ThreadPool>> {
        self.threads.pool()
    }

    /// The encoder; opened the first time for a model that continues texts.
    pub(crate) fn encoder(&self, py: Python<'_>) -> PyResult<&Encoder> {
        match &self.opened {
            AnyModel::Encoder(encoder) => Ok(encoder),
            AnyModel::Generator(_) => {
                let options = self.options.encoder();
                self.opened_once(py, &self.pooled, || match &self.origin {
                    Origin::Path(path) => options.open(path),
                    Origin::Bytes(bytes) => options.from_bytes(bytes.clone()),
                    Origin::BuiltIn => options.built_in(),
                })
            }
            _ => Err(PyTypeError::new_err(format!("a {} embeds no texts", self.kind()))),
        }
    }

    /// The content of `cell`; if it is empty, the result of `open`.
    fn opened_once<'m, T: Send>(
        &self,
        py: Python<'_>,
        cell: &'m OnceLock<T>,
        open: impl FnOnce() -> nanoembed::Result<T> + Send,
    ) -> PyResult<&'m T> {
        if let Some(opened) = cell.get() {
            return Ok(opened);
        }
        let pool = self.threads.pool()?;
        let opened = py.detach(|| pool.install(open)).or_exception(py)?;
        // Another thread may have been faster, with the same.
        Ok(cell.get_or_init(|| opened))
    }

    /// Tokens of a text that are embedded or compared. A model that continues texts is not opened
    /// once more for that, which takes memory.
    fn embedded_tokens(&self, py: Python<'_>) -> PyResult<usize> {
        let AnyModel::Generator(generator) = &self.opened else { return self.max_tokens(py) };
        let positions = generator.positions();
        match self.max_tokens {
            None => Ok(TOKENS_OF_DECODERS.min(positions)),
            Some(asked) if (1..=positions).contains(&asked) => Ok(asked),
            // Refuses what no text can have.
            Some(_) => self.max_tokens(py),
        }
    }

    fn encoder_for(
        &self,
        py: Python<'_>,
        before: &Before,
        truncate_dim: Option<usize>,
        normalize: bool,
    ) -> PyResult<Encoder> {
        let mut encoder = self.encoder(py)?.clone();
        if let Some(prefix) = before.prefix()? {
            encoder = encoder.with_prompt(prefix).or_exception(py)?;
        }
        if truncate_dim.is_some() {
            encoder = encoder.with_truncate_dim(truncate_dim).or_exception(py)?;
        }
        Ok(if normalize { encoder.with_normalize(true) } else { encoder })
    }

    /// The reranker with an instruction.
    fn instructed(&self, py: Python<'_>, before: &Before) -> PyResult<Reranker> {
        let model = self.reranker()?;
        match before.prefix()? {
            Some(prefix) => model.with_prompt(&prefix).or_exception(py),
            None => Ok(model),
        }
    }

    /// The model that compares texts.
    pub(crate) fn reranker(&self) -> PyResult<Reranker> {
        self.opened.reranker().ok_or_else(|| {
            PyTypeError::new_err(format!(
                "{} {} compares no texts: a cross-encoder does, such as a folder of bge-reranker, \
                 or a model for late interaction, such as ColBERT",
                if self.kind() == "encoder" { "an" } else { "a" },
                self.kind()
            ))
        })
    }

    /// The tokenizer for texts of a role.
    fn tokenizer(&self, py: Python<'_>, role: Role) -> PyResult<&Tokenizer> {
        let [text, query, document] = &self.tokenizers;
        let (cell, role) = match (role, &self.origin) {
            (Role::Query, Origin::Path(_)) => (query, role),
            (Role::Document, Origin::Path(_)) => (document, role),
            // A single file has one alone.
            _ => (text, Role::Text),
        };
        self.opened_once(py, cell, || {
            let reading = self.reading.in_role(role);
            let options = Tokenizer::options().limits(self.limits).reading(reading);
            let source = match &self.origin {
                Origin::Path(path) => return options.open(path),
                Origin::Bytes(bytes) => Source::from_bytes_with(bytes.clone(), &self.reading)?,
                Origin::BuiltIn => Source::built_in()?,
            };
            options.open_source(source, false)
        })
    }
}

/// Texts none of which is missing.
pub(crate) fn all_texts(texts: &Texts) -> PyResult<Vec<&str>> {
    let rows = texts.rows()?;
    if let Some(at) = rows.iter().position(Result::is_err) {
        return Err(PyTypeError::new_err(format!("texts[{at}] is null")));
    }
    Ok(rows.into_iter().flatten().collect())
}
