//! Summaries of rows of 8-bit weights, computed before products.

/// The summary of a row of 8-bit weights that a table uses in products: see
/// [`Kernels::summarize_row`].
///
/// A summary is valid only for the table that computed it: another table's may declare weights
/// small that are not. Products are wrong then, but memory-safe.
///
/// [`Kernels::summarize_row`]: super::Kernels::summarize_row
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowSummary {
    /// Twice the sum of its codes, plus 1 if it is [small](Self::is_small).
    pub(super) sum: i32,
    /// Bounds for accumulation in 16 bits.
    #[cfg(all(target_arch = "wasm32", target_feature = "relaxed-simd"))]
    pub(super) narrow: NarrowRow,
}

impl RowSummary {
    /// True if a table of this target uses summaries; other targets compile nothing for them.
    pub(crate) const WANTED: bool = cfg!(any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        all(target_arch = "wasm32", target_feature = "simd128")
    ));

    /// An empty summary, to fill arrays.
    pub const EMPTY: Self = Self::new(0, false);

    /// The summary of a row of at most [`MAX_COLS`](super::integer::MAX_COLS) codes that add up to
    /// `sum`.
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

    /// Returns true if the weights are so small that the table can add up more of their products in
    /// 16 bits.
    #[allow(dead_code, reason = "as above")]
    pub(super) const fn is_small(self) -> bool {
        self.sum & 1 == 1
    }
}

/// 16-bit lanes of a vector, of two columns of 16 each.
#[cfg(all(target_arch = "wasm32", target_feature = "relaxed-simd"))]
pub(super) const NARROW_LANES: usize = 8;

/// Bounds on a row's lanes for accumulation in 16 bits.
#[cfg(all(target_arch = "wasm32", target_feature = "relaxed-simd"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NarrowRow {
    /// √Σ w² over the whole row, the largest of all lanes.
    pub(super) whole: i16,
    /// √Σ w² of each lane, over the half of the row where it is larger.
    pub(super) halves: [i16; NARROW_LANES],
    /// Σ w of each lane in both halves.
    pub(super) sums: [[i16; NARROW_LANES]; 2],
}

#[cfg(all(target_arch = "wasm32", target_feature = "relaxed-simd"))]
impl NarrowRow {
    /// A row that may not fit.
    pub(super) const WIDE: Self =
        Self { whole: i16::MAX, halves: [i16::MAX; NARROW_LANES], sums: [[0; NARROW_LANES]; 2] };
}
