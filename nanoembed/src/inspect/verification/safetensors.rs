//! safetensors files: the header, and that tensors fill the data.

use nanoembed_core::event::Mode;
use nanoembed_core::format::safetensors::Safetensors;
use nanoembed_core::text::json::{JsonTokens, LexemeKind};

use super::{Finding, NO_CHECKSUMS, values};
use crate::error::name_of;
use crate::folder::json_file::tree;
use crate::progress::Observer;
use crate::stored::FileSet;
use crate::stored::entries::room;

pub(super) fn verify(
    set: &FileSet,
    mode: Mode,
    observer: &dyn Observer,
) -> Result<String, Vec<Finding>> {
    let (mut tensors, mut findings) = (0, Vec::new());
    for (path, file) in set.iter() {
        let parsed = room(file).and_then(|mut room| {
            Safetensors::parse(file, mode, &mut room).map(|parsed| parsed.len())
        });
        match parsed {
            Ok(parsed) => tensors += parsed,
            Err(error) => {
                let finding = Finding::new(&name_of(path), error);
                findings.push(finding.at(error.offset().and_then(|offset| place(file, offset))));
            }
        }
    }
    if !findings.is_empty() {
        return Err(findings);
    }
    let parts = set.iter().len();
    let of = if parts > 1 { format!(" of {parts} parts") } else { String::new() };
    let facts = format!("{tensors} tensors fill the data{of}");
    if mode == Mode::Lenient {
        return Ok(format!("{facts}, {NO_CHECKSUMS}"));
    }
    finite(set, observer)?;
    Ok(format!("{facts}, all values are finite, {NO_CHECKSUMS}"))
}

/// Checks that all values of files which are sound so far are finite.
pub(super) fn finite(set: &FileSet, observer: &dyn Observer) -> Result<(), Vec<Finding>> {
    let Ok(contents) = set.contents() else { return Ok(()) };
    let findings = values::not_finite(set, &contents.tensors, observer);
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}

/// The part of the file that the byte at `offset` belongs to: a member of the header's object, or a
/// tensor's data.
pub(super) fn place(file: &[u8], offset: u64) -> Option<String> {
    const LENGTH_BYTES: u64 = 8;
    if offset < LENGTH_BYTES {
        return Some("the header's length".into());
    }
    let length = u64::from_le_bytes(*file.first_chunk()?);
    let rest = file.get(8..)?;
    let header = usize::try_from(length).ok().and_then(|length| rest.get(..length)).unwrap_or(rest);
    let data = length.checked_add(LENGTH_BYTES)?;
    if offset >= data {
        return tensor_at(header, offset - data).map(|name| format!("data of `{name}`"));
    }
    let mut tokens = JsonTokens::new(header, LENGTH_BYTES);
    let (mut tensor, mut member) = (None, None);
    while let Some(Ok(token)) = tokens.next() {
        if token.offset > offset {
            break;
        }
        match (token.kind, tokens.depth()) {
            (LexemeKind::Key, 1) => (tensor, member) = (Some(token.spelling), None),
            (LexemeKind::Key, 2) => member = Some(token.spelling),
            _ => {}
        }
    }
    Some(match (tensor, member) {
        (Some(tensor), Some(member)) => format!("header, `{member}` of `{tensor}`"),
        (Some(tensor), None) => format!("header, `{tensor}`"),
        _ => "header".into(),
    })
}

/// The tensor whose data holds the byte at `offset` of the data.
fn tensor_at(header: &[u8], offset: u64) -> Option<String> {
    let parsed: serde_json::Value = tree(header).ok()?;
    let members = parsed.as_object()?.iter();
    let mut holding = members.filter(|(_, tensor)| {
        let bound = |index: usize| tensor.get("data_offsets")?.get(index)?.as_u64();
        bound(0).is_some_and(|begin| begin <= offset) && bound(1).is_some_and(|end| offset < end)
    });
    holding.next().map(|(name, _)| name.clone())
}
