//! Caller-provided scratch memory, whose size is known exactly in advance.

use super::layout::{ALIGNED_FLOATS, Layout};
use crate::error::{Error, ErrorKind, Result};
use crate::model::config::{Config, FAMILIES};
use crate::model::linear::{CodeBuffers, MAX_GROUPS};
use crate::model::parallel::split_off;
use crate::model::plan::{ALIGNMENT, Needs, Plan};

const TOO_SMALL: Error = Error::without_offset(ErrorKind::BufferTooSmall);

/// Scratch memory for one thread that runs a model (and its jobs).
#[derive(Debug)]
pub struct Workspace<'a> {
    pub(super) layout: Layout,
    /// Those of tokens, then vectors of positions.
    pub(super) hidden: &'a mut [f32],
    /// The tokens' first vectors; empty unless layers have a further input.
    pub(super) first: &'a mut [f32],
    pub(super) context: &'a mut [f32],
    /// Hidden states in the form that the attention takes, then queries and keys that are normed
    /// whole; empty if it takes them unchanged.
    pub(super) normed: &'a mut [f32],
    /// Cosines and sines of rotary positions, those for layers with a window after the others;
    /// empty without rotary positions.
    pub(super) angles: &'a mut [f32],
    /// The relative biases on scores, `[heads, 2 · positions]`.
    pub(super) relative: &'a mut [f32],
    /// The codes of the hidden states; empty without quantised activations.
    pub(super) codes: CodeBuffers<'a>,
    pub(super) floats: &'a mut [f32],
    pub(super) bytes: &'a mut [u8],
}

impl<'a> Workspace<'a> {
    /// The memory that `plan` needs for a model of these sizes. If both are constants, the memory
    /// can be a `static`:
    ///
    /// ```
    /// use nanoembed_core::model::{Config, Heads, Needs, Plan, Workspace};
    ///
    /// const MINILM: Config = {
    ///     let mut config = Config::BERT;
    ///     config.layers = 6;
    ///     config.heads = Heads { query: 12, key_value: 12, size: 32 };
    ///     config.hidden = 384;
    ///     config.intermediate = 1536;
    ///     config
    /// };
    /// const NEEDS: Needs = match Workspace::needs(&MINILM, &Plan::new(64)) {
    ///     Ok(needs) => needs,
    ///     Err(_) => panic!("an impossible plan"),
    /// };
    /// static FLOATS: [f32; NEEDS.floats] = [0.0; NEEDS.floats];
    /// assert!(size_of_val(&FLOATS) < 1 << 20);
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the plan is empty, too large for memory, or its tile too
    /// small.
    pub const fn needs(config: &Config, plan: &Plan) -> Result<Needs> {
        let has_tile = plan.tile_bytes == 0 || plan.tile_bytes >= Needs::least_tile_bytes(config);
        match Layout::new(config, plan) {
            Some(layout) if has_tile => Ok(layout.total),
            _ => Err(Error::without_offset(ErrorKind::InvalidArgument)),
        }
    }

    /// A workspace in caller-provided memory.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BufferTooSmall`] if it is smaller than [`needs`](Self::needs).
    pub fn new(
        config: &Config,
        plan: &Plan,
        mut floats: &'a mut [f32],
        mut bytes: &'a mut [u8],
    ) -> Result<Self> {
        let needs = Self::needs(config, plan)?;
        if floats.len() < needs.floats || bytes.len() < needs.bytes {
            return Err(TOO_SMALL);
        }
        let layout = Layout::new(config, plan).ok_or(TOO_SMALL)?;
        let unaligned = floats.as_ptr().align_offset(ALIGNMENT).min(ALIGNED_FLOATS - 1);
        split_off(&mut floats, unaligned).ok_or(TOO_SMALL)?;
        if needs.bytes > 0 {
            let unaligned = bytes.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT - 1);
            split_off(&mut bytes, unaligned).ok_or(TOO_SMALL)?;
        }
        let states = layout.rows.saturating_mul(layout.hidden);
        let rows = layout.code_rows();
        Ok(Self {
            layout,
            hidden: split_off(&mut floats, states).ok_or(TOO_SMALL)?,
            first: further(&mut floats, layout.first)?,
            context: split_off(&mut floats, layout.context).ok_or(TOO_SMALL)?,
            normed: further(&mut floats, layout.normed)?,
            angles: further(&mut floats, layout.angles)?,
            relative: further(&mut floats, layout.relative)?,
            codes: CodeBuffers {
                codes: split_off(&mut bytes, rows * layout.hidden).ok_or(TOO_SMALL)?,
                zeros: split_off(&mut bytes, rows * MAX_GROUPS).ok_or(TOO_SMALL)?,
                scales: split_off(&mut floats, rows * layout.scale_slots(layout.hidden))
                    .ok_or(TOO_SMALL)?,
            },
            floats,
            bytes,
        })
    }
}

/// Memory that BERT does not need.
fn further<'a>(floats: &mut &'a mut [f32], size: usize) -> Result<&'a mut [f32]> {
    if FAMILIES { split_off(floats, size).ok_or(TOO_SMALL) } else { Ok(&mut []) }
}
