//! The scratch memory that encoders run in.

use alloc::vec::Vec;

use crate::error::Result;
use crate::limit::filled;
use crate::model::{Config, Plan, Workspace};

/// The scratch memory of one thread that embeds.
#[derive(Clone, Debug)]
pub struct Session {
    pub(super) plan: Plan,
    pub(super) floats: Vec<f32>,
    pub(super) bytes: Vec<u8>,
}

/// Tokens below which a part of a pass is not worth a thread.
const LEAST_TOKENS_OF_A_JOB: usize = 8;

impl Session {
    /// The bytes that [`new`](Self::new) takes.
    pub(super) fn bytes_of(config: &Config, plan: Plan) -> Result<usize> {
        let needs = Workspace::needs(config, &Plan { tile_bytes: 0, ..plan })?;
        Ok(needs.floats.saturating_mul(size_of::<f32>()).saturating_add(needs.bytes))
    }

    /// Memory for a plan, over weights that lie in memory whatever the plan says.
    pub(super) fn new(config: &Config, plan: Plan) -> Result<Self> {
        let plan = Plan { tile_bytes: 0, ..plan };
        let needs = Workspace::needs(config, &plan)?;
        Ok(Self { plan, floats: filled(needs.floats, 0.0)?, bytes: filled(needs.bytes, 0)? })
    }

    /// The memory of a model that needs none.
    pub(super) const fn empty(plan: Plan) -> Self {
        Self { plan, floats: Vec::new(), bytes: Vec::new() }
    }

    /// As many jobs as are worth a thread: no more than the model has heads, or than there are
    /// eights of tokens, whichever is more.
    pub(super) fn jobs(config: &Config, tokens: usize, jobs: usize) -> usize {
        jobs.min(config.heads.query.max(tokens.div_ceil(LEAST_TOKENS_OF_A_JOB)))
    }

    /// The memory as that of a transformer.
    pub(super) fn workspace(&mut self, config: &Config) -> Result<Workspace<'_>> {
        let Self { plan, floats, bytes } = self;
        Workspace::new(config, plan, floats, bytes)
    }

    /// The size of the memory in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.floats.len().saturating_mul(4).saturating_add(self.bytes.len())
    }
}
