//! The merges that a description lists.

use alloc::string::String;
use alloc::vec::Vec;

use crate::error::{Error, ErrorKind, Result};
use crate::limit::{reserved, write};
use crate::text::character::utf8;
use crate::text::json::{Fault, Read, Value, chars};
use crate::token::spec::JsonPlace;

/// The ids of all merges: two tokens, or a string of both with a space between.
pub(super) fn listed<'t>(
    list: Value<'t>,
    find: impl Fn(&str) -> Option<u32>,
) -> Read<'t, Vec<(u32, u32)>> {
    let of = |error| JsonPlace::new(list).met("merges", error);
    let mut pairs = reserved(lines(list).count()).map_err(of)?;
    let mut room = String::new();
    for line in lines(list) {
        let pair = match line.as_text() {
            Some(spelling) => {
                unescape(spelling, &mut room).map_err(of)?;
                let (left, right) = room.split_once(' ').unwrap_or_default();
                let is_pair = !right.contains(' ');
                find(left).zip(find(right)).filter(|_| is_pair)
            }
            None => pair_of(line, &mut room, &find).map_err(of)?,
        };
        pairs.push(pair.ok_or_else(|| bad(line, ErrorKind::BadVocabulary))?);
    }
    Ok(pairs)
}

/// The error of the merge of this rank.
pub(super) fn bad_rank(list: Value<'_>, rank: usize, kind: ErrorKind) -> Fault<'_> {
    bad(lines(list).nth(rank).unwrap_or(list), kind)
}

fn bad(line: Value<'_>, kind: ErrorKind) -> Fault<'_> {
    JsonPlace::new(line).met("merges", Error::without_offset(kind))
}

/// The merges of a list, without its first line in files of old.
fn lines<'t>(list: Value<'t>) -> impl Iterator<Item = Value<'t>> {
    let is_version = |line: &Value<'_>| line.as_text().is_some_and(|it| it.starts_with("#version"));
    list.items().filter(move |line| !is_version(line))
}

fn pair_of(
    line: Value<'_>,
    room: &mut String,
    find: impl Fn(&str) -> Option<u32>,
) -> Result<Option<(u32, u32)>> {
    let mut items = line.items();
    let mut id = || {
        let Some(spelling) = items.next().and_then(|item| item.as_text()) else { return Ok(None) };
        unescape(spelling, room)?;
        Ok(find(room))
    };
    let pair = id()?.zip(id()?);
    Ok(pair.filter(|_| items.next().is_none()))
}

fn unescape(spelling: &str, out: &mut String) -> Result<()> {
    out.clear();
    chars(spelling).try_for_each(|c| write(out, utf8(c, &mut [0; 4])))
}
