//! Characters whose order is not settled.

use crate::error::Result;
use crate::limit::Growing;
use crate::token::unicode::{self, sort_few};

/// Memory for a starter and the marks after it, with their classes.
#[derive(Debug, Default)]
pub(in crate::owned::pipeline) struct Marks {
    characters: Growing<(u8, char)>,
    /// For the order of many marks.
    sorted: Growing<(u8, char)>,
}

/// As many marks are sorted where they are.
const FEW: usize = 16;

impl Marks {
    /// Empties it.
    pub(super) fn clear(&mut self) {
        self.characters.clear();
        self.sorted.clear();
    }

    /// Checks that there was memory for all that was held.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](crate::ErrorKind::NoMemory).
    pub(in crate::owned::pipeline) fn check(&self) -> Result<()> {
        self.characters.check()?;
        self.sorted.check()
    }
}

impl AsMut<[(u8, char)]> for Marks {
    fn as_mut(&mut self) -> &mut [(u8, char)] {
        &mut self.characters
    }
}

impl unicode::MarkBuffer for Marks {
    #[cfg_attr(target_family = "wasm", inline)]
    fn hold(&mut self, class: u8, c: char) {
        self.characters.push((class, c));
    }

    fn keep(&mut self, length: usize) {
        self.characters.truncate(length);
    }

    #[cfg_attr(target_family = "wasm", inline)]
    fn sort(&mut self, start: usize) {
        let marks = self.characters.get_mut(start..).unwrap_or_default();
        if marks.len() > FEW && !marks.is_sorted_by_key(|(class, _)| *class) {
            return sort_many(marks, &mut self.sorted);
        }
        sort_few(marks);
    }
}

/// Sorts by counting: in linear time, and in memory that may be refused, which `sort_by_key` takes
/// from where it ends the process.
fn sort_many(marks: &mut [(u8, char)], sorted: &mut Growing<(u8, char)>) {
    let mut ends = [0_usize; 256];
    marks.iter().for_each(|(class, _)| ends[usize::from(*class)] += 1);
    let mut sum = 0;
    for end in &mut ends {
        sum += *end;
        *end = sum;
    }
    sorted.truncate(0);
    marks.iter().for_each(|mark| sorted.push(*mark));
    if sorted.len() != marks.len() {
        return;
    }
    // From the last to the first, so that equal ones keep their order.
    for mark in sorted.iter().rev() {
        let end = &mut ends[usize::from(mark.0)];
        *end -= 1;
        marks[*end] = *mark;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::unicode::MarkBuffer as _;

    #[test]
    fn few_and_many_marks_are_put_in_order_and_equal_ones_stay_as_they_are() {
        for count in [0, 1, 2, 5, 16, 17, 300] {
            let mark = |at: u32| ((at * 7 % 5) as u8 * 60, char::from_u32(0x300 + at).unwrap());
            let mut held = Marks::default();
            held.hold(0, 'a');
            (0..count).for_each(|at| held.hold(mark(at).0, mark(at).1));
            held.sort(1);
            let mut expected: alloc::vec::Vec<_> = (0..count).map(mark).collect();
            expected.sort_by_key(|(class, _)| *class);
            assert_eq!(&held.characters[1..], expected, "{count}");
        }
    }
}
