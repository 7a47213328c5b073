//! The tensors: records, masks of adaptive tensors, and the zeros after their data.

use heapless::VecView;

use super::{DEFAULT_MAX_TENSORS, Data, Machine, State};
use crate::bytes::{bounded, within};
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Event, Mode, Step};
use crate::format::amb::grammar;
use crate::tensor::identity::remember;
use crate::tensor::{Arrangement, Dtype, TensorHeader};

/// The data of a tensor is padded with zeros to a multiple of this many bytes of the file.
const ALIGNMENT: u64 = 8;

impl Machine {
    pub(super) fn record<'a>(
        &mut self,
        names: &mut VecView<u64>,
        input: &'a [u8],
    ) -> Result<Step<'a>> {
        let (offset, end) = (self.offset, self.layout.weights.end());
        if offset >= end {
            self.state = State::Complete;
            return Ok(Step::silent(0));
        }
        let (record, used) = parsed!(bounded(grammar::record, input, offset, end)?);
        self.name(names, record.name)?;
        let size_at = offset.saturating_add(record.size_at as u64);
        let start = offset.saturating_add(used as u64);
        let until = start.checked_add(record.data_bytes).filter(|until| *until <= end);
        let data =
            Data { until: until.ok_or(Error::new(size_at, ErrorKind::OutOfBounds))?, size_at };
        self.state = match record.dtype {
            Dtype::Scaled(codes) if codes.arrangement == Arrangement::Adaptive => {
                let elements = record.shape.elements().unwrap_or(0);
                let full = codes.full_blocks(elements, record.data_bytes).unwrap_or(0);
                let until = start.saturating_add(codes.mask_bytes(elements));
                State::Mask { until, blocks: codes.blocks(elements), seen: 0, full, data }
            }
            _ => State::Data(data),
        };
        let header = TensorHeader {
            name: record.name,
            dtype: record.dtype,
            shape: record.shape,
            offset: start,
            bytes: record.data_bytes,
        };
        Ok(Step::new(used, Event::Tensor(header)))
    }

    /// Rejects a duplicate name.
    fn name(&mut self, names: &mut VecView<u64>, name: &str) -> Result<()> {
        if !self.is_in_memory {
            return remember(names, name, self.offset, ErrorKind::TooManyTensors);
        }
        self.named = self.named.saturating_add(1);
        let is_one_too_many = self.named > DEFAULT_MAX_TENSORS;
        let too_many = Error::new(self.offset, ErrorKind::TooManyTensors);
        if is_one_too_many { Err(too_many) } else { Ok(()) }
    }

    /// Reads the mask, whose bits mark the full-precision blocks.
    pub(super) fn mask<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        let (offset, strict) = (self.offset, self.mode == Mode::Strict);
        let State::Mask { until, blocks, seen, .. } = &mut self.state else {
            return Ok(Step::silent(0));
        };
        // The last byte is read separately, since some of its bits may have no block.
        let end = until.saturating_sub(1).max(offset.saturating_add(1));
        let step = Step::data(input, offset, end);
        let Some(Event::Data { bytes, .. }) = step.event else { return Ok(step) };
        let bits = (bytes.len() as u64).saturating_mul(8);
        let mut ones: u64 = bytes.iter().map(|byte| u64::from(byte.count_ones())).sum();
        if *blocks < bits {
            let byte = bytes.first().copied().unwrap_or(0);
            let beyond = u8::MAX.checked_shl(u32::try_from(*blocks).unwrap_or(0)).unwrap_or(0);
            if byte & beyond != 0 && strict {
                return Err(Error::new(offset, ErrorKind::ReservedNotZero));
            }
            ones = u64::from((byte & !beyond).count_ones());
        }
        *blocks = blocks.saturating_sub(bits);
        *seen = seen.saturating_add(ones);
        Ok(step)
    }

    pub(super) fn begin_padding<'a>(&mut self) -> Result<Step<'a>> {
        let (offset, end) = (self.offset, self.layout.weights.end());
        let until = offset.checked_next_multiple_of(ALIGNMENT).unwrap_or(end);
        if until > end && self.mode == Mode::Strict {
            return Err(Error::new(offset, ErrorKind::Misaligned));
        }
        self.state = State::Padding { until: until.min(end) };
        Ok(Step::silent(0))
    }

    /// Padding up to `until`, which must be zeros in strict mode.
    pub(super) fn padding<'a>(&self, input: &'a [u8], until: u64) -> Result<Step<'a>> {
        let padding = within(input, self.offset, until);
        if padding.is_empty() {
            return Ok(Step::need_more(1));
        }
        match padding.iter().position(|byte| *byte != 0) {
            Some(at) if self.mode == Mode::Strict => {
                let offset = self.offset.saturating_add(at as u64);
                Err(Error::new(offset, ErrorKind::ReservedNotZero))
            }
            _ => Ok(Step::silent(padding.len())),
        }
    }
}
