//! What the columns of a model's matrices are multiplied with, over some texts, and how it goes together.
//!
//! Errors in columns that meet large activations cost more, and errors in one column can be made good by another whose input
//! is alike.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use nanoembed_core::Error;
use nanoembed_core::model::InOrder;
use nanoembed_core::owned::Embedder;
use rayon::prelude::*;

use crate::calibration::{self, Place};
use crate::checkpoint::tensor::Tensor;
use crate::checkpoint::{Checkpoint, EMBEDDING_TENSORS};
use crate::error::{Failure, Result};

/// Tokens that are looked at: more take longer and change little.
const MAX_TOKENS: usize = 4096;

/// What is known of the inputs of one linear layer.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    /// The mean square of each column.
    pub(crate) energy: Vec<f32>,
    /// The mean product of each two columns, `[cols, cols]`.
    pub(crate) gram: Vec<f32>,
}

/// Inputs by layer and place.
#[derive(Debug, Default)]
pub(crate) struct Energies {
    of: HashMap<Place, Inputs>,
    words: Inputs,
    none: Inputs,
}

impl Energies {
    /// The inputs of the matrix called `name`; empty if nothing is known of them.
    pub(crate) fn of(&self, name: &str) -> &Inputs {
        if name == EMBEDDING_TENSORS[0] {
            return &self.words;
        }
        calibration::place(name).and_then(|place| self.of.get(&place)).unwrap_or(&self.none)
    }
}

/// Runs the model of `checkpoint` in f32 over `texts`.
pub(crate) fn measure(checkpoint: &Checkpoint<'_>, texts: &[String]) -> Result<Energies> {
    let file = calibration::as_floats(checkpoint)?;
    let failed = |error| Failure::of_file(&checkpoint.name, error);
    let model = Embedder::open(&file[..]).map_err(failed)?;
    let mut left = MAX_TOKENS;
    let sums: Mutex<Sums> = Mutex::default();
    for text in texts {
        let ids = model.tokenize(text, Some(checkpoint.settings.max_tokens)).map_err(failed)?.ids;
        observe(&model, &ids, &sums).map_err(failed)?;
        left = left.saturating_sub(ids.len());
        if left == 0 {
            break;
        }
    }
    let sums = sums.into_inner().unwrap_or_else(PoisonError::into_inner);
    let inputs = |(mut gram, rows): (Vec<f32>, u64)| {
        #[expect(clippy::cast_precision_loss, reason = "a mean")]
        let factor = 1.0 / rows.max(1) as f32;
        gram.iter_mut().for_each(|sum| *sum *= factor);
        let cols = gram.len().isqrt();
        Inputs { energy: gram.iter().step_by(cols + 1).copied().collect(), gram }
    };
    let of = sums.into_iter().map(|(place, sums)| (place, inputs(sums))).collect();
    Ok(Energies { of, words: words(checkpoint), none: Inputs::default() })
}

/// The word embeddings go through a layer norm, which multiplies each column by its weight.
fn words(checkpoint: &Checkpoint<'_>) -> Inputs {
    let norm = checkpoint.tensors.iter().find(|tensor| tensor.name == EMBEDDING_TENSORS[3]);
    let weights = norm.map(Tensor::to_f32).unwrap_or_default();
    Inputs { energy: weights.iter().map(|weight| weight * weight).collect(), gram: Vec::new() }
}

/// The sums of products of columns, and how many rows they are of.
type Sums = HashMap<Place, (Vec<f32>, u64)>;

fn observe(
    model: &Embedder<&[u8]>,
    ids: &[u32],
    sums: &Mutex<Sums>,
) -> std::result::Result<(), Error> {
    let config = model.config();
    let mut session = model.session(ids.len(), 1)?;
    let mut out = vec![0.0; config.hidden];
    model.embed_observed(&mut session, &InOrder, ids, &[ids.len()], &mut out, &|seen| {
        let cols = seen.input.cols(config);
        let mut sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
        let (sums, rows) =
            sums.entry((seen.layer, seen.input)).or_insert_with(|| (vec![0.0; cols * cols], 0));
        *rows += (seen.values.len() / cols) as u64;
        add_products(sums, seen.values, cols);
    })
}

/// Adds the products of the columns of some rows.
fn add_products(sums: &mut [f32], values: &[f32], cols: usize) {
    sums.par_chunks_exact_mut(cols).enumerate().for_each(|(i, sums)| {
        for row in values.chunks_exact(cols) {
            let x = row.get(i).copied().unwrap_or(0.0);
            for (sum, y) in sums.iter_mut().zip(row) {
                *sum += x * y;
            }
        }
    });
}
