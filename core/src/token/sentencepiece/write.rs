//! Serialized models, written: what [`Spec`](super::Spec) reads.

use super::pieces::PieceKind;
use super::spec::Algorithm;

/// The settings of a model without its pieces.
#[derive(Clone, Copy, Debug)]
pub struct ModelSettings<'a> {
    /// How pieces are found.
    pub algorithm: Algorithm,
    /// True if characters that have no piece become bytes.
    pub byte_fallback: bool,
    /// True if the space added to a text stands at its end.
    pub whitespace_as_suffix: bool,
    /// True if a space is added to every text.
    pub add_dummy_prefix: bool,
    /// True if spaces at both ends are removed and others made one.
    pub remove_extra_whitespaces: bool,
    /// How the pieces that begin, end and fill up texts are spelled, where that is not `<s>`,
    /// `</s>` and `<pad>`.
    pub names: [Option<&'a [u8]>; 3],
    /// Compiled rules of normalisation, or nothing.
    pub rules: &'a [u8],
}

/// Takes a serialized model's bytes as they are made.
pub type Output<'o> = dyn FnMut(&[u8]) + 'o;

/// Writes the settings. Messages that follow each other are one: pieces come after.
pub fn write_settings(settings: &ModelSettings<'_>, out: &mut Output<'_>) {
    message(2, out, &|out| {
        let algorithm = match settings.algorithm {
            Algorithm::Unigram => 1,
            Algorithm::Bpe => 2,
        };
        integer(3, algorithm, out);
        integer(24, settings.whitespace_as_suffix.into(), out);
        integer(35, settings.byte_fallback.into(), out);
        for (field, name) in [46, 47, 48].into_iter().zip(settings.names) {
            if let Some(name) = name {
                bytes(field, name, out);
            }
        }
    });
    message(3, out, &|out| {
        bytes(2, settings.rules, out);
        integer(3, settings.add_dummy_prefix.into(), out);
        integer(4, settings.remove_extra_whitespaces.into(), out);
    });
}

/// Writes the piece with the next id.
pub fn write_piece(spelling: &[u8], score: f32, kind: PieceKind, out: &mut Output<'_>) {
    message(1, out, &|out| {
        bytes(1, spelling, out);
        key(2, 5, out);
        out(&score.to_le_bytes());
        integer(3, kind.code(), out);
    });
}

/// A field that is a message of the fields that `fields` writes.
fn message(field: u8, out: &mut Output<'_>, fields: &dyn Fn(&mut Output<'_>)) {
    let mut length = 0_usize;
    fields(&mut |bytes| length = length.saturating_add(bytes.len()));
    key(field, 2, out);
    varint(length as u64, out);
    fields(out);
}

fn varint(mut value: u64, out: &mut Output<'_>) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            return out(&[low]);
        }
        out(&[low | 0x80]);
    }
}

fn key(field: u8, wire_type: u8, out: &mut Output<'_>) {
    varint(u64::from(field) << 3 | u64::from(wire_type), out);
}

fn integer(field: u8, value: u64, out: &mut Output<'_>) {
    key(field, 0, out);
    varint(value, out);
}

fn bytes(field: u8, bytes: &[u8], out: &mut Output<'_>) {
    key(field, 2, out);
    varint(bytes.len() as u64, out);
    out(bytes);
}
