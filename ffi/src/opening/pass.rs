//! One pass over a `.weights` file in memory or in storage.

use core::mem::MaybeUninit;

use nanoembed_core::event::Mode;
use nanoembed_core::format::embd::{DecoderOver, TensorRecord};
use nanoembed_core::source::stored::TensorPlace;

use super::file::File;
use super::scratch::PassMemory;
use crate::memory::Sum;
use crate::source::Bytes;
use crate::status::Outcome;

/// The largest token or metadata entry.
const LEAST_BUFFER_BYTES: usize = 4096;

type Decoder = DecoderOver<&'static mut [TensorRecord]>;

/// One pass over a `.weights` file, and memory for its result `T`.
pub(super) struct Pass<T: 'static> {
    decoder: &'static mut Decoder,
    buffer: &'static mut [u8],
    pub(super) file: &'static mut File,
    pub(super) opening: &'static mut MaybeUninit<T>,
}

/// Adds the memory that [`ready`] takes for a file with so many tensors.
pub(super) fn add_bytes<T>(tensors: usize, sum: &mut Sum) -> Outcome {
    sum.add::<Decoder>(1)?;
    sum.add::<File>(1)?;
    sum.add::<T>(1)?;
    sum.add::<TensorPlace>(tensors)?;
    sum.add::<u8>(LEAST_BUFFER_BYTES)
}

/// Writes everything that is there before the pass begins.
#[inline(never)] // what is put there lies on the stack before
pub(super) fn ready<T>(memory: PassMemory) -> Outcome<Pass<T>> {
    let PassMemory { records, mut rest } = memory;
    let places = rest.filled(records.len(), TensorPlace::EMPTY)?;
    Ok(Pass {
        decoder: rest.put(DecoderOver::lent(Mode::Lenient, records))?,
        file: rest.put(File::unread(places))?,
        opening: rest.put(MaybeUninit::uninit())?,
        buffer: rest.rest()?,
    })
}

impl<T> Pass<T> {
    pub(super) fn pass(&mut self, source: &Bytes) -> Outcome {
        let Self { decoder, buffer, file, .. } = self;
        file.read(source, decoder, buffer)
    }
}
