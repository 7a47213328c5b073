//! One pass of a pack of texts through the layers.
//!
//! A layer goes over the data twice, each time in parts that a host may run on several threads: by
//! heads, then by blocks of tokens.

use super::heads::Whole;
use super::layout::{HeadLayout, Layout};
use super::pack::Pack;
use super::positions::{Angles, position_vectors, relative_biases};
use super::state::{Pass, TOO_SMALL};
use super::workspace::Workspace;
use super::{Batch, Transformer};
use crate::error::Result;
use crate::kernel::pieces::copy;
use crate::model::block::disentangled::Positions;
use crate::model::block::layer::{Further, Layer};
use crate::model::block::observation::{LayerInput, Observation, Observer};
use crate::model::config::FAMILIES;
use crate::model::linear::{CodeBuffers, Input};
use crate::model::parallel::{Parallel, Parts, WorkPart, split_off};
use crate::model::run::Run;
use crate::model::weights::Weights;

/// The memory that layers write to.
struct Memory<'m> {
    /// Hidden states of the tokens, then vectors of positions.
    states: &'m mut [f32],
    /// See [`Workspace`], as of the next three.
    context: &'m mut [f32],
    normed: &'m mut [f32],
    codes: CodeBuffers<'m>,
    scratch: Scratch<'m>,
}

/// The memory of all jobs, which one of them reads weights into between their runs.
struct Scratch<'m> {
    floats: &'m mut [f32],
    bytes: &'m mut [u8],
}

impl Scratch<'_> {
    /// An output in parts, each with its job's memory.
    fn parts<'p>(&'p mut self, layout: &Layout, output: &'p mut [f32], part: usize) -> Parts<'p> {
        let floats = (&mut *self.floats, layout.job.floats);
        Parts::new((output, part), floats, (&mut *self.bytes, layout.job.bytes))
    }
}

