//! How wide vectors of AVX-512 are.

/// 32-bit lanes of a vector.
pub(super) const LANES: usize = 16;
/// Bytes of a vector.
pub(super) const BYTES: usize = 64;
