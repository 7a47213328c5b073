//! Values that are chosen by their names.

/// A value out of a few, each with a name: how settings are spelled on command lines and in files.
pub trait Choice: Copy + PartialEq + Send + Sync + 'static {
    /// All values.
    const ALL: &'static [Self];

    /// The value's name.
    fn name(self) -> &'static str;

    /// Other names that are understood.
    fn aliases(self) -> &'static [&'static str];

    /// The meaning of the value, in a line.
    fn description(self) -> &'static str;

    /// The value of this name.
    fn from_name(name: &str) -> Option<Self> {
        let is_called = |value: &Self| value.name() == name || value.aliases().contains(&name);
        Self::ALL.iter().copied().find(is_called)
    }
}

/// Declares an enum whose variants have names; their documentation is their description.
macro_rules! choices {
    (
        $(#[$meta:meta])*
        pub enum $type:ident {
            $($(#[doc = $doc:literal])+ $variant:ident = $name:literal $(| $alias:literal)*,)+
        }
        $(default $default:ident)?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl $type {
            /// The name, as it is spelled in options and files.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        impl $crate::choice::Choice for $type {
            const ALL: &'static [Self] = &[$(Self::$variant,)+];

            fn name(self) -> &'static str {
                Self::name(self)
            }

            fn aliases(self) -> &'static [&'static str] {
                match self {
                    $(Self::$variant => &[$($alias),*],)+
                }
            }

            fn description(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($($doc),+).trim_ascii(),)+
                }
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::error::Error;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                $crate::choice::Choice::from_name(name).ok_or_else(|| {
                    $crate::error::Error::usage(format!("there is no {name:?} among {:?}", [$($name),+]))
                })
            }
        }

        $(impl Default for $type {
            fn default() -> Self {
                Self::$default
            }
        })?
    };
}
pub(crate) use choices;
