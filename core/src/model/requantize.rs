//! Linear layers coded anew as signed bytes, a scale a row and group, which the fastest kernels
//! take: for models in blocks of few bits, whose files are small and whose products are slow, where
//! there is memory for both.
//!
//! Activations are quantised, too, so they have to be evened out as in a model that was
//! [calibrated](crate::quant::int8): the file has the scales of their columns, or they
//! [follow](Bert::column_scales) from [observing](Bert::embed_observed) the model as it is.

use core::ops::Range;

use super::bert::{Bert, Layer, LayerInput, Run};
use super::config::BertConfig;
use super::layout::MAX_GROUPS;
use super::linear::Linear;
use super::parallel::split_off;
use super::summaries;
use super::weights::{Encoding, Matrix, Weights};
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::groups::BUILT_IN;
use crate::quant::int8::{CodeRange, column_scales, groups};

/// The tensor with the scales of the [columns of all layers](BertConfig::scaled_columns), in a file
/// that has them: a vector of floats.
pub const COLUMN_SCALES: &str = "requantize.column_scale";

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

/// Where the memory of a [`Requantized`] source begins: no file reaches as far.
const MEMORY: u64 = 1 << 63;

/// A source of tensors, and beside it the memory in which [`Bert::requantize`] has put some of them
/// anew.
#[derive(Clone, Copy, Debug)]
pub struct Requantized<'a, W> {
    weights: W,
    memory: &'a [u8],
}

impl<'a, W: Weights> Requantized<'a, W> {
    /// `weights` that a model was opened with, and the memory that [`Bert::requantize`] has filled
    /// since, or none.
    pub const fn new(weights: W, memory: &'a [u8]) -> Self {
        Self { weights, memory }
    }
}

impl<W: Weights> Weights for Requantized<'_, W> {
    fn matrix(&self, name: &str) -> Result<Option<Matrix>> {
        self.weights.matrix(name)
    }

    // The model asks in many places: a call is half a kilobyte less of a module for the web.
    #[inline(never)]
    fn bytes<'t>(&'t self, offset: u64, length: usize, tile: &'t mut [u8]) -> Result<&'t [u8]> {
        let Some(start) = offset.checked_sub(MEMORY) else {
            return self.weights.bytes(offset, length, tile);
        };
        usize::try_from(start)
            .ok()
            .and_then(|start| self.memory.get(start..start.checked_add(length)?))
            .ok_or(Error::new(offset, ErrorKind::OutOfBounds))
    }

    fn borrows(&self) -> bool {
        self.weights.borrows()
    }

    fn values(&self, number: u32, first: u64, out: &mut [f32]) -> Result<()> {
        self.weights.values(number, first, out)
    }
}

impl LayerInput {
    /// How much of the columns' size is moved into the weights, see [`column_scales`]; `None` where
    /// columns have no scales.
    ///
    /// It is what keeps the embeddings of all-MiniLM-L6-v2 nearest to those computed in f32, of
    /// 0.4, 0.45 … 0.8. What comes out of GELU is sparse: its rare large values say less.
    #[must_use]
    pub const fn migration(self) -> Option<f32> {
        match self {
            Self::Attention | Self::Intermediate => Some(0.6),
            Self::AttentionOutput => None,
            Self::Output => Some(0.5),
        }
    }

    /// Where the columns of this input of layer `layer` stand among [all that have
    /// scales](BertConfig::scaled_columns); `None` if these have none.
    #[must_use]
    pub fn columns(self, config: &BertConfig, layer: usize) -> Option<Range<usize>> {
        let before = match self {
            Self::Attention => 0,
            Self::AttentionOutput => return None,
            Self::Intermediate => config.hidden,
            Self::Output => config.hidden.checked_mul(2)?,
        };
        let start = layer.checked_mul(columns_of_layer(config))?.checked_add(before)?;
        Some(start..start.checked_add(self.cols(config))?)
    }
}

const fn columns_of_layer(config: &BertConfig) -> usize {
    config.hidden.saturating_mul(2).saturating_add(config.intermediate)
}

impl BertConfig {
    /// How many columns of activations of all layers have scales where activations are quantised.
    #[must_use]
    pub const fn scaled_columns(&self) -> usize {
        self.layers.saturating_mul(columns_of_layer(self))
    }
}

impl Layer {
    /// The linear layers by what they are applied to.
    const fn by_input(&mut self) -> [(LayerInput, [Option<&mut Linear>; 3]); 4] {
        let Self { query, key, value, attention_output, intermediate, output, .. } = self;
        [
            (LayerInput::Attention, [Some(query), Some(key), Some(value)]),
            (LayerInput::AttentionOutput, [None, None, Some(attention_output)]),
            (LayerInput::Intermediate, [None, None, Some(intermediate)]),
            (LayerInput::Output, [None, None, Some(output)]),
        ]
    }

