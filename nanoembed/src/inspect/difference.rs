//! Differences between the weights of two files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use nanoembed_core::describe::gguf::gguf_is_known_encoder;
use nanoembed_core::event::Format;
use nanoembed_core::owned::folder::Described;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::files::spool::Spool;
use crate::layer_names::{NamesFile, translation};
use crate::open::folder::files::EncoderFolder;
use crate::parallel;
use crate::progress::{Observer, Progress};
use crate::stored::{Contents, FileSet, Stored};

/// Tensors that two files share, and those that only one has. The fields' names are those of the
/// JSON output.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Differences {
    /// The first file, as messages call it.
    #[serde(skip)]
    pub file_a: String,
    /// The second file.
    #[serde(skip)]
    pub file_b: String,
    /// Tensors that only the first file has.
    pub only_a: Vec<String>,
    /// Tensors that only the second file has.
    pub only_b: Vec<String>,
    /// Tensors of one name and different shapes.
    pub shapes: Vec<Shapes>,
    /// Tensors of one name and shape.
    pub tensors: Vec<Difference>,
}

/// A tensor that has another shape in the other file.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Shapes {
    /// Its name.
    pub name: String,
    /// Its sizes in the first file, the outermost first.
    pub a: Vec<u64>,
    /// Its sizes in the second file.
    pub b: Vec<u64>,
}

/// The difference between the values of a tensor in two files.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Difference {
    /// Its name.
    pub name: String,
    /// Its sizes, the outermost first.
    pub shape: Vec<u64>,
    /// The type in the first file.
    pub dtype_a: &'static str,
    /// The type in the second file.
    pub dtype_b: &'static str,
    /// The largest difference of two values.
    pub max_abs: f64,
    /// The sum of squared differences as a share of the first file's squared values.
    pub nmse: f64,
    /// The cosine of all values as one vector.
    pub cosine: f64,
}

/// Two files of weights, of any formats, that are to be compared.
///
/// ```
/// use nanoembed::Silent;
/// use nanoembed::inspect::Comparison;
///
/// let file = "../tests/data/gguf/small.gguf";
/// let differences = Comparison::new(file, file).run(&Silent)?;
/// assert!(differences.tensors.iter().all(|tensor| tensor.max_abs == 0.0));
/// # Ok::<(), nanoembed::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Comparison {
    a: PathBuf,
    b: PathBuf,
    names: Option<PathBuf>,
}

impl Comparison {
    /// A comparison of the file `b` with `a`, which is the measure.
    pub fn new(a: impl Into<PathBuf>, b: impl Into<PathBuf>) -> Self {
        Self { a: a.into(), b: b.into(), names: None }
    }

    /// A file with the names of layers that have only numbers.
    #[must_use]
    pub fn names(self, file: impl Into<Option<PathBuf>>) -> Self {
        Self { names: file.into(), ..self }
    }

    /// Compares the tensors.
    ///
    /// # Errors
    ///
    /// Fails if one of the files is invalid or cannot be read.
    pub fn run(&self, observer: &dyn Observer) -> Result<Differences> {
        let (a, b) = (FileSet::open(&self.a)?, FileSet::open(&self.b)?);
        let differences = compare(&a, &b, self.names.as_deref(), observer)?;
        Ok(Differences { file_a: a.name(), file_b: b.name(), ..differences })
    }
}

fn compare(
    left: &FileSet,
    right: &FileSet,
    names: Option<&Path>,
    observer: &dyn Observer,
) -> Result<Differences> {
    let (mut a, mut b) = (left.contents()?, right.contents()?);
    if let Some(path) = names {
        let names = NamesFile::read(path)?;
        let numeric = |name: &str| name.starts_with(|c: char| c.is_ascii_digit());
        for tensor in a.tensors.iter_mut().chain(&mut b.tensors) {
            if let Some((number, part)) =
                tensor.name.split_once('.').filter(|_| numeric(&tensor.name))
                && let Some(name) = number.parse().ok().and_then(|number| names.name(number))
            {
                tensor.name = format!("{name}.{part}");
            }
        }
    }
    let mut spool = Spool::new()?;
    let one_is_gguf = (a.format == Format::Gguf) != (b.format == Format::Gguf);
    let mut rename = |contents: &mut Contents<'_>| {
        if one_is_gguf { translation::rename(contents, &mut spool) } else { Ok(Vec::new()) }
    };
    let (of_a, of_b) = (rename(&mut a)?, rename(&mut b)?);
    rename_encoder(&mut a, &b, right)?;
    rename_encoder(&mut b, &a, left)?;
    let spooled = spool.finish()?;
    translation::replace(&mut a, &of_a, &spooled)?;
    translation::replace(&mut b, &of_b, &spooled)?;
    tensors(&a, &b, observer)
}

