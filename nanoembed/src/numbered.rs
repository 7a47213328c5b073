//! Lists of numbered values, sorted by number. Without memory for them there is an error.

use nanoembed_core::{Error, limit};

use crate::hashed;

/// Values with numbers such as the ids of tokens, sorted by these, which are distinct.
#[derive(Clone, Debug)]
pub(crate) struct Numbered<T>(Vec<(u32, T)>);

impl<T> Numbered<T> {
    /// The values of `pairs`. If a number occurs several times, its last value counts.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
    pub(crate) fn new(pairs: impl IntoIterator<Item = (u32, T)>) -> Result<Self, Error> {
        let mut values = limit::collected(hashed::map(pairs)?)?;
        values.sort_unstable_by_key(|(number, _)| *number);
        Ok(Self(values))
    }

    /// The values of `pairs`.
    ///
    /// # Errors
    ///
    /// The number that occurs twice, if there is one.
    pub(crate) fn distinct(mut pairs: Vec<(u32, T)>) -> Result<Self, u32> {
        pairs.sort_unstable_by_key(|(number, _)| *number);
        let numbers = pairs.iter().map(|(number, _)| *number);
        match numbers.clone().zip(numbers.skip(1)).find(|(number, next)| number == next) {
            Some((number, _)) => Err(number),
            None => Ok(Self(pairs)),
        }
    }

    /// Values that are numbered from 0 on.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
    pub(crate) fn in_order(values: Vec<T>) -> Result<Self, Error> {
        let mut numbered = limit::reserved(values.len())?;
        numbered.extend((0..).zip(values));
        Ok(Self(numbered))
    }

    /// The value of a number.
    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        let place = self.place(number).ok()?;
        self.0.get(place).map(|(_, value)| value)
    }

    fn place(&self, number: u32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&number, |(number, _)| *number)
    }

    /// Adds those of `more` whose numbers have no value, and which are distinct; `own` makes a value
    /// of one.
    ///
    /// # Errors
    ///
    /// Any error of `own`; [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
    pub(crate) fn add<S>(
        &mut self,
        more: impl Iterator<Item = (u32, S)>,
        own: impl Fn(S) -> Result<T, Error>,
    ) -> Result<(), Error> {
        let mut new = Vec::new();
        for (number, value) in more.filter(|(number, _)| self.place(*number).is_err()) {
            limit::push(&mut new, (number, own(value)?))?;
        }
        limit::extend(&mut self.0, new)?;
        self.0.sort_unstable_by_key(|(number, _)| *number);
        Ok(())
    }

    /// All values with their numbers.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (u32, &T)> {
        self.0.iter().map(|(number, value)| (*number, value))
    }

    /// The largest number.
    pub(crate) fn last(&self) -> Option<u32> {
        self.0.last().map(|(number, _)| *number)
    }

    /// The first number without a value, if there is a larger one with a value.
    pub(crate) fn hole(&self) -> Option<u32> {
        let hole = (0..).zip(self.iter()).find(|(expected, (number, _))| expected != number);
        hole.map(|(hole, _)| hole)
    }

    /// The values without their numbers.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
    pub(crate) fn into_values(self) -> Result<Vec<T>, Error> {
        limit::exactly(self.0.into_iter().map(|(_, value)| value))
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

    #[test]
    fn numbers_are_distinct_and_holes_are_found() {
        assert_eq!(Numbered::distinct(vec![(3, "a"), (1, "b"), (3, "c")]).unwrap_err(), 3);
        let mut values = Numbered::in_order(vec!["a", "b"]).unwrap();
        values.add([(1, "x"), (3, "d")].into_iter(), Ok).unwrap();
        assert!(values.iter().eq([(0, &"a"), (1, &"b"), (3, &"d")]));
        assert_eq!(values.hole(), Some(2));
        assert_eq!(values.into_values().unwrap(), ["a", "b", "d"]);
    }
}