    /// Of each input whose columns have scales the linear layer that decides on them: values are
    /// the sensitive ones of three.
    const fn decisive(&self) -> [(LayerInput, &Linear); 3] {
        [
            (LayerInput::Attention, &self.value),
            (LayerInput::Intermediate, &self.intermediate),
            (LayerInput::Output, &self.output),
        ]
    }
}

/// Whether a linear layer becomes another by being coded anew.
fn gains(linear: &Linear) -> bool {
    BUILT_IN && !linear.takes_codes() && groups(linear.weight.cols) <= MAX_GROUPS
}

/// Bytes of the codes of a matrix, and of its scales.
fn sizes(matrix: &Matrix) -> Option<(usize, usize)> {
    let scales = matrix.rows.checked_mul(groups(matrix.cols))?.checked_mul(4)?;
    Some((matrix.rows.checked_mul(matrix.cols)?, scales))
}

impl<L: AsRef<[Layer]> + AsMut<[Layer]>> Bert<L> {
    /// How many bytes [`requantize`](Self::requantize) needs at most, about one for each weight: 0
    /// if there is nothing to code anew, `usize::MAX` if they are more than addresses.
    #[must_use]
    pub fn requantized_bytes(&self) -> usize {
        let layers = self.layers.as_ref().iter().take(self.config.layers);
        let linear = layers.flat_map(Layer::linear_layers).filter(|linear| gains(linear));
        let sum = linear.fold(0_usize, |sum, linear| {
            let (codes, scales) = sizes(&linear.weight).unwrap_or((usize::MAX, 0));
            sum.saturating_add(codes).saturating_add(scales)
        });
        let columns = self.config.scaled_columns().saturating_mul(4);
        if sum == 0 { 0 } else { sum.saturating_add(columns) }
    }

    /// How many floats of scratch memory [`requantize`](Self::requantize) and
    /// [`column_scales`](Self::column_scales) need.
    #[must_use]
    pub const fn requantizing_floats(&self) -> usize {
        let BertConfig { hidden, intermediate, .. } = self.config;
        let widest = if hidden > intermediate { hidden } else { intermediate };
        widest.saturating_mul(2)
    }

    /// Makes the scales of the activations' [columns](LayerInput::columns) of their root mean
    /// squares, in place: see [`column_scales`]. Those of what [`requantize`](Self::requantize)
    /// leaves as it is stay as they are.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if `columns` or `scratch` is less than
    /// [`BertConfig::scaled_columns`] and [`requantizing_floats`](Self::requantizing_floats) say;
    /// what reading the weights may fail with.
    pub fn column_scales<W: Weights + ?Sized, P: ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        columns: &mut [f32],
        scratch: &mut [f32],
    ) -> Result<()> {
        for (index, layer) in self.layers.as_ref().iter().take(self.config.layers).enumerate() {
            for (input, linear) in layer.decisive().into_iter().filter(|(_, it)| gains(it)) {
                let Some(migration) = input.migration() else { continue };
                let Matrix { rows, cols, .. } = linear.weight;
                let range = input.columns(&self.config, index).ok_or(TOO_SMALL)?;
                let columns = columns.get_mut(range).ok_or(TOO_SMALL)?;
                let (row, rest) = scratch.split_at_mut_checked(cols).ok_or(TOO_SMALL)?;
                let largest = rest.get_mut(..cols).ok_or(TOO_SMALL)?;
                largest.fill(0.0);
                for index in 0..rows {
                    run.read_converted(&linear.weight, index, row, &mut [])?;
                    for (most, value) in largest.iter_mut().zip(&*row) {
                        *most = if value.abs() > *most { value.abs() } else { *most };
                    }
                }
                column_scales(columns, largest, migration, row);
                columns.iter_mut().zip(row).for_each(|(column, scale)| *column = *scale);
            }
        }
        Ok(())
    }

    /// Codes linear layers that are not in bytes anew, in `memory`, so that they are computed with
    /// quantised activations. Those that share their input are coded together or not at all.
    ///
    /// `run` has the weights that the model was opened with, in memory. From now on it runs with
    /// [`Requantized`] weights, made of these and `memory`; what kernels want to know of the rows
    /// is to be [found out](Self::summarize) again. `columns` holds the scale of each of the
    /// activations' [columns](LayerInput::columns).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if `memory`, `scratch` or `columns` is less than
    /// [`requantized_bytes`](Self::requantized_bytes),
    /// [`requantizing_floats`](Self::requantizing_floats) and [`BertConfig::scaled_columns`] say;
    /// [`ErrorKind::BadScale`] if a scale is 0 or something is not finite; what reading the weights
    /// may fail with. The model can then not be used any more.
    pub fn requantize<W: Weights + ?Sized, P: ?Sized>(
        &mut self,
        run: &Run<'_, W, P>,
        columns: &[f32],
        scratch: &mut [f32],
        memory: &mut [u8],
    ) -> Result<()> {
        let config = self.config;
        let layers = self.layers.as_mut().get_mut(..config.layers).ok_or(TOO_SMALL)?;
        let mut coder = Coder { run, scratch, memory, offset: MEMORY };
        for (index, layer) in layers.iter_mut().enumerate() {
            let mut shares_codes = layer.integer_attention;
            for (input, mut linear) in layer.by_input() {
                if !linear.iter().flatten().all(|linear| gains(linear)) {
                    continue;
                }
                let scales = match (input.columns(&config, index), linear.last()) {
                    (Some(range), Some(Some(last))) => {
                        let scales = columns.get(range).ok_or(TOO_SMALL)?;
                        Some(coder.columns(scales, last.weight.offset)?)
                    }
                    _ => None,
                };
                for linear in linear.iter_mut().flatten() {
                    coder.code(&mut linear.weight, scales)?;
                }
                shares_codes |= input == LayerInput::Attention;
            }
            layer.integer_attention = shares_codes;
            layer.attention_group = layer.attention_group.filter(|_| !shares_codes);
        }
        summaries::number(layers);
        Ok(())
    }
}

