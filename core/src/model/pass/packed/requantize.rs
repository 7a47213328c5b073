//! Linear layers requantised to signed bytes with a scale per row and group, for the fastest
//! kernels: for models in low-bit blocks, whose files are small and whose products are slow, if
//! there is memory for both.
//!
//! Activations are quantised too, so their columns need scales as in a
//! [calibrated](crate::quant::int8) model: either the file has them, or they
//! [follow](Transformer::column_scales) from [observing](crate::model::Encoder::embed_observed) the
//! original model.

use core::ops::Range;

pub use crate::model::linear::requantize::Requantized;

use super::Transformer;
use crate::error::{Error, ErrorKind, Result};
use crate::model::block::layer::{Further, Layer};
use crate::model::block::observation::LayerInput;
use crate::model::block::per_layer::PerLayer;
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
    /// The share of the columns' size that is moved into the weights, see [`column_scales`]; `None`
    /// for inputs whose columns have no scales.
    ///
    /// Of 0.4, 0.45 … 0.8 this value keeps the embeddings of all-MiniLM-L6-v2 closest to those
    /// computed in f32. The output of GELU is sparse: its rare large values matter less.
    #[must_use]
    pub const fn migration(self) -> Option<f32> {
        match self {
            Self::Attention | Self::Intermediate | Self::PerLayerGate => Some(0.6),
            Self::AttentionOutput | Self::PerLayerInput => None,
            Self::Output | Self::PerLayerProjection => Some(0.5),
        }
    }

    /// The range of this input's columns, in layer `layer`, among [all that have
    /// scales](Config::scaled_columns); `None` if these have none.
    #[must_use]
    pub fn columns(self, config: &Config, layer: usize) -> Option<Range<usize>> {
        let feed_forward = || config.hidden.checked_mul(2)?.checked_add(config.intermediate);
        let before = match self {
            Self::Attention => 0,
            Self::AttentionOutput | Self::PerLayerInput => return None,
            Self::Intermediate => config.hidden,
            Self::Output => config.hidden.checked_mul(2)?,
            Self::PerLayerGate => feed_forward()?,
            Self::PerLayerProjection => feed_forward()?.checked_add(config.hidden)?,
        };
        let start = layer.checked_mul(columns_of_layer(config))?.checked_add(before)?;
        Some(start..start.checked_add(self.cols(config, layer))?)
    }
}

const fn columns_of_layer(config: &Config) -> usize {
    let feed_forward = config.hidden.saturating_mul(2).saturating_add(config.intermediate);
    match config.per_layer_elements() {
        0 => feed_forward,
        elements => feed_forward.saturating_add(config.hidden).saturating_add(elements),
    }
}

impl Config {
    /// The number of activation columns of all layers that have scales with quantised activations.
    #[must_use]
    pub const fn scaled_columns(&self) -> usize {
        self.layers.saturating_mul(columns_of_layer(self))
    }
}

