//! Which layers have a window, by a list of all layers.

use super::settings::Settings;
use crate::model::config::Window;
use crate::text::json::{Read, Value};

const KINDS: &str = "only full_attention and sliding_attention are honoured, as many as layers";
const EVEN: &str = "only lists in which every so many layers see all tokens are honoured";

impl<'t> Settings<'_, 't> {
    /// What `layer_types` says, if it is there: a window of `reach` in some of `layers`, or in none.
    pub(super) fn windows(&self, layers: usize, reach: usize) -> Read<'t, Option<Option<Window>>> {
        let Some(list) = self.object.get("layer_types") else { return Ok(None) };
        let is_full = |kind: &Value<'t>| match () {
            () if kind.is_text("full_attention") => Some(true),
            () if kind.is_text("sliding_attention") => Some(false),
            () => None,
        };
        let kinds = || list.items().map(|kind| is_full(&kind));
        if kinds().count() != layers || kinds().any(|kind| kind.is_none()) {
            return Err(self.object.unsupported("layer_types", KINDS));
        }
        let full = || kinds().enumerate().filter(|(_, kind)| *kind == Some(true)).map(|it| it.0);
        if full().count() == layers {
            return Ok(Some(None));
        }
        let mut some = full();
        let window = match (some.next(), some.next()) {
            (None, _) => Window { reach, every: 0, first: 0 },
            (Some(first), None) => Window { reach, every: layers, first },
            (Some(first), Some(second)) => Window { reach, every: second - first, first },
        };
        let fits = kinds().enumerate().all(|(layer, kind)| kind != Some(window.is_in(layer)));
        let uneven = || self.object.unsupported("layer_types", EVEN);
        fits.then_some(Some(Some(window))).ok_or_else(uneven)
    }
}
