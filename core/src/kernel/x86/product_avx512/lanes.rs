//! Up to 64 tokens × 12 rows at a time: 24 accumulators of two vectors of tokens × 12 rows.
//!
//! A vector of activations holds one column of 16 tokens; tokens are transposed once for all rows.
//! Weights are multiplied in place, by a broadcast memory operand, so that a step has 9
//! instructions besides its 24 multiplications. The compiler would load every weight separately,
//! hence the inline assembly. Idle lanes cost as much as used ones.

use core::arch::asm;
use core::arch::x86_64::*;
use core::mem::MaybeUninit;

use super::super::transpose::transpose;
use super::super::vector::first_lanes;
use super::super::width::LANES;
use super::{PART_COLS, Part, panels, store, weights};
use crate::kernel::product::Product;

/// The largest number of tokens.
pub(super) const MOST_TOKENS: usize = VECTORS * LANES;
/// The largest number of token vectors.
const VECTORS: usize = 4;
/// Vectors of tokens in a tile; the last tile may have one.
const WIDTH: usize = 2;
/// Rows of a tile.
const ROWS: usize = 12;
/// Every fourth column is summed up separately.
const PHASES: usize = 4;

/// Returns true if this is faster than panels for `tokens` tokens, because few lanes are idle.
pub(super) const fn suit(tokens: usize) -> bool {
    let idle = tokens.next_multiple_of(LANES) - tokens;
    tokens <= LANES || (tokens <= MOST_TOKENS && idle * 12 <= tokens)
}

/// The whole product.
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn product(mut product: Product<'_>) {
    let mut columns = Columns::new();
    let whole_rows = product.rows - product.rows % ROWS;
    for column in (0..product.cols).step_by(PART_COLS) {
        let cols = (product.cols - column).min(PART_COLS);
        columns.take(&product, column, cols);
        for row in (0..whole_rows).step_by(ROWS) {
            tiles(&mut product, Part { row, rows: ROWS, column, cols }, &columns);
        }
    }
    panels::product(product, whole_rows);
}

/// All tokens × 12 rows.
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn tiles(product: &mut Product<'_>, part: Part, columns: &Columns) {
    let mut vector = 0;
    while vector + WIDTH <= columns.vectors() {
        let [first, second] = tile::<2>(product, part, columns, vector);
        store_sums(product, part, columns, vector, first);
        store_sums(product, part, columns, vector + 1, second);
        vector += WIDTH;
    }
    if vector < columns.vectors() {
        let [last] = tile::<1>(product, part, columns, vector);
        store_sums(product, part, columns, vector, last);
    }
}

/// A part's columns of tokens, transposed. For each tile, the vectors of columns 0, 4, 8, … come
/// first, then those of 1, 5, 9, …
#[repr(C, align(64))]
struct Columns {
    numbers: [MaybeUninit<f32>; MOST_TOKENS * PART_COLS],
    tokens: usize,
}

impl Columns {
    #[inline(always)]
    const fn new() -> Self {
        Self { numbers: [const { MaybeUninit::uninit() }; MOST_TOKENS * PART_COLS], tokens: 0 }
    }

    const fn vectors(&self) -> usize {
        self.tokens.div_ceil(LANES)
    }

    /// The number of tokens in the vector.
    fn tokens_of(&self, vector: usize) -> usize {
        (self.tokens - vector * LANES).min(LANES)
    }

    /// The index of a phase's numbers in the tile of `width` vectors that starts at `vector`.
    const fn place(vector: usize, width: usize, phase: usize) -> usize {
        (vector * PART_COLS + phase * (PART_COLS / PHASES) * width) * LANES
    }

