//! Parts of tensors as numbers, for those who look at files.

use alloc::vec::Vec;

use nanoembed_core::ErrorKind;
use nanoembed_core::event::Mode;
use nanoembed_core::format::safetensors::Entry;
use nanoembed_core::format::uqff::Uqff;
use nanoembed_core::kernel::Dequantizer;
use nanoembed_core::limit::filled;
use nanoembed_core::tensor::Dtype;
use wasm_bindgen::prelude::*;

use crate::failure::{Failure, Result};

/// Elements and bytes of what a type stores together, as elements · 2¹⁶ + bytes; 0 for a type that
/// is not known.
#[wasm_bindgen]
#[must_use]
pub fn block(dtype: &str) -> u32 {
    let block = Dtype::from_name(dtype).and_then(|dtype| {
        let elements = u16::try_from(dtype.block_elements()).ok()?;
        let bytes = u16::try_from(dtype.block_bytes()).ok()?;
        Some(u32::from(elements) << 16 | u32::from(bytes))
    });
    block.unwrap_or(0)
}

/// `count` elements of `data`, whole blocks of `dtype`.
///
/// # Errors
///
/// `unsupported_dtype`, or `invalid_argument` if there are fewer.
#[wasm_bindgen]
pub fn dequantize(dtype: &str, data: &[u8], count: usize) -> Result<Vec<f32>> {
    let dtype = Dtype::from_name(dtype).ok_or(ErrorKind::UnsupportedDtype)?;
    // Memory is bounded by the bytes that were given.
    let blocks = data.len().checked_div(dtype.block_bytes()).unwrap_or(0);
    if count > blocks.saturating_mul(dtype.block_elements()) {
        return Err(ErrorKind::InvalidArgument.into());
    }
    let mut out = filled(count, 0.0)?;
    Dequantizer::detect().dequantize(dtype, data, 0, &mut out)?;
    Ok(out)
}

/// How many elements the layer `name` of a UQFF file has.
///
/// # Errors
///
/// As [`dequantize_layer`].
#[wasm_bindgen]
pub fn layer_elements(file: &[u8], name: &str) -> Result<usize> {
    let mut entries = [Entry::default(); MAX_TENSORS];
    let uqff = Uqff::parse(file, Mode::Lenient, &mut entries)?;
    let layer = uqff.layer(name).ok_or(ErrorKind::MissingTensor)?.map_err(Failure::from)?;
    let elements = usize::try_from(layer.weight.elements());
    elements.map_err(|_| ErrorKind::SizeOverflow.into())
}

/// `count` elements from `first` on of the layer `name` in a UQFF file.
///
/// # Errors
///
/// The fault of the file or the layer; `invalid_argument` beyond the layer's end.
#[wasm_bindgen]
pub fn dequantize_layer(file: &[u8], name: &str, first: usize, count: usize) -> Result<Vec<f32>> {
    let mut entries = [Entry::default(); MAX_TENSORS];
    let uqff = Uqff::parse(file, Mode::Lenient, &mut entries)?;
    let layer = uqff.layer(name).ok_or(ErrorKind::MissingTensor)?.map_err(Failure::from)?;
    let elements = usize::try_from(layer.weight.elements()).unwrap_or(usize::MAX);
    if first.checked_add(count).is_none_or(|end| end > elements) {
        return Err(ErrorKind::InvalidArgument.into());
    }
    let mut out = filled(count, 0.0)?;
    Dequantizer::detect().dequantize_weight(&layer.weight, first, &mut out)?;
    Ok(out)
}

/// How many tensors a file with one layer may have.
const MAX_TENSORS: usize = 64;
