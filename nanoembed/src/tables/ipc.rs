//! Arrow's IPC formats: files with a footer, and streams of messages.
//!
//! A file is mapped and its arrays lie in the map. Every place that its footer names is checked
//! before it is used: Arrow's own reader takes memory for as many bytes as a footer spells. A
//! stream is read in pieces, and memory grows with what has come.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{FileDecoder, StreamDecoder, read_footer_length};
use arrow_ipc::{Block, root_as_footer};
use arrow_schema::{ArrowError, SchemaRef};
use bytes::Bytes;

use super::input::Batches;
use crate::error::{Error, Result, name_of};
use crate::files::mapped::Mapped;
use crate::files::whole_file;

/// What stands behind a footer: its length and the magic number.
const TRAILER_BYTES: usize = 10;

/// Bytes of a stream that are read at a time.
const PIECE_BYTES: usize = 1 << 20;

/// A mapped file.
pub(super) struct IpcFile {
    buffer: Buffer,
    decoder: FileDecoder,
    schema: SchemaRef,
    blocks: Vec<Block>,
    next: usize,
    name: String,
}

impl IpcFile {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let name = name_of(path);
        let file = crate::Bytes::from(Mapped::open_regular(path)?);
        let buffer = Buffer::from(Bytes::from_owner(file));
        Self::of(buffer, name.clone()).map_err(|error| super::unreadable(&name, &error))
    }

    fn of(buffer: Buffer, name: String) -> Result<Self, ArrowError> {
        let cut = || ArrowError::IpcError("the file is cut short".into());
        let footer = buffer.len().checked_sub(TRAILER_BYTES).ok_or_else(cut)?;
        let trailer = buffer.get(footer..).and_then(|end| end.try_into().ok()).ok_or_else(cut)?;
        let length = read_footer_length(trailer)?;
        let start = footer.checked_sub(length).ok_or_else(cut)?;
        let footer = root_as_footer(buffer.get(start..footer).unwrap_or_default())
            .map_err(|error| ArrowError::IpcError(format!("its footer is damaged: {error}")))?;
        let schema = footer
            .schema()
            .ok_or_else(|| ArrowError::IpcError("its footer says nothing of its columns".into()))?;
        let schema = Arc::new(try_fb_to_schema(schema)?);
        let mut decoder = FileDecoder::new(Arc::clone(&schema), footer.version());
        for block in footer.dictionaries().iter().flatten() {
            decoder.read_dictionary(block, &bytes_of(&buffer, block)?)?;
        }
        let blocks = footer.recordBatches().iter().flatten().copied().collect();
        Ok(Self { buffer, decoder, schema, blocks, next: 0, name })
    }

    pub(super) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// The bytes of a block, if they lie in the file.
fn bytes_of(buffer: &Buffer, block: &Block) -> Result<Buffer, ArrowError> {
    let outside = || ArrowError::IpcError("a block lies outside the file".into());
    let number = |value: i64| usize::try_from(value).map_err(|_| outside());
    let (offset, body) = (number(block.offset())?, number(block.bodyLength())?);
    let metadata = number(block.metaDataLength().into())?;
    let length = metadata.checked_add(body).ok_or_else(outside)?;
    match offset.checked_add(length) {
        // A message begins with 8 bytes that its reader takes for granted.
        Some(end) if end <= buffer.len() && metadata >= 8 => {
            Ok(buffer.slice_with_length(offset, length))
        }
        _ => Err(outside()),
    }
}

impl Batches for IpcFile {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        while let Some(block) = self.blocks.get(self.next) {
            self.next += 1;
            let batch = bytes_of(&self.buffer, block)
                .and_then(|bytes| self.decoder.read_record_batch(block, &bytes));
            if let Some(batch) = batch.map_err(|error| super::unreadable(&self.name, &error))? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }
}

/// A stream of messages in a file.
pub(super) struct IpcStream {
    file: File,
    decoder: StreamDecoder,
    piece: Buffer,
    name: String,
}

impl IpcStream {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let name = name_of(path);
        let file = whole_file::open(path).map_err(|error| Error::reading(&name, &error))?;
        let piece = Buffer::from(Vec::<u8>::new());
        Ok(Self { file, decoder: StreamDecoder::new(), piece, name })
    }

    /// The columns, which the first message has.
    pub(super) fn schema(mut self) -> Result<SchemaRef> {
        self.next_batch()?;
        let cut = || Error::bad_input("the stream ends before its columns").at(&self.name);
        self.decoder.schema().ok_or_else(cut)
    }

    /// Reads on; whether there was more.
    fn fill(&mut self) -> Result<bool> {
        let mut piece = Vec::new();
        let read = self.file.by_ref().take(PIECE_BYTES as u64).read_to_end(&mut piece);
        let read = read.map_err(|error| Error::reading(&self.name, &error))?;
        self.piece = Buffer::from(piece);
        Ok(read > 0)
    }
}

impl Batches for IpcStream {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if self.piece.is_empty() && !self.fill()? {
                let end = self.decoder.finish();
                return end.map(|()| None).map_err(|error| super::unreadable(&self.name, &error));
            }
            let batch = self.decoder.decode(&mut self.piece);
            if let Some(batch) = batch.map_err(|error| super::unreadable(&self.name, &error))? {
                return Ok(Some(batch));
            }
        }
    }
}
