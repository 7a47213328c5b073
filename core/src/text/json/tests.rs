//! Checks for readers of settings: which setting is rejected, with which kind of error, and at
//! which offset. In the JSON texts, `@` precedes the value at which the error is expected; without
//! it, the error is expected at the object as a whole.

extern crate std;

use std::format;
use std::string::String;
use std::vec::Vec;

use super::{Object, Read, Value};
use crate::error::ErrorKind;

/// The offset of the texts in their file.
pub(crate) const AT: u64 = 4000;

/// The error kind and the name with which `read` rejects the object `marked`, at its mark.
pub(crate) fn refusal(
    marked: &str,
    read: impl for<'t> Fn(&Object<'t>) -> Read<'t, ()>,
) -> (ErrorKind, String) {
    let at = AT + marked.find('@').unwrap_or(0) as u64;
    let text = marked.replacen('@', "", 1);
    let object = Object::new(Value::parse(&text, AT).unwrap()).unwrap();
    let Err(fault) = read(&object) else { panic!("{marked} is taken") };
    assert_eq!(fault.error.offset(), Some(at), "{marked}: {fault}");
    (fault.error.kind(), fault.key.into())
}

/// An object with these members, one of them changed or, if it has no member of that name, added. A
/// member that is changed to an empty value is left out.
pub(crate) fn changed(members: &[(&str, &str)], (name, value): (&str, &str)) -> String {
    let is_new = members.iter().all(|(known, _)| *known != name);
    let new = Some((name, value)).filter(|_| is_new);
    let members = members.iter().map(|it| if it.0 == name { (name, value) } else { *it });
    let members: Vec<String> = members
        .chain(new)
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("\"{name}\": {value}"))
        .collect();
    format!("{{{}}}", members.join(", "))
}

/// A change of one member, and the expected rejection.
pub(crate) type Row<'a> = (&'a str, &'a str, ErrorKind, &'a str);

/// Checks that each change is rejected as expected, and that the unchanged object is accepted.
pub(crate) fn check(
    members: &[(&str, &str)],
    rows: &[Row<'_>],
    read: impl for<'t> Fn(&Object<'t>) -> Read<'t, ()>,
) {
    let text = changed(members, ("unused", ""));
    read(&Object::new(Value::parse(&text, AT).unwrap()).unwrap()).unwrap();
    for &(name, value, kind, key) in rows {
        let marked = changed(members, (name, value));
        assert_eq!(refusal(&marked, &read), (kind, key.into()), "{marked}");
    }
}

pub(crate) fn read<T>(text: &str, act: impl for<'t> FnOnce(&Object<'t>) -> Read<'t, T>) -> T {
    let object = Object::new(Value::parse(text, AT).unwrap()).unwrap();
    act(&object).map_err(|fault| format!("{text}: {fault}")).unwrap()
}
