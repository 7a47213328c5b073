//! Writers of word vectors.

pub(super) mod fifu;
pub(super) mod rows;
pub(super) mod spool;
