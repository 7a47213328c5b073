//! Headers of Parquet's pages, as far as they are looked at before Parquet's own reader, which takes
//! memory for as many bytes as a header spells.
//!
//! A header is a struct in Thrift's compact protocol. Its fields, by number:
//!
//! | field | |
//! |---|---|
//! | 1 | kind of page: 0 data, 2 dictionary, 3 data of version 2 |
//! | 2, 3 | bytes of the page without compression, and in the file |
//! | 5.1, 7.1, 8.1 | number of values, nulls among them |
//! | 5.2, 8.2 | encoding; number of nulls |
//! | 8.4 | encoding |
//! | 8.5, 8.6, 8.7 | bytes of definition and repetition levels; whether the rest is compressed |
//!
//! Specification: <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>

use std::io::{self, Read};

/// Structs within structs that are read; those of Parquet have three.
const MOST_DEPTH: usize = 16;

/// The header of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PageHeader {
    pub(super) kind: PageKind,
    pub(super) unpacked_bytes: u64,
    pub(super) bytes: u64,
    pub(super) values: u64,
    /// True if values share their beginnings with the ones before.
    pub(super) shares_prefixes: bool,
    /// Bytes of levels, before the compressed part.
    pub(super) levels_bytes: u64,
    pub(super) is_compressed: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum PageKind {
    #[default]
    Data,
    Dictionary,
    /// An index, which is not read.
    Other,
}

impl PageHeader {
    /// Reads a header; answers also how many bytes it has.
    pub(super) fn read(from: impl Read) -> io::Result<(Self, u64)> {
        let mut reader = Reader { from, read: 0 };
        let mut fields = Fields::default();
        reader.structure(Some(0), MOST_DEPTH, &mut fields)?;
        Ok((fields.header()?, reader.read))
    }
}

/// `DELTA_BYTE_ARRAY`.
const SHARED_PREFIXES: i32 = 7;

/// The fields of a header that are looked at: by the field of the struct that each one is in (0 at
/// the top) and its own.
#[derive(Default)]
struct Fields(Vec<((i16, i16), i32)>);

impl Fields {
    const NUMBERS: [(i16, i16); 11] =
        [(0, 1), (0, 2), (0, 3), (5, 1), (5, 2), (7, 1), (8, 1), (8, 4), (8, 5), (8, 6), (8, 7)];

    fn set(&mut self, field: (i16, i16), value: i32) -> io::Result<()> {
        if self.get(field).is_some() {
            return Err(invalid("a page's header says something twice"));
        }
        self.0.push((field, value));
        Ok(())
    }

    fn get(&self, field: (i16, i16)) -> Option<i32> {
        self.0.iter().find(|(known, _)| *known == field).map(|(_, value)| *value)
    }

    fn header(&self) -> io::Result<PageHeader> {
        let size = |field| match self.get(field).map(u64::try_from) {
            Some(Ok(size)) => Ok(size),
            _ => Err(invalid("a page's header has a size that is none")),
        };
        let size_or_none = |field| self.get(field).map_or(Ok(0), |_| size(field));
        let kind = match self.get((0, 1)) {
            Some(0 | 3) => PageKind::Data,
            Some(2) => PageKind::Dictionary,
            _ => PageKind::Other,
        };
        let values = [(5, 1), (7, 1), (8, 1)].into_iter().find(|field| self.get(*field).is_some());
        let encoding = self.get((5, 2)).or(self.get((8, 4)));
        Ok(PageHeader {
            kind,
            unpacked_bytes: size((0, 2))?,
            bytes: size((0, 3))?,
            values: values.map_or(Ok(0), size)?,
            shares_prefixes: encoding == Some(SHARED_PREFIXES),
            levels_bytes: size_or_none((8, 5))?.saturating_add(size_or_none((8, 6))?),
            is_compressed: self.get((8, 7)) != Some(0),
        })
    }
}

