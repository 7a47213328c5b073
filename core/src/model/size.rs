//! Sizes of memory that are known at compile time: what overflows stays at the largest number, so
//! that a sum of sizes is checked once.

use super::plan::Needs;

/// No memory is larger, in bytes.
const MOST: usize = isize::MAX as usize;

pub(super) const fn larger(a: usize, b: usize) -> usize {
    if a > b { a } else { b }
}

pub(super) const fn smaller(a: usize, b: usize) -> usize {
    if a < b { a } else { b }
}

pub(super) const fn sum(sizes: &[usize]) -> usize {
    let (mut sum, mut rest) = (0_usize, sizes);
    while let [size, behind @ ..] = rest {
        (sum, rest) = (sum.saturating_add(*size), behind);
    }
    sum
}

/// The product of all.
pub(super) const fn product(sizes: &[usize]) -> usize {
    let (mut product, mut rest) = (1_usize, sizes);
    while let [size, behind @ ..] = rest {
        (product, rest) = (product.saturating_mul(*size), behind);
    }
    product
}

/// The next multiple of `unit`, a power of two.
pub(super) const fn rounded_up(size: usize, unit: usize) -> usize {
    match size.checked_next_multiple_of(unit) {
        Some(size) => size,
        None => usize::MAX,
    }
}

/// What is needed, if there can be as much memory.
pub(super) const fn possible(needs: Needs) -> Option<Needs> {
    if needs.floats <= MOST / 4 && needs.bytes <= MOST { Some(needs) } else { None }
}
