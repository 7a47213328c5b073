//! Deterministic pseudo-random changes of inputs.

use crate::finalfusion::Numbers;
use crate::hostile::field_values;

/// An input near one of `seeds`, of at most `most_bytes` bytes: one to eight changes of the kind
/// that fuzzers call havoc.
///
/// # Panics
///
/// If there are no seeds.
#[must_use]
pub fn mutated(seeds: &[Vec<u8>], most_bytes: usize, numbers: &mut Numbers) -> Vec<u8> {
    let seed = &seeds[below(numbers, seeds.len())];
    let mut input = seed[..seed.len().min(most_bytes)].to_vec();
    for _ in 0..=below(numbers, 8) {
        change(&mut input, seeds, numbers);
    }
    input.truncate(most_bytes);
    input
}

fn change(input: &mut Vec<u8>, seeds: &[Vec<u8>], numbers: &mut Numbers) {
    let at = below(numbers, input.len());
    match below(numbers, 8) {
        0 if !input.is_empty() => input[at] ^= 1 << numbers.below(8),
        1 if !input.is_empty() => input[at] = byte(numbers),
        2 | 3 => set_field(input, at, numbers),
        4 => {
            let byte = byte(numbers);
            input.insert(at, byte);
        }
        5 => drop(input.drain(at..at + below(numbers, (input.len() - at).min(64)))),
        6 => {
            // A piece of any input, overwriting or inserted.
            let other = &seeds[below(numbers, seeds.len())];
            let from = below(numbers, other.len());
            let piece = &other[from..][..below(numbers, (other.len() - from).min(64))];
            let over = if numbers.below(2) == 0 { piece.len().min(input.len() - at) } else { 0 };
            input.splice(at..at + over, piece.iter().copied());
        }
        _ if numbers.below(8) == 0 => input.truncate(at),
        _ => {
            // A piece repeated.
            let piece = input[at..][..below(numbers, (input.len() - at).min(64))].to_vec();
            input.splice(at..at, piece);
        }
    }
}

/// Sets a field of 1, 2, 4 or 8 bytes to a boundary value of counts, lengths and offsets.
fn set_field(input: &mut [u8], at: usize, numbers: &mut Numbers) {
    let size = 1 << numbers.below(4);
    let remaining = (input.len() - at) as u64;
    let Some(field) = input.get_mut(at..at + size) else { return };
    let values = field_values(8 * u32::try_from(size).unwrap_or(8), remaining);
    let value = values[below(numbers, values.len())].to_le_bytes();
    field.copy_from_slice(&value[..size]);
}

fn byte(numbers: &mut Numbers) -> u8 {
    u8::try_from(numbers.below(256)).unwrap_or(0)
}

fn below(numbers: &mut Numbers, end: usize) -> usize {
    usize::try_from(numbers.below(end as u64)).unwrap_or(0)
}
