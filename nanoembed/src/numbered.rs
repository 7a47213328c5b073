//! Values by their numbers, in memory that may be refused.

use nanoembed_core::{Error, limit};

use crate::hashed;

/// Values by numbers such as the ids of tokens, in the order of these.
#[derive(Clone, Debug)]
pub(crate) struct Numbered<T>(Vec<(u32, T)>);

impl<T> Numbered<T> {
    /// The values of `pairs`; of several with a number, the last one counts.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
    pub(crate) fn new(pairs: impl IntoIterator<Item = (u32, T)>) -> Result<Self, Error> {
        let mut values = limit::collected(hashed::map(pairs)?)?;
        values.sort_unstable_by_key(|(number, _)| *number);
        Ok(Self(values))
    }

    /// The value of a number.
    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        let place = self.0.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        self.0.get(place).map(|(_, value)| value)
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (u32, &T)> {
        self.0.iter().map(|(number, value)| (*number, value))
    }

    /// The largest number.
    pub(crate) fn last(&self) -> Option<u32> {
        self.0.last().map(|(number, _)| *number)
    }
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_the_order_of_their_numbers_and_the_last_one_counts() {
        let values = Numbered::new([(7, "c"), (2, "a"), (7, "b")]).unwrap();
        assert!(values.iter().eq([(2, &"a"), (7, &"b")]));
        assert_eq!((values.get(7), values.get(3), values.last()), (Some(&"b"), None, Some(7)));
    }
}
