//! A short number for bytes, the same in every run and release: FNV-1a of 64 bits, folded to 32.

/// A hash that grows with the bytes it is fed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fingerprint(u64);

impl Fingerprint {
    pub(super) const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub(super) const fn finish(self) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "folded")]
        let folded = (self.0 ^ (self.0 >> 32)) as u32;
        folded
    }

    /// The fingerprint of some bytes.
    pub(super) fn hash(bytes: &[u8]) -> u32 {
        let mut fingerprint = Self::new();
        fingerprint.feed(bytes);
        fingerprint.finish()
    }
}
