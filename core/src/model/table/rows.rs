//! Static models: a table with a vector for each token; a text's vector is the mean of its tokens'
//! (Model2Vec, sentence-transformers' `StaticEmbedding`).
//!
//! ```text
//! vector = Σ weights[id] · table[mapping[id]] / number of ids
//! ```
//!
//! | tensor | shape | |
//! |---|---|---|
//! | `embeddings`, `embedding.weight`, `emb_layer.weight` | `[rows, dimensions]` | floats, blocks, INT8 with scales, or INT8 whose codes are the numbers themselves |
//! | `mapping`, optional | `[tokens]` | I64, I32 or U32: the row of each token |
//! | `weights`, optional | `[tokens]` | F64, F32, F16 or BF16: by what a token's row is multiplied |

use crate::error::{Error, ErrorKind, Result};
use crate::kernel::finite::check_finite;
use crate::kernel::root;
use crate::kernel::{self, Kernels};
use crate::model::parallel::InOrder;
use crate::model::run::Run;
use crate::model::weights::{Matrix, MatrixEncoding, Name, Weights};
use crate::quant::float16::{bf16_to_f32, f16_to_f32};
use crate::tensor::{Dtype, TensorHeader};

/// The names of the table in different versions.
const TABLES: [&str; 4] =
    ["embeddings", "embedding.weight", "embeddings.word_embeddings.weight", "emb_layer.weight"];
/// The row of each token.
const MAPPING: &str = "mapping";
/// The weight of each token.
const WEIGHTS: &str = "weights";

/// Added to a vector's length before it is divided by it, as in Model2Vec.
const LEAST_LENGTH: f32 = 1e-32;

/// The locations of a static model's parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenTable {
    rows: TableRows,
    mapping: Option<Column>,
    weights: Option<Column>,
    tokens: usize,
}

/// A vector for each row.
#[derive(Clone, Copy, Debug, PartialEq)]
enum TableRows {
    Matrix(Matrix),
    /// Bytes that are the numbers themselves.
    Integers {
        offset: u64,
        rows: usize,
        dimensions: usize,
    },
}

/// A number for each token.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Column {
    offset: u64,
    dtype: Dtype,
    /// Bytes of a number.
    size: u32,
}

