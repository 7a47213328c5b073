//! `.fifu` files with product-quantised vectors.

use std::path::Path;

use nanoembed_core::format::finalfusion::{Storage, StorageSpec};
use nanoembed_core::words::{DROPPED, Memory, Words, is_dropped, normalize};
use rayon::prelude::*;

use super::derive;
use super::file::Opened;
use super::policy::Policy;
use super::train::Numbers;
use super::train::product::{Quantizer, RotationKind, Spec};
use super::write::fifu::bytes_of;
use crate::error::{Error, Result};
use crate::files::mapped::Mapped;
use crate::files::new_file::NewFile;
use crate::progress::{Observer, Progress};

/// How many rows are encoded at a time.
const BLOCK_ROWS: u64 = 4096;

/// How vectors are quantised.
#[derive(Clone, Debug)]
pub struct PqOptions {
    /// How many parts a vector is cut into, and so how many bytes it takes; divides its length.
    /// `None` is the largest number that gives parts of six columns or more.
    pub subquantizers: Option<u32>,
    /// Bits of a code, 1 to 8.
    pub code_bits: u32,
    /// Turn vectors before they are cut, which stores a matrix and makes the error smaller.
    pub rotation: RotationKind,
    /// Rounds of k-means.
    pub iterations: u16,
    /// How many rows the quantiser is fitted to.
    pub sample: u32,
    /// The same seed gives the same file.
    pub seed: u64,
    /// Quantise vectors as they are, without their lengths beside them.
    pub no_norms: bool,
    /// What is done with words that the file gets wrong.
    pub policy: Policy,
}

impl Default for PqOptions {
    fn default() -> Self {
        Self {
            subquantizers: None,
            code_bits: 8,
            rotation: RotationKind::default(),
            iterations: 25,
            sample: 32_768,
            seed: 42,
            no_norms: false,
            policy: Policy::default(),
        }
    }
}

/// What became of vectors.
#[derive(Clone, Copy, Debug)]
pub struct PqReport {
    /// Bits that a number takes.
    pub bits: f64,
    /// The mean squared error by the mean square.
    pub nmse: f64,
    /// The sizes of both files, where the output is a file.
    pub sizes: Option<(u64, u64)>,
}

/// Writes the words of the file at `input` with quantised vectors.
pub fn quantize(
    (input, bytes): (&Path, &Mapped),
    output: &Path,
    options: &PqOptions,
    observer: &dyn Observer,
) -> Result<PqReport> {
    let opened = Opened::parse(input, bytes, options.policy)?;
    let storage = opened.file.layout().storage;
    if matches!(storage, Storage::Quantized(_)) {
        return Err(Error::bad_input("the vectors are quantised already")
            .at(&opened.name)
            .with_hint("`nanoembed reconstruct` makes them f32 again"));
    }
    let spec = options.spec(&opened)?;
    let rows = RowReader { words: opened.scanned(), opened: &opened, norms: !options.no_norms };
    observer.note(&format!("fitting {} parts of {} columns", spec.parts, spec.cols / spec.parts));
    let quantizer = Quantizer::train(&rows.sample(options)?, spec);
    let mut file = NewFile::create(output, true)?;
    let name = file.name();
    let row_bytes = u64::from(storage.cols()) * 4;
    let total = storage.rows().saturating_mul(row_bytes);
    let progress = Progress::bytes(observer, "encoding", total);
    let mut encoded = Encoded::default();
    rows.encode(&quantizer, spec, &mut encoded, |count| {
        progress.advance(count * row_bytes);
    })?;
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let storage = StorageSpec::Quantized {
        rows: storage.rows(),
        cols: storage.cols(),
        codes_per_row: number(spec.parts),
        centroids: number(spec.centroids),
        projection: quantizer.rotation.is_some(),
        norms: !options.no_norms,
    };
    derive::with_storage(&opened, storage, (&mut file, &name), |writer| {
        if let Some(rotation) = &quantizer.rotation {
            writer.data(&bytes_of(&rotation.rows))?;
        }
        writer.data(&bytes_of(&quantizer.subquantizers()))?;
        writer.data(&bytes_of(&encoded.norms))?;
        Ok(writer.data(&encoded.codes)?)
    })?;
    drop(progress);
    let written = file.written()?.and_then(|file| file.metadata().ok()).map(|file| file.len());
    file.commit()?;
    let before = opened.file.bytes().len() as u64;
    Ok(encoded.report(&storage, written.map(|written| (before, written))))
}

