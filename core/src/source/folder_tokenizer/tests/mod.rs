//! Descriptions that are refused: which setting, by what kind of error, and where in the file it
//! stands. In the JSON texts, `@` stands before the value that the error is to point at; without it,
//! that is the text as a whole.

extern crate std;

use std::format;
use std::string::String;
use std::vec::Vec;

use crate::describe::tokenizer::{self, Layout};
use crate::error::ErrorKind::{self, BadJson, BadMetadata, BadVocabulary, UnsupportedSetting};
use crate::text::json::Read;
use crate::token::spec::TokenizerSpec;

mod byte_pairs;
mod ends;
mod unigram;
mod word_pieces;

/// Where the texts lie in their file.
const AT: u64 = 4000;

/// The kind and the name with which `read` refuses the description that `marked` spells, at its
/// mark.
fn refusal(
    marked: &str,
    read: impl for<'t> Fn(&TokenizerSpec<'t>) -> Read<'t, ()>,
) -> (ErrorKind, String) {
    let at = AT + marked.find('@').unwrap_or(0) as u64;
    let text = marked.replacen('@', "", 1);
    let spec = tokenizer::read(text.as_bytes(), AT, Layout::Apart);
    let Err(fault) = spec.and_then(|spec| read(&spec)) else { panic!("{marked} is taken") };
    assert_eq!(fault.error.offset(), Some(at), "{marked}: {fault}");
    (fault.error.kind(), fault.key.into())
}

/// An object with these members, one of them changed or, if there is none of its name, added. One
/// that is changed to nothing is left out.
fn changed(members: &[(&str, &str)], (name, value): (&str, &str)) -> String {
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

/// A change of one member, and how it is refused.
type Row<'a> = (&'a str, &'a str, ErrorKind, &'a str);

/// Checks that each of the changes is refused as it says, and that nothing is without them.
fn check(
    members: &[(&str, &str)],
    rows: &[Row<'_>],
    act: impl for<'t> Fn(&TokenizerSpec<'t>) -> Read<'t, ()>,
) {
    read(&changed(members, ("unused", "")), &act);
    for &(name, value, kind, key) in rows {
        let marked = changed(members, (name, value));
        assert_eq!(refusal(&marked, &act), (kind, key.into()), "{marked}");
    }
}

fn read<T>(text: &str, act: impl for<'t> FnOnce(&TokenizerSpec<'t>) -> Read<'t, T>) -> T {
    let spec = tokenizer::read(text.as_bytes(), AT, Layout::Apart);
    spec.and_then(|spec| act(&spec)).map_err(|fault| format!("{text}: {fault}")).unwrap()
}

#[test]
fn a_tokenizer_is_refused_at_the_byte_that_is_wrong() {
    let failure = |bytes: &[u8]| {
        let fault = tokenizer::read(bytes, AT, Layout::Apart).unwrap_err();
        (fault.error.kind(), fault.error.offset().unwrap() - AT, String::from(fault.key))
    };
    assert_eq!(failure(b"{\"a\": \"\xff\"}"), (BadVocabulary, 0, String::new()));
    assert_eq!(failure(b"{\"a\": ?}"), (BadJson, 6, String::new()));
    assert_eq!(failure(b"[]"), (BadMetadata, 0, String::new()));
    assert_eq!(failure(b"{\"version\": \"2.0\"}"), (UnsupportedSetting, 12, "version".into()));
    let cut = |members: &str| failure(format!("{{\"truncation\": {members}}}").as_bytes());
    assert_eq!(cut("7"), (BadMetadata, 15, "truncation".into()));
    assert_eq!(cut("{\"direction\": \"Left\"}"), (UnsupportedSetting, 29, "direction".into()));
    assert_eq!(cut("{\"max_length\": -1}"), (BadMetadata, 30, "max_length".into()));
    assert_eq!(cut("{\"odd\": 1}"), (UnsupportedSetting, 23, "odd".into()));
}