    /// Takes `cols` columns of the tokens, as tiles of [`WIDTH`] vectors, and a last one for a
    /// remaining vector.
    #[target_feature(enable = "avx512f")]
    #[inline(never)]
    fn take(&mut self, product: &Product<'_>, column: usize, cols: usize) {
        self.tokens = product.tokens;
        let stride = product.cols;
        let numbers: *mut f32 = self.numbers.as_mut_ptr().cast();
        for vector in 0..self.vectors() {
            let first = vector / WIDTH * WIDTH;
            let width = (self.vectors() - first).min(WIDTH);
            for c in (0..cols).step_by(LANES) {
                let mask = first_lanes(cols - c);
                let x = product.x.as_ptr().wrapping_add(vector * LANES * stride + column + c);
                let lines = core::array::from_fn(|line| {
                    let mask = if line < self.tokens_of(vector) { mask } else { 0 };
                    // SAFETY: `Product::new` checked that x has tokens × cols elements; the mask
                    // covers those there are.
                    unsafe { _mm512_maskz_loadu_epi32(mask, x.wrapping_add(line * stride).cast()) }
                });
                for (index, line) in transpose(lines).into_iter().enumerate() {
                    let phase = Self::place(first, width, index % PHASES);
                    let line_of_phase = (c + index) / PHASES * width + (vector - first);
                    // SAFETY: there is room for MOST_TOKENS × PART_COLS numbers, and 16 divides
                    // PART_COLS.
                    unsafe {
                        let place = numbers.add(phase + line_of_phase * LANES);
                        _mm512_store_si512(place.cast(), line);
                    }
                }
            }
        }
    }
}

/// The operands of a phase.
#[derive(Clone, Copy)]
struct Operands {
    /// The first weight of the first row, and the number of bytes to that of the next row.
    rows: *const f32,
    stride: usize,
    /// The first vectors of tokens.
    lines: *const f32,
    /// The first of three rows that are prefetched to L2.
    ahead: *const f32,
}

impl Operands {
    /// The first weight of a row.
    #[inline(always)]
    const fn row(&self, row: usize) -> *const f32 {
        self.rows.wrapping_byte_add(row * self.stride)
    }

    /// The operands after `columns` columns of the phase, with `width` vectors of tokens each.
    #[inline(always)]
    const fn after(self, columns: usize, width: usize) -> Self {
        Self {
            rows: self.rows.wrapping_add(columns * PHASES),
            lines: self.lines.wrapping_add(columns * width * LANES),
            ..self
        }
    }
}

/// Columns multiplied in one iteration of the loop.
const UNROLLED: usize = 8;

/// One column: loads its vectors of tokens and multiplies them by the weights of twelve rows.
macro_rules! column {
    ($column:tt, $line:tt, $vectors:tt) => {
        concat!(
            load!($column, $line, $vectors),
            three_rows!($column, "p0" "p2", "0" "1" "2", $vectors),
            three_rows!($column, "p3" "p5", "3" "4" "5", $vectors),
            three_rows!($column, "p6" "p8", "6" "7" "8", $vectors),
            three_rows!($column, "p9" "p11", "9" "10" "11", $vectors),
        )
    };
}

macro_rules! load {
    ($column:tt, $line:tt, ($($sums:literal $x:literal $at:literal),+)) => {
        concat!($("vmovaps {", $x, "}, [{lines} + ", $line, " * ", $column, " + ", $at, "]\n"),+)
    };
}

/// There are registers for the addresses of the first and the third row. That of the second needs
/// an index, which would split a multiplication into two instructions, but not a load.
macro_rules! three_rows {
    (
        $column:tt, $p:literal $p_third:literal, $first:literal $second:literal $third:literal,
        ($($sums:literal $x:literal $at:literal),+)
    ) => {
        concat!(
            $(multiply!($column, $p, $sums, $first, $x),)+
            "vbroadcastss {w}, dword ptr [{", $p, "} + {stride} + 16 * ", $column, "]\n",
            $("vfmadd231ps {", $sums, $second, "}, {", $x, "}, {w}\n",)+
            $(multiply!($column, $p_third, $sums, $third, $x),)+
        )
    };
}

/// The weight in memory. Columns of a phase are 16 bytes apart.
macro_rules! multiply {
    ($column:tt, $place:literal, $sums:literal, $row:literal, $x:literal) => {
        concat!(
            "vfmadd231ps {",
            $sums,
            $row,
            "}, {",
            $x,
            "}, ",
            "dword ptr [{",
            $place,
            "} + 16 * ",
            $column,
            "]{{1to16}}\n",
        )
    };
}

