//! `.fifu` files with product-quantised vectors.

use std::path::PathBuf;

use nanoembed_core::event::Format;
use nanoembed_core::format::finalfusion::{Storage, StorageSpec};
use nanoembed_core::format::{SNIFF_BYTES, sniff};
use nanoembed_core::words::{DROPPED, Memory, Words, is_dropped, normalize};
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use super::derivation;
use super::file::WordFile;
use super::policy::Policy;
use super::train::Numbers;
use super::train::kmeans::Centroids;
use super::train::product::{Quantizer, RotationKind, Spec};
use super::write::fifu;
use crate::error::{Error, Result, name_of};
use crate::files::mapped_file::MappedFile;
use crate::files::new_file::NewFile;
use crate::parallel;
use crate::progress::{Observer, Progress};
use crate::signature::foreign;

/// The number of rows that are encoded at a time.
const BLOCK_ROWS: usize = 4096;
/// Rows of these that a thread encodes at once.
const PIECE_ROWS: usize = 64;

/// The vectors of a `.fifu` file on their way to codes: parts of each become numbers of centroids
/// that are trained on them (product quantisation).
///
/// ```
/// use nanoembed::Silent;
/// use nanoembed::words::Quantization;
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let output = folder.path().join("words.pq.fifu");
/// let words = "../ffi/tests/data/words.fifu";
/// let report = Quantization::new(words, &output).code_bits(4).run(&Silent)?;
/// println!("{:.2} bits a number, error {:.4}", report.bits, report.nmse);
/// # Ok::<(), nanoembed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Quantization {
    input: PathBuf,
    output: PathBuf,
    subquantizers: Option<u32>,
    code_bits: u32,
    rotation: RotationKind,
    iterations: u16,
    sample: u32,
    seed: u64,
    norms: bool,
    policy: Policy,
}

impl Quantization {
    /// Rounds of k-means unless another number is asked for.
    pub const ITERATIONS: u16 = 25;
    /// The number of rows that the quantiser is fitted to by default.
    pub const SAMPLE: u32 = 32_768;
    /// The seed unless another one is asked for.
    pub const SEED: u64 = 42;

    /// A quantisation of the `.fifu` file `input` to the `.fifu` file `output`.
    pub fn new(input: impl Into<PathBuf>, output: impl Into<PathBuf>) -> Self {
        Self {
            input: input.into(),
            output: output.into(),
            subquantizers: None,
            code_bits: 8,
            rotation: RotationKind::default(),
            iterations: Self::ITERATIONS,
            sample: Self::SAMPLE,
            seed: Self::SEED,
            norms: true,
            policy: Policy::default(),
        }
    }

    /// The number of parts that a vector is cut into, and so of its bytes; divides its length.
    /// Without it, the largest number that gives parts of six columns or more.
    #[must_use]
    pub fn subquantizers(self, parts: impl Into<Option<u32>>) -> Self {
        Self { subquantizers: parts.into(), ..self }
    }

    /// Bits of a code, 1 to 8, instead of 8.
    #[must_use]
    pub const fn code_bits(mut self, bits: u32) -> Self {
        self.code_bits = bits;
        self
    }

    /// Turns vectors before they are cut, which stores a matrix and makes the error smaller.
    #[must_use]
    pub const fn rotation(mut self, rotation: RotationKind) -> Self {
        self.rotation = rotation;
        self
    }

    /// Rounds of k-means.
    #[must_use]
    pub const fn iterations(mut self, rounds: u16) -> Self {
        self.iterations = rounds;
        self
    }

    /// The number of rows that the quantiser is fitted to.
    #[must_use]
    pub const fn sample(mut self, rows: u32) -> Self {
        self.sample = rows;
        self
    }

    /// The same seed gives the same file.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// With true, vectors are quantised with length 1 and their lengths beside them, which is the
    /// default.
    #[must_use]
    pub const fn norms(mut self, norms: bool) -> Self {
        self.norms = norms;
        self
    }

    /// The policy for words that the file gets wrong.
    #[must_use]
    pub const fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Writes the output.
    ///
    /// # Errors
    ///
    /// Fails if the input is invalid, its vectors are quantised already, or the output cannot be
    /// written.
    pub fn run(&self, observer: &dyn Observer) -> Result<PqReport> {
        let bytes = MappedFile::open(&self.input)?;
        match sniff(bytes.get(..SNIFF_BYTES).unwrap_or(&bytes)) {
            Some(Format::Finalfusion) => self.quantize(&bytes, observer),
            Some(format) => Err(Error::usage(format!(
                "`pq` is for word vectors, but {} is a {} file",
                name_of(&self.input),
                format.name()
            ))),
            None => {
                let unknown = CoreError::new(0, ErrorKind::UnknownFormat);
                Err(foreign::failure(name_of(&self.input), &bytes, unknown))
            }
        }
    }

