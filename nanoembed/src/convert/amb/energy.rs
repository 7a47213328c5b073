//! Second moments of the inputs of a model's matrices, over some texts.
//!
//! Errors in columns that meet large activations cost more, and errors in one column can be made
//! good by another whose input is alike.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use nanoembed_core::kernel::{self, Kernels, Multiply, Table};
use nanoembed_core::limit;
use nanoembed_core::model::{Batch, Config, InOrder, Observer as Seen, Plan};
use nanoembed_core::owned::{Encoder, FileWeights, Session, TextSession};
use nanoembed_core::{Error as CoreError, ErrorKind};

use super::probes::probes;
use crate::causal::weights::ModelWeights;
use crate::checkpoint::tensor::Tensor;
use crate::checkpoint::{Checkpoint, EMBEDDING_TENSORS};
use crate::convert::activations;
use crate::convert::calibration::Calibration;
use crate::convert::naming::{Naming, Place};
use crate::error::{Error, NO_MEMORY, Result};
use crate::progress::{Observer, Progress};
use crate::{hashed, parallel};

/// Tokens of real texts that are looked at: more take longer and change little.
const MAX_TOKENS: usize = 16_384;
/// Tokens that go through the model together, and rows of inputs that are summed up together.
const TOGETHER: usize = 512;

/// A table has no linear layers.
const NO_TRANSFORMER: CoreError = CoreError::without_offset(ErrorKind::OtherModel);

/// Statistics of the inputs of one linear layer.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    /// The mean square of each column.
    pub(super) energy: Vec<f32>,
    /// The mean product of each two columns, `[cols, cols]`.
    pub(super) gram: Vec<f32>,
}

/// Inputs by layer and place.
#[derive(Debug, Default)]
pub struct Energies {
    naming: Naming,
    of: HashMap<Place, Inputs>,
    words: Inputs,
    none: Inputs,
    column_scales: Vec<f32>,
}

impl Energies {
    /// True if there are statistics of no matrix.
    pub(super) fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Column scales for models whose weights are requantised to 8 bits on load; empty if there are
    /// no statistics.
    pub(super) fn column_scales(&self) -> &[f32] {
        &self.column_scales
    }

    /// The inputs of the matrix called `name`; empty if nothing is known of them.
    pub(super) fn inputs(&self, name: &str) -> &Inputs {
        if name == EMBEDDING_TENSORS[0] {
            return &self.words;
        }
        self.naming.place(name).and_then(|place| self.of.get(&place)).unwrap_or(&self.none)
    }
}

/// Runs the model of `checkpoint` in f32 over `texts`, and over made-up ones.
pub fn measure(
    checkpoint: &Checkpoint<'_>,
    texts: &[String],
    observer: &dyn Observer,
) -> Result<Energies> {
    let file = activations::as_floats(checkpoint)?;
    let failed = |error| Error::in_file(&checkpoint.name, error);
    let model = Encoder::open(&file[..]).map_err(|fault| failed(fault.error()))?;
    let max_tokens = checkpoint.settings.max_tokens;
    let (mut ids, mut tokens): (Vec<Vec<u32>>, _) = (Vec::new(), TextSession::default());
    let mut left = MAX_TOKENS;
    for text in texts {
        let text = model.encode(text, max_tokens, &mut tokens).map_err(failed)?.ids;
        left = left.saturating_sub(text.len());
        limit::push(&mut ids, text).map_err(failed)?;
        if left == 0 {
            break;
        }
    }
    if let Some(vocabulary) = &checkpoint.vocabulary {
        let probes = probes(vocabulary, max_tokens).map_err(failed)?;
        limit::extend(&mut ids, probes).map_err(failed)?;
    }
    let progress = Progress::texts(observer, "calibrating", Some(ids.len() as u64));
    let longest = ids.iter().map(Vec::len).max().unwrap_or(0);
    let mut session = model.session(longest.max(TOGETHER), 1).map_err(failed)?;
    let (sums, kernels) = (Mutex::new(Sums::default()), kernel::detect());
    let mut from = 0;
    while from < ids.len() {
        let mut tokens = 0;
        let fits = |text: &&Vec<u32>| {
            tokens += text.len();
            tokens <= TOGETHER
        };
        let count = ids[from..].iter().take_while(fits).count().max(1);
        let texts = &ids[from..from + count];
        observe(&model, &mut session, texts, &sums, &kernels).map_err(failed)?;
        from += count;
        progress.advance(count as u64);
    }
    let sums = sums.into_inner().unwrap_or_else(PoisonError::into_inner);
    let of = finished(sums, &kernels).map_err(failed)?;
    let config = model.network().config().ok_or_else(|| failed(NO_TRANSFORMER))?;
    let column_scales = column_scales(checkpoint, config, &of).map_err(failed)?;
    Ok(Energies {
        naming: Naming::Bert,
        of,
        words: words(checkpoint).map_err(failed)?,
        none: Inputs::default(),
        column_scales,
    })
}