/// Some rows of a linear layer that are to be requantised.
struct Piece<'l> {
    linear: &'l mut Linear,
    /// The first row, unless it is always 0; it is set to 0.
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
    /// The linear layers by their input; the last one for each input determines its column scales.
    fn by_input(&mut self) -> [(LayerInput, [Option<Piece<'_>>; 3]); 7] {
        let Self { query, key, value, attention_output, up, down, further, .. } = self;
        let [query, key, value, up] =
            [query, key, value, up].map(|rows| Some(Piece::from_rows(rows)));
        let further = further.first_mut().map(|Further { gate, per_layer, .. }| {
            let PerLayer { input, gate: opened, projection, .. } = per_layer;
            let pieces = [Piece::from_rows(gate), Piece::from_rows(input)];
            let [gate, input] = pieces.map(|piece| Some(piece).filter(|piece| piece.count > 0));
            let pieces = [opened, projection].map(Piece::from_linear);
            let [opened, projection] =
                pieces.map(|piece| Some(piece).filter(|piece| piece.count > 0));
            [gate, input, opened, projection]
        });
        let [gate, input, opened, projection] = further.unwrap_or_default();
        [
            (LayerInput::Attention, [query, key, value]),
            (LayerInput::AttentionOutput, [None, None, Some(Piece::from_linear(attention_output))]),
            (LayerInput::Intermediate, [None, gate, up]),
            (LayerInput::Output, [None, None, Some(Piece::from_linear(down))]),
            (LayerInput::PerLayerInput, [None, None, input]),
            (LayerInput::PerLayerGate, [None, None, opened]),
            (LayerInput::PerLayerProjection, [None, None, projection]),
        ]
    }

    /// For each input whose columns have scales, the linear layer that determines them: of queries,
    /// keys and values, the values are the sensitive ones.
    fn decisive(&self) -> impl Iterator<Item = (LayerInput, &Linear)> {
        let own = [
            (LayerInput::Attention, &self.value.linear),
            (LayerInput::Intermediate, &self.up.linear),
            (LayerInput::Output, &self.down),
        ];
        let further = self.further.iter().flat_map(|Further { per_layer, .. }| {
            let PerLayer { gate, projection, .. } = per_layer;
            [(LayerInput::PerLayerGate, gate), (LayerInput::PerLayerProjection, projection)]
        });
        own.into_iter().chain(further.filter(|(_, linear)| linear.weight.rows > 0))
    }
}

impl<L: AsRef<[Layer]> + AsMut<[Layer]>> Transformer<L> {
    /// The largest number of bytes that [`requantize`](Self::requantize) needs, about one for each
    /// weight: 0 if there is nothing to requantise, `usize::MAX` on overflow.
    #[must_use]
    pub fn requantized_bytes(&self) -> usize {
        let layers = self.layers.as_ref().iter().take(self.config.layers);
        let linear = layers.flat_map(Layer::linear_rows).filter(|(it, _)| gains(it));
        let sum = linear.fold(0_usize, |sum, (linear, rows)| {
            let (codes, scales) = sizes(rows, linear.weight.cols).unwrap_or((usize::MAX, 0));
            sum.saturating_add(codes).saturating_add(scales)
        });
        let columns = self.config.scaled_columns().saturating_mul(4);
        if sum == 0 { 0 } else { sum.saturating_add(columns) }
    }

    /// The scratch memory of [`requantize`](Self::requantize) and
    /// [`column_scales`](Self::column_scales), in floats.
    #[must_use]
    pub const fn requantizing_floats(&self) -> usize {
        self.config.widest().saturating_mul(2)
    }

    /// Converts the activations' root mean squares to the scales of their
    /// [columns](LayerInput::columns), in place: see [`column_scales`]. Columns of layers that
    /// [`requantize`](Self::requantize) leaves unchanged are not converted.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if `columns` is shorter than [`Config::scaled_columns`] or
    /// `scratch` than [`requantizing_floats`](Self::requantizing_floats); any error of reading the
    /// weights.
    pub fn column_scales<W: Weights + ?Sized, P: ?Sized>(
        &self,
        run: &Run<'_, W, P>,
        columns: &mut [f32],
        scratch: &mut [f32],
    ) -> Result<()> {
        for (index, layer) in self.layers.as_ref().iter().take(self.config.layers).enumerate() {
            for (input, linear) in layer.decisive().filter(|(_, it)| gains(it)) {
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

    /// Requantises the linear layers that are not in bytes into `memory`, so that they are computed
    /// with quantised activations. Layers with the same input are requantised together or not at
    /// all.
    ///
    /// `run` has the weights with which the model was opened, in memory. From now on it runs with
    /// [`Requantized`] weights, made of these and `memory`; the row summaries must be
    /// [computed](Self::summarize) again. `columns` holds the scale of each of the activations'
    /// [columns](LayerInput::columns).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if `memory`, `scratch` or `columns` is smaller than
    /// [`requantized_bytes`](Self::requantized_bytes),
    /// [`requantizing_floats`](Self::requantizing_floats) and [`Config::scaled_columns`] require;
    /// [`ErrorKind::BadScale`] if a scale is 0 or something is not finite; any error of reading the
    /// weights. The model cannot be used after an error.
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
