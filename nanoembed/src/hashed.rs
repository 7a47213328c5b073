//! Sets and maps in memory that may be refused.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use nanoembed_core::Error;

use crate::error::NO_MEMORY;

/// Adds a value; returns true if it is new.
///
/// # Errors
///
/// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
pub(crate) fn add<T: Eq + Hash>(set: &mut HashSet<T>, value: T) -> Result<bool, Error> {
    set.try_reserve(1).map_err(|_| NO_MEMORY)?;
    Ok(set.insert(value))
}

/// Sets the value of a key.
///
/// # Errors
///
/// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
pub(crate) fn insert<K: Eq + Hash, V>(
    map: &mut HashMap<K, V>,
    key: K,
    value: V,
) -> Result<(), Error> {
    map.try_reserve(1).map_err(|_| NO_MEMORY)?;
    map.insert(key, value);
    Ok(())
}

/// The set of `values`.
///
/// # Errors
///
/// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
pub(crate) fn set<T: Eq + Hash>(values: impl IntoIterator<Item = T>) -> Result<HashSet<T>, Error> {
    let (mut set, values) = (HashSet::new(), values.into_iter());
    set.try_reserve(values.size_hint().0).map_err(|_| NO_MEMORY)?;
    for value in values {
        add(&mut set, value)?;
    }
    Ok(set)
}

/// A map of `pairs`. If a key occurs several times, its last value counts.
///
/// # Errors
///
/// [`NoMemory`](nanoembed_core::ErrorKind::NoMemory).
pub(crate) fn map<K: Eq + Hash, V>(
    pairs: impl IntoIterator<Item = (K, V)>,
) -> Result<HashMap<K, V>, Error> {
    let (mut map, pairs) = (HashMap::new(), pairs.into_iter());
    map.try_reserve(pairs.size_hint().0).map_err(|_| NO_MEMORY)?;
    for (key, value) in pairs {
        insert(&mut map, key, value)?;
    }
    Ok(map)
}
