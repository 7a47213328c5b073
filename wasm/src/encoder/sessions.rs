//! Scratch memory that models of texts keep from one call to the next.

use alloc::vec::Vec;

use nanoembed_core::error::Result;
use nanoembed_core::model::Plan;
use nanoembed_core::owned::Session;

/// Scratch memory is made for texts of this many tokens, or twice, three times … as many.
pub(crate) const TOKEN_STEP: usize = 64;

/// How many scratch memories are kept: for questions, passages, and batches of either.
const MAX_SESSIONS: usize = 4;

/// Scratch memories by their plans, the one used last at the end.
#[derive(Default)]
pub(crate) struct Sessions {
    kept: Vec<(Plan, Session)>,
}

impl Sessions {
    /// Calls `run` with the scratch memory of a plan, which `make` makes unless it was kept.
    ///
    /// # Errors
    ///
    /// As `make` and `run`.
    pub(crate) fn with<T>(
        &mut self,
        plan: Plan,
        make: impl FnOnce(Plan) -> Result<Session>,
        run: impl FnOnce(&mut Session) -> Result<T>,
    ) -> Result<T> {
        let known = self.kept.extract_if(.., |(known, _)| *known == plan).next();
        let mut session = match known {
            Some((_, session)) => session,
            None => make(plan)?,
        };
        let result = run(&mut session);
        if self.kept.len() == MAX_SESSIONS {
            drop(self.kept.drain(..1));
        }
        self.kept.push((plan, session));
        result
    }
}

/// The size of the scratch memory for so many tokens.
pub(crate) fn in_steps(tokens: usize) -> usize {
    tokens.max(1).next_multiple_of(TOKEN_STEP)
}

/// A model's plan, with activations in f32 if they are to be precise.
pub(crate) fn precise(plan: Plan, is_precise: bool) -> Plan {
    Plan { quantized: plan.quantized && !is_precise, ..plan }
}
