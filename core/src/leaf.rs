//! The parts that a build may leave out, each of a feature's name.
//!
//! A leaf is a type with one value where the part is built in and with none where it is not. A file
//! or a tokenizer of that part keeps the value, so that without it neither can exist: the compiler
//! drops all code that would handle one, and no other line needs to ask what was built in. A
//! [`Part`] then takes no memory either.

use core::fmt;
use core::ops::{Deref, DerefMut};

/// A part that a build may leave out.
#[doc(hidden)]
pub trait Leaf {
    /// `T`, or a type without values and without memory where the part was left out.
    type Kept<T>;

    /// The leaf, as there is a value of its part.
    fn from_kept<T>(kept: &Self::Kept<T>) -> Self;
    fn keep<T>(self, value: T) -> Self::Kept<T>;
    fn take<T>(kept: Self::Kept<T>) -> T;
    fn get<T>(kept: &Self::Kept<T>) -> &T;
    fn get_mut<T>(kept: &mut Self::Kept<T>) -> &mut T;
}

/// A value that exists only where the part `L` is built in.
#[doc(hidden)]
pub struct Part<L: Leaf, T>(L::Kept<T>);

impl<L: Leaf, T> Part<L, T> {
    #[inline(always)]
    pub fn new(leaf: L, value: T) -> Self {
        Self(leaf.keep(value))
    }

    #[inline(always)]
    pub fn into_inner(self) -> T {
        L::take(self.0)
    }
}

impl<L: Leaf, T: Clone> Clone for Part<L, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        Self::new(L::from_kept(&self.0), T::clone(self))
    }
}

impl<L: Leaf, T> Deref for Part<L, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        L::get(&self.0)
    }
}

impl<L: Leaf, T> DerefMut for Part<L, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        L::get_mut(&mut self.0)
    }
}

impl<L: Leaf, T: fmt::Debug> fmt::Debug for Part<L, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// Leaves of the crate that calls this, by its features.
#[doc(hidden)]
#[macro_export]
macro_rules! leaves {
    ($($(#[$doc:meta])* $vis:vis $name:ident = $($feature:literal)|+ or $refusal:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name {
            #[cfg(any($(feature = $feature),+))]
            BuiltIn,
        }

        impl $name {
            /// The value, or the error where the part was left out.
            #[inline(always)]
            $vis const fn built_in() -> ::core::result::Result<Self, $crate::error::Error> {
                #[cfg(any($(feature = $feature),+))]
                return Ok(Self::BuiltIn);
                #[cfg(not(any($(feature = $feature),+)))]
                return Err($crate::error::Error::without_offset($crate::error::ErrorKind::$refusal));
            }
        }

        #[cfg(any($(feature = $feature),+))]
        impl $crate::leaf::Leaf for $name {
            type Kept<T> = T;

            #[inline(always)]
            fn from_kept<T>(_: &T) -> Self {
                Self::BuiltIn
            }

            #[inline(always)]
            fn take<T>(kept: T) -> T {
                kept
            }

            #[inline(always)]
            fn keep<T>(self, value: T) -> T {
                value
            }

            #[inline(always)]
            fn get<T>(kept: &T) -> &T {
                kept
            }

            #[inline(always)]
            fn get_mut<T>(kept: &mut T) -> &mut T {
                kept
            }
        }

        #[cfg(not(any($(feature = $feature),+)))]
        impl $crate::leaf::Leaf for $name {
            type Kept<T> = Self;

            #[inline(always)]
            fn from_kept<T>(kept: &Self) -> Self {
                *kept
            }

            #[inline(always)]
            fn take<T>(kept: Self) -> T {
                match kept {}
            }

            #[inline(always)]
            fn keep<T>(self, _: T) -> Self {
                self
            }

            #[inline(always)]
            fn get<T>(kept: &Self) -> &T {
                match *kept {}
            }

            #[inline(always)]
            fn get_mut<T>(kept: &mut Self) -> &mut T {
                match *kept {}
            }
        }
    )*};
}

leaves! {
    /// Models in AMB files.
    pub(crate) Amb = "amb" or UnknownFormat;
    /// Models in `.weights` files.
    pub(crate) Embd = "embd" or UnknownFormat;
    /// Models in GGUF files.
    pub(crate) Gguf = "gguf" or UnknownFormat;
    /// Transformers of all families.
    pub(crate) Families = "families" or UnsupportedArchitecture;
    /// Tables of words, whose lower case takes much of Unicode's tables: for programs, not for pages.
    pub WordTables = "std" or UnsupportedTokenizer;
    /// Tokenizers of all kinds, and the texts of folders.
    pub Pipeline = "pipeline" or UnsupportedTokenizer;
}
