//! The kinds of tokenizers that a program has, so that it has no code of the others.

use core::convert::Infallible;
use core::fmt::Debug;

/// A choice of kinds: [`AllKinds`] or [`TextKinds`].
pub trait Kinds: Clone + Debug {
    /// A `T` where tokenizers of models that continue texts are among the kinds; nothing can be one
    /// where they are not.
    type Continuing<T: Clone + Debug>: Clone + Debug;

    /// The `T`.
    fn get<T: Clone + Debug>(held: &Self::Continuing<T>) -> &T;
}

/// The kinds of encoders' tokenizers and those of models that continue texts.
#[derive(Clone, Copy, Debug)]
pub struct AllKinds;

/// The kinds of encoders' tokenizers alone.
pub type TextKinds = Infallible;

impl Kinds for AllKinds {
    type Continuing<T: Clone + Debug> = T;

    fn get<T: Clone + Debug>(held: &T) -> &T {
        held
    }
}

impl Kinds for Infallible {
    type Continuing<T: Clone + Debug> = Self;

    fn get<T: Clone + Debug>(held: &Self) -> &T {
        match *held {}
    }
}
