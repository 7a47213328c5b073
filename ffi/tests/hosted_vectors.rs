//! Sparse vectors, and a vector for each token, through C: those of transformers, PyLate and
//! FlagEmbedding.

mod support {
    pub(crate) mod errors;
    pub(crate) mod handles;
}

use std::path::{Path, PathBuf};
use std::ptr::null_mut;

use nanoembed_core::ErrorKind;
use nanoembed_ffi::model::*;
use nanoembed_ffi::owned::*;
use nanoembed_ffi::prompt::*;
use nanoembed_ffi::score::nanoembed_score;
use nanoembed_ffi::status::*;
use nanoembed_ffi::tokenized::nanoembed_tokenized;
use serde_json::Value;

use crate::support::errors::name;
use crate::support::handles::Handles;

const TOLERANCE: f32 = 2e-5;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/heads").join(name)
}

/// A model that computes in f32.
fn precise(name: &str) -> Handles {
    let activations = NANOEMBED_ACTIVATIONS_FLOAT;
    let options = nanoembed_model_options { activations, ..Default::default() };
    Handles::at(&folder(name), &options).unwrap_or_else(|why| panic!("{name}: {why:?}"))
}

fn expected(name: &str) -> Value {
    let text = std::fs::read_to_string(folder(name).join("expected.json")).expect("it is there");
    serde_json::from_str(&text).expect("JSON")
}

fn floats(path: &Path) -> Vec<f32> {
    let bytes = std::fs::read(path).expect("it is there");
    bytes.as_chunks().0.iter().map(|it| f32::from_le_bytes(*it)).collect()
}

fn number(row: &Value, name: &str) -> usize {
    usize::try_from(row[name].as_u64().expect("a number")).expect("small")
}

/// The status, and how much memory would have been enough.
type Refused = (nanoembed_status, u64);

impl Handles {
    fn vectors(&self) -> nanoembed_model_vectors {
        let mut vectors = nanoembed_model_vectors::default();
        // SAFETY: the model is good.
        let status = unsafe { nanoembed_model_get_vectors(self.model, &raw mut vectors) };
        assert_eq!(status, NANOEMBED_OK);
        vectors
    }

    fn sparse(&self, text: &str, capacity: usize) -> Result<(Vec<u32>, Vec<f32>), Refused> {
        let (mut ids, mut weights, mut count) = (vec![7; capacity], vec![7.0; capacity], 99);
        let (mut tokenized, mut error) = (nanoembed_tokenized::default(), Default::default());
        // SAFETY: handles are good, and the rest lies here.
        let status = unsafe {
            nanoembed_embed_sparse(
                self.model,
                self.workspace,
                text.as_ptr().cast(),
                text.len(),
                ids.as_mut_ptr(),
                weights.as_mut_ptr(),
                capacity,
                &raw mut count,
                &raw mut tokenized,
                &raw mut error,
            )
        };
        if status != NANOEMBED_OK {
            assert!(count == 99 && tokenized.tokens == 0 && ids.iter().all(|id| *id == 7));
            return Err((status, error.needed));
        }
        assert!(tokenized.tokens > 0);
        ids.truncate(count);
        weights.truncate(count);
        Ok((ids, weights))
    }

    fn multi(&self, side: u32, text: &str, capacity: usize) -> Result<(Vec<f32>, usize), Refused> {
        let (mut out, mut count, mut error) = (vec![7.0; capacity], 99, Default::default());
        // SAFETY: handles are good, and the rest lies here.
        let status = unsafe {
            nanoembed_embed_multi(
                self.model,
                self.workspace,
                side,
                text.as_ptr().cast(),
                text.len(),
                out.as_mut_ptr(),
                capacity,
                &raw mut count,
                null_mut(),
                &raw mut error,
            )
        };
        if status != NANOEMBED_OK {
            assert!(count == 99 && out.iter().all(|value| *value == 7.0), "{}", name(&error));
            return Err((status, error.needed));
        }
        out.truncate(count * self.vectors().multi_dimensions as usize);
        Ok((out, count))
    }

    fn score(&self, query: &str, document: &str) -> f32 {
        let mut score = f32::NAN;
        let (a, b) = (query.as_ptr().cast(), document.as_ptr().cast());
        let (a_bytes, b_bytes, none) = (query.len(), document.len(), null_mut());
        let Self { model, workspace } = *self;
        // SAFETY: handles are good, and the rest lies here.
        let status = unsafe {
            nanoembed_score(model, workspace, a, a_bytes, b, b_bytes, &raw mut score, none)
        };
        assert_eq!(status, NANOEMBED_OK);
        score
    }
}

fn max_sim(query: &[f32], document: &[f32], dimensions: usize) -> f32 {
    let mut score = f32::NAN;
    let (queries, documents) = (query.len() / dimensions, document.len() / dimensions);
    let (query, document) = (query.as_ptr(), document.as_ptr());
    // SAFETY: both are there.
    let status = unsafe {
        nanoembed_max_sim(query, queries, document, documents, dimensions, &raw mut score)
    };
    assert_eq!(status, NANOEMBED_OK);
    score
}

fn assert_near(found: &[f32], expected: &[f32], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= TOLERANCE, "{what}: {a} {b}");
    }
}

