//! The part of a tokenizer or of its session that only builds with pipelines have.

#[cfg(not(feature = "pipeline"))]
use core::convert::Infallible;

use crate::error::Result;
use crate::leaf;

/// A `T` in builds with pipelines; nothing can be one in others.
#[derive(Clone, Debug)]
pub struct OfPipelines<T> {
    #[cfg(feature = "pipeline")]
    value: T,
    #[cfg(not(feature = "pipeline"))]
    never: (Infallible, core::marker::PhantomData<T>),
}

impl<T> OfPipelines<T> {
    /// Holds `value`.
    ///
    /// # Errors
    ///
    /// [`UnsupportedTokenizer`](crate::ErrorKind::UnsupportedTokenizer) in builds without pipelines.
    pub(super) fn new(value: T) -> Result<Self> {
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

    pub(super) fn get_mut(&mut self) -> &mut T {
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
