//! The BERT encoder in integers alone: no floating-point number from the weights' bytes to the embedding.
//!
//! Activations are fixed-point numbers ([`kernel::fixed`](crate::kernel::fixed)), quantised to 12 bits a token before
//! each linear layer; weights are 8-bit codes, their scales the bits of f32 numbers. For processors without an FPU; the
//! same bits everywhere. One text at a time, on one thread.

use super::bert::{Bert, Layer, Norm};
use super::config::Pooling;
use super::linear::Linear;
use super::parallel::split_off;
use super::weights::{Encoding, Matrix, Weights};
use super::workspace::Needs;
use super::{BertConfig, Plan};
use crate::error::{Error, ErrorKind, Result};
use crate::kernel::fixed::{self, Factor};
use crate::kernel::pieces::{pieces, pieces_mut};

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);
const INVALID: Error = Error::without_offset(ErrorKind::InvalidArgument);

/// How much memory a run in integers needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedNeeds {
    /// Elements of i32.
    pub words: usize,
    /// Elements of i16.
    pub codes: usize,
    /// Bytes.
    pub bytes: usize,
}

impl FixedNeeds {
    /// The needs of a `plan`, of which tokens, tile and block count.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the plan is for nothing or larger than memory can be, or its tile too small.
    pub fn new(config: &BertConfig, plan: &Plan) -> Result<Self> {
        Sizes::new(config, plan).and_then(|sizes| sizes.needs()).ok_or(INVALID)
    }
}

/// Memory lent for a run: as much as [`FixedNeeds`] says.
#[derive(Debug)]
pub struct FixedMemory<'a> {
    /// Numbers.
    pub words: &'a mut [i32],
    /// Codes of activations.
    pub codes: &'a mut [i16],
    /// Weights that are read.
    pub bytes: &'a mut [u8],
}

#[derive(Clone, Copy)]
struct Sizes {
    tokens: usize,
    hidden: usize,
    intermediate: usize,
    head: usize,
    block: usize,
    tile: usize,
}

impl Sizes {
    fn new(config: &BertConfig, plan: &Plan) -> Option<Self> {
        let BertConfig { hidden, intermediate, .. } = *config;
        let least_tile = if plan.tile_bytes == 0 { 0 } else { Needs::least_tile_bytes(config) };
        let block = if plan.block == 0 { plan.tokens } else { plan.block.min(plan.tokens) };
        let sizes = Self {
            tokens: plan.tokens,
            hidden,
            intermediate,
            head: config.head(),
            block,
            tile: plan.tile_bytes,
        };
        (plan.tokens > 0 && sizes.head > 0 && plan.tile_bytes >= least_tile).then_some(sizes)
    }

    fn widest(&self) -> usize {
        self.hidden.max(self.intermediate)
    }

    /// Of one part of the work: a head's attention, or a block's feed-forward layers.
    fn part(&self) -> Option<usize> {
        let Self { tokens, hidden, head, block, .. } = *self;
        let attention = tokens.checked_mul(head)?.checked_mul(3)?.checked_add(tokens)?;
        let feed_forward =
            block.checked_mul(hidden)?.checked_add(block.checked_mul(self.widest())?)?;
        Some(attention.max(feed_forward))
    }

    fn needs(&self) -> Option<FixedNeeds> {
        let Self { tokens, hidden, block, tile, .. } = *self;
        let widest = self.widest();
        let states = tokens.checked_mul(hidden)?;
        // Both states, a part, biases, scales, a row, and two words of a factor for each token.
        let staging = widest.checked_mul(3)?.checked_add(tokens.checked_mul(2)?)?;
        let words = states.checked_mul(2)?.checked_add(self.part()?)?.checked_add(staging)?;
        Some(FixedNeeds { words, codes: states.max(block.checked_mul(widest)?), bytes: tile })
    }
}

/// Memory for bringing weights in, and the quantised activations.
struct Staging<'a> {
    bias: &'a mut [i32],
    scales: &'a mut [i32],
    row: &'a mut [i32],
    worth: &'a mut [i32],
    codes: &'a mut [i16],
    tile: &'a mut [u8],
}

/// Where the output of some rows of a linear layer goes: element (t, r) at `t · stride + r`.
struct Output<'a> {
    first: usize,
    rows: usize,
    out: &'a mut [i32],
    stride: usize,
}

