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

use crate::error::{Failure, Result, name_of};

/// Tokens that are looked at: more do not change the picture.
const MAX_TOKENS: usize = 16_384;

/// Mean squares by layer and input.
#[derive(Debug, Default)]
pub(crate) struct Energies(HashMap<(usize, LayerInput), Vec<f32>>);

impl Energies {
    /// The energies of the columns of the matrix called `name`; empty if it is not a linear layer's or nothing is known.
    pub(crate) fn of(&self, name: &str) -> &[f32] {
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
        place.and_then(|place| self.0.get(&place)).map_or(&[], Vec::as_slice)
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

/// The sums of squares of each column, and how many rows they are of.
type Sums = HashMap<(usize, LayerInput), (Vec<f64>, u64)>;

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
                sums.entry((seen.layer, seen.input)).or_insert_with(|| (vec![0.0; cols], 0));
            for row in seen.values.chunks_exact(cols) {
                *rows += 1;
                for (sum, &value) in sums.iter_mut().zip(row) {
                    *sum += f64::from(value) * f64::from(value);
                }
            }
        },
    )?;
    let sums = sums.into_inner().unwrap_or_else(PoisonError::into_inner);
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "weights of errors"
    )]
    let mean = |(sums, rows): (Vec<f64>, u64)| -> Vec<f32> {
        sums.iter().map(|sum| (sum / rows.max(1) as f64) as f32).collect()
    };
    Ok(Energies(sums.into_iter().map(|(place, sums)| (place, mean(sums))).collect()))
}
