//! Messages of Arrow's IPC formats, as far as they are looked at before Arrow's own reader, which
//! takes memory for as many bytes as a message spells.
//!
//! | bytes | |
//! |---|---|
//! | 4 | `FF FF FF FF`; older writers leave it out |
//! | 4 | length of the header, 0 at the end of a stream |
//! | … | the header, a flatbuffer: which buffers the body has, and where |
//! | … | the body; each buffer, if compressed, after its length without compression, an `i64` |
//!
//! Specification: <https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc>

use arrow_buffer::Buffer;
use arrow_ipc::{Block, Message, MessageHeader, RecordBatch, root_as_message};
use arrow_schema::ArrowError;

const CONTINUATION: [u8; 4] = [0xff; 4];

/// A message that is in a file as a whole.
pub(super) struct Place {
    pub(super) block: Block,
    pub(super) bytes: Buffer,
}

impl Place {
    /// The message where a footer says that it is.
    pub(super) fn from_block(file: &Buffer, block: Block) -> Result<Self, ArrowError> {
        let number = |value: i64| usize::try_from(value).map_err(|_| outside());
        let (offset, body) = (number(block.offset())?, number(block.bodyLength())?);
        let metadata = number(block.metaDataLength().into())?;
        let length = metadata.checked_add(body).ok_or_else(outside)?;
        match offset.checked_add(length) {
            // A message begins with 8 bytes that its reader takes for granted.
            Some(end) if end <= file.len() && metadata >= 8 => {
                Ok(Self { block, bytes: file.slice_with_length(offset, length) })
            }
            _ => Err(outside()),
        }
    }

    /// The message of a stream that begins at `offset`; `None` at the stream's end.
    pub(super) fn at(file: &Buffer, offset: usize) -> Result<Option<Self>, ArrowError> {
        let rest = file.get(offset..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(None);
        }
        let cut = || ArrowError::IpcError("the stream is cut short".into());
        let Some((header, prefix)) = header(rest).ok_or_else(cut)? else {
            return match rest.len() {
                4 | 8 => Ok(None),
                _ => Err(ArrowError::IpcError("bytes stand after the stream's end".into())),
            };
        };
        let message = parsed(header)?;
        let whole = i32::try_from(prefix + header.len()).map_err(|_| outside())?;
        let offset = i64::try_from(offset).map_err(|_| outside())?;
        Self::from_block(file, Block::new(offset, whole, message.bodyLength())).map(Some)
    }

    /// The parsed message.
    pub(super) fn message(&self) -> Result<Message<'_>, ArrowError> {
        let (header, _) = header(&self.bytes).flatten().ok_or_else(outside)?;
        parsed(header)
    }

    /// The bytes that the body declares for its buffers without compression; 0 if it has none.
    pub(super) fn unpacked_bytes(&self) -> Result<u64, ArrowError> {
        let message = self.message()?;
        let batch = batch_of(&message).filter(|batch| batch.compression().is_some());
        let start = usize::try_from(self.block.metaDataLength()).map_err(|_| outside())?;
        let body = self.bytes.get(start..).ok_or_else(outside)?;
        let mut sum = 0_u64;
        for buffer in batch.and_then(|batch| batch.buffers()).iter().flatten() {
            let stated = usize::try_from(buffer.offset()).ok().and_then(|at| body.get(at..));
            let stated = stated.and_then(|bytes| bytes.first_chunk()).copied();
            if buffer.length() > 0
                && let Some(Ok(stated)) = stated.map(|it| u64::try_from(i64::from_le_bytes(it)))
            {
                sum = sum.saturating_add(stated);
            }
        }
        Ok(sum)
    }

    /// The start of the next message.
    pub(super) fn end(&self) -> Option<usize> {
        usize::try_from(self.block.offset()).ok()?.checked_add(self.bytes.len())
    }
}

fn outside() -> ArrowError {
    ArrowError::IpcError("a block lies outside the file".into())
}

/// The header of a message, and how many bytes stand before it; within, `None` if the message is
/// the stream's end; without, if it is cut short.
#[expect(clippy::option_option, reason = "a stream may end, or be cut")]
fn header(bytes: &[u8]) -> Option<Option<(&[u8], usize)>> {
    let (first, rest) = bytes.split_first_chunk::<4>()?;
    let (length, rest, prefix) = match *first == CONTINUATION {
        true => {
            let (length, rest) = rest.split_first_chunk::<4>()?;
            (*length, rest, 8)
        }
        false => (*first, rest, 4),
    };
    let length = usize::try_from(u32::from_le_bytes(length)).ok()?;
    if length == 0 {
        return Some(None);
    }
    Some(Some((rest.get(..length)?, prefix)))
}

fn parsed(header: &[u8]) -> Result<Message<'_>, ArrowError> {
    root_as_message(header)
        .map_err(|error| ArrowError::IpcError(format!("a message is damaged: {error}")))
}

fn batch_of<'m>(message: &Message<'m>) -> Option<RecordBatch<'m>> {
    match message.header_type() {
        MessageHeader::RecordBatch => message.header_as_record_batch(),
        MessageHeader::DictionaryBatch => message.header_as_dictionary_batch()?.data(),
        _ => None,
    }
}
