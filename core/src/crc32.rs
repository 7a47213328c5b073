//! CRC-32 (ISO-HDLC, as in zip and gzip), of bytes as they arrive.

/// Sixteen tables are eight times as fast as one on a desktop CPU, and cost 16 KB of read-only data: too much for flash.
/// Making them when a file is checked would leave the compiler without the polynomial, and with panics that it cannot
/// rule out.
#[cfg(not(any(target_os = "none", target_family = "wasm")))]
type Tables = crc::Table<16>;
#[cfg(target_os = "none")]
type Tables = crc::Table<1>;

#[cfg(not(target_family = "wasm"))]
static CRC32: crc::Crc<u32, Tables> = crc::Crc::<u32, Tables>::new(&crc::CRC_32_ISO_HDLC);

/// The checksum of `bytes`.
#[cfg(feature = "embd")]
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
        // What a digest begins with is given in the other order of bits, and before the final complement.
        let mut digest = CRC32.digest_with_initial((!self.crc).reverse_bits());
        digest.update(bytes);
        self.crc = digest.finalize();
    }

    #[cfg(target_family = "wasm")]
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.crc = stretches::update(self.crc, bytes);
    }

    pub(crate) const fn finish(&self) -> u32 {
        self.crc
    }
}

/// Joining checksums.
#[cfg(any(feature = "embd", target_family = "wasm", test))]
mod polynomial {
    /// The polynomial of CRC-32, reflected.
    pub(super) const POLYNOMIAL: u32 = 0xedb8_8320;

    /// `a · b` modulo the polynomial; the highest bit is the coefficient of x⁰.
    pub(super) const fn multiply(mut a: u32, mut b: u32) -> u32 {
        let mut product = 0;
        while a != 0 {
            if a & (1 << 31) != 0 {
                product ^= b;
            }
            a <<= 1;
            b = if b & 1 == 0 { b >> 1 } else { (b >> 1) ^ POLYNOMIAL };
        }
        product
    }

    /// `x^(8 · bytes)` modulo the polynomial.
    pub(super) const fn power(mut bytes: u64) -> u32 {
        // x⁰, and x⁸, x¹⁶, x³² …
        let (mut product, mut power) = (1 << 31, 1 << 23);
        while bytes > 0 {
            if bytes & 1 != 0 {
                product = multiply(power, product);
            }
            power = multiply(power, power);
            bytes >>= 1;
        }
        product
    }
}

/// The CRC-32 of two stretches one after the other from their own: `before · x^(8 · bytes) + after`, `bytes` being those of
/// the second. M. Adler, zlib's `crc32_combine`.
#[cfg(feature = "embd")]
pub(crate) const fn combine(before: u32, after: u32, bytes: u64) -> u32 {
    polynomial::multiply(polynomial::power(bytes), before) ^ after
}

/// One table of 1 KB, and four stretches at a time: each step waits for the one before it, and four can wait together. Nearly
/// as fast as sixteen tables, which in a page are a download that does not compress.
#[cfg(any(target_family = "wasm", test))]
mod stretches {
    use super::polynomial::{POLYNOMIAL, multiply, power};

    const STRETCH: usize = 4096;
    const NEXT_STRETCH: u32 = power(STRETCH as u64);

    #[expect(clippy::indexing_slicing, reason = "when it is compiled")]
    static TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut byte = 0_u32;
        while byte < 256 {
            let mut crc = byte;
            let mut bit = 0;
            while bit < 8 {
                crc = if crc & 1 == 0 { crc >> 1 } else { (crc >> 1) ^ POLYNOMIAL };
                bit += 1;
            }
            table[byte as usize] = crc;
            byte += 1;
        }
        table
    };

    /// The lowest byte of `crc`, which the next byte of the text was added to, moved out.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "there are as many entries as bytes")]
    fn step(crc: u32) -> u32 {
        (crc >> 8) ^ TABLE[usize::from(crc.to_le_bytes()[0])]
    }

    #[inline(always)]
    fn word(crc: u32, bytes: [u8; 4]) -> u32 {
        step(step(step(step(crc ^ u32::from_le_bytes(bytes)))))
    }

    /// The checksum of what has the checksum `crc` and of `bytes` behind it.
    pub(super) fn update(crc: u32, bytes: &[u8]) -> u32 {
        let mut crc = !crc;
        let (stretches, rest) = bytes.as_chunks::<STRETCH>();
        let (fours, ones) = stretches.as_chunks::<4>();
        for [a, b, c, d] in fours {
            let [a, b, c, d] = [a, b, c, d].map(|stretch| stretch.as_chunks::<4>().0);
            let mut crcs = [crc, 0, 0, 0];
            for (((&a, &b), &c), &d) in a.iter().zip(b).zip(c).zip(d) {
                crcs = [word(crcs[0], a), word(crcs[1], b), word(crcs[2], c), word(crcs[3], d)];
            }
            crc = crcs.into_iter().fold(0, |before, after| multiply(NEXT_STRETCH, before) ^ after);
        }
        !ones.as_flattened().iter().chain(rest).fold(crc, |crc, &byte| step(crc ^ u32::from(byte)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<const N: usize>() -> [u8; N] {
        core::array::from_fn(|at| (at * 7 % 251) as u8)
    }

    #[test]
    #[cfg(feature = "embd")]
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
