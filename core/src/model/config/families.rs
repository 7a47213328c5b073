//! The model families that are compiled in.

/// True if the build supports models other than BERT.
pub(in crate::model) const FAMILIES: bool = cfg!(feature = "families");
