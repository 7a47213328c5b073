//! Which of two texts is cut.

/// How many tokens of two texts are kept so that together they are at most so many: the longer one
/// is shortened first.
pub(crate) fn longest_first(first: usize, second: usize, most: usize) -> (usize, usize) {
    if first.saturating_add(second) <= most {
        return (first, second);
    }
    let (short, long) = (first.min(second), first.max(second));
    let mut kept =
        (short, if short > most { short } else { short.max(most.saturating_sub(short)).min(long) });
    if kept.0.saturating_add(kept.1) > most {
        kept = (most / 2, most.saturating_sub(most / 2));
    }
    if first > second { (kept.1, kept.0) } else { kept }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_text_is_cut_until_both_are_as_long() {
        assert_eq!(longest_first(3, 4, 7), (3, 4));
        assert_eq!(longest_first(3, 9, 7), (3, 4));
        assert_eq!(longest_first(9, 3, 7), (4, 3));
        assert_eq!(longest_first(9, 9, 7), (3, 4));
        assert_eq!(longest_first(10, 9, 7), (4, 3));
        assert_eq!(longest_first(9, 10, 7), (3, 4));
        assert_eq!(longest_first(0, 9, 0), (0, 0));
    }
}
