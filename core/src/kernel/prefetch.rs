//! Prefetching of memory.

/// Prefetches these items to the L1 cache without waiting. Does nothing on CPUs other than x86-64.
#[inline]
pub fn prefetch<T>(items: &[T]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    super::x86::prefetch(items);
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = items;
}
