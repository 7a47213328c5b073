//! What the activations of a model look like on some texts, and the column scales that follow from
//! it.
//!
//! Some columns of the activations are always large. Moving their size into the weights makes room
//! for the others when both are quantised to 8 bits; see [`nanoembed_core::quant::int8`].
//!
//! The same texts give the same scales on every machine: the model runs on the portable kernels,
//! text by text.

use std::collections::HashMap;
use std::io::{BufWriter, Seek};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use nanoembed_core::kernel::Kernels;
use nanoembed_core::model::{Batch, Config, InOrder, Observer as Inputs, Plan, Weights};
use nanoembed_core::owned::{Encoder, TextSession};
use nanoembed_core::quant::int8::{CodeRange, add_squares, column_scales};
use nanoembed_core::{Error as CoreError, ErrorKind};
use rayon::prelude::*;

use crate::convert::checkpoint::Checkpoint;
use crate::convert::checkpoint::tensor::Tensor;
use crate::convert::naming::{Naming, Place};
use crate::convert::weights_file::{self, Storage, WeightType};
use crate::error::{Error, Result};
use crate::files::mapped::Mapped;
use crate::files::scratch;
use crate::progress::{Observer, Progress};

/// Everyday sentences of many kinds and scripts, none of them among those that models are judged
/// by.
const TEXTS: &str = include_str!("../../data/calibration.txt");

/// The texts to calibrate with: the lines of `file`, or the built-in ones.
pub fn texts(file: Option<&Path>) -> Result<Vec<String>> {
    let lines = match file {
        None => TEXTS.to_owned(),
        Some(path) => crate::files::whole_file::read_text(path)
            .map_err(|error| Error::reading(crate::error::name_of(path), &error))?,
    };
    let texts = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    let texts: Vec<String> = texts.map(str::to_owned).collect();
    if texts.is_empty() {
        return Err(Error::usage("there are no texts to calibrate with"));
    }
    Ok(texts)
}

/// The root mean square of every column of what linear layers are applied to.
#[derive(Debug, Default)]
pub struct Calibration {
    naming: Naming,
    columns: HashMap<Place, Vec<f32>>,
}

impl Calibration {
    /// Runs the model of `checkpoint` in f32 over `texts`.
    pub fn run(
        checkpoint: &Checkpoint<'_>,
        texts: &[String],
        observer: &dyn Observer,
    ) -> Result<Self> {
        let bytes = as_floats(checkpoint)?;
        let model = Encoder::open(&bytes[..]);
        let model = model.map_err(|fault| Error::in_file(&checkpoint.name, fault.error()))?;
        Self::of_texts(model, (Naming::Bert, &checkpoint.name), texts, observer)
    }

    /// Runs an encoder, whose tensors are called so, in f32 over `texts`. `name` is the model's in
    /// messages.
    pub(crate) fn of_texts<W: Weights + Sync>(
        model: Encoder<W>,
        (naming, name): (Naming, &str),
        texts: &[String],
        observer: &dyn Observer,
    ) -> Result<Self> {
        let failed = |error| Error::in_file(name, error);
        let model = model.with_kernels(Kernels::portable()).map_err(failed)?;
        let progress = Progress::texts(observer, "calibrating", Some(texts.len() as u64));
        let sums: Vec<Sums> = texts
            .par_iter()
            .map(|text| {
                let sums = observe(&model, text);
                progress.advance(1);
                sums
            })
            .collect::<Result<_, CoreError>>()
            .map_err(failed)?;
        Ok(Self { naming, columns: roots(sums) })
    }

    /// The same, from the mean squares of columns.
    pub fn of_squares<'s>(
        naming: Naming,
        places: impl Iterator<Item = (Place, &'s [f32])>,
    ) -> Self {
        let roots = |squares: &[f32]| squares.iter().map(|square| square.sqrt()).collect();
        let columns = places.map(|(place, squares)| (place, roots(squares))).collect();
        Self { naming, columns }
    }

