//! Which models are compiled in.

/// Whether models of other settings than BERT's are.
pub(in crate::model) const FAMILIES: bool = cfg!(feature = "families");
