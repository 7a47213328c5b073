//! How much scratch memory models of texts keep.

/// Scratch memory is made for texts of this many tokens, or twice, three times … as many.
pub(crate) const TOKEN_STEP: usize = 64;

/// How many scratch memories are kept: for questions, passages, and batches of either.
pub(crate) const MAX_SESSIONS: usize = 4;