    /// The scales of the columns of what the layers of `tensors` called `name` are applied to;
    /// empty if they have none.
    pub fn column_scales(&self, name: &str, tensors: &[Tensor<'_>]) -> Vec<f32> {
        let place = self.naming.place(name);
        place.map_or_else(Vec::new, |place| self.scales_at(place, tensors))
    }

    /// The scales of the columns of one input; empty if they have none.
    pub fn scales_at(&self, at: Place, tensors: &[Tensor<'_>]) -> Vec<f32> {
        let Some(migration) = at.1.migration() else { return Vec::new() };
        let Some(rms) = self.columns.get(&at) else { return Vec::new() };
        // Queries, keys and values share their input, so they share its scales; values, the last
        // ones, are the sensitive ones.
        let decisive = tensors.iter().rfind(|tensor| self.naming.place(&tensor.name) == Some(at));
        let values = decisive.map(Tensor::to_f32).unwrap_or_default();
        let mut largest = vec![0.0_f32; rms.len()];
        for row in values.chunks_exact(rms.len()) {
            for (most, value) in largest.iter_mut().zip(row) {
                *most = most.max(value.abs());
            }
        }
        let mut scales = vec![0.0; rms.len()];
        column_scales(rms, &largest, migration, &mut scales);
        scales
    }
}

/// The checkpoint as a `.weights` file that has no name and vanishes with its map.
pub fn as_floats(checkpoint: &Checkpoint<'_>) -> Result<Mapped> {
    const NAME: &str = "a temporary file";
    let file = scratch::create().map_err(|error| Error::writing(NAME, &error))?;
    let mut writer = BufWriter::new(file);
    let metadata = checkpoint.metadata();
    let storage = Storage {
        weight_type: WeightType::F32,
        calibration: &Calibration::default(),
        range: CodeRange::Full,
    };
    let tokens = checkpoint.tokens();
    let source = weights_file::Source::of(checkpoint, &tokens);
    weights_file::write(&source, &storage, &metadata, &mut writer, NAME, &Progress::silent())?;
    let file = writer.into_inner().map_err(|error| Error::writing(NAME, error.error()))?;
    (&file).rewind().map_err(|error| Error::writing(NAME, &error))?;
    Mapped::of(file).map_err(|error| Error::reading(NAME, &error))
}

/// The sums of squares by place and column, and the number of rows.
#[derive(Default)]
struct Sums {
    rows: u64,
    columns: HashMap<Place, Vec<f64>>,
}

fn observe<W: Weights + Sync>(model: &Encoder<W>, text: &str) -> Result<Sums, CoreError> {
    let ids = model.encode(text, model.usual_tokens(), &mut TextSession::default())?.ids;
    let Some(config) = model.network().config().filter(|_| !ids.is_empty()) else {
        return Ok(Sums::default());
    };
    let mut session = model.session_for(Plan { quantized: false, ..Plan::new(ids.len()) })?;
    let lengths = [ids.len()];
    let texts = Batch::new(&ids, &lengths);
    observed(config, ids.len(), |see| {
        let mut check = |_, states: &[f32]| check_finite(states);
        model.states(&mut session, &InOrder, &texts, &mut check, see)
    })
}

fn check_finite(values: &[f32]) -> Result<(), CoreError> {
    match values.iter().all(|x| x.is_finite()) {
        true => Ok(()),
        false => Err(CoreError::without_offset(ErrorKind::BadScale)),
    }
}

/// What `run` shows of a text with so many tokens.
fn observed(
    config: &Config,
    tokens: usize,
    run: impl FnOnce(&Inputs<'_>) -> Result<(), CoreError>,
) -> Result<Sums, CoreError> {
    let columns = Mutex::new(HashMap::<Place, Vec<f64>>::new());
    run(&|seen| {
        let cols = seen.input.cols(config);
        let mut columns = columns.lock().unwrap_or_else(PoisonError::into_inner);
        let sums = columns.entry((seen.layer, seen.input)).or_insert_with(|| vec![0.0; cols]);
        add_squares(sums, seen.values);
    })?;
    let columns = columns.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Sums { rows: tokens as u64, columns })
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "rounding is fine"
)]
fn roots(texts: Vec<Sums>) -> HashMap<Place, Vec<f32>> {
    let mut total = Sums::default();
    for text in texts {
        total.rows += text.rows;
        for (place, sums) in text.columns {
            let columns = total.columns.entry(place).or_insert_with(|| vec![0.0; sums.len()]);
            columns.iter_mut().zip(sums).for_each(|(column, sum)| *column += sum);
        }
    }
    let rows = total.rows.max(1) as f64;
    let root = |sum: f64| (sum / rows).sqrt() as f32;
    let columns = total.columns.into_iter();
    columns.map(|(place, sums)| (place, sums.into_iter().map(root).collect())).collect()
}
