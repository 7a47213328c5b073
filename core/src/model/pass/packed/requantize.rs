//! Linear layers requantised to signed bytes, a scale a row and group, which the fastest kernels
//! take: for models in blocks of few bits, whose files are small and whose products are slow, where
//! there is memory for both.
//!
//! Activations are quantised, too, so they have to be evened out as in a model that was
//! [calibrated](crate::quant::int8): the file has the scales of their columns, or they
//! [follow](Transformer::column_scales) from
//! [observing](crate::model::Encoder::embed_observed) the model as it is.

use core::ops::Range;

pub use crate::model::linear::requantize::Requantized;

use super::Transformer;
use crate::error::{Error, ErrorKind, Result};
use crate::model::block::layer::Layer;
use crate::model::block::observation::LayerInput;
use crate::model::config::Config;
use crate::model::linear::requantize::{Coder, MEMORY, gains, sizes};
use crate::model::linear::{Linear, Rows};
use crate::model::run::Run;
use crate::model::weights::{Matrix, Weights};
use crate::quant::int8::column_scales;

/// The tensor with the scales of the [columns of all layers](Config::scaled_columns), in a file
/// that has them: a vector of floats.
pub const COLUMN_SCALES: &str = "requantize.column_scale";

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

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
    /// scales](Config::scaled_columns); `None` if these have none.
    #[must_use]
    pub fn columns(self, config: &Config, layer: usize) -> Option<Range<usize>> {
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

const fn columns_of_layer(config: &Config) -> usize {
    config.hidden.saturating_mul(2).saturating_add(config.intermediate)
}

impl Config {
    /// How many columns of activations of all layers have scales where activations are quantised.
    #[must_use]
    pub const fn scaled_columns(&self) -> usize {
        self.layers.saturating_mul(columns_of_layer(self))
    }
}

/// Some rows of a linear layer that are to be requantised.
struct Piece<'l> {
    linear: &'l mut Linear,
    /// The first row, where it need not be 0: then it becomes 0.
    first: Option<&'l mut usize>,
    count: usize,
}

impl<'l> Piece<'l> {
    const fn from_rows(rows: &'l mut Rows) -> Self {
        Self { linear: &mut rows.linear, first: Some(&mut rows.first), count: rows.count }
    }

    const fn from_linear(linear: &'l mut Linear) -> Self {
        Self { count: linear.weight.rows, linear, first: None }
    }
}

impl Layer {
    /// The linear layers by what they are applied to; the last of those of one input decides on the
    /// scales of its columns.
    fn by_input(&mut self) -> [(LayerInput, [Option<Piece<'_>>; 3]); 4] {
        let Self { query, key, value, attention_output, up, down, further, .. } = self;
        let [query, key, value, up] =
            [query, key, value, up].map(|rows| Some(Piece::from_rows(rows)));
        let gate = further.first_mut().map(|further| Piece::from_rows(&mut further.gate));
        let gate = gate.filter(|gate| gate.count > 0);
        [
            (LayerInput::Attention, [query, key, value]),
            (LayerInput::AttentionOutput, [None, None, Some(Piece::from_linear(attention_output))]),
            (LayerInput::Intermediate, [None, gate, up]),
            (LayerInput::Output, [None, None, Some(Piece::from_linear(down))]),
        ]
    }

    /// Of each input whose columns have scales the linear layer that decides on them: values are
    /// the sensitive ones of three.
    const fn decisive(&self) -> [(LayerInput, &Linear); 3] {
        [
            (LayerInput::Attention, &self.value.linear),
            (LayerInput::Intermediate, &self.up.linear),
            (LayerInput::Output, &self.down),
        ]
    }
}

impl<L: AsRef<[Layer]> + AsMut<[Layer]>> Transformer<L> {
    /// How many bytes [`requantize`](Self::requantize) needs at most, about one for each weight: 0
    /// if there is nothing to requantise, `usize::MAX` if they are more than addresses.
    #[must_use]
    pub fn requantized_bytes(&self) -> usize {
        let layers = self.layers.as_ref().iter().take(self.config.layers);
        let linear = layers.flat_map(Layer::linear_rows).filter(|it| gains(it.0));
        let sum = linear.fold(0_usize, |sum, (linear, rows)| {
            let (codes, scales) = sizes(rows, linear.weight.cols).unwrap_or((usize::MAX, 0));
            sum.saturating_add(codes).saturating_add(scales)
        });
        let columns = self.config.scaled_columns().saturating_mul(4);
        if sum == 0 { 0 } else { sum.saturating_add(columns) }
    }

    /// How many floats of scratch memory [`requantize`](Self::requantize) and
    /// [`column_scales`](Self::column_scales) need.
    #[must_use]
    pub const fn requantizing_floats(&self) -> usize {
        self.config.widest().saturating_mul(2)
    }

    /// Makes the scales of the activations' [columns](LayerInput::columns) of their root mean
    /// squares, in place: see [`column_scales`]. Those of what [`requantize`](Self::requantize)
    /// leaves as it is stay as they are.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if `columns` or `scratch` is less than
    /// [`Config::scaled_columns`] and [`requantizing_floats`](Self::requantizing_floats) say;
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

    /// Requantises linear layers that are not in bytes, in `memory`, so that they are computed with
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
    /// [`requantizing_floats`](Self::requantizing_floats) and [`Config::scaled_columns`] say;
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
            for (input, mut pieces) in layer.by_input() {
                if !pieces.iter().flatten().all(|piece| gains(piece.linear)) {
                    continue;
                }
                let scales = match (input.columns(&config, index), pieces.last()) {
                    (Some(range), Some(Some(last))) => {
                        let scales = columns.get(range).ok_or(TOO_SMALL)?;
                        Some(coder.columns(scales, last.linear.weight.offset)?)
                    }
                    _ => None,
                };
                for Piece { linear, first, count } in pieces.iter_mut().flatten() {
                    let start = first.as_deref().copied().unwrap_or(0);
                    coder.code(linear, (start, *count), scales)?;
                    if let Some(first) = first {
                        **first = 0;
                    }
                }
                shares_codes |= input == LayerInput::Attention;
            }
            layer.integer_attention = shares_codes;
            layer.attention_group = layer.attention_group.filter(|_| !shares_codes);
        }
        Layer::number_summaries(layers);
        Ok(())
    }
}
