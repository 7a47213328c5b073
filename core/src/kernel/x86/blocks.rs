//! x · Wᵀ of signed bytes and low-bit blocks in the file's layout: see [`ProductBlocks`].
//!
//! Lines of 16 bytes of 16 rows are transposed first, so that every lane has four bytes of a row;
//! then the codes are extracted, for all rows at once, into the [`Panel`] that products of unpacked
//! blocks also use.

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::groups::{
    Avx2, Avx512Vnni, AvxVnni, FETCHES, Machine, NO_REST, PANEL_COLS, Panel, Part, tiles,
};
use super::prefetcher::Prefetcher;
use crate::kernel::ProductGroups;
use crate::kernel::blocks::{BLOCK_COLS, BlockLayout, ProductBlocks};
use crate::kernel::groups::{GroupedRows, TILE_ROWS};

/// Operations on the bytes of 32-bit lanes, one lane per row.
///
/// # Safety
///
/// As for [`Machine`].
trait Bytes: Machine {
    unsafe fn splat_int(value: i32) -> Self::Ints;
    unsafe fn and(a: Self::Ints, b: Self::Ints) -> Self::Ints;
    unsafe fn xor(a: Self::Ints, b: Self::Ints) -> Self::Ints;
    unsafe fn right_4(lanes: Self::Ints) -> Self::Ints;
    unsafe fn right_16(lanes: Self::Ints) -> Self::Ints;
    unsafe fn left_16(lanes: Self::Ints) -> Self::Ints;
    /// In every lane, one of its bytes repeated four times.
    unsafe fn repeat_byte(lanes: Self::Ints, byte: i32) -> Self::Ints;
    /// 16 in every byte whose bit in `bits` is set; `bits` has one bit per byte.
    unsafe fn sixteen_where(bytes: Self::Ints, bits: i32) -> Self::Ints;
    /// The low 16 bits of every lane, halves, as floats.
    unsafe fn halves(lanes: Self::Ints) -> Self::Floats;
}

/// Operations that are one instruction for every width of vectors.
macro_rules! one_instruction {
    ($ints:ty: $splat:ident, $and:ident, $xor:ident, $right:ident, $left:ident) => {
        #[inline(always)]
        unsafe fn splat_int(value: i32) -> $ints {
            // SAFETY: see the trait.
            unsafe { $splat(value) }
        }

        #[inline(always)]
        unsafe fn and(a: $ints, b: $ints) -> $ints {
            // SAFETY: see the trait.
            unsafe { $and(a, b) }
        }

        #[inline(always)]
        unsafe fn xor(a: $ints, b: $ints) -> $ints {
            // SAFETY: see the trait.
            unsafe { $xor(a, b) }
        }

        #[inline(always)]
        unsafe fn right_4(lanes: $ints) -> $ints {
            // SAFETY: see the trait.
            unsafe { $right::<4>(lanes) }
        }

        #[inline(always)]
        unsafe fn right_16(lanes: $ints) -> $ints {
            // SAFETY: see the trait.
            unsafe { $right::<16>(lanes) }
        }

        #[inline(always)]
        unsafe fn left_16(lanes: $ints) -> $ints {
            // SAFETY: see the trait.
            unsafe { $left::<16>(lanes) }
        }
    };
}

