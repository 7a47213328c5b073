//! x · Wᵀ of signed bytes and unpacked low-bit blocks: see [`ProductGroups`].
//!
//! The 16 rows of a tile are re-ordered into a panel on the stack whose vectors hold four columns
//! of 8 or 16 rows: every lane sums up one row, and all of them are multiplied by a group's scales
//! at once.

mod machine;

use core::mem::MaybeUninit;

use super::prefetcher::Prefetcher;
use crate::kernel::groups::{ProductGroups, TILE_ROWS};
pub(super) use machine::{Avx2, Avx512Vnni, AvxVnni, Machine};

/// Columns of a panel: 24 KiB on the stack.
pub(super) const PANEL_COLS: usize = 1536;
/// 16-byte lines of four rows that are transposed together.
const LINE: usize = 16;
/// Calls of [`Prefetcher::fetch`] for each group of a tile.
pub(super) const FETCHES: usize = 3;

/// A function for a table.
macro_rules! entry {
    ($name:ident, $machine:ty, $features:literal) => {
        /// See [`ProductGroups`].
        pub(super) fn $name(product: ProductGroups<'_>) {
            #[target_feature(enable = $features)]
            fn inner(product: ProductGroups<'_>) {
                // SAFETY: this function has the instructions.
                unsafe { multiply::<$machine>(product) }
            }
            // SAFETY: a table is returned only after its CPU features were detected.
            unsafe { inner(product) }
        }
    };
}

entry!(product_avx2, Avx2, "avx2");
entry!(product_avxvnni, AvxVnni, "avx2,avxvnni");
entry!(product_avx512vnni, Avx512Vnni, "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni");

/// For every four columns, a vector of four codes of each row, or two.
#[repr(C, align(64))]
pub(super) struct Panel([MaybeUninit<u8>; TILE_ROWS * PANEL_COLS]);

impl Panel {
    #[inline(always)]
    pub(super) const fn new() -> Self {
        Self([const { MaybeUninit::uninit() }; TILE_ROWS * PANEL_COLS])
    }

    #[inline(always)]
    pub(super) const fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// Some columns of a product.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) column: usize,
    pub(super) cols: usize,
    /// True if sums begin with the bias; otherwise they continue from the output.
    pub(super) from_bias: bool,
    /// The part's scales and minima, `[groups][TILE_ROWS]` each.
    pub(super) factors: (*const f32, *const f32),
    /// Codes and scales of the activations' quantisation error, laid out like theirs, or null.
    pub(super) rest: (*const u8, *const f32),
}

/// Without a second part of the activations.
pub(super) const NO_REST: (*const u8, *const f32) = (core::ptr::null(), core::ptr::null());

#[inline(always)]
unsafe fn multiply<M: Machine>(mut product: ProductGroups<'_>) {
    if product.bias.is_empty() {
        return;
    }
    let mut panel = Panel::new();
    let mut column = 0;
    while column < product.cols {
        let cols = (product.cols - column).min(PANEL_COLS);
        // SAFETY: the instructions of the caller are enabled; the part and its factors are inside
        // the product.
        unsafe {
            let at = column / product.group * TILE_ROWS;
            let scales = product.w.scales.as_ptr().add(at);
            let minima = product.w.minima.as_ptr().add(at);
            let (factors, from_bias) = ((scales, minima), column == 0);
            let part = Part { column, cols, from_bias, factors, rest: NO_REST };
            let is_wide = fill::<M>(&product, part, &mut panel);
            tiles::<M>(&mut product, (part, is_wide), &panel, &mut Prefetcher::nothing());
        }
        column += cols;
    }
}

/// Fills the panel; returns whether any code has 8 bits. Rows beyond the last are the last.
///
/// # Safety
///
/// The instructions of `M` must be enabled, the part must be inside the product, whose columns are
/// multiples of 16, and there must be at least one row.
#[inline(always)]
unsafe fn fill<M: Machine>(product: &ProductGroups<'_>, part: Part, panel: &mut Panel) -> bool {
    let last = product.bias.len() - 1;
    let vectors = TILE_ROWS / M::LANES;
    // SAFETY: `ProductGroups::new` checked that the codes are rows × cols; the panel holds
    // PANEL_COLS columns.
    unsafe {
        let places: [*const u8; TILE_ROWS] = core::array::from_fn(|row| {
            product.w.codes.as_ptr().add(row.min(last) * product.cols + part.column)
        });
        let panel = panel.as_mut_ptr();
        let mut seen = M::zero();
        for vector in 0..vectors {
            let mut c = 0;
            while c < part.cols {
                let mut lines = [M::zero(); 4];
                for (i, line) in lines.iter_mut().enumerate() {
                    *line = M::line(&places, vector * M::LANES + i, c);
                    seen = M::or(seen, *line);
                }
                for (i, group) in M::transpose(lines).into_iter().enumerate() {
                    let at = ((c / 4 + i) * vectors + vector) * M::LANES * 4;
                    M::store_panel(panel.add(at), group);
                }
                c += LINE;
            }
        }
        M::any_wide(seen)
    }
}

/// Multiplies all tokens with the panel; `is_wide` if any of its codes has 8 bits. `next` is
/// prefetched in the meantime.
///
/// # Safety
///
/// The instructions of `M` must be enabled, the part must be inside the product, panel and factors
/// must be filled with it, and its rest, if any, must be as long as the activations.
#[inline(always)]
pub(super) unsafe fn tiles<M: Machine>(
    product: &mut ProductGroups<'_>,
    (part, is_wide): (Part, bool),
    panel: &Panel,
    next: &mut Prefetcher,
) {
    // SAFETY: upheld by the caller.
    unsafe {
        match (is_wide, part.rest.0.is_null()) {
            (true, true) => tiles_of::<M, true, false>(product, part, panel, next),
            (true, false) => tiles_of::<M, true, true>(product, part, panel, next),
            (false, true) => tiles_of::<M, false, false>(product, part, panel, next),
            (false, false) => tiles_of::<M, false, true>(product, part, panel, next),
        }
    }
}

