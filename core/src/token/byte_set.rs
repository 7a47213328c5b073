//! A set of the bytes that tokens begin with, so that most places of a text need no table lookup.

/// A set of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ByteSet([u64; 4]);

impl ByteSet {
    pub(super) const EMPTY: Self = Self([0; 4]);

    pub(super) fn insert(&mut self, byte: u8) {
        let [a, b, c, d] = &mut self.0;
        let word = match byte >> 6 {
            0 => a,
            1 => b,
            2 => c,
            _ => d,
        };
        *word |= 1 << (byte & 63);
    }

    #[inline]
    pub(super) const fn contains(&self, byte: u8) -> bool {
        let [a, b, c, d] = self.0;
        let word = match byte >> 6 {
            0 => a,
            1 => b,
            2 => c,
            _ => d,
        };
        word >> (byte & 63) & 1 == 1
    }
}