fn invalid(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Types of fields and elements in the compact protocol.
mod wire {
    pub(super) const TRUE: u8 = 1;
    pub(super) const FALSE: u8 = 2;
    pub(super) const BYTE: u8 = 3;
    pub(super) const I16: u8 = 4;
    pub(super) const I32: u8 = 5;
    pub(super) const I64: u8 = 6;
    pub(super) const DOUBLE: u8 = 7;
    pub(super) const BINARY: u8 = 8;
    pub(super) const LIST: u8 = 9;
    pub(super) const SET: u8 = 10;
    pub(super) const STRUCT: u8 = 12;
}

struct Reader<R> {
    from: R,
    read: u64,
}

impl<R: Read> Reader<R> {
    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.from.read_exact(&mut byte)?;
        self.read += 1;
        Ok(byte[0])
    }

    fn number(&mut self) -> io::Result<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(invalid("a number of a page's header has no end"))
    }

    fn integer(&mut self) -> io::Result<i32> {
        let spelled = self.number()?;
        let value = (spelled >> 1).cast_signed() ^ -(spelled & 1).cast_signed();
        i32::try_from(value).map_err(|_| invalid("a number of a page's header is too large"))
    }

    fn pass_over(&mut self, bytes: u64) -> io::Result<()> {
        let passed = io::copy(&mut self.from.by_ref().take(bytes), &mut io::sink())?;
        self.read += passed;
        match passed == bytes {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// A struct, which is the field `outer` of a header, the header itself as 0, or passed over.
    fn structure(
        &mut self,
        outer: Option<i16>,
        depth: usize,
        found: &mut Fields,
    ) -> io::Result<()> {
        let depth = depth.checked_sub(1).ok_or_else(|| invalid("a page's header is too deep"))?;
        let mut field = 0_i16;
        loop {
            let start = self.byte()?;
            let kind = start & 0x0f;
            if kind == 0 {
                return Ok(());
            }
            field = match start >> 4 {
                0 => i16::try_from(self.integer()?).ok(),
                more => field.checked_add(more.into()),
            }
            .ok_or_else(|| invalid("a field of a page's header has no number"))?;
            let place = outer.map(|outer| (outer, field));
            match place.filter(|place| Fields::NUMBERS.contains(place)) {
                Some(place) => {
                    let value = match kind {
                        wire::TRUE => 1,
                        wire::FALSE => 0,
                        wire::I32 => self.integer()?,
                        _ => return Err(invalid("a field of a page's header is no number")),
                    };
                    found.set(place, value)?;
                }
                None if outer == Some(0) && matches!(field, 5 | 7 | 8) => {
                    if kind != wire::STRUCT {
                        return Err(invalid("a field of a page's header is no struct"));
                    }
                    self.structure(Some(field), depth, found)?;
                }
                // The type of a field that is true or false has its value.
                None if matches!(kind, wire::TRUE | wire::FALSE) => {}
                None => self.skip(kind, depth, found)?,
            }
        }
    }

    /// A value that is not looked at.
    fn skip(&mut self, kind: u8, depth: usize, found: &mut Fields) -> io::Result<()> {
        match kind {
            wire::TRUE | wire::FALSE | wire::BYTE => self.pass_over(1),
            wire::I16 | wire::I32 | wire::I64 => self.number().map(|_| ()),
            wire::DOUBLE => self.pass_over(8),
            wire::BINARY => {
                let bytes = self.number()?;
                self.pass_over(bytes)
            }
            wire::LIST | wire::SET => {
                let start = self.byte()?;
                let count = match start >> 4 {
                    15 => self.number()?,
                    few => few.into(),
                };
                let depth =
                    depth.checked_sub(1).ok_or_else(|| invalid("a page's header is too deep"))?;
                // Each takes a byte at least, so the input bounds the loop.
                (0..count).try_for_each(|_| self.skip(start & 0x0f, depth, found))
            }
            wire::STRUCT => self.structure(None, depth, found),
            _ => Err(invalid("a page's header has a value of no known type")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_looked_at_is_found_and_the_rest_is_passed_over() {
        let header = [
            0x15, 0x00, // 1: data page
            0x15, 0x80, 0x02, // 2: 128
            0x15, 0x64, // 3: 50
            0x2c, // 5: struct
            0x15, 0x0a, // 5.1: 5
            0x15, 0x0e, // 5.2: 7
            0x3c, 0x18, 0x02, 0xff, 0xff, 0x19, 0x25, 0x02, 0x04, 0x11,
            0x00, // 5.5: statistics
            0x00, 0x00, 0xaa,
        ];
        let (found, length) = PageHeader::read(&header[..]).unwrap();
        let expected = PageHeader {
            kind: PageKind::Data,
            unpacked_bytes: 128,
            bytes: 50,
            values: 5,
            shares_prefixes: true,
            levels_bytes: 0,
            is_compressed: true,
        };
        assert_eq!((found, length), (expected, header.len() as u64 - 1));
        for cut in 0..header.len() - 1 {
            assert!(PageHeader::read(&header[..cut]).is_err(), "{cut}");
        }
    }

    #[test]
    fn what_another_reader_might_read_otherwise_is_refused() {
        let sizes = [0x15, 0x00, 0x15, 0x02, 0x15, 0x02];
        assert!(PageHeader::read(&[&sizes[..], &[0x00]].concat()[..]).is_ok());
        let bad: [&[u8]; 6] = [
            &[0x05, 0x04, 0x06],                               // the field 2 again
            &[0x2b, 0x00],                                     // 5 is a map
            &[0x05, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x00], // a number beyond all fields
            &[0x29, 0xfc, 0x80, 0x80, 0x80, 0x80, 0x08],       // 2³¹ structs
            &[0x2d],                                           // a type that there is not
            &[0x28, 0xff, 0xff, 0xff, 0xff, 0x07],             // a text beyond the end
        ];
        for bad in bad {
            assert!(PageHeader::read(&[&sizes[..], bad].concat()[..]).is_err(), "{bad:x?}");
        }
        let deep = [&sizes[..], &[0x1c].repeat(1 << 20)].concat();
        assert!(PageHeader::read(&deep[..]).is_err());
    }
}
