//! Tokens as tiles of f32 read them: of every four columns those of one token after the other.
//!
//! A tile then has one address for all its tokens. With one for each, working them out takes nearly as many instructions as
//! loading, and a CPU that begins four or five a cycle waits for that instead of for multiplications.

use core::arch::wasm32::*;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::Range;

use super::band_tokens;
use crate::kernel::product::Product;

/// Columns of a vector.
pub(super) const LANES: usize = 4;
/// Vectors that there is room for, 192 KiB on the stack: 128 tokens of 384 columns, 32 of 1536.
const ROOM: usize = 12 * 1024;

/// Some tokens. Columns beyond the last whole vector stay where they are.
pub(super) struct Packed {
    vectors: [MaybeUninit<v128>; ROOM],
}

impl Packed {
    pub(super) const fn new() -> Self {
        Self { vectors: [const { MaybeUninit::uninit() }; ROOM] }
    }

    /// For how many tokens of `cols` columns there is room; one there always is.
    pub(super) const fn room(cols: usize) -> usize {
        match cols / LANES {
            0 => ROOM,
            1..=ROOM => ROOM / (cols / LANES),
            _ => 1,
        }
    }

    /// Brings in `tokens` of `product`, in bands of `first` tokens, if that is said, and then of as many as tiles of `most` tokens
    /// have.
    ///
    /// # Safety
    ///
    /// There are such tokens, and [room](Self::room) for them.
    pub(super) unsafe fn pack(
        &mut self,
        product: &Product<'_>,
        tokens: Range<usize>,
        (first, most): (Option<usize>, usize),
    ) -> Bands<'_> {
        let vectors = product.cols / LANES;
        let mut to: *mut v128 = self.vectors.as_mut_ptr().cast();
        let is_one = tokens.len() == 1;
        let x = if is_one { Band::of_one(product, tokens.start).x } else { to };
        let bands = Bands { left: tokens, first, most, x, vectors, packed: PhantomData };
        for band in bands.clone().filter(|_| !is_one) {
            // SAFETY: the caller's: of each token all whole vectors are read, and there is a place for each.
            unsafe {
                let from = product.x.as_ptr().add(band.token * product.cols);
                for vector in 0..vectors {
                    for token in 0..band.count {
                        *to = v128_load(from.add(token * product.cols + vector * LANES).cast());
                        to = to.add(1);
                    }
                }
            }
        }
        bands
    }
}

/// The tokens of a tile.
#[derive(Clone, Copy)]
pub(super) struct Band {
    pub(super) token: usize,
    pub(super) count: usize,
    /// Where they lie packed.
    pub(super) x: *const v128,
}

impl Band {
    /// One token alone, which is packed as it lies.
    pub(super) fn of_one(product: &Product<'_>, token: usize) -> Self {
        let x = product.x.as_ptr().wrapping_add(token * product.cols);
        Self { token, count: 1, x: x.cast() }
    }
}

/// Packed tokens, band by band.
#[derive(Clone)]
pub(super) struct Bands<'a> {
    left: Range<usize>,
    /// How many tokens the first band has, if that is said.
    first: Option<usize>,
    most: usize,
    /// Where those that are left lie.
    x: *const v128,
    /// Vectors of a token.
    vectors: usize,
    packed: PhantomData<&'a Packed>,
}

impl Iterator for Bands<'_> {
    type Item = Band;

    fn next(&mut self) -> Option<Band> {
        let left = self.left.len();
        let count = self.first.take().unwrap_or_else(|| band_tokens(left, self.most));
        let band = Band { token: self.left.start, count, x: self.x };
        self.left.start += count;
        self.x = self.x.wrapping_add(count * self.vectors);
        (count > 0).then_some(band)
    }
}
