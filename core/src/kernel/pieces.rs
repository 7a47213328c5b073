//! Complete chunks of a slice, as `chunks_exact`, but without panicking on size 0 and without a
//! division: in a zip of two `chunks_exact` of unknown size the compiler keeps a panic path.

/// Chunks of `size` elements; none if that is 0. An incomplete last chunk is left out.
pub(crate) fn pieces<T>(slice: &[T], size: usize) -> impl Iterator<Item = &[T]> {
    let mut rest = slice;
    core::iter::from_fn(move || if size == 0 { None } else { rest.split_off(..size) })
}

/// As [`pieces`], mutable.
pub(crate) fn pieces_mut<T>(slice: &mut [T], size: usize) -> impl Iterator<Item = &mut [T]> {
    let mut rest = slice;
    core::iter::from_fn(move || if size == 0 { None } else { rest.split_off_mut(..size) })
}

/// The size of the pieces when `count` items are divided as evenly as possible into the fewest
/// pieces of at most `most` items; 0 if there are no items.
///
/// Leaves no panic path in firmware: the compiler sees that no divisor is 0.
pub(crate) const fn even_size(count: usize, most: usize) -> usize {
    match most {
        0 => 0,
        most => match count.div_ceil(most) {
            0 => 0,
            pieces => count.div_ceil(pieces),
        },
    }
}

/// Copies the elements that both slices have room for, without the length check of
/// `copy_from_slice`.
pub(crate) fn copy<T: Copy>(to: &mut [T], from: &[T]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_those_of_chunks_exact_and_there_are_none_of_no_size() {
        let mut values: [u8; 11] = core::array::from_fn(|i| i as u8);
        for size in 1..13 {
            assert!(pieces(&values, size).eq(values.chunks_exact(size)), "{size}");
            let mut copy = values;
            assert!(pieces_mut(&mut copy, size).eq(values.chunks_exact_mut(size)), "{size}");
        }
        assert_eq!((pieces(&values, 0).count(), pieces_mut(&mut values, 0).count()), (0, 0));
    }

    #[test]
    fn even_pieces_are_as_few_as_can_be_and_as_even() {
        for count in 0..40_usize {
            for most in 1..45 {
                let size = even_size(count, most);
                assert!(size <= most && (size > 0) == (count > 0), "{count} {most}");
                if size > 1 {
                    let pieces = count.div_ceil(most);
                    assert_eq!(count.div_ceil(size), pieces, "{count} {most}");
                    assert!(count.div_ceil(size - 1) > pieces, "{count} {most}");
                }
            }
            assert_eq!(even_size(count, 0), 0);
        }
    }
}