/// Gives the tensors of an encoder in GGUF the names that `other` has for them, if that is the folder
/// of such a model.
fn rename_encoder(gguf: &mut Contents<'_>, other: &Contents<'_>, files: &FileSet) -> Result<()> {
    let is_encoder = gguf.gguf.first().is_some_and(gguf_is_known_encoder);
    if !is_encoder || other.format != Format::Safetensors {
        return Ok(());
    }
    let path = files.given_folder().or_else(|| files.iter().next().map(|(path, _)| path));
    let folder = path.and_then(|path| EncoderFolder::open(path).ok());
    match folder.as_ref().map(|folder| &folder.model().described) {
        Some(Described::Transformer(family)) => translation::rename_encoder(gguf, other, family),
        _ => Ok(()),
    }
}

/// The first tensor of each name.
fn by_name<'c, 'a>(contents: &'c Contents<'a>) -> HashMap<&'c str, &'c Stored<'a>> {
    contents.tensors.iter().rev().map(|tensor| (tensor.name.as_str(), tensor)).collect()
}

fn tensors(a: &Contents<'_>, b: &Contents<'_>, observer: &dyn Observer) -> Result<Differences> {
    let (in_a, in_b) = (by_name(a), by_name(b));
    let missing = |from: &HashMap<&str, _>, of: &Contents<'_>| -> Vec<String> {
        let names = of.tensors.iter().map(|tensor| &tensor.name);
        names.filter(|name| !from.contains_key(name.as_str())).cloned().collect()
    };
    let mut report = Differences {
        file_a: String::new(),
        file_b: String::new(),
        only_a: missing(&in_b, a),
        only_b: missing(&in_a, b),
        shapes: Vec::new(),
        tensors: Vec::new(),
    };
    let total = a.tensors.iter().map(|tensor| tensor.values.stored_bytes()).sum();
    let progress = Progress::bytes(observer, "comparing", total);
    for left in &a.tensors {
        let Some(right) = in_b.get(left.name.as_str()) else { continue };
        let (of_a, of_b) = (left.values.shape(), right.values.shape());
        if of_a == of_b {
            report.tensors.push(pair(left, right)?);
        } else {
            let (a, b) = (of_a.dims().to_vec(), of_b.dims().to_vec());
            report.shapes.push(Shapes { name: left.name.clone(), a, b });
        }
        progress.advance(left.values.stored_bytes());
    }
    Ok(report)
}

/// Sums over pairs of values.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    max_abs: f64,
    squared_error: f64,
    a: f64,
    b: f64,
    product: f64,
}

impl Sums {
    fn new(a: &[f32], b: &[f32]) -> Self {
        a.iter().zip(b).fold(Self::default(), |sums, (a, b)| {
            let (a, b) = (f64::from(*a), f64::from(*b));
            let error = (a - b).abs();
            Self {
                // Also if one of them is no number.
                max_abs: if error > sums.max_abs || error.is_nan() { error } else { sums.max_abs },
                squared_error: sums.squared_error + error * error,
                a: sums.a + a * a,
                b: sums.b + b * b,
                product: sums.product + a * b,
            }
        })
    }

    fn and(self, other: Self) -> Self {
        let larger = other.max_abs > self.max_abs || other.max_abs.is_nan();
        Self {
            max_abs: if larger { other.max_abs } else { self.max_abs },
            squared_error: self.squared_error + other.squared_error,
            a: self.a + other.a,
            b: self.b + other.b,
            product: self.product + other.product,
        }
    }
}

fn pair(left: &Stored<'_>, right: &Stored<'_>) -> Result<Difference> {
    const PIECE: usize = 1 << 16;
    let elements = usize::try_from(left.values.elements()).unwrap_or(usize::MAX);
    let piece = |index: usize| {
        let first = index * PIECE;
        let mut a = vec![0.0; PIECE.min(elements - first)];
        let mut b = a.clone();
        left.read(first, &mut a)?;
        right.read(first, &mut b)?;
        Ok::<_, Error>(Sums::new(&a, &b))
    };
    // Waking threads takes longer than a small tensor does, and a file may have thousands of them.
    let sums = match elements.div_ceil(PIECE) {
        0 => Sums::default(),
        1 => piece(0)?,
        pieces => {
            let sums = parallel::gathered(0..pieces, &|index| Ok(piece(index)));
            let sums = sums.map_err(|error| Error::in_file(&left.name, error))?;
            sums.into_iter()
                .try_fold(Sums::default(), |all, sums| Ok::<_, Error>(all.and(sums?)))?
        }
    };
    let norms = sums.a.sqrt() * sums.b.sqrt();
    let nothing_differs = sums.squared_error == 0.0;
    Ok(Difference {
        name: left.name.clone(),
        shape: left.values.shape().dims().to_vec(),
        dtype_a: left.values.type_name(),
        dtype_b: right.values.type_name(),
        max_abs: sums.max_abs,
        nmse: if nothing_differs { 0.0 } else { sums.squared_error / sums.a },
        cosine: if nothing_differs { 1.0 } else { sums.product / norms },
    })
}
