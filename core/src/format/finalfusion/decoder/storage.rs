//! The chunks with bulk data: storage and norms. A header, padding, then up to four consecutive
//! parts.

use super::super::grammar::{
    self, CHUNK_HEADER_BYTES, QUANTIZED_ROWS_OFFSET, id, padding, printed_padding,
};
use super::super::layout::{Array, Quantized, Storage};
use super::super::{CODES, EMBEDDINGS, NORMS, PROJECTION, ROW_NORMS, SUBQUANTIZERS};
use super::{FinalfusionDecoder, State};
use crate::bytes::{parse, within};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Event, Step};
use crate::tensor::{Dtype, Shape, TensorHeader};

/// A tensor of the chunk.
#[derive(Clone, Copy, Debug)]
struct Part {
    name: &'static str,
    dtype: Dtype,
    shape: Shape,
    offset: u64,
    bytes: u64,
}

impl Part {
    const fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }
}

/// The tensors of a chunk, and the progress in reading them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    parts: [Option<Part>; 4],
    count: u8,
    /// The part whose header comes next.
    next: u8,
    end: u64,
    is_norms: bool,
}

impl Parts {
    /// No parts yet; the first will start at `offset`.
    pub(super) const fn new(offset: u64, is_norms: bool) -> Self {
        Self { parts: [None; 4], count: 0, next: 0, end: offset, is_norms }
    }

    /// Appends a tensor; returns its offset, or `None` if it would end at an offset that no file
    /// reaches.
    fn push(&mut self, name: &'static str, dtype: Dtype, dims: &[u64]) -> Option<u64> {
        let shape = Shape::new(dims)?;
        // Neither of this format's two types comes in blocks.
        let bytes = shape.elements()?.checked_mul(dtype.block_bytes() as u64)?;
        let part = Part { name, dtype, shape, offset: self.end, bytes };
        self.end = self.end.checked_add(bytes)?;
        *self.parts.get_mut(usize::from(self.count))? = Some(part);
        self.count = self.count.saturating_add(1);
        Some(part.offset)
    }

    /// The part that is being read.
    fn current(&self) -> Option<&Part> {
        self.parts.get(usize::from(self.next.checked_sub(1)?))?.as_ref()
    }

    /// The end of the bulk data that may be skipped: that of the current part.
    pub(super) fn skippable(&self, offset: u64) -> u64 {
        self.current().map_or(0, |part| part.end().saturating_sub(offset))
    }
}

