//! Members of the input that stand beside results.

use serde::ser::{SerializeMap, Serializer};
use serde_json::Value;

/// Writes names and values as members of an object.
pub(crate) fn kept<S: Serializer>(kept: &&[(String, Value)], to: S) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(Some(kept.len()))?;
    for (name, value) in *kept {
        map.serialize_entry(name, value)?;
    }
    map.end()
}
