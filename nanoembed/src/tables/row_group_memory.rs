//! The memory that decoding a row group takes, known before: pages are looked at first, as
//! Parquet's reader makes of each what its header spells and its compression yields.
//!
//! | memory | why |
//! |---|---|
//! | pages without compression | one of each column is in memory, and its dictionary |
//! | the longest entry of a dictionary | each row may be a copy of it |
//! | the page of values that share beginnings | each may be as long as all of them |
//! | values of lists | one row may have all of them |
//! | the width of a null | columns of fixed width have it, too |
//!
//! The memory that all columns take at once is in proportion to the group's bytes in the file;
//! above that, rows are decoded in smaller batches.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use arrow_schema::{DataType, Schema};
use nanoembed_core::ErrorKind;
use parquet::basic::{Compression, Type as PhysicalType};
use parquet::column::page::{Page, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, SerializedPageReader};

use super::page_header::{PageHeader, PageKind};
use super::unread;
use crate::error::{Error, Result};
use crate::units;

/// Memory that any row group may take, and a batch of rows unless one row takes more.
const FREE_BYTES: u64 = 64 << 20;

/// Bytes that each byte of the file may become beyond that.
pub(super) const MOST_GROWTH: u64 = 100;

/// Rows that are decoded at a time, at most.
const BATCH_ROWS: u64 = 512;

/// Memory that so many bytes of a file may become.
pub(super) const fn allowed(file_bytes: u64) -> u64 {
    let grown = file_bytes.saturating_mul(MOST_GROWTH);
    if grown > FREE_BYTES { grown } else { FREE_BYTES }
}

/// The rows of a group of the file called `name` that are decoded at a time, so that a batch stays
/// within its limit of memory.
pub(super) fn batch_rows(
    file: &Arc<File>,
    group: &RowGroupMetaData,
    schema: &Schema,
    name: &str,
) -> Result<usize> {
    let failed = |error: io::Error| unread(name, &error);
    let file_bytes = file.metadata().map_err(failed)?.len();
    let sizes = group.columns().iter().map(|column| u64::try_from(column.compressed_size()));
    let group_bytes = sizes.map(Result::unwrap_or_default).fold(0, u64::saturating_add);
    // Columns may claim the same bytes.
    let most = allowed(group_bytes.min(file_bytes));
    let check = |bytes: u64| match bytes <= most {
        true => Ok(()),
        false => {
            let message = format!(
                "a row group takes {} of memory without compression, where {} are allowed for its \
                 {} in the file",
                units::bytes(bytes),
                units::bytes(most),
                units::bytes(group_bytes.min(file_bytes)),
            );
            Err(Error::input(ErrorKind::OverLimit, message).at(name))
        }
    };
    let null_bytes = schema
        .fields()
        .iter()
        .map(|field| fixed_width(field.data_type()))
        .fold(0, u64::saturating_add);
    check(null_bytes)?;
    let (mut held, mut columns) = (null_bytes, Vec::new());
    for column in group.columns() {
        let chunk = Chunk::look_at(file, column, most.saturating_sub(held)).map_err(failed)?;
        held = held.saturating_add(chunk.held());
        check(held)?;
        let chunk = chunk.with_dictionary(file, column, name)?;
        if column.column_descr().max_rep_level() > 0 {
            held = held.saturating_add(chunk.bytes());
            check(held)?;
        } else {
            columns.push(chunk);
        }
    }
    let fits = |rows: &u64| {
        let columns = columns.iter().map(|column| column.bytes_of_rows(*rows));
        columns.fold(rows.saturating_mul(null_bytes), u64::saturating_add) <= FREE_BYTES
    };
    let mut halves = std::iter::successors(Some(BATCH_ROWS), |rows| Some(rows / 2));
    let rows = halves.find(|rows| *rows <= 1 || fits(rows)).unwrap_or(1);
    Ok(usize::try_from(rows).unwrap_or(1))
}

/// Bytes that every value of such a column takes, nulls included.
fn fixed_width(data_type: &DataType) -> u64 {
    match data_type {
        DataType::FixedSizeBinary(bytes) => u64::try_from(*bytes).unwrap_or_default(),
        DataType::FixedSizeList(item, count) => {
            let count = u64::try_from(*count).unwrap_or_default();
            fixed_width(item.data_type()).saturating_mul(count)
        }
        DataType::Struct(fields) => {
            let widths = fields.iter().map(|field| fixed_width(field.data_type()));
            widths.fold(0, u64::saturating_add)
        }
        DataType::List(item) | DataType::LargeList(item) => {
            fixed_width(item.data_type()).saturating_add(8)
        }
        DataType::Dictionary(_, values) => fixed_width(values).saturating_add(8),
        _ => 16,
    }
}

/// The pages of one column, by their headers.
#[derive(Default)]
struct Chunk {
    /// Bytes without compression of its dictionary.
    dictionary_bytes: u64,
    /// Bytes of the longest entry there.
    longest_entry: u64,
    /// Bytes without compression of all pages of data, and of the largest.
    data_bytes: u64,
    page_bytes: u64,
    /// Values of all pages, and of the smallest but for the last.
    values: u64,
    page_values: Option<u64>,
    shares_prefixes: bool,
    /// Bytes that a value and its levels take at least.
    width: u64,
}

