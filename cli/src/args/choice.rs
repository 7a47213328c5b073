//! Options whose values are named in the library.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use nanoembed::Choice;

/// A value as the help of an option lists it.
pub(crate) fn possible_value<C: Choice>(choice: C) -> PossibleValue {
    PossibleValue::new(choice.name())
        .aliases(choice.aliases().iter().copied())
        .help(choice.description())
}

/// Takes one of the names.
pub(crate) fn choice<C: Choice>() -> impl TypedValueParser<Value = C> {
    let values = C::ALL.iter().map(|choice| possible_value(*choice));
    PossibleValuesParser::new(values).try_map(|name| C::from_name(&name).ok_or("unknown"))
}
