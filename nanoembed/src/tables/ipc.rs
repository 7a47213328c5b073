//! Arrow's IPC formats: files with a footer, and streams of messages.
//!
//! Both are mapped, and their arrays borrow from the map unless they are compressed. Every place
//! and length is checked before Arrow's own reader sees it.

use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, MessageHeader, MetadataVersion, root_as_footer};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use bytes::Bytes;
use nanoembed_core::ErrorKind;

use super::batches::Batches;
use super::ipc_message::Place;
use super::raw_text::raw_schema;
use super::row_group_memory::allowed;
use crate::error::{Error, Result, name_of};
use crate::files::mapped_file::MappedFile;

/// The end of a file after the footer: its length and the magic number.
const TRAILER_BYTES: usize = 10;

/// The most bytes that a batch's compressed buffers may have together without compression, those of
/// all dictionaries included: the limit of a column of strings. A small file may have fewer.
const UNPACKED_BYTES: u64 = 1 << 31;

/// A mapped file or stream.
pub(super) struct IpcTable {
    buffer: Buffer,
    decoder: FileDecoder,
    schema: SchemaRef,
    messages: Messages,
    /// Bytes of the dictionaries without compression.
    dictionary_bytes: u64,
    name: String,
}

/// The place of the next message.
enum Messages {
    /// Dictionaries and then batches, by the footer.
    Blocks(std::vec::IntoIter<Block>),
    /// In a stream, from this byte on.
    From(usize),
}

/// The content of a file before its messages.
struct IpcStructure {
    schema: SchemaRef,
    version: MetadataVersion,
    messages: Messages,
}

impl IpcTable {
    /// A file with a footer. The column `raw`, if it has strings, is read as bytes.
    pub(super) fn file(path: &Path, raw: Option<usize>) -> Result<Self> {
        Self::open(path, raw, footer)
    }

    /// A stream.
    pub(super) fn stream(path: &Path, raw: Option<usize>) -> Result<Self> {
        Self::open(path, raw, first_message)
    }

    fn open(
        path: &Path,
        raw: Option<usize>,
        look: impl FnOnce(&Buffer) -> Result<IpcStructure, ArrowError>,
    ) -> Result<Self> {
        let name = name_of(path);
        let file = crate::Bytes::from(MappedFile::open_regular(path)?);
        let buffer = Buffer::from(Bytes::from_owner(file));
        let IpcStructure { schema, version, messages } =
            look(&buffer).map_err(|error| super::unreadable(&name, &error))?;
        let read = raw.and_then(|column| raw_schema(&schema, column));
        let decoder = FileDecoder::new(read.unwrap_or_else(|| Arc::clone(&schema)), version);
        Ok(Self { buffer, decoder, schema, messages, dictionary_bytes: 0, name })
    }

    pub(super) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn next_message(&mut self) -> Result<Option<Place>, ArrowError> {
        match &mut self.messages {
            Messages::Blocks(blocks) => {
                blocks.next().map(|block| Place::from_block(&self.buffer, block)).transpose()
            }
            Messages::From(offset) => {
                let place = Place::at(&self.buffer, *offset)?;
                if let Some(place) = &place {
                    *offset = place.end().unwrap_or(usize::MAX);
                }
                Ok(place)
            }
        }
    }

    /// The batch of a message, whose buffers have so many bytes; `None` if it has none.
    fn batch(&mut self, place: &Place, bytes: u64) -> Result<Option<RecordBatch>, ArrowError> {
        match place.message()?.header_type() {
            MessageHeader::DictionaryBatch => {
                self.dictionary_bytes += bytes;
                self.decoder.read_dictionary(&place.block, &place.bytes).map(|()| None)
            }
            _ => self.decoder.read_record_batch(&place.block, &place.bytes),
        }
    }
}

/// The columns and messages that a file's end tells of.
fn footer(file: &Buffer) -> Result<IpcStructure, ArrowError> {
    let cut = || ArrowError::IpcError("the file is cut short".into());
    let footer = file.len().checked_sub(TRAILER_BYTES).ok_or_else(cut)?;
    let trailer = file.get(footer..).and_then(|end| end.try_into().ok()).ok_or_else(cut)?;
    let length = read_footer_length(trailer)?;
    let start = footer.checked_sub(length).ok_or_else(cut)?;
    let footer = root_as_footer(file.get(start..footer).unwrap_or_default())
        .map_err(|error| ArrowError::IpcError(format!("its footer is damaged: {error}")))?;
    let schema = footer
        .schema()
        .ok_or_else(|| ArrowError::IpcError("its footer says nothing of its columns".into()))?;
    let blocks = footer.dictionaries().into_iter().chain(footer.recordBatches()).flatten();
    let blocks: Vec<Block> = blocks.copied().collect();
    Ok(IpcStructure {
        schema: Arc::new(try_fb_to_schema(schema)?),
        version: footer.version(),
        messages: Messages::Blocks(blocks.into_iter()),
    })
}