/// Runs a model of texts, whose tensors are called so, in f32 over `texts`. `name` is the model's
/// in messages.
pub fn measure_texts(
    model: &Encoder<ModelWeights>,
    (naming, name): (Naming, &str),
    texts: &[String],
    observer: &dyn Observer,
) -> Result<Energies> {
    let failed = |error| Error::in_file(name, error);
    let (config, kernels) = (model.network().config(), kernel::detect());
    let config = config.ok_or_else(|| failed(NO_TRANSFORMER))?;
    let progress = Progress::texts(observer, "calibrating", Some(texts.len() as u64));
    let (sums, mut scratch) = (Mutex::new(Sums::default()), TextSession::default());
    let mut left = MAX_TOKENS;
    for text in texts {
        let ids = model.encode(text, model.usual_tokens(), &mut scratch);
        let ids = ids.map_err(failed)?.ids;
        progress.advance(1);
        if left == 0 || ids.is_empty() {
            continue;
        }
        left = left.saturating_sub(ids.len());
        let plan = Plan { quantized: false, ..Plan::new(ids.len()) };
        let mut session = model.session_for(plan).map_err(failed)?;
        let lengths = [ids.len()];
        let texts = Batch::new(&ids, &lengths);
        collect((config, naming), (&sums, &kernels), |see| {
            model.states(&mut session, &InOrder, &texts, &mut |_, _| Ok(()), see)
        })
        .map_err(failed)?;
    }
    let sums = sums.into_inner().unwrap_or_else(PoisonError::into_inner);
    let of = finished(sums, &kernels).map_err(failed)?;
    Ok(Energies { naming, of, ..Energies::default() })
}

/// See [`COLUMN_SCALES`](nanoembed_core::model::requantize::COLUMN_SCALES).
fn column_scales(
    checkpoint: &Checkpoint<'_>,
    config: &Config,
    inputs: &HashMap<Place, Inputs>,
) -> std::result::Result<Vec<f32>, CoreError> {
    let squares = inputs.iter().map(|(&place, inputs)| (place, inputs.energy.as_slice()));
    let calibration = Calibration::from_squares(Naming::Bert, squares)?;
    let mut scales = limit::filled(config.scaled_columns(), 1.0)?;
    for &place @ (layer, input) in inputs.keys() {
        let columns = input.columns(config, layer).and_then(|columns| scales.get_mut(columns));
        if let Some(columns) = columns {
            columns.copy_from_slice(&calibration.scales_at(place, &checkpoint.tensors)?);
        }
    }
    Ok(scales)
}

/// The word embeddings go through a layer norm, which multiplies each column by its weight.
fn words(checkpoint: &Checkpoint<'_>) -> std::result::Result<Inputs, CoreError> {
    let norm = checkpoint.tensors.iter().find(|tensor| tensor.name == EMBEDDING_TENSORS[3]);
    let mut energy = norm.map(Tensor::to_f32).transpose()?.unwrap_or_default();
    energy.iter_mut().for_each(|weight| *weight *= *weight);
    Ok(Inputs { energy, gram: Vec::new() })
}

/// The statistics of all places.
fn finished(
    sums: Sums,
    kernels: &Kernels,
) -> std::result::Result<HashMap<Place, Inputs>, CoreError> {
    let mut finished = HashMap::new();
    for (place, sums) in sums {
        hashed::insert(&mut finished, place, sums.finish(kernels)?)?;
    }
    Ok(finished)
}

/// Sums of products, by place.
type Sums = HashMap<Place, Products>;

/// Sums of products of columns.
#[derive(Default)]
struct Products {
    /// `[cols, cols]`.
    sums: Vec<f32>,
    rows: usize,
    /// Rows that are not summed up yet, and the products of a part.
    waiting: Vec<f32>,
    part: Vec<f32>,
}

