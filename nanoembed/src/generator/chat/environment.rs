//! Filters, methods and functions that templates call, as transformers has them.
//!
//! Left out are those that make much of little, which no template of a chat needs: formats with a
//! width, lists of lists.

use std::sync::{Arc, OnceLock};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Rest, ValueOrKwargs, from_args};
use minijinja::{Environment, Error, ErrorKind, State, Value, filters};
use minijinja_contrib::pycompat;

use super::{guard, json, time};

/// Steps and pieces of 64 bytes that a template may take: a long conversation takes some thousands.
const FUEL: u64 = 400_000;

/// Calls of macros in calls of macros, four for each.
const MOST_RECURSION: usize = 120;

/// Filters that are left out.
const LEFT_OUT: [&str; 9] =
    ["batch", "chain", "format", "groupby", "lines", "pprint", "slice", "sum", "zip"];

/// Filters that `map` may apply to each item.
const MAPPED: [&str; 10] =
    ["first", "float", "int", "last", "length", "lower", "string", "tojson", "trim", "upper"];

/// The message that a template has raised.
pub(super) type Raised = Arc<OnceLock<String>>;

/// An environment for one template and for stored values of a weight of `most`.
pub(super) fn environment(
    seconds: u64,
    most: usize,
    raised: &Raised,
) -> Result<Environment<'static>, Error> {
    let mut all = Environment::new();
    all.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    all.set_fuel(Some(FUEL));
    all.set_recursion_limit(MOST_RECURSION);
    all.set_unknown_method_callback(method);
    LEFT_OUT.iter().for_each(|name| all.remove_filter(name));
    all.remove_global("debug");
    all.add_test("iterable", |value: &Value| !value.is_none() && value.try_iter().is_ok());
    all.add_filter("map", map);
    all.add_filter("tojson", json::to_json);
    all.add_function(guard::STORED, move |state: &State<'_, '_>, value: Value| {
        guard::stored(state, value, most, false)
    });
    all.add_function(guard::STORED_MEMBER, move |state: &State<'_, '_>, value: Value| {
        guard::stored(state, value, most, true)
    });
    all.add_function("strftime_now", move |form: String| time::formatted(seconds, &form));
    let raised = Arc::clone(raised);
    all.add_function("raise_exception", move |message: String| -> Result<Value, Error> {
        let error = Error::new(ErrorKind::InvalidOperation, message.clone());
        raised.get_or_init(|| message);
        Err(error)
    });
    Ok(all)
}

/// Methods of Python's texts, lists and dictionaries.
fn method(
    state: &mut State<'_, '_>,
    value: &Value,
    name: &str,
    args: &[Value],
) -> Result<Value, Error> {
    match (value.as_str(), name, args) {
        (Some(_), "format", _) => Err(Error::from(ErrorKind::UnknownMethod)),
        (Some(text), "removeprefix", [part]) => {
            Ok(part.as_str().and_then(|part| text.strip_prefix(part)).unwrap_or(text).into())
        }
        (Some(text), "removesuffix", [part]) => {
            Ok(part.as_str().and_then(|part| text.strip_suffix(part)).unwrap_or(text).into())
        }
        _ => pycompat::unknown_method_callback(state, value, name, args),
    }
}

/// The filter `map`, but for a default that stands for many items, and filters that take more than an
/// item.
fn map(
    state: &mut State<'_, '_>,
    value: Value,
    args: Rest<ValueOrKwargs>,
) -> Result<Vec<Value>, Error> {
    let args = args.into_values();
    let (named, options): (&[Value], Kwargs) = from_args(&args)?;
    let is_known = match named {
        [] => options.args().all(|name| name == "attribute"),
        [filter] => filter.as_str().is_some_and(|filter| MAPPED.contains(&filter)),
        _ => false,
    };
    if !is_known {
        let message = "`map` takes an attribute, or a filter without arguments";
        return Err(Error::new(ErrorKind::InvalidOperation, message));
    }
    filters::map(state, value, from_args::<(Rest<ValueOrKwargs>,)>(&args)?.0)
}
