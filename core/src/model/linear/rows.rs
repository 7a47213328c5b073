//! Reads rows of weights, vectors and scales.

use super::scaled_codes::CodedRows;
use super::{MAX_GROUPS, TOO_SMALL};
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::Signs;
use crate::model::parallel::split_off;
use crate::model::run::Run;
use crate::model::weights::{Matrix, MatrixEncoding, TransposedFloats, Weights};
use crate::quant;
use crate::quant::float16::{bf16_to_f32, f16_to_f32};
use crate::quant::groups::dequantize_blocks;

/// Rows of a matrix stored column by column that are read together.
const ROWS_OF_COLUMNS: usize = 64;

impl<W: Weights + ?Sized, P: ?Sized> Run<'_, W, P> {
    /// The bytes of `rows` rows from row `first` on.
    pub(in crate::model) fn read_rows<'t>(
        &'t self,
        matrix: &Matrix,
        first: usize,
        rows: usize,
        tile: &'t mut [u8],
    ) -> Result<&'t [u8]> {
        let overflow = Error::new(matrix.offset, ErrorKind::SizeOverflow);
        let row_bytes = matrix.row_bytes();
        let start = first.checked_mul(row_bytes).ok_or(overflow)? as u64;
        let length = rows.checked_mul(row_bytes).ok_or(overflow)?;
        self.weights.bytes(matrix.offset.checked_add(start).ok_or(overflow)?, length, tile)
    }

    /// Reads `out.len()` elements of a vector of floats from element `first` on.
    pub(in crate::model) fn read_vector(
        &self,
        vector: &Matrix,
        first: usize,
        out: &mut [f32],
        tile: &mut [u8],
    ) -> Result<()> {
        let size = vector.encoding.row_bytes(1).unwrap_or(0);
        let length = size.checked_mul(out.len());
        let start = size.checked_mul(first);
        let start = start.and_then(|start| vector.offset.checked_add(start as u64));
        let (Some(start), Some(length)) = (start, length) else {
            return Err(Error::new(vector.offset, ErrorKind::SizeOverflow));
        };
        convert(vector, self.weights.bytes(start, length, tile)?, out)
    }

    /// Reads one row of a table as f32.
    pub(in crate::model) fn read_row(
        &self,
        table: &Matrix,
        row: usize,
        out: &mut [f32],
        tile: &mut [u8],
    ) -> Result<()> {
        if row >= table.rows || out.len() != table.cols {
            return Err(Error::without_offset(ErrorKind::InvalidArgument));
        }
        self.read_converted(table, row, out, tile)
    }

    /// Reads whole rows from row `first` on as f32.
    pub(crate) fn read_converted(
        &self,
        matrix: &Matrix,
        first: usize,
        values: &mut [f32],
        tile: &mut [u8],
    ) -> Result<()> {
        let Matrix { encoding, cols, groups, column_offset, .. } = *matrix;
        if let MatrixEncoding::Scaled(codes) = encoding
            && cfg!(feature = "scaled-codes")
        {
            let rows = CodedRows { weights: self.weights, matrix, codes, first };
            return rows.read(values, tile);
        }
        if let MatrixEncoding::Transposed(floats) = encoding
            && cfg!(feature = "families")
        {
            return self.read_transposed(matrix, floats, first, values, tile);
        }
        if let MatrixEncoding::Values(number) = encoding {
            let overflow = Error::new(matrix.offset, ErrorKind::SizeOverflow);
            let first = first.checked_mul(cols).ok_or(overflow)? as u64;
            return self.weights.values(number, first, values);
        }
        let rows = values.len().checked_div(cols).unwrap_or(0);
        let bytes = self.read_rows(matrix, first, rows, tile)?;
        if let MatrixEncoding::Block(dtype) = encoding
            && dequantize_blocks(dtype, bytes, values, &|codes, offset, group, factors, out| {
                let signs = Signs { flip: 0, offset };
                (self.kernels.dequantize_groups)(codes, signs, group, factors, out);
            })
        {
            return Ok(());
        }
        let width = cols.checked_div(groups).unwrap_or(0).max(1);
        let mut factors = [(0.0, -0.0); MAX_GROUPS];
        let factors = factors.get_mut(..groups);
        match (encoding, factors) {
            (MatrixEncoding::I8, Some(factors)) => {
                let rows = bytes.chunks_exact(cols.max(1));
                for (row, (codes, values)) in
                    rows.zip(values.chunks_exact_mut(cols.max(1))).enumerate()
                {
                    for (group, (scale, _)) in factors.iter_mut().enumerate() {
                        *scale = self.scale(matrix, (first + row) * groups + group)?;
                    }
                    let signs = Signs::SIGNED;
                    (self.kernels.dequantize_groups)(codes, signs, width, factors, values);
                }
            }
            _ => self.convert_rows(matrix, first, bytes, values)?,
        }
        let Some(offset) = column_offset else { return Ok(()) };
        let columns = self.weights.bytes(offset, cols * 4, tile)?.as_chunks::<4>().0;
        for values in values.chunks_exact_mut(cols.max(1)) {
            for (value, column) in values.iter_mut().zip(columns) {
                *value *= f32::from_le_bytes(*column);
            }
        }
        Ok(())
    }

    /// Reads whole rows from row `first` on of matrices that are stored column by column.
    fn read_transposed(
        &self,
        matrix: &Matrix,
        floats: TransposedFloats,
        first: usize,
        values: &mut [f32],
        tile: &mut [u8],
    ) -> Result<()> {
        let cols = matrix.cols.max(1);
        let each = floats.rows as usize;
        let number = Matrix { encoding: floats.number(), ..*matrix };
        let mut part = [0.0; ROWS_OF_COLUMNS];
        let (mut row, mut rest) = (first, values);
        while !rest.is_empty() {
            let place = row.checked_div(each).unwrap_or(0);
            let before = row.checked_rem(each).unwrap_or(0);
            let count = (each - before).min(rest.len() / cols).clamp(1, ROWS_OF_COLUMNS);
            let rows = split_off(&mut rest, count * cols).ok_or(TOO_SMALL)?;
            let part = part.get_mut(..count).ok_or(TOO_SMALL)?;
            for col in 0..cols {
                let start = (place * cols + col) * each + before;
                self.read_vector(&number, start, part, tile)?;
                let elements = rows.iter_mut().skip(col).step_by(cols);
                elements.zip(&*part).for_each(|(element, value)| *element = *value);
            }
            row += count;
        }
        Ok(())
    }

    /// Converts whole rows from row `first` on to f32, without column scales.
    fn convert_rows(
        &self,
        matrix: &Matrix,
        first: usize,
        bytes: &[u8],
        values: &mut [f32],
    ) -> Result<()> {
        let Matrix { encoding, cols, groups, zero_offset, .. } = *matrix;
        convert(matrix, bytes, values)?;
        if !matches!(encoding, MatrixEncoding::I8 | MatrixEncoding::U8) {
            return Ok(());
        }
        let width = cols.checked_div(groups).unwrap_or(0).max(1);
        for (row, values) in values.chunks_exact_mut(cols.max(1)).enumerate() {
            let row = first + row;
            let zero = match encoding {
                MatrixEncoding::U8 => f32::from(self.element::<1>(zero_offset, row)?[0]),
                _ => 0.0,
            };
            for (group, values) in values.chunks_exact_mut(width).enumerate() {
                let scale = self.scale(matrix, row * groups + group)?;
                for value in values {
                    *value = (*value - zero) * scale;
                }
            }
        }
        Ok(())
    }

    /// Reads `scales.len()` scales of one group, for the rows from `first` on.
    pub(in crate::model) fn read_scales(
        &self,
        matrix: &Matrix,
        first: usize,
        group: usize,
        scales: &mut [f32],
        tile: &mut [u8],
    ) -> Result<()> {
        let bad = Error::new(matrix.scale_offset, ErrorKind::BadScale);
        let groups = matrix.groups;
        let length = scales.len().checked_mul(groups).and_then(|n| n.checked_mul(4)).ok_or(bad)?;
        if self.weights.borrows() || length <= tile.len() {
            let start = first.checked_mul(groups).and_then(|n| n.checked_mul(4)).ok_or(bad)?;
            let offset = matrix.scale_offset.checked_add(start as u64).ok_or(bad)?;
            let bytes = self.weights.bytes(offset, length, tile)?;
            let rows = bytes.as_chunks::<4>().0.chunks_exact(groups.max(1));
            for (scale, row) in scales.iter_mut().zip(rows) {
                *scale = row.get(group).map_or(0.0, |bytes| f32::from_le_bytes(*bytes));
            }
        } else {
            for (row, scale) in scales.iter_mut().enumerate() {
                *scale = self.scale(matrix, (first + row) * groups + group)?;
            }
        }
        if scales.iter().all(|scale| scale.is_finite()) { Ok(()) } else { Err(bad) }
    }

    /// The `index`-th scale of a quantised matrix.
    fn scale(&self, matrix: &Matrix, index: usize) -> Result<f32> {
        let scale = f32::from_le_bytes(self.element(matrix.scale_offset, index)?);
        if scale.is_finite() {
            Ok(scale)
        } else {
            Err(Error::new(matrix.scale_offset, ErrorKind::BadScale))
        }
    }

    /// Element `index` of a vector of `N`-byte elements at `offset`.
    fn element<const N: usize>(&self, offset: u64, index: usize) -> Result<[u8; N]> {
        let place =
            (index as u64).checked_mul(N as u64).and_then(|start| offset.checked_add(start));
        let place = place.ok_or(Error::new(offset, ErrorKind::SizeOverflow))?;
        let mut tile = [0; N];
        let bytes = self.weights.bytes(place, N, &mut tile)?;
        bytes.try_into().map_err(|_| Error::new(place, ErrorKind::SourceChanged))
    }
}