impl<'a, L, W, P> Pass<'a, L, W, P>
where
    L: AsRef<[Layer]> + Sync,
    W: Weights + Sync + ?Sized,
    P: Parallel + ?Sized,
{
    /// Runs all layers over texts of these lengths; the last hidden states are left in the
    /// workspace.
    pub(super) fn run(
        model: &'a Transformer<L>,
        run: &'a Run<'a, W, P>,
        observe: &'a Observer<'a>,
        (texts, pack): (&Batch<'a>, Pack),
        workspace: &mut Workspace<'_>,
    ) -> Result<()> {
        let Batch { ids, types, lengths, attended, .. } = *texts;
        let tokens = pack.tokens();
        let Workspace {
            layout,
            hidden,
            first,
            context,
            normed,
            angles,
            relative,
            codes,
            floats,
            bytes,
        } = workspace;
        let config = &model.config;
        let layout = &*layout;
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let angles = Angles::new(config, angles, longest)?;
        let (mut relative, mut positions) = (&mut **relative, Positions::NONE);
        let (mut staging, ..) = layout.staging(floats, bytes)?;
        if FAMILIES && config.disentangled().is_some() {
            let vectors = hidden.get_mut(tokens * config.hidden..).ok_or(TOO_SMALL)?;
            let table = split_off(&mut relative, (2 * longest).saturating_sub(1));
            let table = table.ok_or(TOO_SMALL)?;
            let count = position_vectors(model, run, table, vectors, &mut staging)?;
            positions = Positions { by_offset: table, first: tokens, count };
        }
        let relative = relative_biases(model, run, longest, relative, &mut staging)?;
        let states = hidden.get_mut(..(tokens + positions.count) * config.hidden);
        let states = states.ok_or(TOO_SMALL)?;
        let shared = pack.shared;
        let pass = Pass {
            model,
            run,
            observe,
            layout,
            shared,
            lengths,
            attended,
            tokens,
            angles,
            relative,
            positions,
        };
        let own = tokens * config.hidden;
        pass.first_states(
            (ids, types),
            states.get_mut(..own).ok_or(TOO_SMALL)?,
            context,
            &mut staging,
        )?;
        if FAMILIES {
            copy(first, states);
        }
        let codes = codes.reborrow();
        let scratch = Scratch { floats, bytes };
        let mut memory = Memory { states, context, normed, codes, scratch };
        for (index, layer) in model.layers.as_ref().iter().take(config.layers).enumerate() {
            pass.layer((index, layer), first, &mut memory)?;
        }
        if FAMILIES && config.final_norm {
            let Memory { states, scratch: Scratch { floats, bytes }, .. } = memory;
            let (mut staging, ..) = layout.staging(floats, bytes)?;
            let hidden = states.get_mut(..own).ok_or(TOO_SMALL)?;
            pass.norm(&model.final_norm, hidden, &[], &mut staging)?;
        }
        Ok(())
    }

    /// Runs one layer over the hidden states, whose first vectors are `first`.
    fn layer(
        &self,
        (index, layer): (usize, &Layer),
        first: &[f32],
        memory: &mut Memory<'_>,
    ) -> Result<()> {
        let Self { model, run, layout, tokens, .. } = *self;
        let Memory { states, context, normed, codes, scratch } = memory;
        let config = &model.config;
        let own = tokens * config.hidden;
        let mut rest = &mut **normed;
        let x = match config.norms_first() {
            false => &**states,
            true => {
                let normed = split_off(&mut rest, own).ok_or(TOO_SMALL)?;
                copy(normed, states);
                let (mut staging, ..) = layout.staging(scratch.floats, scratch.bytes)?;
                self.norm(&layer.attention_norm, normed, &[], &mut staging)?;
                &*normed
            }
        };
        let values = if FAMILIES { x.get(..own).unwrap_or_default() } else { x };
        (self.observe)(Observation { layer: index, input: LayerInput::Attention, values });
        let input = self.attention_input(layer, x, codes, scratch)?;
        let whole = self.normed_whole((index, layer), x, rest, scratch)?;
        let HeadLayout { heads, sharing, size, .. } = *layout.heads_of(config.has_window(index));
        let width = if FAMILIES { config.heads_in(index).width() } else { config.hidden };
        let context = context.get_mut(..tokens * width).ok_or(TOO_SMALL)?;
        let parts = scratch.parts(layout, context, heads * sharing * tokens * size);
        run.parallel.run(parts, &|part| self.heads((index, layer), input, whole, part))?;
        let hidden = states.get_mut(..own).ok_or(TOO_SMALL)?;
        let parts = scratch.parts(layout, hidden, self.share() * config.hidden);
        run.parallel.run(parts, &|part| self.blocks((index, layer), context, first, part))
    }

    /// The attention's input as its linear layers take it: as it is, or as codes.
    fn attention_input<'m>(
        &self,
        layer: &Layer,
        x: &'m [f32],
        codes: &'m mut CodeBuffers<'_>,
        scratch: &mut Scratch<'_>,
    ) -> Result<Input<'m>> {
        let Self { model, run, layout, .. } = *self;
        let buffers = codes.reborrow();
        if layout.quantized && layer.integer_attention {
            let (mut staging, ..) = layout.staging(scratch.floats, scratch.bytes)?;
            let query = &layer.query.linear.weight;
            return Ok(Input::Codes(run.quantize(query, x, buffers, &mut staging)?));
        }
        Ok(match layer.attention_group.filter(|_| layout.grouped) {
            Some(group) => {
                Input::Groups(run.quantize_groups((model.config.hidden, group), x, buffers)?)
            }
            None => Input::Floats(x),
        })
    }

    /// The queries and keys of models that norm all heads of a token together.
    fn normed_whole<'m>(
        &self,
        (index, layer): (usize, &Layer),
        x: &[f32],
        mut memory: &'m mut [f32],
        scratch: &mut Scratch<'_>,
    ) -> Result<Whole<'m>> {
        let mut whole: Whole<'_> = Default::default();
        if !self.model.config.has_vector_norm() {
            return Ok(whole);
        }
        let Further { query_norm, key_norm, .. } = layer.further();
        let both = [(&layer.query, query_norm), (&layer.key, key_norm)];
        for (to, (rows, norm)) in whole.iter_mut().flatten().zip(both) {
            let out = split_off(&mut memory, self.tokens * rows.count).ok_or(TOO_SMALL)?;
            let parts = scratch.parts(self.layout, out, self.share() * rows.count);
            let job = |part: WorkPart<'_>| self.whole((index, layer), (rows, norm), x, part);
            self.run.parallel.run(parts, &job)?;
            *to = out;
        }
        Ok(whole)
    }
}