#[test]
fn sparse_vectors_are_those_of_transformers() {
    for model in ["splade", "splade_distil", "bge_m3_multi"] {
        let handles = precise(model);
        assert_eq!(handles.vectors().sparse, 1);
        for row in expected(model)["rows"].as_array().expect("rows") {
            let text = row["text"].as_str().expect("a text");
            let mut expected: Vec<(u32, f32)> = row["sparse"]
                .as_object()
                .expect("weights")
                .iter()
                .map(|(id, weight)| (id.parse().expect("an id"), weight.as_f64().expect("one")))
                .map(|(id, weight)| (id, weight as f32))
                .collect();
            expected.sort_unstable_by_key(|(id, _)| *id);
            let (ids, weights): (Vec<u32>, Vec<f32>) = expected.into_iter().unzip();
            if !ids.is_empty() {
                let (status, needed) = handles.sparse(text, ids.len() - 1).expect_err("no room");
                assert_eq!(status, u32::from(ErrorKind::BufferTooSmall.code()));
                assert_eq!(needed, ids.len() as u64);
            }
            let (found, found_weights) = handles.sparse(text, ids.len()).expect("room");
            assert_eq!(found, ids, "{model}: {text}");
            assert_near(&found_weights, &weights, text);
        }
    }
}

/// The texts of ColBERT on a side, and the vectors of their tokens.
fn sided(side: &str) -> Vec<(String, Vec<f32>)> {
    let (width, all) = (128, floats(&folder("colbert").join("expected.f32")));
    let rows = expected("colbert")["rows"].as_array().expect("rows").clone();
    let rows = rows.into_iter().filter(|row| row["kind"] == side);
    rows.map(|row| {
        let (offset, tokens) = (number(&row, "offset"), number(&row, "tokens"));
        let text = row["text"].as_str().expect("a text").to_owned();
        (text, all[offset * width..(offset + tokens) * width].to_vec())
    })
    .collect()
}

#[test]
fn vectors_of_tokens_and_their_scores_are_those_of_pylate() {
    let handles = precise("colbert");
    let vectors = handles.vectors();
    let made = (vectors.dimensions, vectors.sparse, vectors.multi_dimensions, vectors.tells_sides);
    assert_eq!(made, (0, 0, 128, 1));
    let mut found = Vec::new();
    for (side, of) in [(NANOEMBED_SIDE_QUERY, "query"), (NANOEMBED_SIDE_DOCUMENT, "document")] {
        let mut vectors = Vec::new();
        for (text, expected) in sided(of) {
            let refused = handles.multi(side, &text, expected.len() - 1).expect_err("no room");
            let status = u32::from(ErrorKind::BufferTooSmall.code());
            assert_eq!(refused, (status, expected.len() as u64));
            let (floats, count) = handles.multi(side, &text, expected.len()).expect("room");
            assert_eq!(count, expected.len() / 128);
            assert_near(&floats, &expected, &text);
            vectors.push((text, floats));
        }
        found.push(vectors);
    }
    let sums = expected("colbert")["maxsim"].clone();
    for (at, (query, question)) in found[0].iter().enumerate() {
        for (to, (document, answer)) in found[1].iter().enumerate() {
            let score = max_sim(question, answer, 128);
            let expected = sums[at][to].as_f64().expect("a sum") as f32;
            // Of 32 vectors.
            assert!((score - expected).abs() <= 32.0 * TOLERANCE, "{score} {expected}");
            assert_eq!(handles.score(query, document), score);
        }
    }
}

#[test]
fn vectors_of_tokens_are_those_of_flagembedding() {
    let handles = precise("bge_m3_multi");
    let width = handles.vectors().multi_dimensions as usize;
    assert_eq!((width, handles.vectors().tells_sides), (32, 0));
    let all = floats(&folder("bge_m3_multi").join("expected_colbert.f32"));
    let mut rest = &all[..];
    for row in expected("bge_m3_multi")["rows"].as_array().expect("rows") {
        let text = row["text"].as_str().expect("a text");
        let own;
        (own, rest) = rest.split_at(number(row, "colbert_rows") * width);
        let (found, _) = handles.multi(NANOEMBED_SIDE_DOCUMENT, text, 1 << 16).expect("room");
        assert_near(&found, own, text);
    }
    assert!(rest.is_empty());
}

#[test]
fn a_chosen_prompt_stands_before_the_text() {
    let handles = precise("bge_m3_multi");
    let multi = |text: &str| handles.multi(NANOEMBED_SIDE_QUERY, text, 1 << 16).expect("room").0;
    let (usual, joined) = (multi("a b"), multi("x a b"));
    assert_ne!(usual.len(), joined.len());
    let prompt = "x ";
    // SAFETY: handles are good.
    let status = unsafe {
        nanoembed_workspace_set_prompt(
            handles.model,
            handles.workspace,
            NANOEMBED_PROMPT_TEXT,
            prompt.as_ptr().cast(),
            prompt.len(),
            null_mut(),
        )
    };
    assert_eq!(status, NANOEMBED_OK);
    assert_eq!(multi("a b"), joined);
    assert_eq!(handles.sparse("a b", 99), precise("bge_m3_multi").sparse("x a b", 99));
}

#[test]
fn what_a_model_does_not_make_is_refused() {
    let other = (u32::from(ErrorKind::OtherModel.code()), 0);
    let (splade, colbert) = (precise("splade"), precise("colbert"));
    assert_eq!(splade.multi(NANOEMBED_SIDE_QUERY, "a", 999).unwrap_err(), other);
    assert_eq!(colbert.sparse("a", 999).unwrap_err(), other);
    let argument = u32::from(ErrorKind::InvalidArgument.code());
    assert_eq!(colbert.multi(2, "a", 1 << 16).unwrap_err().0, argument);
    assert_eq!(splade.vectors().dimensions, 0);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/small_bert.weights");
    let bert = Handles::at(&path, &nanoembed_model_options::default()).expect("it is there");
    assert!(bert.vectors().dimensions > 0 && bert.vectors().multi_dimensions == 0);
    assert_eq!(bert.sparse("a", 999).unwrap_err(), other);
    assert_eq!(max_sim(&[], &[1.0, 0.0], 2), 0.0);
}
