//! `.fifu` files with product-quantised vectors.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use nanoembed_core::format::finalfusion::{Storage, StorageSpec};
use nanoembed_core::words::{DROPPED, Memory, Words, is_dropped, normalize};
use rayon::prelude::*;
use serde_json::json;

use super::derive;
use super::file::Opened;
use super::policy::{OnBrokenUtf8, OnDuplicate, PolicyArgs};
use super::train::Numbers;
use super::train::product::{Quantizer, RotationKind, Spec};
use super::write::fifu::bytes_of;
use crate::atomic::NewFile;
use crate::error::{Failure, Result};
use crate::mapped::Mapped;
use crate::output::lines::Lines;
use crate::output::units;
use crate::progress::Progress;

/// How many rows are encoded at a time.
const BLOCK_ROWS: u64 = 4096;

/// What options are unless they are given.
const ITERATIONS: u16 = 25;
const SAMPLE: u32 = 32_768;
const SEED: u64 = 42;

/// The arguments about product quantisation.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Product quantisation")]
pub(crate) struct PqOptions {
    /// How many parts a vector is cut into, and so how many bytes it takes; divides its length
    /// [default: the largest that gives parts of six columns or more]
    #[arg(long, short = 's', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    subquantizers: Option<u32>,

    /// Turn vectors before they are cut, which stores a matrix and makes the error smaller
    #[arg(long, value_enum, default_value_t, value_name = "KIND")]
    rotation: RotationKind,

    /// Rounds of k-means
    #[arg(long, value_name = "N", default_value_t = ITERATIONS, value_parser = clap::value_parser!(u16).range(1..))]
    iterations: u16,

    /// How many rows the quantiser is fitted to
    #[arg(long, value_name = "ROWS", default_value_t = SAMPLE, value_parser = clap::value_parser!(u32).range(1..))]
    sample: u32,

    /// The same seed gives the same file
    #[arg(long, value_name = "N", default_value_t = SEED)]
    seed: u64,

    /// Quantise vectors as they are, without their lengths beside them
    #[arg(long)]
    no_norms: bool,

    #[command(flatten)]
    policy: PolicyArgs,
}

impl PqOptions {
    /// An option that was given another value than it has of itself.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let options = [
            ("--subquantizers", self.subquantizers.is_some()),
            ("--rotation", self.rotation != RotationKind::default()),
            ("--iterations", self.iterations != ITERATIONS),
            ("--sample", self.sample != SAMPLE),
            ("--seed", self.seed != SEED),
            ("--no-norms", self.no_norms),
            ("--duplicates", self.policy.duplicates != OnDuplicate::default()),
            ("--utf8", self.policy.utf8 != OnBrokenUtf8::default()),
        ];
        options.iter().find(|(_, is_given)| *is_given).map(|(option, _)| *option)
    }
}

/// Writes the words of the file at `input` with quantised vectors.
pub(crate) fn quantize(
    (input, bytes): (&Path, &Mapped),
    output: &Path,
    (options, code_bits): (&PqOptions, u32),
    (json, quiet): (bool, bool),
) -> Result<ExitCode> {
    let opened = Opened::parse(input, bytes, options.policy)?;
    let storage = opened.file.layout().storage;
    if matches!(storage, Storage::Quantized(_)) {
        return Err(Failure::bad_input("the vectors are quantised already")
            .at(&opened.name)
            .hint("`nanoembed reconstruct` makes them f32 again"));
    }
    let spec = options.spec(&opened, code_bits)?;
    let rows = RowReader { words: opened.scanned(), opened: &opened, norms: !options.no_norms };
    if !quiet {
        anstream::eprintln!("fitting {} parts of {} columns", spec.parts, spec.cols / spec.parts);
    }
    let quantizer = Quantizer::train(&rows.sample(options)?, spec);
    let mut file = NewFile::create(output, true)?;
    let name = file.name();
    let row_bytes = u64::from(storage.cols()) * 4;
    let total = storage.rows().saturating_mul(row_bytes);
    let progress = (!quiet).then(|| Progress::bytes("encoding", total));
    let mut encoded = Encoded::default();
    rows.encode(&quantizer, spec, &mut encoded, |count| {
        if let Some(progress) = &progress {
            progress.advance(count * row_bytes);
        }
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
    report(&encoded, &storage, (json, quiet), written.map(|written| (before, written)))
}

fn report(
    encoded: &Encoded,
    storage: &StorageSpec,
    (json, quiet): (bool, bool),
    sizes: Option<(u64, u64)>,
) -> Result<ExitCode> {
    let StorageSpec::Quantized { cols, codes_per_row, norms, .. } = *storage else {
        return Ok(ExitCode::SUCCESS);
    };
    let bits = f64::from(codes_per_row * 8 + if norms { 32 } else { 0 }) / f64::from(cols);
    let nmse = encoded.squared_error / encoded.squares.max(f64::MIN_POSITIVE);
    if json {
        let mut lines = Lines::stdout();
        lines.json(&json!({ "tensor": "embeddings", "bits": bits, "nmse": nmse }))?;
        lines.finish()?;
    }
    if let (false, Some((before, after))) = (quiet, sizes) {
        anstream::eprintln!(
            "{} became {}: {bits:.2} bits a number, error (NMSE) {nmse:.4}",
            units::bytes(before),
            units::bytes(after)
        );
    }
    Ok(ExitCode::SUCCESS)
}

impl PqOptions {
    fn spec(&self, opened: &Opened<'_>, code_bits: u32) -> Result<Spec> {
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
                return Err(Failure::usage(format!("vectors have {cols} columns"))
                    .hint(format!("`--subquantizers` can be {}", divisors.join(", "))));
            }
        };
        Ok(Spec {
            cols: cols as usize,
            parts: parts as usize,
            centroids: 1 << code_bits,
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