impl FinalfusionDecoder {
    pub(super) fn storage_header<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        let chunk = self.chunks.iter().rev().flatten().next();
        if chunk.is_some_and(|chunk| chunk.id == id::QUANTIZED) {
            self.quantized_header(input)
        } else {
            self.array_header(input)
        }
    }

    fn array_header<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        let offset = self.offset;
        let ((rows, cols), used) = parsed!(parse(grammar::array_header, input, offset)?);
        self.check_rows(rows, offset)?;
        let too_large = Error::new(offset, ErrorKind::SizeOverflow);
        let data = self.laid_out(used, too_large, |parts| {
            parts.push(EMBEDDINGS, Dtype::F32, &[rows, cols.into()])
        })?;
        self.storage = Some(Storage::Array(Array { rows, cols, offset: data }));
        Ok(Step::silent(used))
    }

    fn quantized_header<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        let offset = self.offset;
        let (header, used) = parsed!(parse(grammar::quantized_header, input, offset)?);
        let rows_offset = offset.saturating_add(QUANTIZED_ROWS_OFFSET);
        self.check_rows(header.rows, rows_offset)?;
        let too_large = Error::new(rows_offset, ErrorKind::SizeOverflow);
        let quantized = self.laid_out(used, too_large, |parts| quantized(&header, parts))?;
        self.storage = Some(Storage::Quantized(quantized));
        Ok(Step::silent(used))
    }

    pub(super) fn norms_header<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        let offset = self.offset;
        let (count, used) = parsed!(parse(grammar::norms_header, input, offset)?);
        if self.vocabulary.is_none_or(|vocabulary| u64::from(vocabulary.words) != count) {
            return Err(Error::new(offset, ErrorKind::WrongShape));
        }
        let too_large = Error::new(offset, ErrorKind::SizeOverflow);
        let data =
            self.laid_out(used, too_large, |parts| parts.push(NORMS, Dtype::F32, &[count]))?;
        self.norms = Some(data);
        Ok(Step::silent(used))
    }

    /// Proceeds to the tensors that `lay_out` places after header fields of `used` bytes at the
    /// current offset. The padding between them is whichever matches the chunk's declared length:
    /// that of programs, or that of the specification, which differs where the fields end at a
    /// multiple of four.
    fn laid_out<T>(
        &mut self,
        used: usize,
        too_large: Error,
        lay_out: impl Fn(&mut Parts) -> Option<T>,
    ) -> Result<T> {
        let Some(chunk) = self.chunks.iter().rev().flatten().next().copied() else {
            return Err(too_large);
        };
        let payload = chunk.offset.saturating_add(CHUNK_HEADER_BYTES as u64);
        let length_offset = chunk.offset.saturating_add(4);
        let end = self.offset.saturating_add(used as u64);
        for (padding, is_printed) in [(padding(end), false), (printed_padding(end), true)] {
            let mut parts = Parts::new(end.saturating_add(padding), chunk.id == id::NORMS);
            let laid_out = lay_out(&mut parts).ok_or(too_large)?;
            if parts.end.saturating_sub(payload) != chunk.declared_bytes {
                continue;
            }
            if is_printed {
                self.deviate(length_offset, ErrorKind::BadVersion)?;
            }
            self.parts = parts;
            self.state = State::Bulk;
            return Ok(laid_out);
        }
        Err(Error::new(length_offset, ErrorKind::SizeMismatch))
    }

    /// Checks that there is one row for each word and for each bucket or different n-gram.
    fn check_rows(&self, rows: u64, offset: u64) -> Result<()> {
        let Some(vocabulary) = self.vocabulary else { return Ok(()) };
        let subwords = rows.checked_sub(vocabulary.words.into());
        let expected = vocabulary.subwords.rows().or(self.entries.distinct_indices());
        let fits = match (subwords, expected) {
            (Some(subwords), Some(expected)) => subwords == expected,
            // Only an index in memory can count the different indices; here their number is
            // bounded.
            (Some(subwords), None) => (1..=self.entries.ngram_count.into()).contains(&subwords),
            (None, _) => false,
        };
        if fits { Ok(()) } else { Err(Error::new(offset, ErrorKind::WrongShape)) }
    }

    pub(super) fn bulk<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        let offset = self.offset;
        let parts = &self.parts;
        let next = parts.parts.get(usize::from(parts.next)).copied().flatten();
        let until = match (parts.current(), next) {
            (Some(part), _) if offset < part.end() => {
                return Ok(Step::data(input, offset, part.end()));
            }
            (_, Some(part)) => part.offset,
            (_, None) => return self.leave_bulk(),
        };
        if offset < until {
            return match within(input, offset, until) {
                [] => Ok(Step::need_more(1)),
                padding => Ok(Step::silent(padding.len())),
            };
        }
        self.parts.next = self.parts.next.saturating_add(1);
        Ok(match next {
            Some(Part { name, dtype, shape, offset, bytes }) => {
                Step::new(0, Event::Tensor(TensorHeader { name, dtype, shape, offset, bytes }))
            }
            None => Step::silent(0),
        })
    }

    fn leave_bulk<'a>(&mut self) -> Result<Step<'a>> {
        self.leave_chunk(self.parts.end)?;
        self.state = if self.parts.is_norms {
            State::Complete
        } else {
            State::Trailer { gathered: 0, header: [0; CHUNK_HEADER_BYTES] }
        };
        Ok(Step::silent(0))
    }
}

fn quantized(header: &grammar::QuantizedHeader, parts: &mut Parts) -> Option<Quantized> {
    let cols = u64::from(header.cols);
    let codes_per_row = u64::from(header.codes_per_row);
    let projection = if header.projection {
        Some(parts.push(PROJECTION, Dtype::F32, &[cols, cols])?)
    } else {
        None
    };
    let centroid_cols = header.cols.checked_div(header.codes_per_row)?;
    let centroids = [codes_per_row, header.centroids.into(), centroid_cols.into()];
    let subquantizers = parts.push(SUBQUANTIZERS, Dtype::F32, &centroids)?;
    let norms =
        if header.norms { Some(parts.push(ROW_NORMS, Dtype::F32, &[header.rows])?) } else { None };
    let codes = parts.push(CODES, Dtype::U8, &[header.rows, codes_per_row])?;
    Some(Quantized {
        rows: header.rows,
        cols: header.cols,
        codes_per_row: header.codes_per_row,
        centroids: header.centroids,
        projection,
        subquantizers,
        norms,
        codes,
    })
}
