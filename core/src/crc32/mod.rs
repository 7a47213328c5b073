//! CRC-32 (ISO-HDLC, as in zip and gzip), computed incrementally.

#[cfg(all(target_family = "wasm", target_feature = "simd128"))]
mod lanes;
mod polynomial;
#[cfg(any(target_family = "wasm", test))]
mod stretches;

/// Sixteen tables are eight times as fast as one on a desktop CPU, and cost 16 KB of read-only
/// data: too much for flash. Building them at run time would hide the polynomial from the compiler
/// and leave panics that it cannot rule out.
#[cfg(not(any(target_os = "none", target_family = "wasm")))]
type Tables = crc::Table<16>;
#[cfg(target_os = "none")]
type Tables = crc::Table<1>;

#[cfg(not(target_family = "wasm"))]
static CRC32: crc::Crc<u32, Tables> = crc::Crc::<u32, Tables>::new(&crc::CRC_32_ISO_HDLC);

/// The checksum of `bytes`.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    let mut running = Running::new();
    running.update(bytes);
    running.finish()
}

/// A running CRC-32.
#[derive(Clone)]
pub(crate) struct Running {
    crc: u32,
}

impl Running {
    pub(crate) const fn new() -> Self {
        Self { crc: 0 }
    }

    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        // What a digest begins with is given in the other order of bits, and before the final
        // complement.
        let mut digest = CRC32.digest_with_initial((!self.crc).reverse_bits());
        digest.update(bytes);
        self.crc = digest.finalize();
    }

    #[cfg(target_family = "wasm")]
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        #[cfg(target_feature = "simd128")]
        let (crc, bytes) = lanes::update(self.crc, bytes);
        #[cfg(not(target_feature = "simd128"))]
        let crc = self.crc;
        self.crc = stretches::update(crc, bytes);
    }

    pub(crate) const fn finish(&self) -> u32 {
        self.crc
    }
}

/// The CRC-32 of a concatenation from the checksums of its two parts: `before · x^(8 · bytes) +
/// after`, where the second part has `bytes` bytes. M. Adler, zlib's `crc32_combine`.
pub(crate) const fn combine(before: u32, after: u32, bytes: u64) -> u32 {
    polynomial::multiply(polynomial::power(bytes), before) ^ after
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<const N: usize>() -> [u8; N] {
        core::array::from_fn(|at| (at * 7 % 251) as u8)
    }

    #[test]
    fn parts_give_the_checksum_of_the_whole() {
        let bytes = bytes::<300>();
        let running = |parts: [&[u8]; 2]| {
            let mut running = Running::new();
            parts.iter().for_each(|part| running.update(part));
            running.finish()
        };
        for cut in 0..=bytes.len() {
            let (before, after) = bytes.split_at(cut);
            assert_eq!(running([before, after]), crc32(&bytes));
            let (first, second) = (running([before, &[]]), running([&[], after]));
            assert_eq!(combine(first, second, after.len() as u64), crc32(&bytes));
        }
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn stretches_give_the_checksum_of_the_whole() {
        let bytes = bytes::<50_000>();
        for length in [0, 1, 4095, 4096, 16_383, 16_384, 16_385, 20_481, 32_768, 50_000] {
            let bytes = &bytes[..length];
            for cut in [0, 1, length / 3, length] {
                let (before, after) = bytes.split_at(cut.min(length));
                let found = stretches::update(stretches::update(0, before), after);
                let mut exact = Running::new();
                exact.update(bytes);
                assert_eq!(found, exact.finish(), "{length} {cut}");
            }
        }
    }
}
