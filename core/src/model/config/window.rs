//! Sliding windows: the layers in which tokens attend only to near ones.

use super::layer_set::LayerSet;

/// A sliding window: in some layers, tokens attend only to near ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// The largest distance between a token and one that it attends to.
    pub reach: usize,
    /// The layers that have it.
    pub layers: WindowLayers,
}

/// The layers that have a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WindowLayers {
    /// All layers except periodic ones.
    AllBut {
        /// The period of layers without a window; 0 if every layer has one.
        every: usize,
        /// The first layer without one, counted from 0.
        first: usize,
    },
    /// A list of layers without a period.
    Listed(LayerSet),
}

impl Window {
    /// A window in all layers except every `every`-th, starting at `first`.
    #[must_use]
    pub const fn all_but(reach: usize, every: usize, first: usize) -> Self {
        Self { reach, layers: WindowLayers::AllBut { every, first } }
    }

    /// Returns true if layer `layer` has the window.
    #[must_use]
    pub const fn is_in(&self, layer: usize) -> bool {
        match &self.layers {
            // `every` or `first` expresses a window in no or all layers.
            WindowLayers::AllBut { every, first } => match layer.checked_rem(*every) {
                Some(turn) => turn != *first,
                None => true,
            },
            WindowLayers::Listed(layers) => layers.has(layer),
        }
    }

    /// The window of those of `layers` that are in `have_window`; `None` if there are none. A list
    /// with a period is stored as such.
    #[must_use]
    pub fn from_layers(reach: usize, layers: usize, have_window: &LayerSet) -> Option<Self> {
        let mut without = (0..layers).filter(|layer| !have_window.has(*layer));
        let turn = match (without.next(), without.next()) {
            (None, _) => Self::all_but(reach, 0, 0),
            (Some(first), None) => Self::all_but(reach, layers, first),
            (Some(first), Some(second)) => Self::all_but(reach, second - first, first),
        };
        let listed = Self { reach, layers: WindowLayers::Listed(*have_window) };
        let follows = (0..layers).all(|layer| turn.is_in(layer) == listed.is_in(layer));
        let has_some = (0..layers).any(|layer| listed.is_in(layer));
        has_some.then_some(if follows { turn } else { listed })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;
    use crate::limit::Limit;
    use crate::model::config::FAMILIES;

    #[test]
    fn windows_are_in_all_layers_but_every_so_many() {
        let layers = |window: Window| [0, 1, 2, 3, 4, 5].map(|layer| window.is_in(layer));
        let modern_bert = Window::all_but(64, 3, 0);
        assert_eq!(layers(modern_bert), [false, true, true, false, true, true]);
        let gemma = Window::all_but(256, 6, 5);
        assert_eq!(layers(gemma), [true, true, true, true, true, false]);
        assert_eq!(layers(Window::all_but(256, 0, 5)), [true; 6]);
    }

    /// The window of a list that has 1 for a layer with a window.
    fn found(layers: &[u8]) -> Option<Window> {
        let have_window = LayerSet::from_flags(layers.iter().map(|layer| *layer == 1)).unwrap();
        Window::from_layers(7, layers.len(), &have_window)
    }

    #[test]
    fn a_turn_is_found_in_what_is_said_of_each_layer() {
        let window = |every, first| Some(Window::all_but(7, every, first));
        assert_eq!(found(&[1, 1, 0, 1, 1, 0, 1]), window(3, 2));
        assert_eq!(found(&[0, 1, 1, 0, 1]), window(3, 0));
        assert_eq!(found(&[1, 0, 1, 1]), window(4, 1));
        assert_eq!(found(&[1, 1]), window(0, 0));
        assert_eq!(found(&[0, 0]), None);
    }

    #[test]
    fn layers_that_follow_no_turn_are_listed() {
        let long: Vec<u8> = (0..100).map(|layer| u8::from(layer % 7 < layer % 5)).collect();
        for list in [&[1, 0, 0, 1][..], &[0, 1, 0, 1, 1], &[0, 0, 1], &long] {
            let has_window: Vec<bool> = list.iter().map(|has| *has == 1).collect();
            let window = found(list).unwrap();
            assert!(matches!(window.layers, WindowLayers::Listed(_)), "{list:?}");
            let is_in: Vec<bool> = (0..list.len()).map(|at| window.is_in(at)).collect();
            assert_eq!(is_in, has_window);
            assert!(!window.is_in(list.len()) && !window.is_in(usize::MAX));
        }
    }

    #[test]
    fn no_more_layers_are_listed_than_a_model_may_have() {
        let most = if FAMILIES { Limit::LAYERS.most } else { 0 };
        assert!(LayerSet::from_flags((0..most).map(|_| true)).is_some());
        assert!(LayerSet::from_flags((0..=most).map(|_| true)).is_none());
    }
}
