//! The wire format of protocol buffers, as far as `sentencepiece_model.proto` (proto2) uses it.
//!
//! A message is a row of fields, in any order: a key `number << 3 | wire type` as a variable-length
//! integer, then the value.
//!
//! | wire type | value |
//! |---|---|
//! | 0 | an integer, seven bits a byte, the least significant first, the high bit set in all but the last |
//! | 1 | eight bytes |
//! | 2 | a length as an integer, then as many bytes: strings and messages |
//! | 5 | four bytes |
//!
//! Groups (3, 4) have been out of use since proto2 and are refused.
//! <https://protobuf.dev/programming-guides/encoding/>

use crate::bytes::{Item, Parse, le_u8, le_u32, le_u64, parse, refuse, take};
use crate::error::{Error, ErrorKind, Result};

/// The bytes that an integer of 64 bits takes at most.
const MAX_VARINT_BYTES: u32 = 10;

/// A field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value<'a> {
    Integer(u64),
    Eight(u64),
    Bytes(&'a [u8]),
    Four(u32),
}

/// One field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field<'a> {
    pub(super) number: u64,
    value: Value<'a>,
    /// Absolute offset of the key.
    pub(super) offset: u64,
    /// Absolute offset after the value.
    end: u64,
}

impl<'a> Field<'a> {
    const fn mistyped(&self) -> Error {
        Error::new(self.offset, ErrorKind::BadField)
    }

    /// The value of an integer or enumeration; those below zero have all upper bits set.
    ///
    /// # Errors
    ///
    /// `bad_field` if it has another wire type.
    pub(super) const fn integer(&self) -> Result<u64> {
        match self.value {
            Value::Integer(value) => Ok(value),
            _ => Err(self.mistyped()),
        }
    }

    /// The value of a truth value.
    ///
    /// # Errors
    ///
    /// As [`integer`](Self::integer).
    pub(super) fn truth(&self) -> Result<bool> {
        self.integer().map(|value| value != 0)
    }

    /// The value of a `float`.
    ///
    /// # Errors
    ///
    /// As [`integer`](Self::integer).
    pub(super) const fn float(&self) -> Result<f32> {
        match self.value {
            Value::Four(bits) => Ok(f32::from_bits(bits)),
            _ => Err(self.mistyped()),
        }
    }

    /// The bytes of a string or message, and their absolute offset.
    ///
    /// # Errors
    ///
    /// As [`integer`](Self::integer).
    pub(super) fn bytes(&self) -> Result<(&'a [u8], u64)> {
        match self.value {
            Value::Bytes(bytes) => Ok((bytes, self.end.saturating_sub(bytes.len() as u64))),
            _ => Err(self.mistyped()),
        }
    }
}

/// Iterates over the fields of a message; ends after an error.
#[derive(Clone, Debug)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
    offset: u64,
}

impl<'a> Fields<'a> {
    /// The fields of `message`, which lies at the absolute `offset`.
    pub(super) const fn new((message, offset): (&'a [u8], u64)) -> Self {
        Self { rest: message, offset }
    }

    fn read(&mut self) -> Result<Field<'a>> {
        match parse(field, self.rest, self.offset)? {
            Item::Parsed { item: (number, value), used } => {
                let offset = self.offset;
                self.offset = offset.saturating_add(used as u64);
                self.rest = self.rest.get(used..).unwrap_or_default();
                Ok(Field { number, value, offset, end: self.offset })
            }
            Item::NeedMore { .. } => Err(Error::new(self.offset, ErrorKind::UnexpectedEnd)),
        }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.read();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

fn field(input: &[u8]) -> Parse<'_, (u64, Value<'_>)> {
    let (rest, key) = varint(input)?;
    let number = key >> 3;
    if number == 0 || number > MAX_FIELD_NUMBER {
        return refuse(input, ErrorKind::BadField);
    }
    let (rest, value) = match key & 7 {
        0 => map(varint(rest), Value::Integer)?,
        1 => map(le_u64(rest), Value::Eight)?,
        2 => {
            let (after, length) = varint(rest)?;
            match usize::try_from(length) {
                Ok(length) => map(take(length)(after), Value::Bytes)?,
                Err(_) => return refuse(rest, ErrorKind::UnexpectedEnd),
            }
        }
        5 => map(le_u32(rest), Value::Four)?,
        _ => return refuse(input, ErrorKind::BadField),
    };
    Ok((rest, (number, value)))
}

/// Field numbers have 29 bits.
const MAX_FIELD_NUMBER: u64 = 0x1FFF_FFFF;

fn map<'a, T, U>(parsed: Parse<'a, T>, make: impl FnOnce(T) -> U) -> Parse<'a, U> {
    parsed.map(|(rest, item)| (rest, make(item)))
}

fn varint(input: &[u8]) -> Parse<'_, u64> {
    let (mut rest, mut value) = (input, 0_u64);
    for place in 0..MAX_VARINT_BYTES {
        let byte;
        (rest, byte) = le_u8(rest)?;
        let bits = u64::from(byte & 0x7F);
        let shifted = bits.checked_shl(place.saturating_mul(7)).unwrap_or(0);
        // Of the tenth byte only one bit has a place.
        value |= shifted;
        if byte < 0x80 {
            return Ok((rest, value));
        }
    }
    refuse(input, ErrorKind::BadField)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    fn read(bytes: &[u8]) -> Result<Vec<Field<'_>>> {
        Fields::new((bytes, 100)).collect()
    }

    #[test]
    fn every_wire_type_is_read_and_knows_its_place() {
        let bytes = [
            0x08, 0x96, 0x01, // 1: 150
            0x12, 0x02, b'h', b'i', // 2: "hi"
            0x1D, 0, 0, 0x80, 0x3F, // 3: 1.0
            0x21, 1, 0, 0, 0, 0, 0, 0, 0, // 4: eight bytes
        ];
        let fields = read(&bytes).unwrap();
        assert_eq!(fields[0].integer(), Ok(150));
        assert_eq!(fields[1].bytes(), Ok((&b"hi"[..], 105)));
        assert_eq!(fields[2].float(), Ok(1.0));
        assert_eq!(fields[3].value, Value::Eight(1));
        assert_eq!(fields[3].integer(), Err(Error::new(112, ErrorKind::BadField)));
    }

    #[test]
    fn a_cut_field_is_found_where_it_begins() {
        for cut in [&[0x08, 0x01, 0x12, 0x05, b'x'][..], &[0x08, 0x01, 0x80], &[8, 1, 0x1D, 0, 0]] {
            assert_eq!(read(cut), Err(Error::new(102, ErrorKind::UnexpectedEnd)));
        }
    }

    #[test]
    fn groups_number_zero_and_endless_integers_are_refused() {
        for bytes in [&[0x0B][..], &[0x0C], &[0x00, 0x00], &[0x0F]] {
            assert_eq!(read(bytes), Err(Error::new(100, ErrorKind::BadField)));
        }
        assert_eq!(read(&[0xFF; 11]), Err(Error::new(100, ErrorKind::BadField)));
    }

    #[test]
    fn integers_below_zero_have_ten_bytes() {
        let mut bytes = [0xFF; 11];
        (bytes[0], bytes[10]) = (0x08, 0x01);
        assert_eq!(read(&bytes).unwrap()[0].integer(), Ok(u64::MAX));
    }
}
