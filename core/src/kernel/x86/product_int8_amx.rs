//! x · Wᵀ of 7-bit activations and 8-bit weights with AMX: tiles of 16 rows × 16 tokens, 64 columns an instruction.
//!
//! Weights are loaded as they lie, each tile 16 rows. Tokens are packed once for all rows, in the groups of four columns that
//! the second factor of `TDPBSSD` has, and as differences to their code of zero: two codes of 7 bits differ by what fits 8.
//! Sums then have rows where the output has tokens: they are transposed on the way out.

use core::arch::asm;
use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::product_int8_avx512::{self, DIRECT_TOKENS, LANES, store};
use super::transpose::transpose;
use crate::kernel::integer::{Base, ProductI8};

/// Rows of a tile of weights, and tokens of a tile of tokens.
const TILE: usize = LANES;
/// Columns of a tile of weights.
const STEP: usize = 64;
/// Rows that are multiplied together: two tiles.
const ROWS: usize = 2 * TILE;
/// Tokens that are packed together.
const TOKENS: usize = 4 * TILE;
/// The most columns of packed tokens: 96 KiB on the stack.
const COLS: usize = 1536;
/// Bytes of a tile.
const TILE_BYTES: usize = TILE * STEP;

/// See [`ProductI8`].
pub(super) fn product(mut product: ProductI8<'_>) {
    let in_tiles = product.tokens > DIRECT_TOKENS
        && product.rows >= ROWS
        && product.cols <= COLS
        && product.cols.is_multiple_of(STEP);
    if !in_tiles {
        return product_int8_avx512::product(product);
    }
    // SAFETY: a table is handed out only after the CPU was asked for its features; as checked.
    unsafe { by_tiles(&mut product) };
    let left = product.rows % ROWS;
    if left > 0 {
        product_int8_avx512::product(last_rows(product, left));
    }
}

/// The last `count` rows of a product that has more.
fn last_rows(product: ProductI8<'_>, count: usize) -> ProductI8<'_> {
    let ProductI8 { x, mut w, base, out, tokens, rows, cols, strides } = product;
    let first = rows - count;
    w.codes = &w.codes[first * w.stride..];
    w.scales = &w.scales[first..];
    let base = match base {
        Base::Bias(bias) => Base::Bias(&bias[first..]),
        Base::Output => Base::Output,
    };
    let out = &mut out[first * strides.row..];
    ProductI8 { x, w, base, out, tokens, rows: count, cols, strides }
}

/// All rows but those that make no [`ROWS`] any more.
///
/// # Safety
///
/// The columns are a multiple of [`STEP`], at most [`COLS`].
#[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
unsafe fn by_tiles(product: &mut ProductI8<'_>) {
    let mut packed = Packed::new();
    let mut sums = Sums::ZERO;
    // SAFETY: the table's features.
    unsafe { configure() };
    for token in (0..product.tokens).step_by(TOKENS) {
        let count = (product.tokens - token).min(TOKENS);
        // SAFETY: the caller's; token + count ≤ tokens.
        unsafe { packed.fill(product, token, count) };
        for row in (0..=product.rows - ROWS).step_by(ROWS) {
            for first in (0..count).step_by(2 * TILE) {
                let count = (count - first).min(2 * TILE);
                let tiles = packed.tiles(first / TILE, product.cols);
                // SAFETY: the tiles are configured; these are packed, and row + ROWS ≤ rows.
                unsafe {
                    if count > TILE {
                        multiply_two(product, row, tiles, &mut sums);
                    } else {
                        multiply_one(product, row, tiles, &mut sums);
                    }
                }
                for half in 0..count.div_ceil(TILE) {
                    let tokens = (count - half * TILE).min(TILE);
                    let token = token + first + half * TILE;
                    for (tile, sums) in sums.tiles.iter().enumerate() {
                        // SAFETY: token + tokens ≤ product.tokens.
                        unsafe {
                            let columns = transpose(&sums[half]);
                            let columns = columns.into_iter().take(tokens);
                            store(product, token, row + tile * TILE, TILE, columns);
                        }
                    }
                }
            }
        }
    }
    // SAFETY: the table's features.
    unsafe { asm!("tilerelease", options(nomem, nostack, preserves_flags)) };
}

/// Tokens in tiles of 16: for every 64 columns 16 lines of a group of four columns of each token, less its code of zero.
#[repr(C, align(64))]
struct Packed {
    codes: [MaybeUninit<u8>; TOKENS * COLS],
}

impl Packed {
    #[inline(always)]
    const fn new() -> Self {
        Self { codes: [const { MaybeUninit::uninit() }; TOKENS * COLS] }
    }

    /// Packs `count` tokens from `token` on; the last tile is completed by the last of them.
    ///
    /// # Safety
    ///
    /// There are so many tokens, 1 … [`TOKENS`]; the columns are a multiple of [`STEP`], at most [`COLS`].
    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
    #[inline]
    unsafe fn fill(&mut self, product: &ProductI8<'_>, token: usize, count: usize) {
        let x = product.x;
        let mut place: *mut u8 = self.codes.as_mut_ptr().cast();
        for first in (0..count).step_by(TILE) {
            for column in (0..product.cols).step_by(STEP) {
                let mut lines = [[0_i32; LANES]; TILE];
                for (line, to) in lines.iter_mut().enumerate() {
                    let token = token + (first + line).min(count - 1);
                    // SAFETY: `ProductI8::new` checked that `cols` codes lie from every token · stride on, and that there
                    // are as many zeros as tokens.
                    unsafe {
                        let zero = _mm512_set1_epi8((*x.zeros.as_ptr().add(token)).cast_signed());
                        let codes = x.codes.as_ptr().add(token * x.stride + column);
                        let codes = _mm512_sub_epi8(_mm512_loadu_si512(codes.cast()), zero);
                        _mm512_storeu_si512(to.as_mut_ptr().cast(), codes);
                    }
                }
                for group in transpose(&lines) {
                    // SAFETY: at most TOKENS tokens of COLS columns are packed.
                    unsafe {
                        _mm512_store_si512(place.cast(), group);
                        place = place.add(STEP);
                    }
                }
            }
        }
    }

    /// The tiles from the `tile`-th on.
    fn tiles(&self, tile: usize, cols: usize) -> *const u8 {
        self.codes.as_ptr().wrapping_add(tile * TILE * cols).cast()
    }
}

/// The sums of two tiles of rows by two of tokens, of each row those of 16 tokens.
#[repr(C, align(64))]
struct Sums {
    tiles: [[[[i32; LANES]; TILE]; 2]; 2],
}

impl Sums {
    const ZERO: Self = Self { tiles: [[[[0; LANES]; TILE]; 2]; 2] };
}

/// The configuration of the tile registers (Intel SDM, volume 1, 18.3.1).
#[repr(C, align(64))]
struct Configuration {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

/// All eight registers with 16 rows of 64 bytes.
static FULL_TILES: Configuration = {
    let mut tiles = Configuration {
        palette: 1,
        start_row: 0,
        reserved: [0; 14],
        row_bytes: [0; 16],
        rows: [0; 16],
    };
    let mut register = 0;
    while register < 8 {
        tiles.row_bytes[register] = 64;
        tiles.rows[register] = 16;
        register += 1;
    }
    tiles
};

/// # Safety
///
/// The CPU has AMX and the system lets this program use it.
unsafe fn configure() {
    // SAFETY: the caller's; 64 bytes are read.
    unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const FULL_TILES, options(nostack, readonly)) };
}