struct Run<'w, W: ?Sized>(&'w W);

impl<L: AsRef<[Layer]> + Sync> Bert<L> {
    /// The embedding of one text into `out`, `hidden` numbers with 30 bits behind the point if the model normalises, else 16.
    ///
    /// # Errors
    ///
    /// As [`embed`](Self::embed); [`ErrorKind::UnsupportedDtype`] for weights of linear layers that are not 8-bit codes, or
    /// have a scale for more than [`MAX_COLS`](fixed::MAX_COLS) columns.
    pub fn embed_fixed<W: Weights + ?Sized>(
        &self,
        weights: &W,
        plan: &Plan,
        ids: &[u32],
        memory: FixedMemory<'_>,
        out: &mut [i32],
    ) -> Result<()> {
        let sizes = Sizes::new(&self.config, plan).ok_or(INVALID)?;
        let error = |kind| Err(Error::without_offset(kind));
        if ids.is_empty() || out.len() != self.config.hidden {
            return Err(INVALID);
        }
        if ids.len() > self.config.positions {
            return error(ErrorKind::TooManyTokens);
        }
        if ids.len() > sizes.tokens {
            return Err(TOO_SMALL);
        }
        if ids.iter().any(|&id| id as usize >= self.config.vocabulary) {
            return error(ErrorKind::TokenOutOfRange);
        }
        let FixedMemory { mut words, codes, bytes } = memory;
        let needs = sizes.needs().ok_or(INVALID)?;
        if words.len() < needs.words || codes.len() < needs.codes || bytes.len() < needs.bytes {
            return Err(TOO_SMALL);
        }
        let widest = sizes.widest();
        let mut take = |size| split_off(&mut words, size).ok_or(TOO_SMALL);
        let hidden = take(ids.len() * sizes.hidden)?;
        let context = take(ids.len() * sizes.hidden)?;
        let mut staging = Staging {
            bias: take(widest)?,
            scales: take(widest)?,
            row: take(widest)?,
            worth: take(ids.len() * 2)?,
            codes,
            tile: bytes.get_mut(..sizes.tile).ok_or(TOO_SMALL)?,
        };
        let run = Run(weights);
        self.fixed_embeddings(&run, ids, hidden, &mut staging)?;
        for layer in self.layers.as_ref().iter().take(self.config.layers) {
            self.fixed_attention(&run, layer, (hidden, context), words, &mut staging)?;
            let rows = sizes.block * sizes.hidden;
            for (hidden, context) in hidden.chunks_mut(rows.max(1)).zip(context.chunks(rows.max(1)))
            {
                self.fixed_block(&run, layer, (hidden, context), words, &mut staging)?;
            }
        }
        self.fixed_pool(hidden, out);
        Ok(())
    }

    fn fixed_embeddings<W: Weights + ?Sized>(
        &self,
        run: &Run<'_, W>,
        ids: &[u32],
        hidden: &mut [i32],
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        for (position, (&id, row)) in
            ids.iter().zip(hidden.chunks_exact_mut(self.config.hidden.max(1))).enumerate()
        {
            row.fill(0);
            run.add_row(&self.word, id as usize, row, staging)?;
            run.add_row(&self.position, position, row, staging)?;
            run.add_row(&self.token_type, 0, row, staging)?;
        }
        self.fixed_norm(run, &self.norm, hidden, staging)
    }

    fn fixed_norm<W: Weights + ?Sized>(
        &self,
        run: &Run<'_, W>,
        norm: &Norm,
        hidden: &mut [i32],
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        let width = self.config.hidden;
        let weight = staging.scales.get_mut(..width).ok_or(TOO_SMALL)?;
        run.read_vector(&norm.weight, 0, weight, staging.tile)?;
        let bias = staging.bias.get_mut(..width).ok_or(TOO_SMALL)?;
        run.read_vector(&norm.bias, 0, bias, staging.tile)?;
        let epsilon = fixed::parts_of_f32(self.config.layer_norm_epsilon.to_bits());
        let epsilon = epsilon.map_or(0, |(_, epsilon)| {
            Factor { exponent: epsilon.exponent + 16, ..epsilon }.of(fixed::ONE)
        });
        for row in hidden.chunks_exact_mut(width.max(1)) {
            fixed::layer_norm(row, weight, bias, epsilon.unsigned_abs().into());
        }
        Ok(())
    }

