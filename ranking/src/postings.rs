//! Lists of the passages that have a term, with its count in each: numbers in LEB128, each passage as
//! the difference from the one before.

use alloc::vec::Vec;

/// Appends a number in LEB128.
fn put(out: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        out.push(0x80 | u8::try_from(number & 0x7f).unwrap_or(0));
        number >>= 7;
    }
    out.push(u8::try_from(number).unwrap_or(0));
}

/// Takes a number from the front; `None` if the bytes end before it does.
fn take(bytes: &mut &[u8]) -> Option<u32> {
    let mut number = 0;
    for shift in [0, 7, 14, 21, 28] {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u32::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Appends a passage and its count to a list whose last passage is `before`; 0 if the list is empty.
pub fn append(out: &mut Vec<u8>, before: u32, (passage, count): (u32, u32)) {
    put(out, passage.wrapping_sub(before));
    put(out, count);
}

/// Appends a list of (passage, count), which is in ascending order of the passages.
pub fn write(out: &mut Vec<u8>, postings: impl IntoIterator<Item = (u32, u32)>) {
    let mut before = 0;
    for posting in postings {
        append(out, before, posting);
        before = posting.0;
    }
}

/// The (passage, count) pairs of a list.
pub fn read(mut bytes: &[u8]) -> impl Iterator<Item = (u32, u32)> {
    let mut passage = 0_u32;
    core::iter::from_fn(move || {
        passage = passage.wrapping_add(take(&mut bytes)?);
        Some((passage, take(&mut bytes)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postings_are_read_as_they_were_written() {
        let postings = [(0, 1), (1, 128), (300, 7), (u32::MAX, u32::MAX)];
        let mut bytes = Vec::new();
        write(&mut bytes, postings);
        assert_eq!(read(&bytes).collect::<Vec<_>>(), postings);
        assert_eq!(read(&bytes[..bytes.len() - 1]).count(), 3);
        assert_eq!(read(&[0x80; 40]).count(), 0);
    }
}
