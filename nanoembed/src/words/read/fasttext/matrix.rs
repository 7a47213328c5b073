//! fastText's matrices: as they are, or product-quantised.
//!
//! Plain: `i64` rows, `i64` columns, f32. Quantised: `u8` whether rows have norms, `i64` rows,
//! `i64` columns, `i32` number of codes, codes, quantiser; with norms a `u8` code a row and a
//! quantiser of one column. A quantiser: `i32` columns, `i32` parts, `i32` columns of a part, `i32`
//! columns of the last part; 256 centroids a part, f32.
//!
//! Source: fastText 0.9.2, `src/{densematrix,quantmatrix,productquantizer}.cc`.

use nanoembed_core::ErrorKind;

use crate::signature::MAX_COLS;
use crate::signature::fasttext::cursor::{Cursor, Result};

const CENTROIDS: usize = 256;

/// A matrix in a file.
#[derive(Debug)]
pub(super) enum Matrix<'f> {
    Plain {
        rows: u64,
        cols: u32,
        data: &'f [u8],
    },
    Quantized {
        rows: u64,
        cols: u32,
        codes: &'f [u8],
        quantizer: Quantizer<'f>,
        norms: Option<Norms<'f>>,
    },
}

/// The norms of rows.
#[derive(Debug)]
pub(super) struct Norms<'f> {
    codes: &'f [u8],
    quantizer: Quantizer<'f>,
}

/// A product quantiser.
#[derive(Debug)]
pub(super) struct Quantizer<'f> {
    parts: usize,
    part_cols: usize,
    last_cols: usize,
    centroids: &'f [u8],
}

impl<'f> Matrix<'f> {
    pub(super) fn read(cursor: &mut Cursor<'f>, is_quantized: bool) -> Result<Self> {
        let has_norms = is_quantized && cursor.array::<1>()? != [0];
        let rows = cursor.long_count()?;
        let cols = cursor.long_count()?;
        let fits = |cols: &u32| (1..=MAX_COLS).contains(&(*cols as usize));
        let cols = u32::try_from(cols).ok().filter(fits);
        let cols = cols.ok_or_else(|| {
            cursor.wrong(8, ErrorKind::BadDimensions, "vectors have no columns, or too many")
        })?;
        if !is_quantized {
            let data = cursor.take(rows.checked_mul(u64::from(cols) * 4))?;
            return Ok(Self::Plain { rows, cols, data });
        }
        let code_count = cursor.count()?;
        let codes = cursor.take(Some(code_count.into()))?;
        let at = cursor.offset();
        let quantizer = Quantizer::read(cursor, cols)?;
        if rows.checked_mul(quantizer.parts as u64) != Some(codes.len() as u64) {
            let message = "the number of codes is not that of rows and parts";
            return Err(cursor.wrong_at(at, ErrorKind::SizeMismatch, message));
        }
        let norms = match has_norms {
            false => None,
            true => {
                let codes = cursor.take(Some(rows))?;
                Some(Norms { codes, quantizer: Quantizer::read(cursor, 1)? })
            }
        };
        Ok(Self::Quantized { rows, cols, codes, quantizer, norms })
    }

    pub(super) const fn rows(&self) -> u64 {
        match self {
            Self::Plain { rows, .. } | Self::Quantized { rows, .. } => *rows,
        }
    }

    pub(super) const fn cols(&self) -> u32 {
        match self {
            Self::Plain { cols, .. } | Self::Quantized { cols, .. } => *cols,
        }
    }

    pub(super) const fn is_quantized(&self) -> bool {
        matches!(self, Self::Quantized { .. })
    }

    /// Adds a row to `out`. Nothing for a row that is not there.
    pub(super) fn add(&self, row: u64, out: &mut [f32]) {
        let Ok(row) = usize::try_from(row) else { return };
        match self {
            Self::Plain { cols, data, .. } => {
                let Some(values) = data.chunks_exact(*cols as usize * 4).nth(row) else { return };
                for (bytes, to) in values.as_chunks::<4>().0.iter().zip(out) {
                    *to += f32::from_le_bytes(*bytes);
                }
            }
            Self::Quantized { codes, quantizer, norms, .. } => {
                let norm = match norms {
                    None => 1.0,
                    Some(Norms { codes, quantizer }) => {
                        let mut norm = [0.0];
                        let code = codes.get(row..=row).unwrap_or(&[]);
                        quantizer.add(code, 1.0, &mut norm);
                        norm[0]
                    }
                };
                let Some(codes) = codes.chunks_exact(quantizer.parts).nth(row) else { return };
                quantizer.add(codes, norm, out);
            }
        }
    }
}

impl<'f> Quantizer<'f> {
    fn read(cursor: &mut Cursor<'f>, expected_cols: u32) -> Result<Self> {
        let at = cursor.offset();
        let cols = cursor.count()?;
        let [parts, part_cols, last_cols] =
            [cursor.count()?, cursor.count()?, cursor.count()?].map(|count| count as usize);
        let whole = parts.checked_sub(1).and_then(|before| before.checked_mul(part_cols));
        let is_sound = cols == expected_cols
            && part_cols > 0
            && (1..=part_cols).contains(&last_cols)
            && whole.and_then(|whole| whole.checked_add(last_cols)) == Some(cols as usize);
        if !is_sound {
            let message = "the quantiser's parts are not as long as the vectors";
            return Err(cursor.wrong_at(at, ErrorKind::BadDimensions, message));
        }
        let centroids = cursor.take(u64::from(cols).checked_mul(4 * CENTROIDS as u64))?;
        Ok(Self { parts, part_cols, last_cols, centroids })
    }

    /// Adds the centroids that the codes of a row stand for, times `factor`.
    fn add(&self, codes: &[u8], factor: f32, out: &mut [f32]) {
        let centroids = self.centroids.as_chunks::<4>().0;
        for (part, (&code, out)) in codes.iter().zip(out.chunks_mut(self.part_cols)).enumerate() {
            let cols = if part + 1 == self.parts { self.last_cols } else { self.part_cols };
            let start = part * CENTROIDS * self.part_cols + usize::from(code) * cols;
            let centroid = centroids.get(start..start + cols).unwrap_or(&[]);
            for (to, value) in out.iter_mut().zip(centroid) {
                *to += factor * f32::from_le_bytes(*value);
            }
        }
    }
}
