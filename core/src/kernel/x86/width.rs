//! The width of AVX-512 vectors.

/// 32-bit lanes of a vector.
pub(super) const LANES: usize = 16;
/// Bytes of a vector.
pub(super) const BYTES: usize = 64;
