//! What tables want to know of a row of 8-bit weights before they multiply it.

/// What a table wants to know of a row of 8-bit weights before it multiplies it: see
/// [`Kernels::summarize_row`].
///
/// Only the table that made a summary may be given it: another one's may say that weights are small
/// that are not, and products are wrong then, though nothing worse.
///
/// [`Kernels::summarize_row`]: super::Kernels::summarize_row
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowSummary {
    /// Twice the sum of its codes, and 1 if it is [small](Self::is_small).
    pub(super) sum: i32,
    /// What the table wants to know that adds up in 16 bits.
    #[cfg(all(target_arch = "wasm32", target_feature = "relaxed-simd"))]
    pub(super) narrow: NarrowRow,
}

impl RowSummary {
    /// Whether a table of this target wants any; elsewhere nothing is compiled for them.
    pub(crate) const WANTED: bool = cfg!(any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        all(target_arch = "wasm32", target_feature = "simd128")
    ));

    /// A placeholder, to make an array of them.
    pub const EMPTY: Self = Self::new(0, false);

    /// Of a row of at most [`MAX_COLS`](super::integer::MAX_COLS) codes that add up to `sum`.
    pub(super) const fn new(sum: i32, is_small: bool) -> Self {
        Self {
            sum: sum << 1 | is_small as i32,
            #[cfg(all(target_arch = "wasm32", target_feature = "relaxed-simd"))]
            narrow: NarrowRow::WIDE,
        }
    }

    /// The sum of the row's codes.
    #[allow(dead_code, reason = "for tables that want summaries, of which a target may have none")]
    pub(super) const fn sum(self) -> i32 {
        self.sum >> 1
    }

    /// Whether the weights are so small that the table can add up more of their products before
    /// they need 32 bits.
    #[allow(dead_code, reason = "as above")]
    pub(super) const fn is_small(self) -> bool {
        self.sum & 1 == 1
    }
}

/// 16-bit lanes of a vector, of two columns of 16 each.
#[cfg(all(target_arch = "wasm32", target_feature = "relaxed-simd"))]
pub(super) const NARROW_LANES: usize = 8;

/// What is known of a row's lanes where products are added up in 16 bits.
#[cfg(all(target_arch = "wasm32", target_feature = "relaxed-simd"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NarrowRow {
    /// √Σ w² of the lane where it is largest, of the whole row.
    pub(super) whole: i16,
    /// √Σ w² of each lane, in that half of the row where it is larger.
    pub(super) halves: [i16; NARROW_LANES],
    /// Σ w of each lane in both halves.
    pub(super) sums: [[i16; NARROW_LANES]; 2],
}

#[cfg(all(target_arch = "wasm32", target_feature = "relaxed-simd"))]
impl NarrowRow {
    /// A row that is not known to fit.
    pub(super) const WIDE: Self =
        Self { whole: i16::MAX, halves: [i16::MAX; NARROW_LANES], sums: [[0; NARROW_LANES]; 2] };
}
