//! Sorting without a panic.

/// Sorts by `less`, a total order, with a heap: `sort_unstable` can panic for all that the linker
/// knows, and is three kilobytes of code.
pub(crate) fn sort<T: Copy>(items: &mut [T], less: impl Fn(&T, &T) -> bool) {
    for root in (0..items.len() / 2).rev() {
        sift(items, root, &less);
    }
    for end in (1..items.len()).rev() {
        swap(items, 0, end);
        sift(items.get_mut(..end).unwrap_or_default(), 0, &less);
    }
}

/// Moves the item at `root` down until none below it is greater.
fn sift<T: Copy>(items: &mut [T], mut root: usize, less: &impl Fn(&T, &T) -> bool) {
    let below = |items: &[T], a: usize, b: usize| match (items.get(a), items.get(b)) {
        (Some(a), Some(b)) => less(a, b),
        _ => false,
    };
    loop {
        let left = root.saturating_mul(2).saturating_add(1);
        let right = left.saturating_add(1);
        let greater = if below(items, left, right) { right } else { left };
        if !below(items, root, greater) {
            return;
        }
        swap(items, root, greater);
        root = greater;
    }
}

/// As `swap` of slices, without a panic.
pub(super) fn swap<T: Copy>(items: &mut [T], a: usize, b: usize) {
    let (Some(&first), Some(&second)) = (items.get(a), items.get(b)) else { return };
    if let Some(slot) = items.get_mut(a) {
        *slot = second;
    }
    if let Some(slot) = items.get_mut(b) {
        *slot = first;
    }
}