/// Codes matrices anew, one after the other.
struct Coder<'a, 'r, W: ?Sized, P: ?Sized> {
    run: &'a Run<'r, W, P>,
    /// The inverses of the columns' scales, if they have any, and room for a row.
    scratch: &'a mut [f32],
    /// What is left of the memory, and where that begins.
    memory: &'a mut [u8],
    offset: u64,
}

impl<'a, W: Weights + ?Sized, P: ?Sized> Coder<'a, '_, W, P> {
    /// The next `length` bytes of the memory, and where they lie.
    fn take(&mut self, length: usize) -> Result<(&'a mut [u8], u64)> {
        let bytes = split_off(&mut self.memory, length).ok_or(TOO_SMALL)?;
        let offset = self.offset;
        self.offset = offset.checked_add(length as u64).ok_or(TOO_SMALL)?;
        Ok((bytes, offset))
    }

    /// Writes the scales of columns and leaves their inverses in the scratch memory; returns where
    /// they lie. An error is at `place`, where the weights lie that they are for.
    fn columns(&mut self, scales: &[f32], place: u64) -> Result<u64> {
        let (bytes, offset) = self.take(scales.len().checked_mul(4).ok_or(TOO_SMALL)?)?;
        let inverses = self.scratch.get_mut(..scales.len()).ok_or(TOO_SMALL)?;
        for ((scale, inverse), bytes) in
            scales.iter().zip(inverses).zip(bytes.as_chunks_mut::<4>().0)
        {
            if !scale.is_normal() {
                return Err(Error::new(place, ErrorKind::BadScale));
            }
            *bytes = scale.to_le_bytes();
            *inverse = 1.0 / *scale;
        }
        Ok(offset)
    }

    /// Codes a matrix, divided by the scales of the columns if they lie somewhere, and says where
    /// it lies now.
    fn code(&mut self, matrix: &mut Matrix, columns: Option<u64>) -> Result<()> {
        let Matrix { rows, cols, .. } = *matrix;
        let groups = groups(cols);
        let width = cols.checked_div(groups).unwrap_or(0).max(1);
        let (codes, scales) = sizes(matrix).ok_or(TOO_SMALL)?;
        let (codes, offset) = self.take(codes)?;
        let (scales, scale_offset) = self.take(scales)?;
        let (inverses, rest) = self.scratch.split_at_mut_checked(cols).ok_or(TOO_SMALL)?;
        let row = rest.get_mut(..cols).ok_or(TOO_SMALL)?;
        let places = codes.chunks_exact_mut(cols.max(1)).zip(scales.chunks_exact_mut(groups * 4));
        for (index, (codes, scales)) in places.enumerate() {
            self.run.read_converted(matrix, index, row, &mut [])?;
            if columns.is_some() {
                row.iter_mut().zip(&*inverses).for_each(|(value, inverse)| *value *= inverse);
            }
            let parts = row.chunks_exact(width).zip(codes.chunks_exact_mut(width));
            for ((row, codes), bytes) in parts.zip(scales.as_chunks_mut::<4>().0) {
                let (mut scale, mut sum) = ([0.0], [0.0]);
                let limit = CodeRange::Narrow.limit(row);
                (self.run.kernels.quantize_groups)(row, width, limit, codes, &mut scale, &mut sum);
                let [scale] = scale;
                if !scale.is_finite() {
                    return Err(Error::new(matrix.offset, ErrorKind::BadScale));
                }
                *bytes = scale.to_le_bytes();
            }
        }
        *matrix = Matrix {
            encoding: Encoding::I8,
            rows,
            cols,
            offset,
            bytes: codes.len() as u64,
            scale_offset,
            groups,
            column_offset: columns,
            zero_offset: 0,
        };
        Ok(())
    }
}