/// The rows from `row` on by two tiles of packed tokens.
///
/// # Safety
///
/// The tiles are configured; there are [`ROWS`] rows and two tiles, columns a multiple of [`STEP`].
#[inline(always)]
unsafe fn multiply_two(product: &ProductI8<'_>, row: usize, tiles: *const u8, sums: &mut Sums) {
    let w = product.w;
    // SAFETY: the caller's; sums have room for four tiles.
    unsafe {
        let rows = w.codes.as_ptr().add(row * w.stride);
        asm!(
            "tilezero tmm0",
            "tilezero tmm1",
            "tilezero tmm2",
            "tilezero tmm3",
            "2:",
            "tileloadd tmm4, [{rows} + {stride}*1]",
            "tileloadd tmm6, [{first} + {line}*1]",
            "tileloadd tmm7, [{second} + {line}*1]",
            "tdpbssd tmm0, tmm4, tmm6",
            "tileloadd tmm5, [{below} + {stride}*1]",
            "tdpbssd tmm1, tmm4, tmm7",
            "tdpbssd tmm2, tmm5, tmm6",
            "tdpbssd tmm3, tmm5, tmm7",
            "add {rows}, 64",
            "add {below}, 64",
            "add {first}, 1024",
            "add {second}, 1024",
            "dec {steps}",
            "jnz 2b",
            "tilestored [{sums} + {line}*1], tmm0",
            "tilestored [{sums} + {line}*1 + 1024], tmm1",
            "tilestored [{sums} + {line}*1 + 2048], tmm2",
            "tilestored [{sums} + {line}*1 + 3072], tmm3",
            rows = inout(reg) rows => _,
            below = inout(reg) rows.add(TILE * w.stride) => _,
            first = inout(reg) tiles => _,
            second = inout(reg) tiles.add(product.cols / STEP * TILE_BYTES) => _,
            steps = inout(reg) product.cols / STEP => _,
            stride = in(reg) w.stride,
            line = in(reg) STEP,
            sums = in(reg) sums.tiles.as_mut_ptr(),
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        );
    }
}

/// As [`multiply_two`], by one tile of tokens.
///
/// # Safety
///
/// As there.
#[inline(always)]
unsafe fn multiply_one(product: &ProductI8<'_>, row: usize, tiles: *const u8, sums: &mut Sums) {
    let w = product.w;
    // SAFETY: as in `multiply_two`.
    unsafe {
        let rows = w.codes.as_ptr().add(row * w.stride);
        asm!(
            "tilezero tmm0",
            "tilezero tmm2",
            "2:",
            "tileloadd tmm4, [{rows} + {stride}*1]",
            "tileloadd tmm6, [{first} + {line}*1]",
            "tileloadd tmm5, [{below} + {stride}*1]",
            "tdpbssd tmm0, tmm4, tmm6",
            "tdpbssd tmm2, tmm5, tmm6",
            "add {rows}, 64",
            "add {below}, 64",
            "add {first}, 1024",
            "dec {steps}",
            "jnz 2b",
            "tilestored [{sums} + {line}*1], tmm0",
            "tilestored [{sums} + {line}*1 + 2048], tmm2",
            rows = inout(reg) rows => _,
            below = inout(reg) rows.add(TILE * w.stride) => _,
            first = inout(reg) tiles => _,
            steps = inout(reg) product.cols / STEP => _,
            stride = in(reg) w.stride,
            line = in(reg) STEP,
            sums = in(reg) sums.tiles.as_mut_ptr(),
            out("tmm0") _, out("tmm2") _, out("tmm4") _, out("tmm5") _, out("tmm6") _,
            options(nostack),
        );
    }
}