    fn quantize(&self, bytes: &MappedFile, observer: &dyn Observer) -> Result<PqReport> {
        let opened = WordFile::parse(&self.input, bytes, self.policy)?;
        let storage = opened.file.layout().storage;
        if matches!(storage, Storage::Quantized(_)) {
            return Err(Error::bad_input("the vectors are quantised already")
                .at(&opened.name)
                .with_hint("`nanoembed reconstruct` makes them f32 again"));
        }
        let spec = self.spec(&opened)?;
        let rows = RowReader { words: opened.scanned(), opened: &opened, norms: self.norms };
        observer.note(&format!(
            "fitting {} parts of {} columns",
            spec.parts,
            spec.cols / spec.parts
        ));
        let quantizer = Quantizer::train(&rows.sample(self)?, spec);
        let quantizer = quantizer.map_err(|error| opened.failure(error))?;
        let mut file = NewFile::create(&self.output, true)?;
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
            norms: self.norms,
        };
        derivation::with_storage(&opened, storage, (&mut file, &name), |writer| {
            if let Some(rotation) = &quantizer.rotation {
                fifu::floats(writer, &rotation.rows)?;
            }
            fifu::floats(writer, quantizer.subquantizers().flat_map(Centroids::numbers))?;
            fifu::floats(writer, &encoded.norms)?;
            Ok(writer.data(&encoded.codes)?)
        })?;
        drop(progress);
        let written = file.written()?.and_then(|file| file.metadata().ok()).map(|file| file.len());
        file.commit()?;
        let before = opened.file.bytes().len() as u64;
        Ok(encoded.report(&storage, written.map(|written| (before, written))))
    }

    fn spec(&self, opened: &WordFile<'_>) -> Result<Spec> {
        let wrong = |name, message| Err(Error::argument(name, message));
        match *self {
            Self { code_bits, .. } if !(1..=8).contains(&code_bits) => {
                return wrong("code_bits", "is 1 to 8");
            }
            Self { iterations: 0, .. } => return wrong("iterations", "is 1 or more"),
            Self { sample: 0, .. } => return wrong("sample", "is 1 or more"),
            _ => {}
        }
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

/// The outcome of quantising vectors.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PqReport {
    /// Bits that a number takes.
    pub bits: f64,
    /// The mean squared error by the mean square.
    pub nmse: f64,
    /// The sizes of both files, where the output is a file.
    pub sizes: Option<(u64, u64)>,
}

/// The quantised rows.
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
    opened: &'r WordFile<'b>,
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

    /// Some rows, one after the other. Rows of zeros, and those with NaN or infinities, are left
    /// out.
    fn sample(&self, options: &Quantization) -> Result<Vec<f32>> {
        let rows = usize::try_from(self.opened.file.layout().storage.rows()).unwrap_or(usize::MAX);
        let failed = |error| self.opened.failure(error);
        let mut sample = Vec::new();
        let mut row = limit::filled(self.words.cols(), 0.0).map_err(failed)?;
        let chosen = Numbers::new(options.seed).sample(rows, options.sample as usize);
        for at in chosen.map_err(failed)? {
            let norm = self.read(at as u64, &mut row)?;
            if norm != 0.0 && row.iter().all(|value| value.is_finite()) {
                limit::append(&mut sample, &row).map_err(failed)?;
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
        let failed = |error| self.opened.failure(error);
        let rows = self.opened.file.layout().storage.rows();
        let memory = || -> Result<_, CoreError> {
            Ok((limit::filled(spec.cols, 0.0)?, quantizer.scratch()?))
        };
        let all = usize::try_from(rows).unwrap_or(usize::MAX);
        encoded.codes = limit::filled(all.saturating_mul(spec.parts), 0).map_err(failed)?;
        if self.norms {
            encoded.norms = limit::reserved(all).map_err(failed)?;
        }
        // The length of each row of a block, and the squared error of its codes.
        let mut measures = limit::filled(BLOCK_ROWS, (0.0_f32, 0.0_f64)).map_err(failed)?;
        let blocks = encoded.codes.chunks_mut(BLOCK_ROWS * spec.parts);
        for (first, codes) in (0..rows).step_by(BLOCK_ROWS).zip(blocks) {
            let measures = &mut measures[..codes.len() / spec.parts];
            let pieces = measures.chunks_mut(PIECE_ROWS);
            let pieces = pieces.zip(codes.chunks_mut(PIECE_ROWS * spec.parts)).enumerate();
            let encoded_piece = |(piece, (measures, codes)): (usize, (&mut [_], &mut [u8]))| {
                let (mut row, mut scratch) = memory()?;
                let first = first + (piece * PIECE_ROWS) as u64;
                let rows = measures.iter_mut().zip(codes.chunks_exact_mut(spec.parts));
                for (at, (measures, codes)) in (first..).zip(rows) {
                    let norm = match self.read(at, &mut row) {
                        Ok(norm) => norm,
                        Err(error) => return Ok(Err(error)),
                    };
                    codes.copy_from_slice(quantizer.encode(&row, &mut scratch));
                    *measures = (norm, quantizer.squared_error(&scratch));
                }
                Ok(Ok(()))
            };
            let results = parallel::gathered(pieces, &encoded_piece).map_err(failed)?;
            results.into_iter().collect::<Result<()>>()?;
            for &(norm, error) in &*measures {
                let square = f64::from(norm) * f64::from(norm);
                encoded.squared_error += error * square;
                encoded.squares += square;
                encoded.norms.extend(self.norms.then_some(norm));
            }
            on_rows(measures.len() as u64);
        }
        Ok(())
    }
}