impl TokenTable {
    /// Opens the table among the tensors that `find` returns by name, with offsets in the weights'
    /// source.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::MissingTensor`] without a table; [`ErrorKind::WrongShape`] or
    /// [`ErrorKind::UnsupportedDtype`] at the tensor at fault; any error from [`Matrix::find`].
    pub fn open<'h>(find: &dyn Fn(&str) -> Option<TensorHeader<'h>>) -> Result<Self> {
        let table = TABLES.iter().find_map(|name| find(name).map(|header| (*name, header)));
        let missing = Error::without_offset(ErrorKind::MissingTensor);
        let (name, header) = table.ok_or(missing)?;
        let mut scale = Name::new(name);
        scale.push(".scale");
        let has_scales = find(scale.as_str()).is_some();
        let rows = match header.dtype {
            Dtype::I8 if !has_scales => integers(&header)?,
            _ => TableRows::Matrix(Matrix::find(name, find)?.ok_or(missing)?),
        };
        let column = |name, dtypes: &[Dtype]| {
            find(name).map(|header| Column::new(&header, dtypes)).transpose()
        };
        let mapping = column(MAPPING, &[Dtype::I64, Dtype::I32, Dtype::U32])?;
        let weights = column(WEIGHTS, &[Dtype::F64, Dtype::F32, Dtype::F16, Dtype::BF16])?;
        let height = rows.height();
        let tokens = mapping.or(weights).map_or(height, |(_, count)| count);
        let same = |column: Option<(Column, usize)>| match column {
            Some((column, count)) if count != tokens => {
                Err(Error::new(column.offset, ErrorKind::WrongShape))
            }
            column => Ok(column.map(|(column, _)| column)),
        };
        let (mapping, weights) = (same(mapping)?, same(weights)?);
        if mapping.is_none() && tokens > height {
            return Err(Error::new(header.offset, ErrorKind::WrongShape));
        }
        Ok(Self { rows, mapping, weights, tokens })
    }

    /// Elements of a vector.
    #[must_use]
    pub const fn dimensions(&self) -> usize {
        match self.rows {
            TableRows::Matrix(matrix) => matrix.cols,
            TableRows::Integers { dimensions, .. } => dimensions,
        }
    }

    /// The number of tokens that have a row.
    #[must_use]
    pub const fn tokens(&self) -> usize {
        self.tokens
    }

    /// Rejects a table that lacks a row for one of `count` tokens; the error is about the tensor
    /// that is too short, the last one requested from `find`.
    pub(crate) fn check_tokens<'h>(
        &self,
        count: u32,
        find: &dyn Fn(&str) -> Option<TensorHeader<'h>>,
    ) -> Result<()> {
        if self.tokens as u64 >= u64::from(count) {
            return Ok(());
        }
        let mut names = [MAPPING, WEIGHTS].into_iter().chain(TABLES);
        let offset = names.find_map(find).map_or(0, |header| header.offset);
        Err(Error::new(offset, ErrorKind::WrongShape))
    }

    /// Bytes of the largest piece that is read at once, for sources that do not
    /// [borrow](Weights::borrows).
    #[must_use]
    pub fn tile_bytes(&self) -> usize {
        let row = match self.rows {
            TableRows::Matrix(matrix) => matrix.encoding.row_bytes(matrix.cols).unwrap_or(0),
            TableRows::Integers { dimensions, .. } => dimensions,
        };
        row.max(8)
    }

    /// Writes the embedding of a text's tokens to `out`, scaled to length 1 if `normalize`; zeros
    /// for a text without tokens. `row` has room for one vector, `tile` for
    /// [`tile_bytes`](Self::tile_bytes).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TokenOutOfRange`]; [`ErrorKind::InvalidArgument`] if `out` or `row` is not one
    /// vector long; [`ErrorKind::WrongShape`] if the mapping names a missing row; any error of
    /// reading the weights; [`ErrorKind::NotFinite`].
    pub fn embed<W: Weights + ?Sized>(
        &self,
        weights: &W,
        kernels: &Kernels,
        ids: &[u32],
        normalize: bool,
        (row, tile): (&mut [f32], &mut [u8]),
        out: &mut [f32],
    ) -> Result<()> {
        self.begin(row, out)?;
        self.add(weights, kernels, ids, (row, tile), out)?;
        Self::finish(ids.len(), normalize, out)
    }

    /// Writes the embeddings of texts with these numbers of tokens to `out`, as
    /// [`embed`](Self::embed).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if `out` or the lengths do not fit; as
    /// [`embed`](Self::embed).
    pub fn embed_texts<W: Weights + ?Sized>(
        &self,
        weights: &W,
        kernels: &Kernels,
        (ids, lengths): (&[u32], &[usize]),
        normalize: bool,
        (row, tile): (&mut [f32], &mut [u8]),
        out: &mut [f32],
    ) -> Result<()> {
        const INVALID: Error = Error::without_offset(ErrorKind::InvalidArgument);
        let dimensions = self.dimensions();
        if lengths.len().checked_mul(dimensions) != Some(out.len()) {
            return Err(INVALID);
        }
        let mut rest = ids;
        for (length, out) in lengths.iter().zip(out.chunks_exact_mut(dimensions.max(1))) {
            let (ids, after) = rest.split_at_checked(*length).ok_or(INVALID)?;
            rest = after;
            self.embed(weights, kernels, ids, normalize, (&mut *row, &mut *tile), out)?;
        }
        Ok(())
    }

    /// Sets `out` to zeros; rejects memory that is not one vector long.
    pub(crate) fn begin(&self, row: &[f32], out: &mut [f32]) -> Result<()> {
        if out.len() != self.dimensions() || row.len() != self.dimensions() {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        out.fill(0.0);
        Ok(())
    }

    /// Adds the vectors of tokens to `out`.
    pub(crate) fn add<W: Weights + ?Sized>(
        &self,
        weights: &W,
        kernels: &Kernels,
        ids: &[u32],
        (row, tile): (&mut [f32], &mut [u8]),
        out: &mut [f32],
    ) -> Result<()> {
        for &id in ids {
            if id as usize >= self.tokens {
                return Err(Error::without_offset(ErrorKind::TokenOutOfRange));
            }
            let place = match self.mapping {
                Some(mapping) => mapping.row(weights, id, tile)?,
                None => id as usize,
            };
            let factor = self.weights.map(|column| column.weight(weights, id, tile)).transpose()?;
            self.rows.add(weights, kernels, (place, factor), (&mut *row, &mut *tile), out)?;
        }
        Ok(())
    }

    /// Turns the sum of `tokens` vectors into their mean.
    pub(crate) fn finish(tokens: usize, normalize: bool, out: &mut [f32]) -> Result<()> {
        #[allow(clippy::cast_precision_loss)] // texts have fewer than 2²⁴ tokens
        let count = tokens.max(1) as f32;
        kernel::scale(out, 1.0 / count);
        if normalize {
            kernel::scale(out, 1.0 / (root::sqrt_f64(square(out)) as f32 + LEAST_LENGTH));
        }
        check_finite(out)
    }
}

