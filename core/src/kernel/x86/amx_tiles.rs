//! The tile registers of AMX: their configuration, and products of two tiles by one or two.

use core::arch::asm;

use super::width::LANES;

/// Rows of a tile; lanes of its sums.
pub(super) const TILE: usize = LANES;
/// Bytes of a row of a tile: the columns of a matrix that one instruction multiplies.
pub(super) const STEP: usize = 64;

/// The sums of two tiles by two, in the order of the first factor: for each of its rows, 16 of the
/// second factor.
#[repr(C, align(64))]
pub(super) struct Sums {
    pub(super) tiles: [[[[i32; LANES]; TILE]; 2]; 2],
}

impl Sums {
    pub(super) const ZERO: Self = Self { tiles: [[[[0; LANES]; TILE]; 2]; 2] };
}

/// The factors of a product.
#[derive(Clone, Copy)]
pub(super) struct Factors {
    /// 32 rows of signed bytes in the file's layout, `stride` bytes apart.
    pub(super) rows: *const u8,
    pub(super) stride: usize,
    /// One or two times 16 rows in groups of four columns, as `TDPBSSD` takes the second factor: a
    /// line of 64 bytes per group, `line` bytes apart.
    pub(super) packed: [*const u8; 2],
    pub(super) line: usize,
    /// Columns, a multiple of [`STEP`].
    pub(super) cols: usize,
}

/// The next operands: brought to L2 in the meantime, since tile loads from L3 stall everything.
pub(super) struct Next {
    place: *const u8,
    /// The number of times that four cache lines are fetched with every [`STEP`] columns.
    fetches: usize,
}

impl Next {
    /// `bytes` bytes from `place` on, spread evenly over `calls` products of `cols` columns. The
    /// bytes need not exist: nothing is read.
    pub(super) fn new(place: *const u8, bytes: usize, calls: usize, cols: usize) -> Self {
        let steps = (calls * cols / STEP).max(1);
        Self { place, fetches: bytes.div_ceil(4 * 64 * steps) }
    }

    /// Nothing to fetch.
    pub(super) const fn nothing() -> Self {
        Self { place: core::ptr::null(), fetches: 0 }
    }
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

/// Configures all tiles at full size, until [`release`].
///
/// # Safety
///
/// The CPU must have AMX, and the system must let this program use it.
pub(super) unsafe fn configure() {
    // SAFETY: upheld by the caller; 64 bytes are read.
    unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const FULL_TILES, options(nostack, readonly)) };
}

/// Releases the tiles.
///
/// # Safety
///
/// As for [`configure`].
pub(super) unsafe fn release() {
    // SAFETY: upheld by the caller.
    unsafe { asm!("tilerelease", options(nomem, nostack, preserves_flags)) };
}

/// Multiplies the 32 rows, 64 columns at a time, and prefetches the next operands: `clear` runs
/// first, `step` for those columns and `store` at the end. `tmm4` and `tmm5` are for the rows,
/// `tmm6` and `tmm7` for the packed tiles and the others for sums.
macro_rules! multiply {
    (
        $factors:expr, $next:expr, $sums:expr,
        clear: $($clear:literal)+, step: $($step:literal)+, store: $($store:literal)+
    ) => {{
        let Factors { rows, stride, packed: [first, second], line, cols } = $factors;
        asm!(
            $($clear,)+
            "2:",
            $($step,)+
            "add {rows}, 64",
            "add {below}, 64",
            "add {first}, {tile}",
            "add {second}, {tile}",
            "mov {left}, {fetches}",
            "test {left}, {left}",
            "jz 4f",
            "3:",
            "prefetcht1 [{next}]",
            "prefetcht1 [{next} + 64]",
            "prefetcht1 [{next} + 128]",
            "prefetcht1 [{next} + 192]",
            "add {next}, 256",
            "dec {left}",
            "jnz 3b",
            "4:",
            "dec {steps}",
            "jnz 2b",
            "mov {line}, 64",
            $($store,)+
            rows = inout(reg) rows => _,
            below = inout(reg) rows.add(TILE * stride) => _,
            first = inout(reg) first => _,
            second = inout(reg) second => _,
            steps = inout(reg) cols / STEP => _,
            stride = in(reg) stride,
            line = inout(reg) line => _,
            tile = in(reg) TILE * line,
            next = inout(reg) $next.place,
            fetches = in(reg) $next.fetches,
            left = out(reg) _,
            sums = in(reg) $sums.tiles.as_mut_ptr(),
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack),
        );
    }};
}

/// The 32 rows by both packed tiles.
///
/// # Safety
///
/// The tiles must be configured; the factors must be readable.
#[inline(always)]
pub(super) unsafe fn multiply_two(factors: Factors, next: &mut Next, sums: &mut Sums) {
    // SAFETY: upheld by the caller; sums have room for four tiles.
    unsafe {
        multiply!(
            factors, next, sums,
            clear: "tilezero tmm0" "tilezero tmm1" "tilezero tmm2" "tilezero tmm3",
            step:
                "tileloadd tmm4, [{rows} + {stride}*1]"
                "tileloadd tmm6, [{first} + {line}*1]"
                "tileloadd tmm7, [{second} + {line}*1]"
                "tdpbssd tmm0, tmm4, tmm6"
                "tileloadd tmm5, [{below} + {stride}*1]"
                "tdpbssd tmm1, tmm4, tmm7"
                "tdpbssd tmm2, tmm5, tmm6"
                "tdpbssd tmm3, tmm5, tmm7",
            store:
                "tilestored [{sums} + {line}*1], tmm0"
                "tilestored [{sums} + {line}*1 + 1024], tmm1"
                "tilestored [{sums} + {line}*1 + 2048], tmm2"
                "tilestored [{sums} + {line}*1 + 3072], tmm3"
        );
    }
}

/// As [`multiply_two`], by the first packed tile alone; the sums of the second are left unchanged.
///
/// # Safety
///
/// As for [`multiply_two`], except that the second packed tile is not read.
#[inline(always)]
pub(super) unsafe fn multiply_one(factors: Factors, next: &mut Next, sums: &mut Sums) {
    // SAFETY: as in `multiply_two`.
    unsafe {
        multiply!(
            factors, next, sums,
            clear: "tilezero tmm0" "tilezero tmm2",
            step:
                "tileloadd tmm4, [{rows} + {stride}*1]"
                "tileloadd tmm6, [{first} + {line}*1]"
                "tileloadd tmm5, [{below} + {stride}*1]"
                "tdpbssd tmm0, tmm4, tmm6"
                "tdpbssd tmm2, tmm5, tmm6",
            store:
                "tilestored [{sums} + {line}*1], tmm0"
                "tilestored [{sums} + {line}*1 + 2048], tmm2"
        );
    }
}