/// # Safety
///
/// As for [`tiles`].
#[inline(always)]
unsafe fn tiles_of<M: Machine, const WIDE: bool, const REST: bool>(
    product: &mut ProductGroups<'_>,
    part: Part,
    panel: &Panel,
    next: &mut Prefetcher,
) {
    for vector in 0..product.bias.len().div_ceil(M::LANES) {
        let mut token = 0;
        while token < product.tokens {
            // A second part takes as many registers again.
            let most = if REST { M::TOKENS / 2 } else { M::TOKENS };
            let left = (product.tokens - token).min(most);
            let place = (token, vector);
            // SAFETY: upheld by the caller.
            token += unsafe {
                match left {
                    12 => tile::<M, 12, WIDE, REST>(product, part, panel, place, next),
                    8.. => tile::<M, 8, WIDE, REST>(product, part, panel, place, next),
                    6.. => tile::<M, 6, WIDE, REST>(product, part, panel, place, next),
                    4.. => tile::<M, 4, WIDE, REST>(product, part, panel, place, next),
                    2.. => tile::<M, 2, WIDE, REST>(product, part, panel, place, next),
                    _ => tile::<M, 1, WIDE, REST>(product, part, panel, place, next),
                }
            };
        }
    }
}

/// `T` tokens × the rows of one vector; returns `T`.
///
/// # Safety
///
/// As for [`tiles`]; token + T ≤ tokens, the vector must have at least one row, and with `REST` the
/// part must have a rest.
#[inline(always)]
unsafe fn tile<M: Machine, const T: usize, const WIDE: bool, const REST: bool>(
    product: &mut ProductGroups<'_>,
    part: Part,
    panel: &Panel,
    (token, vector): (usize, usize),
    next: &mut Prefetcher,
) -> usize {
    let ProductGroups { x, cols, group, strides, .. } = *product;
    let groups = cols / group;
    let row = vector * M::LANES;
    let rows = (product.bias.len() - row).min(M::LANES);
    let vectors = TILE_ROWS / M::LANES;
    // SAFETY: x and its factors match tokens, cols and groups, there are TILE_ROWS factors of the
    // weights per group, and the last element of the output is inside it, as the product's
    // constructor checked.
    unsafe {
        let out = product.out.as_mut_ptr().add(token * strides.token + row * strides.row);
        // A row of whole vectors is loaded and stored at once: stores of single numbers would stall
        // the load after them.
        let whole = strides.row == 1 && rows == M::LANES;
        let bias = product.bias.as_ptr().add(row);
        let mut totals = [M::splat(0.0); T];
        let mut lanes = [0.0_f32; TILE_ROWS];
        if part.from_bias {
            for (r, lane) in lanes.iter_mut().enumerate().take(rows) {
                *lane = *bias.add(r);
            }
            let bias = if rows == M::LANES { M::load(bias) } else { M::load(lanes.as_ptr()) };
            totals = [bias; T];
        } else {
            for (t, total) in totals.iter_mut().enumerate() {
                let out = out.add(t * strides.token);
                if whole {
                    *total = M::load(out);
                    continue;
                }
                for (r, lane) in lanes.iter_mut().enumerate().take(rows) {
                    *lane = *out.add(r * strides.row);
                }
                *total = M::load(lanes.as_ptr());
            }
        }
        let codes = x.codes.as_ptr().add(token * cols + part.column);
        let rest_codes = part.rest.0.wrapping_add(token * cols + part.column);
        let panel: *const u8 = panel.0.as_ptr().cast();
        for g in 0..part.cols / group {
            let mut sums = [M::zero(); T];
            let mut rest = [M::zero(); T];
            unroll!(FETCHES, _i => {
                next.fetch();
            });
            for four in 0..group / 4 {
                let at = g * group / 4 + four;
                let w = M::load_panel(panel.add((at * vectors + vector) * M::LANES * 4));
                unroll!(T, t => {
                    let x: *const i32 = codes.add(t * cols + at * 4).cast();
                    sums[t] = M::dot::<WIDE>(sums[t], w, x.read_unaligned());
                    if REST {
                        let x: *const i32 = rest_codes.wrapping_add(t * cols + at * 4).cast();
                        rest[t] = M::dot::<WIDE>(rest[t], w, x.read_unaligned());
                    }
                });
            }
            let scales = M::load(part.factors.0.add(g * TILE_ROWS + row));
            let minima = M::load(part.factors.1.add(g * TILE_ROWS + row));
            let g = part.column / group + g;
            unroll!(T, t => {
                let at = (token + t) * groups + g;
                let scale = M::splat(*x.scales.as_ptr().add(at));
                let sum = M::splat(*x.sums.as_ptr().add(at));
                let mut scaled = M::mul(scale, M::float(sums[t]));
                if REST {
                    let scale = M::splat(*part.rest.1.add(at));
                    scaled = M::add(scaled, M::mul(scale, M::float(rest[t])));
                }
                let scaled = M::mul(scales, scaled);
                totals[t] = M::add(M::add(totals[t], scaled), M::mul(minima, sum));
            });
        }
        for (t, &total) in totals.iter().enumerate() {
            let out = out.add(t * strides.token);
            if whole {
                M::store(out, total);
                continue;
            }
            M::store(lanes.as_mut_ptr(), total);
            for (r, &lane) in lanes.iter().enumerate().take(rows) {
                *out.add(r * strides.row) = lane;
            }
        }
    }
    T
}