/// The columns of a stream, which its first message has.
fn first_message(file: &Buffer) -> Result<IpcStructure, ArrowError> {
    let none = || ArrowError::IpcError("the stream does not begin with its columns".into());
    let place = Place::at(file, 0)?.ok_or_else(none)?;
    let message = place.message()?;
    let schema: Schema = try_fb_to_schema(message.header_as_schema().ok_or_else(none)?)?;
    Ok(IpcStructure {
        schema: Arc::new(schema),
        version: message.version(),
        messages: Messages::From(place.end().unwrap_or(usize::MAX)),
    })
}

impl Batches for IpcTable {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let name = self.name.clone();
            let failed = |error: ArrowError| super::unreadable(&name, &error);
            let Some(place) = self.next_message().map_err(failed)? else { return Ok(None) };
            let unpacked = place.unpacked_bytes().map_err(failed)?;
            let most = UNPACKED_BYTES.min(allowed(self.buffer.len() as u64));
            if self.dictionary_bytes.saturating_add(unpacked) > most {
                let message = format!(
                    "a batch has {unpacked} bytes without compression, which is over the limit of \
                     {most} with those of its dictionaries"
                );
                return Err(Error::input(ErrorKind::OverLimit, message).at(&name));
            }
            if let Some(batch) = self.batch(&place, unpacked).map_err(failed)? {
                return Ok(Some(batch));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use arrow_array::StringArray;
    use arrow_ipc::CompressionType;
    use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};

    use super::*;

    fn batch() -> RecordBatch {
        let texts = StringArray::from_iter_values((0..500).map(|row| format!("text {row:04}")));
        RecordBatch::try_from_iter([("text", Arc::new(texts) as _)]).unwrap()
    }

    /// The same table as a file and as a stream.
    fn both(compression: Option<CompressionType>) -> [Vec<u8>; 2] {
        let options = || IpcWriteOptions::default().try_with_compression(compression).unwrap();
        let (batch, mut file, mut stream) = (batch(), Vec::new(), Vec::new());
        let schema = batch.schema();
        let mut writer = FileWriter::try_new_with_options(&mut file, &schema, options()).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        let mut writer =
            StreamWriter::try_new_with_options(&mut stream, &schema, options()).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        [file, stream]
    }

    fn read(files: &[Vec<u8>; 2], raw: Option<usize>) -> [Result<Vec<RecordBatch>>; 2] {
        let folder = tempfile::tempdir().unwrap();
        let path = |at: usize| folder.path().join(at.to_string());
        let read = |table: Result<IpcTable>| {
            let (mut table, mut batches) = (table?, Vec::new());
            while let Some(batch) = table.next_batch()? {
                batches.push(batch);
            }
            Ok(batches)
        };
        files.iter().enumerate().for_each(|(at, bytes)| fs::write(path(at), bytes).unwrap());
        [read(IpcTable::file(&path(0), raw)), read(IpcTable::stream(&path(1), raw))]
    }

    fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
        let mut changed = bytes.to_vec();
        let places: Vec<usize> =
            (0..=bytes.len() - from.len()).filter(|at| bytes[*at..].starts_with(from)).collect();
        assert!(!places.is_empty());
        places.iter().for_each(|at| changed[*at..][..to.len()].copy_from_slice(to));
        changed
    }

    #[test]
    fn files_and_streams_have_the_same_batches() {
        let kinds = [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)];
        for files in kinds.map(both) {
            for batches in read(&files, None) {
                assert_eq!(batches.unwrap(), [batch()]);
            }
            for cut in [1, 9, 100, files[1].len() - 9, files[1].len() - 1] {
                let [file, stream] = &files;
                let cut = [file[..cut.min(file.len() - 1)].to_vec(), stream[..cut].to_vec()];
                assert!(read(&cut, None).iter().all(Result::is_err));
            }
            let longer = [files[0].clone(), [&files[1][..], &files[1]].concat()];
            assert!(read(&longer, None)[1].is_err());
        }
    }

    #[test]
    fn a_string_that_is_not_utf8_spoils_no_batch() {
        let files = both(None).map(|bytes| replaced(&bytes, b"text 0007", b"text \xff"));
        for batches in read(&files, None) {
            assert!(batches.is_err());
        }
        for batches in read(&files, Some(0)) {
            let batches = batches.unwrap();
            let texts = super::super::text::TextColumn::from_array(batches[0].column(0)).unwrap();
            let bad = (0..500).filter(|row| texts.cell(*row, false) != texts.cell(*row, true));
            assert_eq!(bad.collect::<Vec<_>>(), [7]);
        }
    }

    #[test]
    fn a_length_beyond_the_limit_takes_no_memory() {
        let length = i64::try_from(500 * "text 0000".len()).unwrap().to_le_bytes();
        for compression in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
            for stated in [i64::MAX, 1 << 40, (1 << 31) + 1] {
                let files = both(Some(compression));
                let files = files.map(|bytes| replaced(&bytes, &length, &stated.to_le_bytes()));
                for failure in read(&files, None) {
                    let failure = failure.unwrap_err();
                    let over = crate::Kind::Core(ErrorKind::OverLimit);
                    assert_eq!(failure.kind(), over, "{stated}: {failure}");
                }
            }
        }
    }
}
