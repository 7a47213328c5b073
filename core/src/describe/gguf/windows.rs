//! The layers with a window, in GGUF files that list them one by one.

use super::key::Key;
use super::keys::Keys;
use crate::event::Value;
use crate::model::config::{LayerSet, Window};

/// The reason for rejecting other values.
pub(super) const LISTED: &str = "a number, or whether each layer has a window, is honoured";

/// The window of `reach` in the layers that the file's list contains, or `None` if it contains
/// none; the outer `None` if the list does not cover each of `layers`.
pub(super) fn listed_window(
    settings: &Keys<'_>,
    reach: usize,
    layers: usize,
) -> Option<Option<Window>> {
    let key = settings.spelled(Key::SlidingWindowPattern)?;
    let listed = || settings.file.elements(key).into_iter().flatten().map(has_window);
    let is_whole = listed().take(layers.saturating_add(1)).count() == layers;
    if !is_whole || listed().any(|has_window| has_window.is_none()) {
        return None;
    }
    let have_window = LayerSet::from_flags(listed().map(|has_window| has_window == Some(true)))?;
    Some(Window::from_layers(reach, layers, &have_window))
}

fn has_window(value: Value<'_>) -> Option<bool> {
    match value {
        Value::Bool(truth) => Some(truth),
        number => {
            super::value::unsigned(number).filter(|number| *number <= 1).map(|number| number == 1)
        }
    }
}
