//! The heads of models in which several queries share a key.

/// Which heads are meant where a file is silent.
#[derive(Clone, Copy, Debug)]
pub(in crate::model::family) struct UsualHeads {
    /// Elements of a head.
    pub(in crate::model::family) size: Usual,
    /// Heads of keys and values.
    pub(in crate::model::family) key_value: Usual,
}

impl UsualHeads {
    /// Heads that share the model's vectors evenly, each with keys of its own.
    pub(in crate::model::family) const EVEN: Self =
        Self { size: Usual::Even, key_value: Usual::Even };
    /// None: the family's code has numbers of its own, which no file leaves out.
    pub(in crate::model::family) const NEEDED: Self =
        Self { size: Usual::Needed, key_value: Usual::Needed };
}

/// What is meant where a file is silent.
#[derive(Clone, Copy, Debug)]
pub(in crate::model::family) enum Usual {
    /// What the other sizes say.
    Even,
    /// A size of the family's own, but null is as [`Even`](Self::Even).
    Size(usize),
    /// Nothing: it has to be said.
    Needed,
}