impl Products {
    /// Takes some rows of `cols` columns.
    fn add(
        &mut self,
        rows: &[f32],
        cols: usize,
        kernels: &Kernels,
    ) -> std::result::Result<(), CoreError> {
        if self.sums.is_empty() {
            // With layers as wide as a file may ask for this is more than any machine has.
            let size = cols.saturating_mul(cols);
            (self.sums, self.part) = (limit::filled(size, 0.0)?, limit::filled(size, 0.0)?);
        }
        limit::append(&mut self.waiting, rows)?;
        if self.waiting.len() >= TOGETHER * cols {
            self.sum_up(kernels)?;
        }
        Ok(())
    }

    /// Adds Xᵀ · X of the buffered rows.
    fn sum_up(&mut self, kernels: &Kernels) -> std::result::Result<(), CoreError> {
        let cols = self.sums.len().isqrt();
        let rows = self.waiting.len().checked_div(cols).unwrap_or(0);
        if rows == 0 {
            return Ok(());
        }
        let mut transposed = limit::filled(self.waiting.len(), 0.0)?;
        for (row, values) in self.waiting.chunks_exact(cols).enumerate() {
            for (value, line) in values.iter().zip(transposed.chunks_exact_mut(rows)) {
                line[row] = *value;
            }
        }
        let lines = cols.div_ceil(rayon::current_num_threads()).max(1);
        let x = Table { data: &self.waiting, stride: cols };
        let parts = self.part.chunks_mut(lines * cols).zip(transposed.chunks(lines * rows));
        parallel::try_each(parts, &|(part, columns)| {
            let columns = Table { data: columns, stride: rows };
            let shape = (part.len() / cols, cols, rows);
            // Never refused: the slices are as long as the shape asks for.
            if let Ok(multiply) = Multiply::new(columns, x, part, cols, shape) {
                (kernels.multiply_f32)(multiply);
            }
            Ok(())
        })?;
        self.sums.iter_mut().zip(&self.part).for_each(|(sum, part)| *sum += part);
        self.rows += rows;
        self.waiting.clear();
        Ok(())
    }

    fn finish(mut self, kernels: &Kernels) -> std::result::Result<Inputs, CoreError> {
        self.sum_up(kernels)?;
        let mut gram = self.sums;
        #[expect(clippy::cast_precision_loss, reason = "a mean")]
        let factor = 1.0 / self.rows.max(1) as f32;
        gram.iter_mut().for_each(|sum| *sum *= factor);
        let cols = gram.len().isqrt();
        let energy = limit::exactly(gram.iter().step_by(cols + 1).copied())?;
        Ok(Inputs { energy, gram })
    }
}

fn observe(
    model: &Encoder<FileWeights<&[u8]>>,
    session: &mut Session,
    texts: &[Vec<u32>],
    sums: &Mutex<Sums>,
    kernels: &Kernels,
) -> std::result::Result<(), CoreError> {
    let config = model.network().config().ok_or(NO_TRANSFORMER)?;
    let mut ids = Vec::new();
    texts.iter().try_for_each(|text| limit::append(&mut ids, text))?;
    let lengths: Vec<usize> = limit::exactly(texts.iter().map(Vec::len))?;
    let texts = Batch::new(&ids, &lengths);
    collect((config, Naming::Bert), (sums, kernels), |see| {
        model.states(session, &InOrder, &texts, &mut |_, _| Ok(()), see)
    })
}

/// Adds the activations that `run` passes on.
fn collect(
    (config, naming): (&Config, Naming),
    (sums, kernels): (&Mutex<Sums>, &Kernels),
    run: impl FnOnce(&Seen<'_>) -> std::result::Result<(), CoreError>,
) -> std::result::Result<(), CoreError> {
    let refused = Mutex::new(Ok(()));
    run(&|seen| {
        let mut sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
        let reserved = sums.try_reserve(1).map_err(|_| NO_MEMORY);
        let added = reserved.and_then(|()| {
            let products = sums.entry(naming.observed(&seen)).or_default();
            products.add(seen.values, seen.input.cols(config, seen.layer), kernels)
        });
        if let Err(error) = added {
            *refused.lock().unwrap_or_else(PoisonError::into_inner) = Err(error);
        }
    })?;
    refused.into_inner().unwrap_or_else(PoisonError::into_inner)
}