macro_rules! bytes_256 {
    ($($machine:ty),+) => {$(
        impl Bytes for $machine {
            one_instruction!(
                __m256i: _mm256_set1_epi32, _mm256_and_si256, _mm256_xor_si256, _mm256_srli_epi32,
                _mm256_slli_epi32
            );

            #[inline(always)]
            unsafe fn repeat_byte(lanes: __m256i, byte: i32) -> __m256i {
                // SAFETY: see the trait.
                unsafe {
                    let places = _mm_set_epi32(0x0c0c_0c0c, 0x0808_0808, 0x0404_0404, 0);
                    let places = _mm_add_epi8(places, _mm_set1_epi32(byte * 0x0101_0101));
                    _mm256_shuffle_epi8(lanes, _mm256_broadcastsi128_si256(places))
                }
            }

            #[inline(always)]
            unsafe fn sixteen_where(bytes: __m256i, bits: i32) -> __m256i {
                // SAFETY: see the trait.
                unsafe {
                    let bits = _mm256_set1_epi32(bits);
                    let is_set = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bits), bits);
                    _mm256_and_si256(is_set, _mm256_set1_epi8(16))
                }
            }

            #[inline(always)]
            unsafe fn halves(lanes: __m256i) -> __m256 {
                // SAFETY: see the trait.
                unsafe {
                    // Exponent and mantissa move to their places in an f32, times 2¹¹²: exact, even
                    // for subnormal halves.
                    let magnitude = _mm256_and_si256(lanes, _mm256_set1_epi32(0x7fff));
                    let shifted = _mm256_castsi256_ps(_mm256_slli_epi32::<13>(magnitude));
                    let finite = _mm256_mul_ps(shifted, _mm256_set1_ps(f32::from_bits(0x7780_0000)));
                    let limit = _mm256_set1_epi32(0x7bff);
                    let beyond = _mm256_castsi256_ps(_mm256_cmpgt_epi32(magnitude, limit));
                    let infinity = _mm256_and_ps(beyond, _mm256_set1_ps(f32::INFINITY));
                    let sign = _mm256_and_si256(lanes, _mm256_set1_epi32(0x8000));
                    let sign = _mm256_castsi256_ps(_mm256_slli_epi32::<16>(sign));
                    _mm256_or_ps(_mm256_or_ps(finite, infinity), sign)
                }
            }
        }
    )+};
}

bytes_256!(Avx2, AvxVnni);

impl Bytes for Avx512Vnni {
    one_instruction!(
        __m512i: _mm512_set1_epi32, _mm512_and_si512, _mm512_xor_si512, _mm512_srli_epi32,
        _mm512_slli_epi32
    );

    #[inline(always)]
    unsafe fn repeat_byte(lanes: __m512i, byte: i32) -> __m512i {
        // SAFETY: see the trait.
        unsafe {
            let places = _mm_set_epi32(0x0c0c_0c0c, 0x0808_0808, 0x0404_0404, 0);
            let places = _mm_add_epi8(places, _mm_set1_epi32(byte * 0x0101_0101));
            _mm512_shuffle_epi8(lanes, _mm512_broadcast_i32x4(places))
        }
    }

    #[inline(always)]
    unsafe fn sixteen_where(bytes: __m512i, bits: i32) -> __m512i {
        // SAFETY: see the trait.
        unsafe {
            let is_set = _mm512_test_epi8_mask(bytes, _mm512_set1_epi32(bits));
            _mm512_maskz_set1_epi8(is_set, 16)
        }
    }

    #[inline(always)]
    unsafe fn halves(lanes: __m512i) -> __m512 {
        // SAFETY: see the trait.
        unsafe { _mm512_cvtph_ps(_mm512_cvtepi32_epi16(lanes)) }
    }
}

/// The codes of a block, four columns a vector, and each row's scale and minimum.
type Unpacked<M> = ([<M as Machine>::Ints; 8], <M as Machine>::Floats, <M as Machine>::Floats);

/// A layout of blocks.
///
/// # Safety
///
/// As for [`Machine`]; `places` must be the starts of rows that have a block at `at`.
trait Layout {
    const LAYOUT: BlockLayout;
    /// True if codes have 8 bits.
    const WIDE: bool = false;
    /// Unpacks the block of the rows of one vector.
    unsafe fn unpack<M: Bytes>(
        places: &[*const u8; TILE_ROWS],
        first: usize,
        at: usize,
    ) -> Unpacked<M>;
}

/// The transposed lines of some rows at one position.
#[inline(always)]
unsafe fn lines<M: Bytes>(
    places: &[*const u8; TILE_ROWS],
    first: usize,
    at: usize,
) -> [M::Ints; 4] {
    // SAFETY: upheld by the caller.
    unsafe {
        M::transpose([
            M::line(places, first, at),
            M::line(places, first + 1, at),
            M::line(places, first + 2, at),
            M::line(places, first + 3, at),
        ])
    }
}