/// Rows of bytes that are the numbers themselves.
fn integers(header: &TensorHeader<'_>) -> Result<TableRows> {
    let error = |kind| Error::new(header.offset, kind);
    let size = |size: Option<u64>| size.and_then(|size| usize::try_from(size).ok());
    let rows = size(Some(header.shape.rows())).ok_or(error(ErrorKind::SizeOverflow))?;
    let dimensions = size(header.shape.cols()).ok_or(error(ErrorKind::SizeOverflow))?;
    if rows.checked_mul(dimensions).map(|bytes| bytes as u64) != Some(header.bytes) {
        return Err(error(ErrorKind::SizeMismatch));
    }
    Ok(TableRows::Integers { offset: header.offset, rows, dimensions })
}

impl TableRows {
    const fn height(&self) -> usize {
        match self {
            Self::Matrix(matrix) => matrix.rows,
            Self::Integers { rows, .. } => *rows,
        }
    }

    /// Adds a row, times `factor` if there is one, to `out`.
    fn add<W: Weights + ?Sized>(
        &self,
        weights: &W,
        kernels: &Kernels,
        (row, factor): (usize, Option<f32>),
        (room, tile): (&mut [f32], &mut [u8]),
        out: &mut [f32],
    ) -> Result<()> {
        let run = Run { weights, kernels, summaries: &[], parallel: &InOrder };
        match *self {
            Self::Matrix(matrix) if row < matrix.rows => match (matrix.encoding, factor) {
                (MatrixEncoding::F32, None) => {
                    kernel::add_f32(kernels, out, run.read_rows(&matrix, row, 1, tile)?);
                }
                _ => {
                    run.read_row(&matrix, row, room, tile)?;
                    if let Some(factor) = factor {
                        kernel::scale(room, factor);
                    }
                    kernel::add(out, room);
                }
            },
            Self::Integers { offset, rows, dimensions } if row < rows => {
                let start = row as u64 * dimensions as u64;
                let bytes = weights.bytes(offset.saturating_add(start), dimensions, tile)?;
                let numbers = bytes.iter().map(|byte| f32::from(byte.cast_signed()));
                let factor = factor.unwrap_or(1.0);
                out.iter_mut().zip(numbers).for_each(|(sum, x)| *sum += x * factor);
            }
            _ => return Err(Error::without_offset(ErrorKind::WrongShape)),
        }
        Ok(())
    }
}

/// The sum of the squares of `x`, in eight partial sums to hide latency.
fn square(x: &[f32]) -> f64 {
    let mut parts = [0.0_f64; 8];
    for chunk in x.chunks(parts.len()) {
        for (part, x) in parts.iter_mut().zip(chunk) {
            *part += f64::from(*x) * f64::from(*x);
        }
    }
    parts.iter().sum()
}

impl Column {
    /// A column of one of these types, and the number of its elements.
    fn new(header: &TensorHeader<'_>, dtypes: &[Dtype]) -> Result<(Self, usize)> {
        let error = |kind| Error::new(header.offset, kind);
        if !dtypes.contains(&header.dtype) {
            return Err(error(ErrorKind::UnsupportedDtype));
        }
        let count = header.shape.elements().ok_or(error(ErrorKind::SizeOverflow))?;
        if header.shape.rows() != 1 || header.dtype.data_bytes(count) != Some(header.bytes) {
            return Err(error(ErrorKind::WrongShape));
        }
        let count = usize::try_from(count).map_err(|_| error(ErrorKind::SizeOverflow))?;
        let size = header.dtype.data_bytes(1).and_then(|size| u32::try_from(size).ok());
        let size = size.ok_or(error(ErrorKind::UnsupportedDtype))?;
        Ok((Self { offset: header.offset, dtype: header.dtype, size }, count))
    }

    /// The bytes of a token's element, little-endian and zero-extended.
    fn bytes<W: Weights + ?Sized>(&self, weights: &W, id: u32, tile: &mut [u8]) -> Result<[u8; 8]> {
        let at = self.offset.saturating_add(u64::from(id).saturating_mul(self.size.into()));
        let found = weights.bytes(at, self.size as usize, tile)?;
        let mut bytes = [0; 8];
        for (byte, found) in bytes.iter_mut().zip(found) {
            *byte = *found;
        }
        Ok(bytes)
    }

