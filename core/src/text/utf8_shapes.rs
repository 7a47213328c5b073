//! Byte sequences of every UTF-8 shape, to test decoders.

/// The first and the last byte of every range in the rules of UTF-8.
const BYTES: [u8; 24] = [
    0x20, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED,
    0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
];

/// Calls `check` with all sequences of up to four of these bytes.
pub(crate) fn each(mut check: impl FnMut(&[u8])) {
    let count = BYTES.len();
    for length in 0..=4 {
        for number in 0..count.pow(length) {
            let mut bytes = [0; 4];
            let mut rest = number;
            for byte in &mut bytes {
                (*byte, rest) = (BYTES[rest % count], rest / count);
            }
            check(&bytes[..length as usize]);
        }
    }
}
