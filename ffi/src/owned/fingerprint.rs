//! Fingerprints of the spaces of models' vectors.

use core::ffi::c_char;
use std::string::String;

use nanoembed_core::limit::formatted;

use crate::hosted::{Asked, Data, HostedModel};
use crate::limits::nanoembed_limits;
use crate::model_options::nanoembed_model_options;
use crate::pointer;
use crate::source::{Bytes, nanoembed_source};
use crate::status::{
    BAD_POINTER, Outcome, nanoembed_error, nanoembed_status, report_named, too_small,
};

/// Bytes of a fingerprint: 32 hexadecimal digits and a zero.
pub const NANOEMBED_FINGERPRINT_BYTES: usize = 33;

/// Writes the fingerprint of the space of a model's vectors to `fingerprint`, of
/// `NANOEMBED_FINGERPRINT_BYTES` bytes: vectors may be compared with each other if their models have
/// the same. It is that of the model in a file in memory, used without options, and equals what
/// `nanoembed inspect` prints.
///
/// `NANOEMBED_OTHER_MODEL` for a model that compares texts.
///
/// # Safety
///
/// `source` is what its type says, `fingerprint` points to `capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_fingerprint(
    source: *const nanoembed_source,
    fingerprint: *mut c_char,
    capacity: usize,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let mut name = String::new();
    let mut make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (source, out) = unsafe {
            (Bytes::new(source)?, pointer::slice_mut(fingerprint.cast::<u8>(), capacity)?)
        };
        let file = source.memory().ok_or(BAD_POINTER)?;
        let out = out.first_chunk_mut::<NANOEMBED_FINGERPRINT_BYTES>();
        let (digits, end) = out
            .ok_or(too_small(NANOEMBED_FINGERPRINT_BYTES))?
            .split_at_mut(NANOEMBED_FINGERPRINT_BYTES - 1);
        let (options, limits) = (nanoembed_model_options::default(), nanoembed_limits::default());
        let asked = Asked { options: &options, limits: &limits, allowed: &[] };
        let model = HostedModel::open(Data::Lent(file), asked, &mut name)?;
        let found = formatted(format_args!("{}", model.encoder.fingerprint(file)?))?;
        digits.copy_from_slice(found.as_bytes());
        end.fill(0);
        Ok(())
    };
    let outcome = make();
    // SAFETY: the caller's promise.
    unsafe { report_named(outcome, &name, error) }
}
