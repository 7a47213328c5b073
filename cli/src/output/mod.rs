//! Results on their way out.

pub(crate) mod form;
pub(crate) mod kept;
pub(crate) mod lines;
pub(crate) mod npy;
pub(crate) mod table;
pub(crate) mod truncated;
pub(crate) mod units;