impl PqOptions {
    fn spec(&self, opened: &Opened<'_>) -> Result<Spec> {
        let cols = opened.file.layout().storage.cols();
        let parts = match self.subquantizers {
            Some(parts) if cols > 0 && cols.is_multiple_of(parts) => parts,
            None if cols > 0 => {
                let fits = |parts: &u32| cols.is_multiple_of(*parts);
                (1..=(cols / 6).max(1)).rev().find(fits).unwrap_or(1)
            }
            _ => {
                let divisors: Vec<String> = (1..=cols)
                    .filter(|parts| cols.is_multiple_of(*parts))
                    .map(|parts| parts.to_string())
                    .collect();
                return Err(Error::usage(format!("vectors have {cols} columns"))
                    .with_hint(format!("`--subquantizers` can be {}", divisors.join(", "))));
            }
        };
        Ok(Spec {
            cols: cols as usize,
            parts: parts as usize,
            centroids: 1 << self.code_bits,
            rounds: self.iterations.into(),
            rotation: self.rotation,
            seed: self.seed,
        })
    }
}

/// What the rows became.
#[derive(Debug, Default)]
struct Encoded {
    norms: Vec<f32>,
    codes: Vec<u8>,
    squared_error: f64,
    squares: f64,
}

impl Encoded {
    fn report(&self, storage: &StorageSpec, sizes: Option<(u64, u64)>) -> PqReport {
        let bits = match *storage {
            StorageSpec::Quantized { cols, codes_per_row, norms, .. } => {
                let norm = if norms { 32 } else { 0 };
                f64::from(codes_per_row * 8 + norm) / f64::from(cols)
            }
            StorageSpec::Array { .. } => 32.0,
        };
        let nmse = self.squared_error / self.squares.max(f64::MIN_POSITIVE);
        PqReport { bits, nmse, sizes }
    }
}

/// Rows of a file as they are quantised: normalised where their lengths are kept.
struct RowReader<'r, 'b> {
    words: Words<Memory<'b>>,
    opened: &'r Opened<'b>,
    norms: bool,
}

impl RowReader<'_, '_> {
    fn read(&self, row: u64, out: &mut [f32]) -> Result<f32> {
        self.words.row(row, out, &mut []).map_err(|error| self.opened.failure(error))?;
        Ok(match self.norms {
            true if is_dropped(out) => DROPPED,
            true => normalize(out),
            false => 1.0,
        })
    }

    /// Some rows, one behind the other. Those of zeros or with numbers that are none teach nothing.
    fn sample(&self, options: &PqOptions) -> Result<Vec<f32>> {
        let rows = usize::try_from(self.opened.file.layout().storage.rows()).unwrap_or(usize::MAX);
        let mut sample = Vec::new();
        let mut row = vec![0.0; self.words.cols()];
        for at in Numbers::new(options.seed).sample(rows, options.sample as usize) {
            let norm = self.read(at as u64, &mut row)?;
            if norm != 0.0 && row.iter().all(|value| value.is_finite()) {
                sample.extend_from_slice(&row);
            }
        }
        Ok(sample)
    }

    /// Encodes all rows, a block at a time on all threads.
    fn encode(
        &self,
        quantizer: &Quantizer,
        spec: Spec,
        encoded: &mut Encoded,
        mut on_rows: impl FnMut(u64),
    ) -> Result<()> {
        let rows = self.opened.file.layout().storage.rows();
        let mut next = 0;
        while next < rows {
            let block: Vec<u64> = (next..rows.min(next + BLOCK_ROWS)).collect();
            let done: Vec<(f32, Vec<u8>, f64)> = block
                .par_iter()
                .map(|&at| {
                    let (mut row, mut codes) = (vec![0.0; spec.cols], vec![0; spec.parts]);
                    let norm = self.read(at, &mut row)?;
                    quantizer.encode(&row, &mut codes);
                    Ok((norm, codes.clone(), quantizer.squared_error(&row, &codes)))
                })
                .collect::<Result<_>>()?;
            for (norm, codes, error) in done {
                let square = f64::from(norm) * f64::from(norm);
                if self.norms {
                    encoded.norms.push(norm);
                }
                encoded.codes.extend(codes);
                encoded.squared_error += error * square;
                encoded.squares += square;
            }
            on_rows(block.len() as u64);
            next += BLOCK_ROWS;
        }
        Ok(())
    }
}