/// Iterations over `columns` columns, advancing the operands.
macro_rules! turns {
    (
        $turns:expr, $operands:ident, ($($column:tt)+) = $columns:literal, $line:tt, $vectors:tt,
        $($x:ident)+, $($name:ident = $sum:expr),+
    ) => {
        asm!(
            "2:",
            $(column!($column, $line, $vectors),)+
            "prefetcht1 [{ahead}]",
            "prefetcht1 [{ahead} + 64]",
            "prefetcht1 [{ahead} + {stride}]",
            "prefetcht1 [{ahead} + {stride} + 64]",
            "prefetcht1 [{ahead} + 2 * {stride}]",
            "prefetcht1 [{ahead} + 2 * {stride} + 64]",
            concat!("add {ahead}, 16 * ", $columns),
            concat!("add {p0}, 16 * ", $columns),
            concat!("add {p2}, 16 * ", $columns),
            concat!("add {p3}, 16 * ", $columns),
            concat!("add {p5}, 16 * ", $columns),
            concat!("add {p6}, 16 * ", $columns),
            concat!("add {p8}, 16 * ", $columns),
            concat!("add {p9}, 16 * ", $columns),
            concat!("add {p11}, 16 * ", $columns),
            concat!("add {lines}, ", $line, " * ", $columns),
            "dec {turns}",
            "jnz 2b",
            p0 = inout(reg) $operands.row(0) => _,
            p2 = inout(reg) $operands.row(2) => _,
            p3 = inout(reg) $operands.row(3) => _,
            p5 = inout(reg) $operands.row(5) => _,
            p6 = inout(reg) $operands.row(6) => _,
            p8 = inout(reg) $operands.row(8) => _,
            p9 = inout(reg) $operands.row(9) => _,
            p11 = inout(reg) $operands.row(11) => _,
            stride = in(reg) $operands.stride,
            lines = inout(reg) $operands.lines => _,
            ahead = inout(reg) $operands.ahead => _,
            turns = inout(reg) $turns => _,
            w = inout(zmm_reg) _mm512_setzero_ps() => _,
            $($x = inout(zmm_reg) _mm512_setzero_ps() => _,)+
            $($name = inout(zmm_reg) $sum,)+
            options(readonly, nostack)
        )
    };
}

macro_rules! turns_of_one {
    ($turns:expr, $operands:ident, $sums:ident, $columns:tt = $count:literal) => {
        turns!(
            $turns, $operands, $columns = $count, 64, ("a" "xa" 0), xa,
            a0 = $sums[0][0], a1 = $sums[0][1], a2 = $sums[0][2], a3 = $sums[0][3],
            a4 = $sums[0][4], a5 = $sums[0][5], a6 = $sums[0][6], a7 = $sums[0][7],
            a8 = $sums[0][8], a9 = $sums[0][9], a10 = $sums[0][10], a11 = $sums[0][11]
        )
    };
}

macro_rules! turns_of_two {
    ($turns:expr, $operands:ident, $sums:ident, $columns:tt = $count:literal) => {
        turns!(
            $turns, $operands, $columns = $count, 128, ("a" "xa" 0, "b" "xb" 64), xa xb,
            a0 = $sums[0][0], a1 = $sums[0][1], a2 = $sums[0][2], a3 = $sums[0][3],
            a4 = $sums[0][4], a5 = $sums[0][5], a6 = $sums[0][6], a7 = $sums[0][7],
            a8 = $sums[0][8], a9 = $sums[0][9], a10 = $sums[0][10], a11 = $sums[0][11],
            b0 = $sums[1][0], b1 = $sums[1][1], b2 = $sums[1][2], b3 = $sums[1][3],
            b4 = $sums[1][4], b5 = $sums[1][5], b6 = $sums[1][6], b7 = $sums[1][7],
            b8 = $sums[1][8], b9 = $sums[1][9], b10 = $sums[1][10], b11 = $sums[1][11]
        )
    };
}

/// A vector for each row of each vector of tokens.
type Sums<const V: usize> = [[__m512; ROWS]; V];

