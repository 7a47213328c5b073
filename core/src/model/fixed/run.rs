//! Multiplication of a file's weights in integers.

use super::{INVALID, TOO_SMALL};
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::fixed::{self, Factor};
use crate::kernel::pieces::{pieces, pieces_mut};
use crate::model::linear::Linear;
use crate::model::linear::tiles::tiles;
use crate::model::weights::{Matrix, MatrixEncoding, Weights};

/// Memory for weights read from storage, and for the quantised activations.
pub(super) struct Staging<'a> {
    pub(super) bias: &'a mut [i32],
    pub(super) scales: &'a mut [i32],
    pub(super) row: &'a mut [i32],
    pub(super) worth: &'a mut [i32],
    pub(super) codes: &'a mut [i16],
    pub(super) tile: &'a mut [u8],
}

/// The output of some rows of a linear layer: element (t, r) is at `t · stride + r`.
pub(super) struct Output<'a> {
    pub(super) first: usize,
    pub(super) rows: usize,
    pub(super) out: &'a mut [i32],
    pub(super) stride: usize,
}

/// The weights of a run.
pub(super) struct Run<'w, W: ?Sized>(pub(super) &'w W);

impl<W: Weights + ?Sized> Run<'_, W> {
    /// A linear layer over all its rows.
    pub(super) fn whole(
        &self,
        linear: &Linear,
        x: &[i32],
        out: &mut [i32],
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        let rows = linear.weight.rows;
        self.quantize(&linear.weight, x, staging)?;
        self.linear(linear, Output { first: 0, rows, out, stride: rows }, staging)
    }

    /// Quantises rows of activations, times the columns' scales if there are any.
    pub(super) fn quantize(
        &self,
        matrix: &Matrix,
        x: &[i32],
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        let cols = matrix.cols;
        let Staging { scales, row, worth, codes, tile, .. } = staging;
        let columns = match matrix.column_offset {
            None => None,
            Some(offset) => {
                let columns = scales.get_mut(..cols).ok_or(TOO_SMALL)?;
                self.read_bits(offset, columns, tile)?;
                Some(&*columns)
            }
        };
        let row = row.get_mut(..cols).ok_or(TOO_SMALL)?;
        let rows = pieces(x, cols).zip(pieces_mut(codes, cols));
        for ((x, codes), worth) in rows.zip(worth.chunks_exact_mut(2)) {
            match columns {
                None => row.iter_mut().zip(x).for_each(|(to, from)| *to = *from),
                Some(columns) => {
                    for ((to, &x), &column) in row.iter_mut().zip(x).zip(columns) {
                        let (is_negative, column) = factor(column, matrix.offset)?;
                        *to = column.apply(if is_negative { x.saturating_neg() } else { x });
                    }
                }
            }
            let Factor { mantissa, exponent } = fixed::quantize(row, codes);
            worth.copy_from_slice(&[mantissa.cast_signed(), exponent]);
        }
        Ok(())
    }

    /// The product of the quantised activations and some rows of weights.
    pub(super) fn linear(
        &self,
        linear: &Linear,
        output: Output<'_>,
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        let Output { first, rows: count, out, stride } = output;
        let Matrix { cols, groups, encoding, offset, scale_offset, .. } = linear.weight;
        let width = cols.checked_div(groups).unwrap_or(usize::MAX);
        if encoding != MatrixEncoding::I8 || width > fixed::MAX_COLS {
            return Err(Error::new(offset, ErrorKind::UnsupportedDtype));
        }
        let Staging { bias, scales, worth, codes, tile, .. } = staging;
        let bias = bias.get_mut(..count).ok_or(TOO_SMALL)?;
        self.read_vector(&linear.bias, first, bias, tile)?;
        let room = if self.0.borrows() { usize::MAX } else { tile.len() / cols.max(1) };
        let room = room.min(scales.len() / groups.max(1));
        tiles(
            count,
            |left| room.min(left),
            |row, rows| {
                let scales = scales.get_mut(..rows * groups).ok_or(TOO_SMALL)?;
                let at = ((first + row) * groups * 4) as u64;
                self.read_bits(scale_offset.saturating_add(at), scales, tile)?;
                let at = ((first + row) * cols) as u64;
                let weights = self.0.bytes(offset.saturating_add(at), rows * cols, tile)?;
                let lines =
                    weights.chunks_exact(cols.max(1)).zip(scales.chunks_exact(groups.max(1)));
                for (r, (weights, scales)) in lines.enumerate() {
                    let bias = bias.get(row + r).copied().unwrap_or(0);
                    let tokens = codes.chunks_exact(cols.max(1)).zip(worth.as_chunks::<2>().0);
                    for ((codes, &[mantissa, exponent]), out) in
                        tokens.zip(out.chunks_mut(stride.max(1)))
                    {
                        let worth = Factor { mantissa: mantissa.cast_unsigned(), exponent };
                        let parts = codes
                            .chunks_exact(width.max(1))
                            .zip(weights.chunks_exact(width.max(1)));
                        let mut sum = bias;
                        for ((codes, weights), &scale) in parts.zip(scales) {
                            let (is_negative, scale) = factor(scale, scale_offset)?;
                            let product = scale.times(worth).apply(fixed::dot(codes, weights));
                            sum = match is_negative {
                                true => sum.saturating_sub(product),
                                false => sum.saturating_add(product),
                            };
                        }
                        if let Some(slot) = out.get_mut(row + r) {
                            *slot = sum;
                        }
                    }
                }
                Ok(())
            },
        )
    }

    /// Adds a row of a table.
    pub(super) fn add_row(
        &self,
        table: &Matrix,
        row: usize,
        out: &mut [i32],
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        let unsupported = Error::new(table.offset, ErrorKind::UnsupportedDtype);
        let cols = table.cols;
        if row >= table.rows || out.len() != cols {
            return Err(INVALID);
        }
        let Staging { row: values, scales, tile, .. } = staging;
        let values = values.get_mut(..cols).ok_or(TOO_SMALL)?;
        match table.encoding {
            MatrixEncoding::I8 if table.column_offset.is_none() => {
                let groups = table.groups;
                let scales = scales.get_mut(..groups).ok_or(TOO_SMALL)?;
                self.read_bits(table.scale_offset + (row * groups * 4) as u64, scales, tile)?;
                let codes = self.0.bytes(table.offset + (row * cols) as u64, cols, tile)?;
                let width = cols.checked_div(groups).filter(|&width| width > 0).ok_or(INVALID)?;
                let parts = pieces(codes, width).zip(pieces_mut(values, width));
                for ((codes, values), &scale) in parts.zip(&*scales) {
                    let (is_negative, scale) = factor(scale, table.scale_offset)?;
                    let one = if is_negative { -fixed::ONE } else { fixed::ONE };
                    for (value, &code) in values.iter_mut().zip(codes) {
                        *value = scale.apply(one * i32::from(code.cast_signed()));
                    }
                }
            }
            MatrixEncoding::F32 | MatrixEncoding::F16 | MatrixEncoding::BF16 => {
                self.read_vector(table, row * cols, values, tile)?;
            }
            _ => return Err(unsupported),
        }
        out.iter_mut().zip(&*values).for_each(|(x, y)| *x = x.saturating_add(*y));
        Ok(())
    }

    /// Reads elements of a vector of floats from element `first` on, in Q16.
    pub(super) fn read_vector(
        &self,
        vector: &Matrix,
        first: usize,
        out: &mut [i32],
        tile: &mut [u8],
    ) -> Result<()> {
        let bad = Error::new(vector.offset, ErrorKind::BadScale);
        let size = match vector.encoding {
            MatrixEncoding::F32 => 4,
            MatrixEncoding::F16 | MatrixEncoding::BF16 => 2,
            _ => return Err(Error::new(vector.offset, ErrorKind::UnsupportedDtype)),
        };
        let offset = vector.offset.saturating_add((first * size) as u64);
        let bytes = self.0.bytes(offset, out.len() * size, tile)?;
        for (out, bytes) in out.iter_mut().zip(bytes.chunks_exact(size.max(1))) {
            let value = match (bytes, vector.encoding) {
                (&[a, b, c, d], _) => fixed::from_f32(u32::from_le_bytes([a, b, c, d])),
                (&[a, b], MatrixEncoding::BF16) => {
                    fixed::from_f32(u32::from_le_bytes([0, 0, a, b]))
                }
                (&[a, b], _) => fixed::from_f16(u16::from_le_bytes([a, b])),
                _ => None,
            };
            *out = value.ok_or(bad)?;
        }
        Ok(())
    }

    /// Reads the bits of f32 numbers.
    fn read_bits(&self, offset: u64, out: &mut [i32], tile: &mut [u8]) -> Result<()> {
        let bytes = self.0.bytes(offset, out.len() * 4, tile)?;
        for (out, bytes) in out.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *out = i32::from_le_bytes(*bytes);
        }
        Ok(())
    }
}

/// The scale with these bits.
fn factor(bits: i32, offset: u64) -> Result<(bool, Factor)> {
    fixed::parts_of_f32(bits.cast_unsigned()).ok_or(Error::new(offset, ErrorKind::BadScale))
}
