//! Arithmetic on memory sizes at compile time: overflow saturates, so that a sum of sizes is
//! checked once.

use super::plan::Needs;

/// The largest possible size of memory in bytes.
const MOST: usize = isize::MAX as usize;

pub(super) const fn larger(a: usize, b: usize) -> usize {
    if a > b { a } else { b }
}

pub(super) const fn smaller(a: usize, b: usize) -> usize {
    if a < b { a } else { b }
}

pub(super) const fn sum(sizes: &[usize]) -> usize {
    let (mut sum, mut rest) = (0_usize, sizes);
    while let [size, after @ ..] = rest {
        (sum, rest) = (sum.saturating_add(*size), after);
    }
    sum
}

/// The product of all.
pub(super) const fn product(sizes: &[usize]) -> usize {
    let (mut product, mut rest) = (1_usize, sizes);
    while let [size, after @ ..] = rest {
        (product, rest) = (product.saturating_mul(*size), after);
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

/// `needs`, unless it exceeds the largest possible size.
pub(super) const fn possible(needs: Needs) -> Option<Needs> {
    if needs.floats <= MOST / 4 && needs.bytes <= MOST { Some(needs) } else { None }
}
