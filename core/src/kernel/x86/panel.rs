//! Panels: 32 rows of weights re-ordered so that a vector holds one group of four bytes of each of 16 rows.
//!
//! A group is one f32, or four 8-bit codes. Products with a panel multiply a vector of rows by one broadcast group of
//! a token: no sums across lanes are needed at the end, which along 384 columns would cost as much as an eighth
//! (f32) or half (8 bits) of the products. Filling a panel reads the rows once and is repaid from some tens of
//! tokens on. A panel lives on the stack for the time of a call: nothing is packed when a model is opened.

use core::arch::x86_64::*;
use core::mem::MaybeUninit;

/// Vectors side by side in a panel.
pub(super) const VECTORS: usize = 2;
/// Lanes of a vector, each a row.
pub(super) const LANES: usize = 16;
/// Rows of a panel.
pub(super) const ROWS: usize = VECTORS * LANES;
/// The most groups of four bytes of a row.
pub(super) const GROUPS: usize = 512;
/// Bytes of a vector.
const BYTES: usize = 64;

/// For every group of four bytes, [`VECTORS`] vectors of 16 rows: 64 KiB.
#[repr(C, align(64))]
pub(super) struct Panel([MaybeUninit<u8>; GROUPS * VECTORS * BYTES]);

impl Panel {
    #[inline(always)]
    pub(super) const fn new() -> Self {
        Self([const { MaybeUninit::uninit() }; GROUPS * VECTORS * BYTES])
    }

    /// Fills the panel with `bytes` bytes of `rows` rows, `stride` bytes apart from `start` on.
    ///
    /// Rows beyond the last are copies of the last; groups are completed by zeros to a multiple of four. Vectors
    /// without any row stay as they are.
    ///
    /// # Safety
    ///
    /// Those bytes can be read; `bytes` ≤ 4 · [`GROUPS`], `rows` ≥ 1.
    #[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
    #[inline]
    pub(super) unsafe fn fill(
        &mut self,
        start: *const u8,
        stride: usize,
        rows: usize,
        bytes: usize,
    ) {
        for vector in 0..VECTORS {
            let first = vector * LANES;
            if first >= rows {
                break;
            }
            let places: [*const u8; LANES] = core::array::from_fn(|lane| {
                // SAFETY: the row is below `rows`.
                unsafe { start.add((first + lane).min(rows - 1) * stride) }
            });
            let mut at = 0;
            while at < bytes {
                let mask = if bytes - at >= 16 { u16::MAX } else { (1 << (bytes - at)) - 1 };
                // Line i: 16 bytes of each of the rows i, i + 4, i + 8, i + 12.
                let mut lines = [_mm512_setzero_si512(); 4];
                for (i, line) in lines.iter_mut().enumerate() {
                    // SAFETY: the mask covers no more than the bytes from `at` on.
                    let quarter = |j: usize| unsafe {
                        _mm_maskz_loadu_epi8(mask, places[i + 4 * j].add(at).cast())
                    };
                    let joined = _mm512_castsi128_si512(quarter(0));
                    let joined = _mm512_inserti32x4::<1>(joined, quarter(1));
                    let joined = _mm512_inserti32x4::<2>(joined, quarter(2));
                    *line = _mm512_inserti32x4::<3>(joined, quarter(3));
                }
                for (i, group) in transpose(lines).into_iter().enumerate() {
                    // SAFETY: at / 4 + i is below GROUPS: `bytes` rounded up to 16 is at most 4 · GROUPS.
                    unsafe { self.put(at / 4 + i, vector, group) };
                }
                at += 16;
            }
        }
    }

    /// # Safety
    ///
    /// `group` is below [`GROUPS`] and `vector` below [`VECTORS`].
    #[target_feature(enable = "avx512f")]
    #[inline]
    unsafe fn put(&mut self, group: usize, vector: usize, value: __m512i) {
        // SAFETY: the caller's; the panel is aligned to 64.
        unsafe {
            let place = self.0.as_mut_ptr().add((group * VECTORS + vector) * BYTES);
            _mm512_store_si512(place.cast(), value);
        }
    }

    /// Group `group` of the rows of vector `vector`.
    ///
    /// # Safety
    ///
    /// It has been filled.
    #[target_feature(enable = "avx512f")]
    #[inline]
    pub(super) unsafe fn get(&self, group: usize, vector: usize) -> __m512i {
        // SAFETY: the caller's; the panel is aligned to 64.
        unsafe {
            let place = self.0.as_ptr().add((group * VECTORS + vector) * BYTES);
            _mm512_load_si512(place.cast())
        }
    }
}

