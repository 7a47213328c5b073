//! What the columns of a model's matrices are multiplied with: the mean squares of their inputs over some texts.
//!
//! Errors in columns that meet large activations cost more, so the quantisers weight them by it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use nanoembed_core::event::Mode;
use nanoembed_core::format::amb::Amb;
use nanoembed_core::kernel;
use nanoembed_core::model::{
    Bert, BertConfig, Layer, LayerInput, Run, SliceWeights, Workspace, amb_config_value,
};
use nanoembed_core::owned;
use rayon::prelude::*;

use crate::error::{Failure, Result, name_of};

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
    of: HashMap<(usize, LayerInput), Inputs>,
    none: Inputs,
}

impl Energies {
    /// The inputs of the matrix called `name`; empty if it is not a linear layer's or nothing is known.
    pub(crate) fn of(&self, name: &str) -> &Inputs {
        let parts: Vec<&str> = name.split('.').collect();
        let place = match parts[..] {
            ["encoder", "layer", layer, ref rest @ ..] => layer.parse().ok().and_then(|layer| {
                let input = match rest {
                    ["attention", "self", _, "weight"] => LayerInput::Attention,
                    ["attention", "output", "dense", "weight"] => LayerInput::AttentionOutput,
                    ["intermediate", "dense", "weight"] => LayerInput::Intermediate,
                    ["output", "dense", "weight"] => LayerInput::Output,
                    _ => return None,
                };
                Some((layer, input))
            }),
            _ => None,
        };
        place.and_then(|place| self.of.get(&place)).unwrap_or(&self.none)
    }
}

/// Runs the model in `amb`, a file in memory, over the lines of `texts`.
pub(crate) fn measure(amb: &[u8], texts: &Path) -> Result<Energies> {
    let lines =
        std::fs::read_to_string(texts).map_err(|error| Failure::reading(name_of(texts), &error))?;
    let failed = |error| Failure::of_file(name_of(texts), error);
    let embedder = owned::Embedder::open(amb).map_err(failed)?;
    let config = *embedder.config();
    let (mut ids, mut lengths) = (Vec::new(), Vec::new());
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        let text = embedder.tokenize(line, Some(config.max_tokens)).map_err(failed)?;
        if ids.len() + text.ids.len() > MAX_TOKENS {
            break;
        }
        lengths.push(text.ids.len());
        ids.extend(text.ids);
    }
    if ids.is_empty() {
        return Err(Failure::bad_input("there are no texts to calibrate with").at(name_of(texts)));
    }
    observe(amb, &config, &ids, &lengths).map_err(failed)
}

/// The sums of products of columns, and how many rows they are of.
type Sums = HashMap<(usize, LayerInput), (Vec<f32>, u64)>;

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

fn observe(
    amb: &[u8],
    config: &BertConfig,
    ids: &[u32],
    lengths: &[usize],
) -> std::result::Result<Energies, nanoembed_core::Error> {
    let file = Amb::parse(amb, Mode::Lenient)?;
    debug_assert_eq!(
        BertConfig::from_metadata(|key| amb_config_value(&file, key)).as_ref(),
        Ok(config)
    );
    let weights = SliceWeights::new(amb, |name| file.tensor(name).map(|tensor| *tensor.header()));
    let bert = Bert::open(&weights, *config, vec![Layer::EMPTY; config.layers])?;
    let plan = bert.plan(lengths.iter().copied().max().unwrap_or(1).max(256));
    let needs = Workspace::needs(config, &plan)?;
    let (mut floats, mut bytes) = (vec![0.0; needs.floats], vec![0; needs.bytes]);
    let mut workspace = Workspace::new(config, &plan, &mut floats, &mut bytes)?;
    let sums: Mutex<Sums> = Mutex::default();
    let mut out = vec![0.0; lengths.len() * config.hidden];
    let kernels = kernel::detect();
    bert.embed_observed(
        &Run::new(&weights, &kernels),
        ids,
        lengths,
        &mut workspace,
        &mut out,
        &|seen| {
            let cols = match seen.input {
                LayerInput::Output => config.intermediate,
                _ => config.hidden,
            };
            let mut sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
            let (sums, rows) =
                sums.entry((seen.layer, seen.input)).or_insert_with(|| (vec![0.0; cols * cols], 0));
            *rows += (seen.values.len() / cols) as u64;
            add_products(sums, seen.values, cols);
        },
    )?;
    let sums = sums.into_inner().unwrap_or_else(PoisonError::into_inner);
    let inputs = |(mut gram, rows): (Vec<f32>, u64)| {
        #[expect(clippy::cast_precision_loss, reason = "a mean")]
        let factor = 1.0 / rows.max(1) as f32;
        gram.iter_mut().for_each(|sum| *sum *= factor);
        let cols = gram.len().isqrt();
        Inputs { energy: gram.iter().step_by(cols + 1).copied().collect(), gram }
    };
    let of = sums.into_iter().map(|(place, sums)| (place, inputs(sums))).collect();
    Ok(Energies { of, none: Inputs::default() })
}
