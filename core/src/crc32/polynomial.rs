//! Polynomial arithmetic to join checksums.

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
