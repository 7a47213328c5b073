//! Verification of the CRC-32 in the tensor [`CHECKSUM`], separate from decoding because it reads
//! every byte.

use super::CHECKSUM;
use super::decoder::{AmbDecoder, DEFAULT_MAX_TENSORS};
use crate::crc32::Running;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Decode, Event, Mode, Step};
use crate::tensor::{Dtype, Shape, TensorHeader};

/// Encodes the data of [`CHECKSUM`]: two numbers that an f32 represents exactly.
#[allow(clippy::cast_precision_loss)] // 16 bits each
pub(super) fn as_data(crc: u32) -> [u8; 8] {
    let [a, b, c, d] = ((crc >> 16) as f32).to_le_bytes();
    let [e, f, g, h] = ((crc & 0xFFFF) as f32).to_le_bytes();
    [a, b, c, d, e, f, g, h]
}

/// A [`AmbDecoder`] that also checks the checksum, if the file has one.
///
/// It yields the same events, but nothing is [`skippable`](Decode::skippable). Before
/// [`Event::End`] it returns [`ErrorKind::FileChecksum`] if the bytes before the checksum have
/// changed, or [`ErrorKind::TrailingBytes`] if another tensor follows the checksum.
pub struct AmbVerifier<const TENSORS: usize = DEFAULT_MAX_TENSORS> {
    decoder: AmbDecoder<TENSORS>,
    file: Running,
    /// The offset of the checksum's data and its expected bytes.
    expected: Option<(u64, [u8; 8])>,
    verdict: Option<Error>,
    differs: bool,
}

impl<const TENSORS: usize> AmbVerifier<TENSORS> {
    /// A verifier at the start of a file.
    #[must_use]
    pub fn new(mode: Mode) -> Self {
        Self {
            decoder: AmbDecoder::new(mode),
            file: Running::new(),
            expected: None,
            verdict: None,
            differs: false,
        }
    }

    /// Yields no tokens: see [`AmbDecoder::without_tokens`].
    #[must_use]
    pub fn without_tokens(mut self) -> Self {
        self.decoder = self.decoder.without_tokens();
        self
    }

    /// Returns true if the file has a checksum; known at the end.
    #[must_use]
    pub const fn has_checksum(&self) -> bool {
        self.expected.is_some()
    }

    fn check(&mut self, step: &Step<'_>) -> Result<()> {
        match (step.event, self.expected) {
            (Some(Event::Tensor(tensor)), None) if is_checksum(&tensor) => {
                self.expected = Some((tensor.offset, as_data(self.file.finish())));
                Ok(())
            }
            (Some(Event::Tensor(tensor)), Some(_)) => {
                Err(Error::new(tensor.offset, ErrorKind::TrailingBytes))
            }
            (Some(Event::Data { offset, bytes }), Some((start, expected))) => {
                let from = usize::try_from(offset.saturating_sub(start)).unwrap_or(usize::MAX);
                let wanted = expected.get(from..).unwrap_or_default();
                self.differs |= !wanted.starts_with(bytes);
                Ok(())
            }
            (Some(Event::End), Some((start, _))) if self.differs => {
                Err(Error::new(start, ErrorKind::FileChecksum))
            }
            _ => Ok(()),
        }
    }
}

fn is_checksum(tensor: &TensorHeader<'_>) -> bool {
    tensor.name == CHECKSUM && tensor.dtype == Dtype::F32 && Shape::new(&[2]) == Some(tensor.shape)
}

impl<const TENSORS: usize> Decode for AmbVerifier<TENSORS> {
    fn next<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>> {
        if let Some(error) = self.verdict {
            return Err(error);
        }
        let step = self.decoder.next(input)?;
        if self.expected.is_none() {
            self.file.update(input.get(..step.used).unwrap_or(input));
        }
        let verdict = self.check(&step);
        self.verdict = verdict.err();
        verdict.map(|()| step)
    }

    fn offset(&self) -> u64 {
        self.decoder.offset()
    }

    fn skippable(&self) -> u64 {
        0
    }

    fn skip(&mut self, _: u64) -> u64 {
        0
    }

    fn is_complete(&self) -> bool {
        self.decoder.is_complete()
    }
}