    /// The row of a token.
    fn row<W: Weights + ?Sized>(&self, weights: &W, id: u32, tile: &mut [u8]) -> Result<usize> {
        // Negative numbers become larger than any table.
        let row = u64::from_le_bytes(self.bytes(weights, id, tile)?);
        usize::try_from(row).map_err(|_| Error::new(self.offset, ErrorKind::WrongShape))
    }

    /// The weight of a token.
    fn weight<W: Weights + ?Sized>(&self, weights: &W, id: u32, tile: &mut [u8]) -> Result<f32> {
        let bytes = self.bytes(weights, id, tile)?;
        let [a, b, c, d, ..] = bytes;
        Ok(match self.dtype {
            Dtype::F64 => f64::from_le_bytes(bytes) as f32,
            Dtype::F16 => f16_to_f32([a, b]),
            Dtype::BF16 => bf16_to_f32([a, b]),
            _ => f32::from_le_bytes([a, b, c, d]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::weights::SliceWeights;
    use crate::tensor::Shape;

    /// Two rows of three bytes, a mapping of four tokens, and their weights.
    fn file() -> [u8; 6 + 16 + 16] {
        let mut file = [0; 38];
        file[..6].copy_from_slice(&[1, 2, 3, 0xFF, 0xFE, 0xFD]);
        for (at, row) in [0_i32, 1, 1, 7].iter().enumerate() {
            file[6 + 4 * at..10 + 4 * at].copy_from_slice(&row.to_le_bytes());
        }
        for (at, weight) in [1.0_f32, 2.0, 0.5, 1.0].iter().enumerate() {
            file[22 + 4 * at..26 + 4 * at].copy_from_slice(&weight.to_le_bytes());
        }
        file
    }

    fn header(name: &str) -> Option<TensorHeader<'static>> {
        let (dtype, dims, offset, bytes): (_, &[u64], _, _) = match name {
            "embeddings" => (Dtype::I8, &[2, 3], 0, 6),
            "mapping" => (Dtype::I32, &[4], 6, 16),
            "weights" => (Dtype::F32, &[4], 22, 16),
            _ => return None,
        };
        Some(TensorHeader { name: "", dtype, shape: Shape::new(dims).unwrap(), offset, bytes })
    }

    fn embed(ids: &[u32], normalize: bool) -> Result<[f32; 3]> {
        let file = file();
        let table = TokenTable::open(&header)?;
        let weights = SliceWeights::new(&file, |_: &str| None::<TensorHeader<'_>>);
        let (mut row, mut tile, mut out) = ([0.0; 3], [0; 8], [0.0; 3]);
        let kernels = Kernels::portable();
        let room = (&mut row[..], &mut tile[..]);
        table.embed(&weights, &kernels, ids, normalize, room, &mut out)?;
        Ok(out)
    }

    #[test]
    fn rows_are_mapped_weighed_and_averaged() {
        assert_eq!(embed(&[0], false), Ok([1.0, 2.0, 3.0]));
        assert_eq!(embed(&[1, 2], false), Ok([-1.25, -2.5, -3.75]));
        assert_eq!(embed(&[], true), Ok([0.0; 3]));
        let unit = embed(&[0, 2], true).unwrap();
        let square: f32 = unit.iter().map(|x| x * x).sum();
        assert!((square - 1.0).abs() < 1e-6);
    }

    #[test]
    fn ids_and_rows_that_are_not_there_are_refused() {
        let kind = |ids: &[u32]| embed(ids, false).unwrap_err().kind();
        assert_eq!(kind(&[4]), ErrorKind::TokenOutOfRange);
        assert_eq!(kind(&[3]), ErrorKind::WrongShape);
    }

    #[test]
    fn tensors_of_other_shapes_are_refused_where_they_lie() {
        let missing = TokenTable::open(&|_| None).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::MissingTensor);
        let change = |changed: &'static str, change: fn(&mut TensorHeader<'static>)| {
            let find = move |name: &str| {
                let mut header = header(name)?;
                if name == changed {
                    change(&mut header);
                }
                Some(header)
            };
            TokenTable::open(&find).unwrap_err()
        };
        let longer = change("mapping", |it| {
            (it.shape, it.bytes) = (Shape::new(&[5]).unwrap(), 20);
        });
        assert_eq!(longer, Error::new(22, ErrorKind::WrongShape));
        let typed = change("weights", |it| it.dtype = Dtype::I8);
        assert_eq!(typed, Error::new(22, ErrorKind::UnsupportedDtype));
        let short = change("embeddings", |it| it.bytes = 5);
        assert_eq!(short, Error::new(0, ErrorKind::SizeMismatch));
    }
}
