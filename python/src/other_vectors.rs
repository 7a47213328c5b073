//! Sparse vectors, and a vector for each token, on their way out: those of all texts in one buffer,
//! with the number that each text has.

use nanoembed::{Length, Precision, SparseVector, Vectors};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes};

use crate::rows::{Lent, Rows, Writer};
use crate::texts::{OK, Row, TRUNCATED};
use crate::threads;
use crate::watch::watched;

/// A status for each row, and its number of tokens (u32).
type Fates<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// The number of weights of each row, their tokens (u32) and values (f32), and what became of the
/// rows.
pub(crate) type Sparse<'py> =
    (Vec<usize>, Bound<'py, PyByteArray>, Bound<'py, PyByteArray>, Fates<'py>);

/// The number of vectors of each row, the vectors, and what became of the rows.
pub(crate) type Multi<'py> = (Vec<usize>, Option<Rows>, Fates<'py>);

/// Sparse vectors of the rows that have a text.
pub(crate) fn sparse<'py>(
    py: Python<'py>,
    rows: &[Row<'_>],
    vectors: &[SparseVector],
    lengths: &[Length],
) -> Sparse<'py> {
    let counts = counts(rows, vectors.iter().map(|vector| vector.indices.len()));
    let indices = vectors.iter().flat_map(|it| &it.indices).flat_map(|id| id.to_ne_bytes());
    let values = vectors.iter().flat_map(|it| &it.values).flat_map(|value| value.to_ne_bytes());
    let (indices, values): (Vec<u8>, Vec<u8>) = (indices.collect(), values.collect());
    let (indices, values) = (PyByteArray::new(py, &indices), PyByteArray::new(py, &values));
    (counts, indices, values, fates(py, rows, lengths))
}

/// The vectors of the tokens of the rows that have a text, of `width` numbers each.
pub(crate) fn multi<'py>(
    py: Python<'py>,
    rows: &[Row<'_>],
    width: usize,
    vectors: &[Vectors],
    lengths: &[Length],
) -> PyResult<Multi<'py>> {
    let counts = counts(rows, vectors.iter().map(Vectors::len));
    let mut writer = Writer::new(Precision::F32, (counts.iter().sum(), width), None)?;
    vectors.iter().flat_map(Vectors::rows).for_each(|vector| writer.push(vector));
    Ok((counts, writer.finish(|_| false), fates(py, rows, lengths)))
}

/// The number of each row that has a text, 0 of the others.
fn counts(rows: &[Row<'_>], mut found: impl Iterator<Item = usize>) -> Vec<usize> {
    let count = |row: &Row<'_>| row.ok().and_then(|_| found.next()).unwrap_or(0);
    rows.iter().map(count).collect()
}

fn fates<'py>(py: Python<'py>, rows: &[Row<'_>], lengths: &[Length]) -> Fates<'py> {
    let mut lengths = lengths.iter();
    let mut tokens = Vec::with_capacity(rows.len() * size_of::<u32>());
    let status = rows.iter().map(|row| {
        let length = row.ok().and_then(|_| lengths.next()).copied().unwrap_or_default();
        tokens.extend(u32::try_from(length.tokens).unwrap_or(u32::MAX).to_ne_bytes());
        match row {
            Err(why) => *why as u8,
            Ok(_) if length.truncated => TRUNCATED,
            Ok(_) => OK,
        }
    });
    let status: Vec<u8> = status.collect();
    (PyBytes::new(py, &status), PyBytes::new(py, &tokens))
}

/// The vectors of the tokens of several texts: an array of f32, `[vectors, width]`, and how many of
/// them each text has.
type Given<'py> = (Bound<'py, PyAny>, Vec<usize>);

/// The MaxSim of each query and each document, `[queries, documents]`.
#[pyfunction]
pub(crate) fn max_sim(
    py: Python<'_>,
    queries: Given<'_>,
    documents: Given<'_>,
    width: usize,
) -> PyResult<Option<Rows>> {
    let (queries, documents) = (texts(&queries, width)?, texts(&documents, width)?);
    let scores = watched(py, &*threads::usual()?, None, |observer| {
        nanoembed::max_sim_all(&queries, &documents, observer)
    })?;
    let mut writer = Writer::new(Precision::F32, (queries.len(), documents.len()), None)?;
    scores.chunks_exact(documents.len().max(1)).for_each(|row| writer.push(row));
    Ok(writer.finish(|_| false))
}

/// The vectors of each text.
fn texts((array, counts): &Given<'_>, width: usize) -> PyResult<Vec<Vectors>> {
    let odd = || PyValueError::new_err(format!("no vectors of {width} numbers"));
    let rows = counts.iter().try_fold(0_usize, |sum, count| sum.checked_add(*count));
    let values = Lent::from_object(array)?.to_f32((rows.ok_or_else(odd)?, width))?;
    let mut rest = &values[..];
    let vectors = counts.iter().map(|count| {
        let own = rest.split_off(..count * width)?;
        Vectors::new(width, own.to_vec())
    });
    vectors.collect::<Option<_>>().ok_or_else(odd)
}
