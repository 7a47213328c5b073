//! A file without its weights: the parts that describe a model and its tokenizer, at their offsets.
//!
//! Formats interleave the headers of tensors with their data, so that reading them from a mapped
//! file brings much of it into memory. Here they are read from storage into memory of the file's
//! size of which the rest is never touched.

use std::cell::RefCell;

use nanoembed_core::event::{Decode, Event, Format, Mode};
use nanoembed_core::format::{amb, embd, gguf, sniff};
use nanoembed_core::read::{ReadAt, Seek};
use nanoembed_core::{Error as CoreError, ErrorKind};

use crate::files::mapped_file::MappedFile;
use crate::files::on_disk::OnDisk;
use crate::files::zeros::Zeros;

/// Bytes that are read at a time: few, as data may follow.
const PIECE: usize = 4096;

/// The structure of an `.amb`, `.weights` or GGUF file; where data would be are zeros.
pub(super) fn read(file: &OnDisk) -> Result<MappedFile, CoreError> {
    let too_large = CoreError::without_offset(ErrorKind::SizeOverflow);
    let length = usize::try_from(file.len()).map_err(|_| too_large)?;
    let image = Zeros::new(length).map_err(|_| too_large)?;
    let copied = Copied { file, image: RefCell::new(image) };
    let mut start = [0; 64];
    let there = copied.read_at(0, &mut start)?;
    let mode = Mode::Lenient;
    match sniff(start.get(..there).unwrap_or_default()) {
        Some(Format::Amb) => {
            copied.walk(|| amb::AmbDecoder::<{ amb::DEFAULT_MAX_TENSORS }>::new(mode))
        }
        Some(Format::Gguf) => {
            copied.walk(|| gguf::GgufDecoder::<{ gguf::DEFAULT_MAX_TENSORS }>::new(mode))
        }
        Some(Format::Embd) => {
            copied.walk(|| embd::EmbdDecoder::<{ embd::DEFAULT_MAX_TENSORS }>::new(mode))
        }
        _ => Err(CoreError::new(0, ErrorKind::UnknownFormat)),
    }?;
    copied.image.into_inner().finish().map_err(|_| too_large)
}

/// A file, and the parts of it that have been read.
struct Copied<'f> {
    file: &'f OnDisk,
    image: RefCell<Zeros>,
}

impl Copied<'_> {
    /// Reads everything but data, with a larger buffer if there is an item that asks for one.
    fn walk<D: Decode>(&self, decoder: impl Fn() -> D) -> Result<(), CoreError> {
        let mut piece = PIECE;
        loop {
            let mut buffer = vec![0; piece];
            let mut seek = Seek::new(self, decoder(), &mut buffer).without_data();
            let walked = loop {
                match seek.next_event(|event| self.keep(&event)) {
                    Ok(true) => {}
                    Ok(false) => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            match walked {
                Err(error) if error.kind() == ErrorKind::BufferTooSmall => piece *= 2,
                walked => return walked,
            }
        }
    }

    /// Reads the tokenizer's parts among the tensors.
    fn keep(&self, event: &Event<'_>) -> Result<(), CoreError> {
        let Event::Tensor(header) = event else { return Ok(()) };
        if ![embd::MERGES, embd::SENTENCEPIECE].contains(&header.name) {
            return Ok(());
        }
        let mut piece = [0; PIECE];
        let (mut at, mut left) = (header.offset, header.bytes);
        while left > 0 {
            let room = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let read = self.read_at(at, piece.get_mut(..room).unwrap_or_default())? as u64;
            if read == 0 {
                return Err(CoreError::new(at, ErrorKind::SourceChanged));
            }
            (at, left) = (at + read, left.saturating_sub(read));
        }
        Ok(())
    }
}

impl ReadAt for Copied<'_> {
    fn len(&self) -> u64 {
        self.file.len()
    }

    fn read_at(&self, offset: u64, destination: &mut [u8]) -> Result<usize, CoreError> {
        let read = self.file.read_at(offset, destination)?;
        let changed = CoreError::new(offset, ErrorKind::SourceChanged);
        let start = usize::try_from(offset).map_err(|_| changed)?;
        let mut image = self.image.borrow_mut();
        let place = image.get_mut(start..).and_then(|rest| rest.get_mut(..read)).ok_or(changed)?;
        place.copy_from_slice(destination.get(..read).ok_or(changed)?);
        Ok(read)
    }
}
