//! The components of a transformer block, which the passes combine.

pub(super) mod alibi;
pub(super) mod attention;
pub(super) mod buckets;
pub(super) mod disentangled;
pub(super) mod experts;
pub(super) mod feed_forward;
pub(super) mod layer;
pub(super) mod norm;
pub(super) mod observation;
pub(super) mod per_layer;
pub(super) mod positions;
pub(super) mod visible;