/// The low halves of all bytes, and the high ones.
#[inline(always)]
unsafe fn nibbles<M: Bytes>(bytes: [M::Ints; 4]) -> [M::Ints; 8] {
    // SAFETY: upheld by the caller.
    unsafe {
        let mask = M::splat_int(0x0f0f_0f0f);
        let mut codes = [mask; 8];
        unroll_4!(4, i => {
            codes[i] = M::and(bytes[i], mask);
            codes[i + 4] = M::and(M::right_4(bytes[i]), mask);
        });
        codes
    }
}

/// Adds the fifth bits.
#[inline(always)]
unsafe fn with_fifth<M: Bytes>(mut codes: [M::Ints; 8], bits: M::Ints) -> [M::Ints; 8] {
    // SAFETY: upheld by the caller.
    unsafe {
        unroll_4!(4, i => {
            let byte = M::repeat_byte(bits, i as i32);
            codes[2 * i] = M::or(codes[2 * i], M::sixteen_where(byte, 0x0804_0201));
            let high = M::sixteen_where(byte, i32::from_ne_bytes([16, 32, 64, 128]));
            codes[2 * i + 1] = M::or(codes[2 * i + 1], high);
        });
        codes
    }
}

/// A scale, and the minimum that subtracts an offset.
#[inline(always)]
unsafe fn centered<M: Bytes>(lanes: M::Ints, offset: f32) -> (M::Floats, M::Floats) {
    // SAFETY: upheld by the caller.
    unsafe {
        let scale = M::halves(M::and(lanes, M::splat_int(0xffff)));
        (scale, M::mul(scale, M::splat(-offset)))
    }
}

/// A scale and an adjacent minimum.
#[inline(always)]
unsafe fn affine<M: Bytes>(lanes: M::Ints) -> (M::Floats, M::Floats) {
    // SAFETY: upheld by the caller.
    unsafe { (M::halves(M::and(lanes, M::splat_int(0xffff))), M::halves(M::right_16(lanes))) }
}

struct Q4_0;

impl Layout for Q4_0 {
    const LAYOUT: BlockLayout = BlockLayout::Q4_0;

    #[inline(always)]
    unsafe fn unpack<M: Bytes>(
        places: &[*const u8; TILE_ROWS],
        first: usize,
        at: usize,
    ) -> Unpacked<M> {
        // SAFETY: upheld by the caller; both lines are in the block.
        unsafe {
            let [head, ..] = lines::<M>(places, first, at);
            let codes = nibbles::<M>(lines::<M>(places, first, at + 2));
            let (scale, minimum) = centered::<M>(head, 8.0);
            (codes, scale, minimum)
        }
    }
}

struct Q4_1;

impl Layout for Q4_1 {
    const LAYOUT: BlockLayout = BlockLayout::Q4_1;

    #[inline(always)]
    unsafe fn unpack<M: Bytes>(
        places: &[*const u8; TILE_ROWS],
        first: usize,
        at: usize,
    ) -> Unpacked<M> {
        // SAFETY: upheld by the caller; both lines are in the block.
        unsafe {
            let [head, ..] = lines::<M>(places, first, at);
            let codes = nibbles::<M>(lines::<M>(places, first, at + 4));
            let (scale, minimum) = affine::<M>(head);
            (codes, scale, minimum)
        }
    }
}

struct Q5_0;

impl Layout for Q5_0 {
    const LAYOUT: BlockLayout = BlockLayout::Q5_0;

    #[inline(always)]
    unsafe fn unpack<M: Bytes>(
        places: &[*const u8; TILE_ROWS],
        first: usize,
        at: usize,
    ) -> Unpacked<M> {
        // SAFETY: upheld by the caller; both lines are in the block.
        unsafe {
            let [head, next, ..] = lines::<M>(places, first, at);
            let bits = M::or(M::right_16(head), M::left_16(next));
            let codes = nibbles::<M>(lines::<M>(places, first, at + 6));
            let (scale, minimum) = centered::<M>(head, 16.0);
            (with_fifth::<M>(codes, bits), scale, minimum)
        }
    }
}