    /// The attention of all heads; `context` is stored token by token.
    fn fixed_attention<W: Weights + ?Sized>(
        &self,
        run: &Run<'_, W>,
        layer: &Layer,
        (hidden, context): (&[i32], &mut [i32]),
        mut part: &mut [i32],
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        let (width, size) = (self.config.hidden, self.config.head());
        let tokens = hidden.len() / width.max(1);
        let queries = split_off(&mut part, tokens * size).ok_or(TOO_SMALL)?;
        let keys = split_off(&mut part, tokens * size).ok_or(TOO_SMALL)?;
        let values = split_off(&mut part, tokens * size).ok_or(TOO_SMALL)?;
        let scores = part.get_mut(..tokens).ok_or(TOO_SMALL)?;
        // 1 / √size.
        let scale = fixed::inverse_square_root((size as u64) << 32);
        let linears = [&layer.query, &layer.key, &layer.value];
        if layer.integer_attention {
            run.quantize(&layer.query.weight, hidden, staging)?;
        }
        for head in 0..self.config.heads {
            let first = head * size;
            for (linear, target) in linears.iter().zip([&mut *queries, &mut *keys, &mut *values]) {
                if !layer.integer_attention {
                    run.quantize(&linear.weight, hidden, staging)?;
                }
                run.linear(
                    linear,
                    Output { first, rows: size, out: target, stride: size },
                    staging,
                )?;
            }
            let rows =
                queries.chunks_exact(size.max(1)).zip(context.chunks_exact_mut(width.max(1)));
            for (query, context) in rows {
                for (score, key) in scores.iter_mut().zip(keys.chunks_exact(size.max(1))) {
                    *score = scale.of(fixed::multiply(query, key, 1, 16));
                }
                fixed::softmax(scores);
                let out = context.get_mut(first..first + size).ok_or(TOO_SMALL)?;
                for (element, out) in out.iter_mut().enumerate() {
                    let column = values.get(element..).unwrap_or_default();
                    *out = fixed::multiply(scores, column, size, 30);
                }
            }
        }
        Ok(())
    }

    /// Everything after the attention, for a block of tokens.
    fn fixed_block<W: Weights + ?Sized>(
        &self,
        run: &Run<'_, W>,
        layer: &Layer,
        (hidden, context): (&mut [i32], &[i32]),
        mut part: &mut [i32],
        staging: &mut Staging<'_>,
    ) -> Result<()> {
        let BertConfig { hidden: width, intermediate, .. } = self.config;
        let tokens = hidden.len() / width.max(1);
        let sum = split_off(&mut part, tokens * width).ok_or(TOO_SMALL)?;
        let wide = part.get_mut(..tokens * intermediate).ok_or(TOO_SMALL)?;
        let add = |hidden: &mut [i32], sum: &[i32]| {
            hidden.iter_mut().zip(sum).for_each(|(x, y)| *x = x.saturating_add(*y));
        };
        run.whole(&layer.attention_output, context, sum, staging)?;
        add(hidden, sum);
        self.fixed_norm(run, &layer.attention_norm, hidden, staging)?;
        run.whole(&layer.intermediate, hidden, wide, staging)?;
        wide.iter_mut().for_each(|x| *x = fixed::gelu(*x));
        run.whole(&layer.output, wide, sum, staging)?;
        add(hidden, sum);
        self.fixed_norm(run, &layer.output_norm, hidden, staging)
    }

    fn fixed_pool(&self, hidden: &[i32], out: &mut [i32]) {
        let width = self.config.hidden;
        let count = match self.config.pooling {
            Pooling::Mean => hidden.len() / width.max(1),
            Pooling::Cls => 1,
        };
        for (element, out) in out.iter_mut().enumerate() {
            let column =
                hidden.get(element..).unwrap_or_default().iter().step_by(width).take(count);
            let sum: i64 = column.map(|&x| i64::from(x)).sum();
            // The mean of 32-bit numbers is one.
            *out = (sum / count.max(1) as i64) as i32;
        }
        if self.config.normalize {
            fixed::normalize(out);
        }
    }
}

