//! Weights that were requantised on load.

use alloc::vec::Vec;

use crate::describe::BertConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::limit::filled;
use crate::model::requantize::{COLUMN_SCALES, Requantized};
use crate::model::{ALIGNMENT, Matrix, Weights};

/// The requantised weights of a model, and the settings for making them.
#[derive(Clone, Debug, Default)]
pub(super) struct Requantizing {
    /// True for models whose layers can be requantised.
    pub(super) is_possible: bool,
    /// The scales of activation columns, if the file has any.
    pub(super) column_scales: Option<Matrix>,
    pub(super) memory: Memory,
}

impl Requantizing {
    /// A BERT encoder's.
    pub(super) fn from_bert(weights: &impl Weights, config: &BertConfig) -> Result<Self> {
        let column_scales = weights.matrix(COLUMN_SCALES)?;
        if let Some(scales) = column_scales
            && (scales.rows, scales.cols) != (1, config.scaled_columns())
        {
            return Err(Error::new(scales.offset, ErrorKind::WrongShape));
        }
        Ok(Self { is_possible: true, column_scales, memory: Memory::default() })
    }

    /// These weights, and those that were requantised.
    pub(super) fn over<'a, W: Weights>(&'a self, weights: &'a W) -> Requantized<'a, &'a W> {
        self.memory.over(weights)
    }
}

/// Memory for requantised weights.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    bytes: Vec<u8>,
    start: usize,
}

impl Memory {
    pub(super) fn new(length: usize) -> Result<Self> {
        let too_small = Error::without_offset(ErrorKind::BufferTooSmall);
        let bytes: Vec<u8> = filled(length.checked_add(ALIGNMENT).ok_or(too_small)?, 0)?;
        let start = bytes.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Ok(Self { bytes, start })
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The memory from its first aligned byte on.
    pub(super) fn aligned(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.start..).unwrap_or_default()
    }

    pub(super) fn over<'a, W: Weights>(&'a self, weights: &'a W) -> Requantized<'a, &'a W> {
        Requantized::new(weights, self.bytes.get(self.start..).unwrap_or_default())
    }
}