/// Converts stored elements to f32, without scales.
fn convert(matrix: &Matrix, bytes: &[u8], out: &mut [f32]) -> Result<()> {
    fn each<const N: usize>(bytes: &[u8], out: &mut [f32], element: impl Fn([u8; N]) -> f32) {
        for (out, bytes) in out.iter_mut().zip(bytes.as_chunks::<N>().0) {
            *out = element(*bytes);
        }
    }
    match matrix.encoding {
        MatrixEncoding::F32 => each(bytes, out, f32::from_le_bytes),
        MatrixEncoding::F16 => each(bytes, out, f16_to_f32),
        MatrixEncoding::BF16 => each(bytes, out, bf16_to_f32),
        MatrixEncoding::I8 => each(bytes, out, |b| f32::from(i8::from_le_bytes(b))),
        MatrixEncoding::U8 => each(bytes, out, |[b]: [u8; 1]| f32::from(b)),
        MatrixEncoding::Block(dtype) => return quant::dequantize(dtype, bytes, 0, out),
        // Scaled codes are handled in `scaled_codes`, transposed floats as what is stored, values
        // provided by the source elsewhere.
        MatrixEncoding::Scaled(_) | MatrixEncoding::Transposed(_) | MatrixEncoding::Values(_) => {
            return Err(Error::new(matrix.offset, ErrorKind::UnsupportedDtype));
        }
    }
    Ok(())
}