impl Chunk {
    /// Looks at the pages of a column, none of which may have more than `most` bytes.
    fn look_at(file: &Arc<File>, column: &ColumnChunkMetaData, most: u64) -> io::Result<Self> {
        let mut chunk = Self { width: width(column), ..Self::default() };
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        let place = (u64::try_from(start), u64::try_from(column.compressed_size()));
        let (Ok(mut offset), Ok(mut left)) = place else {
            return Err(invalid("a column lies outside the file"));
        };
        let (mut index, mut last_values) = (0_u64, None);
        while left > 0 {
            let read = file.get_read(offset).map_err(io::Error::other)?;
            let (header, length) = PageHeader::read(read.take(left))?;
            left = left
                .checked_sub(length)
                .and_then(|left| left.checked_sub(header.bytes))
                .ok_or_else(|| invalid("a page is longer than its column"))?;
            if header.unpacked_bytes <= most {
                check_unpacked(file, column.compression(), header, offset + length)?;
            }
            offset = offset.saturating_add(length).saturating_add(header.bytes);
            match header.kind {
                PageKind::Dictionary if index == 0 => {
                    chunk.dictionary_bytes = header.unpacked_bytes;
                }
                PageKind::Dictionary => return Err(invalid("a column has two dictionaries")),
                PageKind::Data => chunk.add(header, &mut last_values),
                PageKind::Other => {}
            }
            // Nothing of what stands after is read.
            if chunk.held() > most {
                break;
            }
            index += 1;
        }
        Ok(chunk)
    }

    fn add(&mut self, header: PageHeader, last_values: &mut Option<u64>) {
        if let Some(last) = last_values.replace(header.values) {
            self.page_values = Some(self.page_values.map_or(last, |values| values.min(last)));
        }
        self.data_bytes = self.data_bytes.saturating_add(header.unpacked_bytes);
        self.page_bytes = self.page_bytes.max(header.unpacked_bytes);
        self.values = self.values.saturating_add(header.values);
        self.shares_prefixes |= header.shares_prefixes;
    }

    /// The same with the longest entry of its dictionary, which is decoded for that.
    fn with_dictionary(
        mut self,
        file: &Arc<File>,
        column: &ColumnChunkMetaData,
        name: &str,
    ) -> Result<Self> {
        if self.dictionary_bytes > 0 && column.column_type() == PhysicalType::BYTE_ARRAY {
            let page = SerializedPageReader::new(Arc::clone(file), column, 0, None)
                .and_then(|mut pages| pages.get_next_page())
                .map_err(|error: ParquetError| super::unreadable_parquet(name, &error))?;
            if let Some(Page::DictionaryPage { buf, .. }) = page {
                self.longest_entry = longest_entry(&buf);
            }
        }
        Ok(self)
    }

    /// Bytes in memory while one of its pages is read.
    const fn held(&self) -> u64 {
        self.dictionary_bytes.saturating_add(self.page_bytes)
    }

    /// Bytes of the longest value of a kind that copies others.
    fn longest_copy(&self) -> u64 {
        let shared = if self.shares_prefixes { self.page_bytes } else { 0 };
        self.longest_entry.max(shared).max(self.width)
    }

    /// Bytes of all values.
    fn bytes(&self) -> u64 {
        self.values.saturating_mul(self.longest_copy()).saturating_add(self.data_bytes)
    }

    /// Bytes of so many values that follow each other, at most.
    fn bytes_of_rows(&self, rows: u64) -> u64 {
        let pages = (rows / self.page_values.unwrap_or(u64::MAX).max(1)).saturating_add(2);
        let spelled = pages.saturating_mul(self.page_bytes).min(self.data_bytes);
        rows.saturating_mul(self.longest_copy()).saturating_add(spelled)
    }
}

/// Bytes of a value without those it points to, with its levels.
fn width(column: &ColumnChunkMetaData) -> u64 {
    let value = match column.column_type() {
        PhysicalType::FIXED_LEN_BYTE_ARRAY => {
            u64::try_from(column.column_descr().type_length()).unwrap_or_default()
        }
        _ => 16,
    };
    value.saturating_add(4)
}

/// The length of the longest of entries that follow their lengths.
fn longest_entry(mut entries: &[u8]) -> u64 {
    let mut longest = 0;
    while let Some((length, rest)) = entries.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length);
        longest = longest.max(length);
        entries = rest.get(length as usize..).unwrap_or_default();
    }
    longest.into()
}

/// Refuses a page that yields more than its header says, where the reader would take it all the
/// same. `offset` is where it begins.
fn check_unpacked(
    file: &Arc<File>,
    compression: Compression,
    header: PageHeader,
    offset: u64,
) -> io::Result<()> {
    let is_unbounded =
        matches!(compression, Compression::GZIP(_) | Compression::BROTLI(_) | Compression::LZ4);
    if !is_unbounded || !header.is_compressed {
        return Ok(());
    }
    let start = offset.saturating_add(header.levels_bytes);
    let packed = header.bytes.saturating_sub(header.levels_bytes);
    let packed = file.get_read(start).map_err(io::Error::other)?.take(packed);
    let most = header.unpacked_bytes.saturating_sub(header.levels_bytes);
    let yields = match compression {
        Compression::GZIP(_) => count(flate2::read::MultiGzDecoder::new(packed), most),
        Compression::BROTLI(_) => count(brotli::Decompressor::new(packed, 1 << 12), most),
        _ => count(lz4_flex::frame::FrameDecoder::new(packed), most),
    };
    match yields > most {
        true => Err(invalid("a page yields more bytes than its header says")),
        false => Ok(()),
    }
}

/// The number of bytes, up to one more than `most`. The reader reports their faults.
fn count(mut from: impl Read, most: u64) -> u64 {
    let mut buffer = vec![0; 1 << 16];
    let mut sum = 0_u64;
    while sum <= most
        && let Ok(read) = from.read(&mut buffer)
        && read > 0
    {
        sum = sum.saturating_add(read as u64);
    }
    sum
}

fn invalid(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