struct Q5_1;

impl Layout for Q5_1 {
    const LAYOUT: BlockLayout = BlockLayout::Q5_1;

    #[inline(always)]
    unsafe fn unpack<M: Bytes>(
        places: &[*const u8; TILE_ROWS],
        first: usize,
        at: usize,
    ) -> Unpacked<M> {
        // SAFETY: upheld by the caller; both lines are in the block.
        unsafe {
            let [head, bits, ..] = lines::<M>(places, first, at);
            let codes = nibbles::<M>(lines::<M>(places, first, at + 8));
            let (scale, minimum) = affine::<M>(head);
            (with_fifth::<M>(codes, bits), scale, minimum)
        }
    }
}

struct Q8_0;

impl Layout for Q8_0 {
    const LAYOUT: BlockLayout = BlockLayout::Q8_0;
    const WIDE: bool = true;

    #[inline(always)]
    unsafe fn unpack<M: Bytes>(
        places: &[*const u8; TILE_ROWS],
        first: usize,
        at: usize,
    ) -> Unpacked<M> {
        // SAFETY: upheld by the caller; all lines are in the block.
        unsafe {
            let [head, ..] = lines::<M>(places, first, at);
            let signs = M::splat_int(i32::from_ne_bytes([128; 4]));
            let (low, high) =
                (lines::<M>(places, first, at + 2), lines::<M>(places, first, at + 18));
            let mut codes = [signs; 8];
            unroll_4!(4, i => {
                codes[i] = M::xor(low[i], signs);
                codes[i + 4] = M::xor(high[i], signs);
            });
            let (scale, minimum) = centered::<M>(head, 128.0);
            (codes, scale, minimum)
        }
    }
}

/// The loop over tiles, which is most of the code: compiled once for each machine, not for each
/// layout.
trait Tiles: Machine {
    /// See [`tiles`]; the product's groups are blocks.
    ///
    /// # Safety
    ///
    /// As there, and for [`Machine`].
    unsafe fn tiles(
        product: ProductGroups<'_>,
        part: (Part, bool),
        panel: &Panel,
        next: &mut Prefetcher,
    );
}