/// In every quarter, the lines' 4 × 4 groups of four bytes transposed.
#[target_feature(enable = "avx512f")]
#[inline]
fn transpose([a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
    let ab = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    let cd = (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    [
        _mm512_unpacklo_epi64(ab.0, cd.0),
        _mm512_unpackhi_epi64(ab.0, cd.0),
        _mm512_unpacklo_epi64(ab.1, cd.1),
        _mm512_unpackhi_epi64(ab.1, cd.1),
    ]
}

/// A mask of the first `count` lanes of a vector.
#[inline(always)]
pub(super) fn lane_mask(count: usize) -> __mmask16 {
    if count >= LANES { u16::MAX } else { (1 << count) - 1 }
}

/// Stores the first `count` (at most 16) of `values` `stride` apart from `place` on.
///
/// # Safety
///
/// Those elements lie inside one slice that may be written.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) unsafe fn scatter(place: *mut f32, stride: usize, count: usize, values: __m512) {
    // SAFETY: the caller's.
    unsafe {
        if stride == 1 {
            _mm512_mask_storeu_ps(place, lane_mask(count), values);
        } else {
            let mut lanes = [0.0_f32; LANES];
            _mm512_storeu_ps(lanes.as_mut_ptr(), values);
            for (lane, &value) in lanes.iter().enumerate().take(count) {
                *place.add(lane * stride) = value;
            }
        }
    }
}

/// Loads `count` (at most 16) numbers `stride` apart from `place` on, the rest zeros.
///
/// # Safety
///
/// Those elements lie inside one slice.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) unsafe fn gather(place: *const f32, stride: usize, count: usize) -> __m512 {
    // SAFETY: the caller's.
    unsafe {
        if stride == 1 {
            return _mm512_maskz_loadu_ps(lane_mask(count), place);
        }
        let mut lanes = [0.0_f32; LANES];
        for (lane, value) in lanes.iter_mut().enumerate().take(count) {
            *value = *place.add(lane * stride);
        }
        _mm512_loadu_ps(lanes.as_ptr())
    }
}

/// Some bytes of some rows that will be wanted next, fetched a little at a time.
#[derive(Clone, Copy)]
pub(super) struct Ahead {
    start: *const u8,
    stride: usize,
    /// Cache lines of a row.
    lines: usize,
    /// Cache lines not yet fetched, and how many of them at each step.
    next: usize,
    end: usize,
    step: usize,
}

/// Bytes of a cache line.
const LINE: usize = 64;

impl Ahead {
    /// `bytes` bytes of `rows` rows, `stride` bytes apart, in `steps` steps. They need not exist: nothing is read.
    pub(super) fn new(
        start: *const u8,
        stride: usize,
        rows: usize,
        bytes: usize,
        steps: usize,
    ) -> Self {
        let lines = bytes.div_ceil(LINE);
        let end = rows * lines;
        Self { start, stride, lines, next: 0, end, step: end.div_ceil(steps.max(1)) }
    }

    /// Asks for the next few cache lines.
    #[inline(always)]
    pub(super) fn fetch(&mut self) {
        let until = self.end.min(self.next + self.step);
        while self.next < until {
            let (row, line) = (self.next / self.lines, self.next % self.lines);
            let place = self.start.wrapping_add(row * self.stride + line * LINE);
            // SAFETY: a hint, whatever the address.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(place.cast()) };
            self.next += 1;
        }
    }
}

/// Calls a tile function for 12, 8, 4, 2 or 1 tokens at a time, the most that are left, and one or two vectors of rows.
macro_rules! tiles {
    ($tile:ident, $tokens:expr, $vectors:expr, $ahead:expr, $($argument:expr),+) => {{
        let mut token = 0;
        while token < $tokens {
            $ahead.fetch();
            token += match ($tokens - token, $vectors) {
                (12.., 2) => { $tile::<12, 2>(token, $($argument),+); 12 }
                (8.., 2) => { $tile::<8, 2>(token, $($argument),+); 8 }
                (4.., 2) => { $tile::<4, 2>(token, $($argument),+); 4 }
                (2.., 2) => { $tile::<2, 2>(token, $($argument),+); 2 }
                (_, 2) => { $tile::<1, 2>(token, $($argument),+); 1 }
                (12.., _) => { $tile::<12, 1>(token, $($argument),+); 12 }
                (4.., _) => { $tile::<4, 1>(token, $($argument),+); 4 }
                _ => { $tile::<1, 1>(token, $($argument),+); 1 }
            };
        }
    }};
}
pub(super) use tiles;
