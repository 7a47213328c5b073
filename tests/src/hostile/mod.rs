//! Deliberately invalid files.

pub mod fields;
pub mod json;
pub mod proto;

/// Boundary values of counts, lengths and offsets, for a field of `bits` followed by `remaining`
/// bytes.
#[must_use]
pub fn field_values(bits: u32, remaining: u64) -> Vec<u64> {
    let max = u64::MAX >> (64 - bits);
    let mut values = vec![0, 1, 2, 3, 5, max - 1, max, remaining, remaining + 1];
    values.extend([7_u32, 8, 15, 16, 31, 32, 40, 62, 63].map(|shift| 1_u64 << shift));
    values.extend([0x7fff_ffff, 0xffff_ffff, 0xffff_fff0, u64::MAX - 63]);
    values.retain(|value| *value <= max);
    values.sort_unstable();
    values.dedup();
    values
}

/// Calls `check` with every file that differs from `file` in one field of 1, 2, 4 or 8 bytes at any
/// offset of `places`, set to each of [`field_values`].
pub fn each_mutation(
    file: &[u8],
    places: impl Iterator<Item = usize>,
    mut check: impl FnMut(&[u8], usize),
) {
    let mut mutated = file.to_vec();
    for at in places {
        for bytes in [1, 2, 4, 8] {
            let Some(field) = file.get(at..at + bytes) else { continue };
            for value in
                field_values(8 * u32::try_from(bytes).unwrap_or(8), (file.len() - at) as u64)
            {
                mutated[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
                check(&mutated, at);
            }
            mutated[at..at + bytes].copy_from_slice(field);
        }
    }
}
