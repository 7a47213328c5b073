//! Protocol buffers with one number or length changed, with enclosing lengths updated or not.

use std::ops::Range;

/// The number of leading fields with the same number that are changed: models have thousands of
/// pieces.
const OF_EACH: u32 = 6;

/// A number in a message: a key, a length, a variable-length integer or 4 bytes.
#[derive(Clone, Debug)]
struct Number {
    /// Its description, with the enclosing fields.
    name: String,
    range: Range<usize>,
    fixed: bool,
    /// The lengths of the enclosing messages.
    around: Vec<Range<usize>>,
}

/// All single changes of the message: a description of the change, and the changed message.
#[must_use]
pub fn changes(message: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut numbers = Vec::new();
    collect(message, 0..message.len(), "", &mut Vec::new(), &mut numbers);
    let mut changed = Vec::new();
    for number in &numbers {
        let values = if number.fixed { FIXED } else { VARIABLE };
        for value in values {
            let bytes = match number.fixed {
                true => value.to_le_bytes()[..4].to_vec(),
                false => varint(*value),
            };
            if message[number.range.clone()] == bytes {
                continue;
            }
            let (name, range) = (&number.name, number.range.clone());
            let plain = spliced(message, range.clone(), &bytes);
            let mended = mended(message, range, &bytes, &number.around);
            if mended != plain {
                changed.push((format!("{name} {value:#x} mended"), mended));
            }
            changed.push((format!("{name} {value:#x}"), plain));
        }
    }
    changed
}

const VARIABLE: &[u64] = &[0, 1, 127, 1 << 16, (1 << 31) - 1, 1 << 31, 1 << 32, 1 << 63, u64::MAX];

/// 0, the smallest, infinity, NaN, the largest, and their negatives.
const FIXED: &[u64] = &[0, 1, 0x7f80_0000, 0x7fc0_0000, 0x7f7f_ffff, 0xff80_0000, 0xff7f_ffff];

fn collect(
    message: &[u8],
    range: Range<usize>,
    name: &str,
    around: &mut Vec<Range<usize>>,
    numbers: &mut Vec<Number>,
) -> Option<()> {
    let mut seen = std::collections::BTreeMap::<u64, u32>::new();
    let mut at = range.start;
    while at < range.end {
        let (key, after) = read(message, at)?;
        let field = key >> 3;
        let count = seen.entry(field).or_default();
        *count += 1;
        let wanted = *count <= OF_EACH;
        let name = format!("{name}.{field}[{}]", *count - 1);
        let mut add = |what: &str, range, fixed| {
            if wanted {
                let (name, around) = (format!("{name} {what}"), around.clone());
                numbers.push(Number { name, range, fixed, around });
            }
        };
        add("key", at..after, false);
        at = match key & 7 {
            0 => {
                let (_, end) = read(message, after)?;
                add("value", after..end, false);
                end
            }
            2 => {
                let (length, start) = read(message, after)?;
                add("length", after..start, false);
                let end = start + usize::try_from(length).ok()?;
                // Strings that are valid messages are also changed as such.
                if wanted && end <= range.end {
                    around.push(after..start);
                    collect(message, start..end, &name, around, numbers);
                    around.pop();
                }
                end
            }
            5 => {
                add("value", after..after + 4, true);
                after + 4
            }
            1 => after + 8,
            _ => return None,
        };
    }
    Some(())
}

fn read(message: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut value = 0;
    for (index, byte) in (0..10).zip(message.get(at..)?) {
        value |= u64::from(byte & 0x7f) << (7 * index).min(63);
        if byte & 0x80 == 0 {
            return Some((value, at + index + 1));
        }
    }
    None
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7f {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn spliced(message: &[u8], range: Range<usize>, bytes: &[u8]) -> Vec<u8> {
    [&message[..range.start], bytes, &message[range.end..]].concat()
}

/// As [`spliced`], with the lengths of enclosing messages updated, from the innermost on.
fn mended(message: &[u8], range: Range<usize>, bytes: &[u8], around: &[Range<usize>]) -> Vec<u8> {
    let mut longer = bytes.len() as i64 - range.len() as i64;
    let mut changed = spliced(message, range, bytes);
    for length in around.iter().rev() {
        let Some((value, _)) = read(message, length.start) else { continue };
        let bytes = varint(value.wrapping_add_signed(longer));
        changed = spliced(&changed, length.clone(), &bytes);
        longer += bytes.len() as i64 - length.len() as i64;
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_changed_with_the_lengths_around_them_and_without() {
        // Field 1: a message with field 2, the number 5, and field 3, a float.
        let message = [0x0a, 7, 0x10, 5, 0x1d, 0, 0, 0x80, 0x3f];
        let changes = changes(&message);
        let of = |name: &str| &changes.iter().find(|(found, _)| found == name).unwrap().1[..];
        let value = [0x0a, 7, 0x10, 0x80, 0x80, 4, 0x1d, 0, 0, 0x80, 0x3f];
        assert_eq!(of(".1[0].2[0] value 0x10000"), value);
        assert_eq!(of(".1[0].2[0] value 0x10000 mended")[..2], [0x0a, 9]);
        assert_eq!(of(".1[0].3[0] value 0x7fc00000")[5..], [0, 0, 0xc0, 0x7f]);
        assert_eq!(of(".1[0] length 0x0"), [&[0x0a, 0], &message[2..]].concat());
    }
}
