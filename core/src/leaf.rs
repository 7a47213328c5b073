//! The parts that a build may leave out, each of a feature's name.
//!
//! A leaf is a type with one value where the part is built in and with none where it is not. A file or a tokenizer of
//! that part keeps the value, so that without it neither can exist: the compiler drops all code that would handle one,
//! and no other line needs to ask what was built in.

/// Leaves of the crate that calls this, by its features.
#[doc(hidden)]
#[macro_export]
macro_rules! leaves {
    ($($(#[$doc:meta])* $name:ident = $feature:literal or $refusal:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name {
            #[cfg(feature = $feature)]
            BuiltIn,
        }

        impl $name {
            /// The value, or the error where the part was left out.
            #[inline(always)]
            pub(crate) const fn built_in() -> ::core::result::Result<Self, $crate::error::Error> {
                #[cfg(feature = $feature)]
                return Ok(Self::BuiltIn);
                #[cfg(not(feature = $feature))]
                return Err($crate::error::Error::without_offset($crate::error::ErrorKind::$refusal));
            }

            /// Shows the compiler that code which has a value is never reached where the part was
            /// left out. Generic code needs this; elsewhere it sees so from the type.
            #[allow(dead_code, reason = "not every leaf is kept in generic code")]
            #[inline(always)]
            pub(crate) const fn exists(self) {
                #[cfg(not(feature = $feature))]
                match self {}
            }
        }
    )*};
}

leaves! {
    /// Models in AMB files.
    Amb = "amb" or UnknownFormat;
    /// Models in `.weights` files.
    Embd = "embd" or UnknownFormat;
    /// Models in GGUF files.
    Gguf = "gguf" or UnknownFormat;
    /// Transformers of all families.
    Families = "families" or UnsupportedArchitecture;
    /// Tokenizers of all kinds, and the texts of folders.
    Pipeline = "pipeline" or UnsupportedTokenizer;
}
