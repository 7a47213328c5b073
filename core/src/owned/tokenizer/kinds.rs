//! The kinds of tokenizers that a program has, so that it has no code of the others.

use core::convert::Infallible;
use core::fmt::Debug;

use crate::error::Result;
use crate::leaf;

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

/// A `T` in builds with pipelines; nothing can be one in others.
#[derive(Clone, Debug)]
pub struct OfPipelines<T> {
    #[cfg(feature = "pipeline")]
    value: T,
    #[cfg(not(feature = "pipeline"))]
    never: (Infallible, core::marker::PhantomData<T>),
}

impl<T> OfPipelines<T> {
    /// # Errors
    ///
    /// [`UnsupportedTokenizer`](crate::ErrorKind::UnsupportedTokenizer) in builds without pipelines.
    pub(in crate::owned) fn new(value: T) -> Result<Self> {
        let _built_in = leaf::Pipeline::built_in()?;
        #[cfg(feature = "pipeline")]
        return Ok(Self { value });
        #[cfg(not(feature = "pipeline"))]
        match _built_in {}
    }

    pub(super) fn get(&self) -> &T {
        #[cfg(feature = "pipeline")]
        return &self.value;
        #[cfg(not(feature = "pipeline"))]
        match self.never.0 {}
    }

    pub(in crate::owned) fn get_mut(&mut self) -> &mut T {
        #[cfg(feature = "pipeline")]
        return &mut self.value;
        #[cfg(not(feature = "pipeline"))]
        match self.never.0 {}
    }

    pub(super) fn into_inner(self) -> T {
        #[cfg(feature = "pipeline")]
        return self.value;
        #[cfg(not(feature = "pipeline"))]
        match self.never.0 {}
    }
}
