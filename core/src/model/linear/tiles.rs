//! Iterates over rows of weights in tiles that fit the memory.

use super::TOO_SMALL;
use crate::error::Result;

/// Divides `count` rows into tiles: `most` returns how many of the remaining rows fit one, and
/// `tile` is called with the first row of each, counted from 0, and their number.
///
/// # Errors
///
/// [`BufferTooSmall`](crate::ErrorKind::BufferTooSmall) if not even one row fits; any error from
/// `tile`.
#[inline(always)] // one loop for each kind of product, as if it stood there
pub(in crate::model) fn tiles(
    count: usize,
    most: impl Fn(usize) -> usize,
    mut tile: impl FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    let mut row = 0;
    while row < count {
        let rows = most(count - row);
        if rows == 0 {
            return Err(TOO_SMALL);
        }
        tile(row, rows)?;
        row += rows;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    #[test]
    fn tiles_cover_all_rows_once_and_the_last_may_be_shorter() {
        let mut seen = Vec::new();
        let most = |left: usize| left.min(4);
        tiles(10, most, |row, rows| {
            seen.push((row, rows));
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, [(0, 4), (4, 4), (8, 2)]);
    }

    #[test]
    fn memory_for_not_one_row_is_too_small() {
        assert_eq!(tiles(1, |_| 0, |_, _| Ok(())), Err(TOO_SMALL));
        assert_eq!(tiles(0, |_| 0, |_, _| Ok(())), Ok(()));
    }
}