/// A function for a table, and its loop over tiles.
macro_rules! entry {
    ($name:ident, $machine:ty, $features:literal) => {
        impl Tiles for $machine {
            #[target_feature(enable = $features)]
            unsafe fn tiles(
                product: ProductGroups<'_>,
                part: (Part, bool),
                panel: &Panel,
                next: &mut Prefetcher,
            ) {
                // Loops over a constant number of columns are unrolled.
                let mut product = ProductGroups { group: BLOCK_COLS, ..product };
                // SAFETY: upheld by the caller; this function has the instructions.
                unsafe { tiles::<Self>(&mut product, part, panel, next) }
            }
        }

        /// See [`ProductBlocks`].
        pub(super) fn $name(product: ProductBlocks<'_>) {
            #[target_feature(enable = $features)]
            fn inner(product: ProductBlocks<'_>) {
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

/// A scale, or a minimum, for each group and row of a panel.
#[repr(C, align(64))]
struct Factors([MaybeUninit<f32>; PANEL_COLS / BLOCK_COLS * TILE_ROWS]);

impl Factors {
    const fn new() -> Self {
        Self([const { MaybeUninit::uninit() }; PANEL_COLS / BLOCK_COLS * TILE_ROWS])
    }
}

#[inline(always)]
unsafe fn multiply<M: Bytes + Tiles>(product: ProductBlocks<'_>) {
    let ProductBlocks { x, rest, layout, blocks, bias, out, tokens, cols, strides } = product;
    // Without tokens there is no output to point into.
    if tokens == 0 {
        return;
    }
    let rest = match rest {
        Some(rest) => (rest.codes.as_ptr(), rest.scales.as_ptr()),
        None => NO_REST,
    };
    let block_bytes = layout.bytes();
    let row_bytes = cols / BLOCK_COLS * block_bytes;
    let mut panel = Panel::new();
    let (mut scales, mut minima) = (Factors::new(), Factors::new());
    for (tile, bias) in bias.chunks(TILE_ROWS).enumerate() {
        let row = tile * TILE_ROWS;
        let mut column = 0;
        while column < cols {
            let width = (cols - column).min(PANEL_COLS);
            // SAFETY: the instructions of the caller are enabled. `ProductBlocks::new` checked that
            // there are `bias.len()` rows of blocks, and that everything written is inside the
            // output.
            unsafe {
                let start = row * row_bytes + column / BLOCK_COLS * block_bytes;
                let places: [*const u8; TILE_ROWS] = core::array::from_fn(|r| {
                    blocks.as_ptr().add(start + r.min(bias.len() - 1) * row_bytes)
                });
                // The next tile follows this one.
                let passes = 1 + tokens.div_ceil(M::TOKENS);
                let steps = width / BLOCK_COLS * (TILE_ROWS / M::LANES) * passes;
                let next = places[0].wrapping_add(bias.len() * row_bytes);
                let bytes = bias.len() * width / BLOCK_COLS * block_bytes;
                let mut next = Prefetcher::new(next, 1, bytes, 0, steps * FETCHES);
                let from = (&places, width, &mut next);
                let to = (&mut panel, &mut scales, &mut minima);
                let is_wide = match layout {
                    BlockLayout::Q4_0 => fill::<M, Q4_0>(from, to),
                    BlockLayout::Q4_1 => fill::<M, Q4_1>(from, to),
                    BlockLayout::Q5_0 => fill::<M, Q5_0>(from, to),
                    BlockLayout::Q5_1 => fill::<M, Q5_1>(from, to),
                    BlockLayout::Q8_0 => fill::<M, Q8_0>(from, to),
                };
                let factors = (scales.0.as_ptr().cast(), minima.0.as_ptr().cast());
                let w = GroupedRows { codes: &[], scales: &[], minima: &[] };
                let out = out.get_unchecked_mut(row * strides.row..);
                let group = BLOCK_COLS;
                let product = ProductGroups { x, w, bias, out, tokens, cols, group, strides };
                let part = Part { column, cols: width, from_bias: column == 0, factors, rest };
                M::tiles(product, (part, is_wide), &panel, &mut next);
            }
            column += width;
        }
    }
}

/// Fills the panel and the factors with `cols` columns from `places` on; returns true if codes have
/// 8 bits.
///
/// # Safety
///
/// The instructions of `M` must be enabled; `cols` must be a multiple of [`BLOCK_COLS`] up to
/// [`PANEL_COLS`], and every place must have that many columns.
#[inline(always)]
unsafe fn fill<M: Bytes, L: Layout>(
    (places, cols, next): (&[*const u8; TILE_ROWS], usize, &mut Prefetcher),
    (panel, scales, minima): (&mut Panel, &mut Factors, &mut Factors),
) -> bool {
    let vectors = TILE_ROWS / M::LANES;
    let panel = panel.as_mut_ptr();
    let (scales, minima): (*mut f32, *mut f32) =
        (scales.0.as_mut_ptr().cast(), minima.0.as_mut_ptr().cast());
    for vector in 0..vectors {
        for block in 0..cols / BLOCK_COLS {
            let first = vector * M::LANES;
            // SAFETY: upheld by the caller; the panel has PANEL_COLS columns, the factors a group for each
            // BLOCK_COLS of them.
            unsafe {
                unroll!(FETCHES, _i => {
                    next.fetch();
                });
                let at = block * L::LAYOUT.bytes();
                let (codes, scale, minimum) = L::unpack::<M>(places, first, at);
                unroll!(8, i => {
                    let at = ((block * 8 + i) * vectors + vector) * M::LANES * 4;
                    M::store_panel(panel.add(at), codes[i]);
                });
                M::store(scales.add(block * TILE_ROWS + first), scale);
                M::store(minima.add(block * TILE_ROWS + first), minimum);
            }
        }
    }
    L::WIDE
}
