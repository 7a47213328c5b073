//! Activations of a model on some texts, summed up for [`Calibration`].
//!
//! The same texts give the same scales on every machine: the model runs on the portable kernels,
//! text by text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{BufWriter, Seek};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use nanoembed_core::kernel::Kernels;
use nanoembed_core::model::{Batch, Config, InOrder, Observer as Inputs, Plan, Weights};
use nanoembed_core::owned::{Encoder, TextSession};
use nanoembed_core::quant::int8::{CodeRange, add_squares};
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use crate::checkpoint::Checkpoint;
use crate::convert::calibration::Calibration;
use crate::convert::naming::{Naming, Place};
use crate::convert::weights_file::{self, Storage, WeightType};
use crate::error::{Error, NO_MEMORY, Result};
use crate::files::mapped_file::MappedFile;
use crate::files::scratch;
use crate::hashed;
use crate::parallel;
use crate::progress::{Observer, Progress};

/// Everyday sentences of many kinds and scripts, none of them among those that models are judged
/// by.
const TEXTS: &str = include_str!("../../data/calibration.txt");

/// The texts to calibrate with: the lines of `file`, or the built-in ones.
pub fn texts(file: Option<&Path>) -> Result<Vec<String>> {
    let lines: Cow<'_, str> = match file {
        None => TEXTS.into(),
        Some(path) => crate::files::whole_file::read_text(path)
            .map_err(|error| Error::reading(crate::error::name_of(path), &error))?
            .into(),
    };
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut texts = Vec::new();
    for line in lines {
        let added = limit::copied(line).and_then(|line| limit::push(&mut texts, line));
        added.map_err(|error| Error::in_file("the texts to calibrate with", error))?;
    }
    if texts.is_empty() {
        return Err(Error::usage("there are no texts to calibrate with"));
    }
    Ok(texts)
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
        Self::from_texts(model, (Naming::Bert, &checkpoint.name), texts, observer)
    }

    /// Runs an encoder, whose tensors are called so, in f32 over `texts`. `name` is the model's in
    /// messages.
    pub(crate) fn from_texts<W: Weights + Sync>(
        model: Encoder<W>,
        (naming, name): (Naming, &str),
        texts: &[String],
        observer: &dyn Observer,
    ) -> Result<Self> {
        let failed = |error| Error::in_file(name, error);
        let model = model.with_kernels(Kernels::portable()).map_err(failed)?;
        let progress = Progress::texts(observer, "calibrating", Some(texts.len() as u64));
        let observed = |text: &String| {
            let sums = observe(&model, naming, text);
            progress.advance(1);
            sums
        };
        let sums = parallel::gathered(texts.iter(), &observed).map_err(failed)?;
        Ok(Self { naming, columns: roots(sums).map_err(failed)? })
    }
}

/// The checkpoint as a `.weights` file that has no name and vanishes with its map.
pub fn as_floats(checkpoint: &Checkpoint<'_>) -> Result<MappedFile> {
    const NAME: &str = "a temporary file";
    let file = scratch::create().map_err(|error| Error::writing(NAME, &error))?;
    let mut writer = BufWriter::with_capacity(1 << 20, file);
    let metadata = checkpoint.metadata()?;
    let storage = Storage {
        weight_type: WeightType::F32,
        calibration: &Calibration::default(),
        range: CodeRange::Full,
    };
    let tokens = checkpoint.tokens()?;
    let source = weights_file::WeightsSource::from_checkpoint(checkpoint, &tokens)?;
    weights_file::write(&source, &storage, &metadata, &mut writer, NAME, &Progress::silent())?;
    let file = writer.into_inner().map_err(|error| Error::writing(NAME, error.error()))?;
    (&file).rewind().map_err(|error| Error::writing(NAME, &error))?;
    MappedFile::from_file(file).map_err(|error| Error::reading(NAME, &error))
}

/// The sums of squares by place and column, and the number of rows. Layers that share a place make
/// all of its columns larger by the same factor, which does not change their scales.
#[derive(Default)]
struct Sums {
    rows: u64,
    columns: HashMap<Place, Vec<f64>>,
}

fn observe<W: Weights + Sync>(
    model: &Encoder<W>,
    naming: Naming,
    text: &str,
) -> Result<Sums, CoreError> {
    let ids = model.encode(text, model.usual_tokens(), &mut TextSession::default())?.ids;
    let Some(config) = model.network().config().filter(|_| !ids.is_empty()) else {
        return Ok(Sums::default());
    };
    let mut session = model.session_for(Plan { quantized: false, ..Plan::new(ids.len()) })?;
    let lengths = [ids.len()];
    let texts = Batch::new(&ids, &lengths);
    observed((config, naming), ids.len(), |see| {
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

/// Sums up the activations that `run` passes on for a text of so many tokens.
fn observed(
    (config, naming): (&Config, Naming),
    tokens: usize,
    run: impl FnOnce(&Inputs<'_>) -> Result<(), CoreError>,
) -> Result<Sums, CoreError> {
    let columns = Mutex::new(Ok(HashMap::new()));
    run(&|seen| {
        let mut columns = columns.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(known) = &mut *columns else { return };
        match sums_at(known, naming.observed(&seen), seen.input.cols(config, seen.layer)) {
            Ok(sums) => add_squares(sums, seen.values),
            Err(error) => *columns = Err(error),
        }
    })?;
    let columns = columns.into_inner().unwrap_or_else(PoisonError::into_inner)?;
    Ok(Sums { rows: tokens as u64, columns })
}

/// The sums of a place, which has so many columns.
fn sums_at(
    columns: &mut HashMap<Place, Vec<f64>>,
    place: Place,
    count: usize,
) -> Result<&mut Vec<f64>, CoreError> {
    columns.try_reserve(1).map_err(|_| NO_MEMORY)?;
    Ok(match columns.entry(place) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(new) => new.insert(limit::filled(count, 0.0)?),
    })
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "rounding is fine"
)]
fn roots(texts: Vec<Sums>) -> Result<HashMap<Place, Vec<f32>>, CoreError> {
    let mut total = Sums::default();
    for text in texts {
        total.rows += text.rows;
        for (place, sums) in text.columns {
            let columns = sums_at(&mut total.columns, place, sums.len())?;
            columns.iter_mut().zip(sums).for_each(|(column, sum)| *column += sum);
        }
    }
    let rows = total.rows.max(1) as f64;
    let root = |sum: f64| (sum / rows).sqrt() as f32;
    let mut columns = HashMap::new();
    for (place, sums) in total.columns {
        hashed::insert(&mut columns, place, limit::exactly(sums.into_iter().map(root))?)?;
    }
    Ok(columns)
}