/// `V` vectors of tokens, the first of them `vector`, × 12 rows.
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
#[inline]
fn tile<const V: usize>(
    product: &Product<'_>,
    part: Part,
    columns: &Columns,
    vector: usize,
) -> Sums<V> {
    let rows = weights(product).wrapping_add(part.row * product.cols + part.column);
    let stride = product.cols * size_of::<f32>();
    // Sums of the even and of the odd columns.
    let mut halves = [const { MaybeUninit::<Sums<V>>::uninit() }; 2];
    for phase in [0, 2, 1, 3] {
        let lines = columns.numbers.as_ptr().cast::<f32>();
        // Meanwhile the first tile prefetches the next rows, a quarter of them in each phase.
        let ahead = if vector == 0 { ROWS + phase * (ROWS / PHASES) } else { 0 };
        let operands = Operands {
            rows: rows.wrapping_add(phase),
            stride,
            lines: lines.wrapping_add(Columns::place(vector, V, phase)),
            ahead: rows.wrapping_byte_add(ahead * stride),
        };
        let count = (part.cols + PHASES - 1 - phase) / PHASES;
        let (turns, rest) = (count / UNROLLED, count % UNROLLED);
        let last = operands.after(turns * UNROLLED, V);
        let mut sums = [[_mm512_setzero_ps(); ROWS]; V];
        let half: *mut [__m512; ROWS] = halves[phase % 2].as_mut_ptr().cast();
        // SAFETY: `Product::new` checked that the weights have rows × cols elements, the part's 12
        // rows included; `Columns::take` has written `part.cols` columns of at least V vectors from
        // `vector` on. There are V lines of a half; the first phase of each writes them.
        unsafe {
            if turns > 0 {
                match V {
                    1 => turns_of_one!(turns, operands, sums, (0 1 2 3 4 5 6 7) = 8),
                    _ => turns_of_two!(turns, operands, sums, (0 1 2 3 4 5 6 7) = 8),
                }
            }
            if rest > 0 {
                match V {
                    1 => turns_of_one!(rest, last, sums, (0) = 1),
                    _ => turns_of_two!(rest, last, sums, (0) = 1),
                }
            }
            unroll_4!(V, v => {
                let half: *mut __m512 = half.add(v).cast();
                unroll!(ROWS, row => {
                    let (place, sum) = (half.add(row), sums[v][row]);
                    *place = if phase < 2 { sum } else { _mm512_add_ps(*place, sum) };
                });
            });
        }
    }
    let mut sums = [[_mm512_setzero_ps(); ROWS]; V];
    // SAFETY: both halves were written.
    let [even, odd] = unsafe { [halves[0].assume_init_ref(), halves[1].assume_init_ref()] };
    unroll_4!(V, v => {
        unroll!(ROWS, row => { sums[v][row] = _mm512_add_ps(even[v][row], odd[v][row]); });
    });
    sums
}

/// Adds the sums of a part of one vector of tokens to the bias, or to the output after the first
/// part.
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
#[inline(never)]
fn store_sums(
    product: &mut Product<'_>,
    part: Part,
    columns: &Columns,
    vector: usize,
    sums: [__m512; ROWS],
) {
    let (token, count) = (vector * LANES, columns.tokens_of(vector));
    let strides = product.strides;
    // SAFETY: `Product::new` checked that the bias has `rows` elements and that the last element of
    // the output is inside it; the masks cover the part's rows and the existing tokens.
    unsafe {
        let bias = product.bias.as_ptr().add(part.row);
        let out = product.out.as_mut_ptr().add(token * strides.token + part.row * strides.row);
        let add_to = |out: *mut f32, bias: __m512, mask: __mmask16, sums: __m512| {
            let base = if part.column == 0 { bias } else { _mm512_maskz_loadu_ps(mask, out) };
            _mm512_mask_storeu_ps(out, mask, _mm512_add_ps(base, sums));
        };
        if strides.token == 1 {
            let mask = first_lanes(count);
            for (row, sums) in sums.into_iter().enumerate() {
                add_to(out.add(row * strides.row), _mm512_set1_ps(*bias.add(row)), mask, sums);
            }
            return;
        }
        let mut lines = [_mm512_setzero_si512(); LANES];
        unroll!(ROWS, row => { lines[row] = _mm512_castps_si512(sums[row]); });
        let totals = transpose(lines).into_iter().take(count).enumerate();
        if strides.row == 1 {
            let mask = first_lanes(ROWS);
            let bias = _mm512_maskz_loadu_ps(mask, bias);
            for (t, total) in totals {
                add_to(out.add(t * strides.token), bias, mask, _mm512_castsi512_ps(total));
            }
        } else {
            for (t, total) in totals {
                store(product, part, token + t, &[_mm512_castsi512_ps(total)]);
            }
        }
    }
}
