//! The layers with a window, as a list of all layers.

use super::Settings;
use crate::model::config::{LayerSet, Window};
use crate::text::json::{Read, Value};

const KINDS: &str = "only full_attention and sliding_attention are honoured, as many as layers";

impl<'t> Settings<'_, 't> {
    /// Rejects layers with a window.
    pub(in crate::model::family) fn only_full(&self) -> Read<'t, ()> {
        self.object.neutral("layer_types", "only full_attention is honoured", |list| {
            list.items().all(|kind| sees_all(kind) == Some(true))
        })
    }

    /// Rejects unknown kinds of layers.
    pub(in crate::model::family) fn kinds_of_layers(&self) -> Read<'t, ()> {
        const ONLY: &str = "only full_attention and sliding_attention are honoured";
        match self.object.items("layer_types")?.all(|kind| sees_all(kind).is_some()) {
            true => Ok(()),
            false => Err(self.object.unsupported("layer_types", ONLY)),
        }
    }

    /// The window in `layer_types`, if the member exists: of size `reach` in some of `layers`, or
    /// none.
    pub(in crate::model::family) fn windows(
        &self,
        layers: usize,
        reach: usize,
    ) -> Read<'t, Option<Option<Window>>> {
        let Some(list) = self.object.get("layer_types") else { return Ok(None) };
        let kinds = || list.items().map(sees_all);
        if kinds().count() != layers || kinds().any(|kind| kind.is_none()) {
            return Err(self.object.unsupported("layer_types", KINDS));
        }
        let have_window = LayerSet::from_flags(kinds().map(|kind| kind == Some(false)));
        let found = have_window.map(|listed| Window::from_layers(reach, layers, &listed));
        found.map(Some).ok_or_else(|| self.object.unsupported("layer_types", KINDS))
    }
}

/// Returns true if layers of a kind have no window; `None` if the kind is unknown.
fn sees_all(kind: Value<'_>) -> Option<bool> {
    let kinds = [("full_attention", true), ("sliding_attention", false)];
    kinds.into_iter().find_map(|(name, sees_all)| kind.is_text(name).then_some(sees_all))
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::format;
    use std::string::String;

    use super::*;
    use crate::text::json::Object;

    /// Reads a list of layers: `f` for full attention, `s` for a sliding window.
    fn read(kinds: &str, layers: usize) -> Result<Option<Option<Window>>, String> {
        let name = |kind| if kind == 'f' { "full_attention" } else { "sliding_attention" };
        let list: std::vec::Vec<String> =
            kinds.chars().map(|kind| format!("\"{}\"", name(kind))).collect();
        let config = format!("{{\"layer_types\": [{}]}}", list.join(", "));
        let object = Object::new(Value::parse(&config, 0).unwrap()).unwrap();
        let found = Settings { object: &object }.windows(layers, 7);
        found.map_err(|fault| fault.key.into())
    }

    #[test]
    fn lists_in_which_every_so_many_layers_see_all_are_windows() {
        let window = |every, first| Ok(Some(Some(Window::all_but(7, every, first))));
        assert_eq!(read("fssfss", 6), window(3, 0));
        assert_eq!(read("sssssfs", 7), window(7, 5));
        assert_eq!(read("sfsfs", 5), window(2, 1));
        assert_eq!(read("sss", 3), window(0, 0));
        assert_eq!(read("ff", 2), Ok(Some(None)));
    }

    #[test]
    fn other_lists_say_each_layer() {
        for kinds in ["ffs", "fsfss", "ssfsf", "sfsff"] {
            let window = read(kinds, kinds.len()).unwrap().unwrap().unwrap();
            let is_in = |(layer, kind)| window.is_in(layer) == (kind == 's');
            assert!(kinds.chars().enumerate().all(is_in), "{kinds}");
        }
    }

    #[test]
    fn lists_of_other_lengths_and_kinds_are_refused() {
        let refused = Err(String::from("layer_types"));
        assert_eq!(read("fs", 3), refused);
        assert_eq!(read("fssf", 3), refused);
        let object = Object::new(Value::parse("{}", 0).unwrap()).unwrap();
        assert_eq!(Settings { object: &object }.windows(3, 7), Ok(None));
        let odd = r#"{"layer_types": ["full_attention", "linear_attention"]}"#;
        let object = Object::new(Value::parse(odd, 0).unwrap()).unwrap();
        assert_eq!(Settings { object: &object }.windows(2, 7).unwrap_err().key, "layer_types");
    }
}
