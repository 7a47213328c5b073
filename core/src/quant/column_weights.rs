//! The cost of an error in each column, applied to the elements of a block.

/// The weights of a block's elements: those of their columns.
///
/// Blocks run on from row to row, so that one may begin in the middle of a row and be longer than
/// it.
#[derive(Clone, Copy, Debug)]
pub struct ColumnWeights<'a> {
    columns: &'a [f32],
    /// The column of the block's first element.
    first: usize,
}

impl<'a> ColumnWeights<'a> {
    /// Equal weights.
    pub const ALIKE: Self = Self { columns: &[], first: 0 };

    /// The weights of elements from the tensor's `first` on: element `i` is weighted by `columns[i
    /// % columns.len()]`, or all are equal if there are no columns.
    #[must_use]
    pub const fn new(columns: &'a [f32], first: usize) -> Self {
        match first.checked_rem(columns.len()) {
            Some(first) => Self { columns, first },
            None => Self::ALIKE,
        }
    }

    /// Calls `with` with every value and its weight, in order.
    pub(super) fn each(self, mut values: &[f32], mut with: impl FnMut(f32, f32)) {
        let mut weights = self.columns.get(self.first..).unwrap_or_default();
        if weights.is_empty() {
            return values.iter().for_each(|&value| with(value, 1.0));
        }
        while !values.is_empty() {
            let (row, rest) = values.split_at(values.len().min(weights.len()));
            row.iter().zip(weights).for_each(|(&value, &weight)| with(value, weight));
            (values, weights) = (rest, self.columns);
        }
    }
}