impl<W: Weights + ?Sized> Run<'_, W> {
    /// A linear layer over all its rows.
    fn whole(
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
    fn quantize(&self, matrix: &Matrix, x: &[i32], staging: &mut Staging<'_>) -> Result<()> {
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
                        *to = column.of(if is_negative { x.saturating_neg() } else { x });
                    }
                }
            }
            let Factor { mantissa, exponent } = fixed::quantize(row, codes);
            worth.copy_from_slice(&[mantissa.cast_signed(), exponent]);
        }
        Ok(())
    }

    /// The quantised activations times some rows of weights.
    fn linear(&self, linear: &Linear, output: Output<'_>, staging: &mut Staging<'_>) -> Result<()> {
        let Output { first, rows: count, out, stride } = output;
        let Matrix { cols, groups, encoding, offset, scale_offset, .. } = linear.weight;
        let width = cols.checked_div(groups).unwrap_or(usize::MAX);
        if encoding != Encoding::I8 || width > fixed::MAX_COLS {
            return Err(Error::new(offset, ErrorKind::UnsupportedDtype));
        }
        let Staging { bias, scales, worth, codes, tile, .. } = staging;
        let bias = bias.get_mut(..count).ok_or(TOO_SMALL)?;
        self.read_vector(&linear.bias, first, bias, tile)?;
        let mut row = 0;
        while row < count {
            let room = if self.0.borrows() { usize::MAX } else { tile.len() / cols.max(1) };
            let rows = room.min(count - row).min(scales.len() / groups.max(1));
            if rows == 0 {
                return Err(TOO_SMALL);
            }
            let scales = scales.get_mut(..rows * groups).ok_or(TOO_SMALL)?;
            let at = ((first + row) * groups * 4) as u64;
            self.read_bits(scale_offset.saturating_add(at), scales, tile)?;
            let at = ((first + row) * cols) as u64;
            let weights = self.0.bytes(offset.saturating_add(at), rows * cols, tile)?;
            let lines = weights.chunks_exact(cols.max(1)).zip(scales.chunks_exact(groups.max(1)));
            for (r, (weights, scales)) in lines.enumerate() {
                let bias = bias.get(row + r).copied().unwrap_or(0);
                let tokens = codes.chunks_exact(cols.max(1)).zip(worth.as_chunks::<2>().0);
                for ((codes, &[mantissa, exponent]), out) in
                    tokens.zip(out.chunks_mut(stride.max(1)))
                {
                    let worth = Factor { mantissa: mantissa.cast_unsigned(), exponent };
                    let parts =
                        codes.chunks_exact(width.max(1)).zip(weights.chunks_exact(width.max(1)));
                    let mut sum = bias;
                    for ((codes, weights), &scale) in parts.zip(scales) {
                        let (is_negative, scale) = factor(scale, scale_offset)?;
                        let product = scale.times(worth).of(fixed::dot(codes, weights));
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
            row += rows;
        }
        Ok(())
    }

    /// Adds a row of a table.
    fn add_row(
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
            Encoding::I8 if table.column_offset.is_none() => {
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
                        *value = scale.of(one * i32::from(code.cast_signed()));
                    }
                }
            }
            Encoding::F32 | Encoding::F16 | Encoding::BF16 => {
                self.read_vector(table, row * cols, values, tile)?;
            }
            _ => return Err(unsupported),
        }
        out.iter_mut().zip(&*values).for_each(|(x, y)| *x = x.saturating_add(*y));
        Ok(())
    }

    /// Reads elements of a vector of floats from element `first` on, in Q16.
    fn read_vector(
        &self,
        vector: &Matrix,
        first: usize,
        out: &mut [i32],
        tile: &mut [u8],
    ) -> Result<()> {
        let bad = Error::new(vector.offset, ErrorKind::BadScale);
        let size = match vector.encoding {
            Encoding::F32 => 4,
            Encoding::F16 | Encoding::BF16 => 2,
            _ => return Err(Error::new(vector.offset, ErrorKind::UnsupportedDtype)),
        };
        let offset = vector.offset.saturating_add((first * size) as u64);
        let bytes = self.0.bytes(offset, out.len() * size, tile)?;
        for (out, bytes) in out.iter_mut().zip(bytes.chunks_exact(size.max(1))) {
            let value = match (bytes, vector.encoding) {
                (&[a, b, c, d], _) => fixed::from_f32(u32::from_le_bytes([a, b, c, d])),
                (&[a, b], Encoding::BF16) => fixed::from_f32(u32::from_le_bytes([0, 0, a, b])),
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
