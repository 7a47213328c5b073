//! The heads of models in which several queries share a key.

/// The default heads of a family.
#[derive(Clone, Copy, Debug)]
pub(in crate::model::family) struct UsualHeads {
    /// Elements of a head.
    pub(in crate::model::family) size: Usual,
    /// Heads of keys and values.
    pub(in crate::model::family) key_value: Usual,
}

impl UsualHeads {
    /// Heads that divide the model's vectors evenly, each with its own keys.
    pub(in crate::model::family) const EVEN: Self =
        Self { size: Usual::Even, key_value: Usual::Even };
    /// No defaults: the family's code has unusual ones, and no file leaves the members out.
    pub(in crate::model::family) const NEEDED: Self =
        Self { size: Usual::Needed, key_value: Usual::Needed };
}

/// The default of a size.
#[derive(Clone, Copy, Debug)]
pub(in crate::model::family) enum Usual {
    /// Derived from the other sizes.
    Even,
    /// A size of the family; null means [`Even`](Self::Even).
    Size(usize),
    /// None: the member is required.
    Needed,
}
