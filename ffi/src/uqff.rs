//! Layers of UQFF files, whose values lie in several tensors.

use core::ffi::c_char;

use nanoembed_core::event::Mode;
use nanoembed_core::format::safetensors::Entry;
use nanoembed_core::format::uqff::Uqff;
use nanoembed_core::kernel::Dequantizer;

use crate::memory::Lent;
use crate::pointer::{self, text};
use crate::status::{
    Failure, NANOEMBED_NOT_FOUND, Outcome, nanoembed_error, nanoembed_status, report,
};

/// Bytes of memory that `nanoembed_uqff_dequantize` needs for a file with as many tensors.
#[unsafe(no_mangle)]
pub extern "C" fn nanoembed_uqff_bytes(tensors: usize) -> usize {
    tensors.saturating_mul(size_of::<Entry>())
}

/// Converts elements of a layer of a UQFF file in memory, in row-major order from `first` on, to
/// `count` floats. `layer` is its name, `memory` has room for all tensors of the file:
/// `nanoembed_uqff_bytes`. `elements`, which may be NULL, gets the number of all elements, also if
/// `count` is 0.
///
/// # Safety
///
/// `data`, `layer` and `memory` point to as many bytes, `memory` aligned to `NANOEMBED_ALIGN`;
/// `out` to `count` floats, `elements` is NULL or points to memory for one number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanoembed_uqff_dequantize(
    data: *const u8,
    bytes: usize,
    layer: *const c_char,
    layer_bytes: usize,
    first: usize,
    memory: *mut u8,
    memory_bytes: usize,
    out: *mut f32,
    count: usize,
    elements: *mut u64,
    error: *mut nanoembed_error,
) -> nanoembed_status {
    let make = || -> Outcome {
        // SAFETY: the caller's promise.
        let (file, layer, mut lent, out) = unsafe {
            (
                pointer::slice(data, bytes)?,
                text(layer, layer_bytes)?,
                Lent::new(memory, memory_bytes)?,
                pointer::slice_mut(out, count)?,
            )
        };
        let entries = lent.filled(lent.left() / size_of::<Entry>(), Entry::default())?;
        let file = Uqff::parse(file, Mode::Lenient, entries)?;
        let layer = file.layer(layer).ok_or(Failure::here(NANOEMBED_NOT_FOUND))??;
        if !elements.is_null() {
            // SAFETY: the caller's promise.
            unsafe { pointer::out(elements) }?.write(layer.weight.elements());
        }
        Ok(Dequantizer::detect().dequantize_weight(&layer.weight, first, out)?)
    };
    // SAFETY: the caller's promise.
    unsafe { report(make(), error) }
}
