//! Verification of a file's structure and checksums, which reads every byte.

use core::ffi::c_void;

use nanoembed_core::event::{Decode, Event, Mode};
use nanoembed_core::format::amb;
use nanoembed_core::format::embd;
use nanoembed_core::format::{SNIFF_BYTES, sniff};
use nanoembed_core::read::{ReadAt as _, Seek};

use crate::decoder::AnyDecoder;
use crate::format::{
    NANOEMBED_FORMAT_AMB, NANOEMBED_FORMAT_EMBD, NANOEMBED_FORMAT_UNKNOWN, nanoembed_format,
    number_of,
};
use crate::leaf;
use crate::memory::{Lent, Sum};
use crate::pointer;
use crate::source::{Bytes, nanoembed_source};
use crate::status::{
    Failure, NANOEMBED_STOPPED, Outcome, nanoembed_error, nanoembed_status, report, too_small,
};

/// Is told how many bytes of a file have been read, of how many; anything but 0 stops with
/// `NANOEMBED_STOPPED`.
pub type nanoembed_on_progress =
    Option<unsafe extern "C" fn(context: *mut c_void, done: u64, bytes: u64) -> i32>;

/// The buffer for the largest item of a file.
const BUFFER_BYTES: usize = 4096;

/// Memory that `nanoembed_verify` needs, in bytes; with more it reads more at once.
#[unsafe(no_mangle)]
pub extern "C" fn nanoembed_verify_bytes() -> usize {
    least_bytes().unwrap_or(usize::MAX)
}

fn least_bytes() -> Outcome<usize> {
    let mut sum = Sum::default();
    AnyDecoder::add_bytes(&mut sum)?;
    sum.add::<EmbdVerifier>(1)?;
    if leaf::Amb::built_in().is_ok() {
        sum.add::<AmbVerifier>(1)?;
    }
    sum.add::<u8>(BUFFER_BYTES)?;
    Ok(sum.bytes())
}

type EmbdVerifier = embd::VerifierOver<&'static mut [embd::TensorRecord]>;
type AmbVerifier = amb::AmbVerifier<{ crate::decoder::TENSORS }>;

/// Reads a whole file and says whether it is what was written, as far as its format can tell:
/// `NANOEMBED_DATA_CHECKSUM` or `NANOEMBED_FILE_CHECKSUM` if it is not. `*has_checksum`, which may
/// be NULL, gets 1 if the file carries checksums of its data, as `.weights` and `.amb` files may,
/// else 0: then only its structure has been checked. `on_progress` may be NULL.
///
/// # Safety
///
/// `source` is what its type says, `memory` points to `memory_bytes` bytes, aligned to
/// `NANOEMBED_ALIGN`, that nobody else touches meanwhile; `on_progress` is called with `context`;
/// `has_checksum` is NULL or points to memory for one number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_verify(
    source: *const nanoembed_source,
    memory: *mut u8,
    memory_bytes: usize,
    on_progress: nanoembed_on_progress,
    context: *mut c_void,
    has_checksum: *mut u32,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        let needed = least_bytes()?;
        if memory_bytes < needed {
            return Err(too_small(needed));
        }
        // SAFETY: the caller's promise.
        let (source, mut lent) = unsafe { (Bytes::new(source)?, Lent::new(memory, memory_bytes)?) };
        let progress = |done: u64| match on_progress {
            // SAFETY: the contract of the callback.
            Some(told) => unsafe { told(context, done, source.len()) != 0 },
            None => false,
        };
        let found = verify(&source, &mut lent, &progress)?;
        if !has_checksum.is_null() {
            // SAFETY: the caller's promise.
            unsafe { pointer::out(has_checksum) }?.write(found.into());
        }
        Ok(())
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}

fn format_of(source: &Bytes) -> Outcome<nanoembed_format> {
    let mut start = [0; SNIFF_BYTES];
    Ok(sniff(source.start(&mut start)?).map_or(NANOEMBED_FORMAT_UNKNOWN, number_of))
}

/// Reads all; answers whether there are checksums of the data.
fn verify(source: &Bytes, lent: &mut Lent, progress: &dyn Fn(u64) -> bool) -> Outcome<bool> {
    let format = format_of(source)?;
    match format {
        NANOEMBED_FORMAT_EMBD => {
            let place: *mut EmbdVerifier = lent.place(1)?;
            let records = lent.filled(crate::decoder::TENSORS, embd::TensorRecord::EMPTY)?;
            let decoder = embd::DecoderOver::lent(Mode::Lenient, records).without_tokens();
            // SAFETY: the place was taken for it, and nobody else has it.
            let verifier = unsafe {
                place.write(embd::VerifierOver::over(decoder));
                &mut *place
            };
            drive(source, &mut *verifier, lent, progress)?;
            Ok(verifier.has_checksums())
        }
        NANOEMBED_FORMAT_AMB if leaf::Amb::built_in().is_ok() => {
            let place: *mut AmbVerifier = lent.place(1)?;
            // SAFETY: as before.
            let verifier = unsafe {
                place.write(amb::AmbVerifier::new(Mode::Lenient).without_tokens());
                &mut *place
            };
            drive(source, &mut *verifier, lent, progress)?;
            Ok(verifier.has_checksum())
        }
        _ => {
            let decoder = AnyDecoder::new(format, Mode::Lenient, lent)?;
            drive(source, decoder, lent, progress)?;
            Ok(false)
        }
    }
}

/// Takes a file through a decoder.
fn drive(
    source: &Bytes,
    decoder: impl Decode,
    lent: &mut Lent,
    progress: &dyn Fn(u64) -> bool,
) -> Outcome {
    let mut seek = Seek::new(source, decoder, lent.rest()?);
    loop {
        let mut is_data = false;
        let more = seek.next_event(|event| {
            is_data = matches!(event, Event::Data { .. } | Event::End);
            Ok(())
        })?;
        if is_data && progress(seek.decoder().offset()) {
            return Err(Failure::here(NANOEMBED_STOPPED));
        }
        if !more {
            return Ok(());
        }
    }
}
