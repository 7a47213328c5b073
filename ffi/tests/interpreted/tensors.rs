//! Elements of tensors as floats, of files in memory and behind a callback.

use std::ffi::CStr;
use std::ptr::null_mut;

use nanoembed_core::ErrorKind;
use nanoembed_ffi::embed::nanoembed_cosine;
use nanoembed_ffi::format::*;
use nanoembed_ffi::status::*;
use nanoembed_ffi::tensor::*;
use nanoembed_ffi::uqff::*;

use crate::{Room, Stored, in_memory, models, of};

/// The number of a type by its name.
fn dtype(wanted: &CStr) -> nanoembed_dtype {
    // SAFETY: names are never NULL, and static.
    let name = |number: &u32| unsafe { CStr::from_ptr(nanoembed_dtype_name(*number)) };
    (1..).take_while(|it| name(it) != c"unknown").find(|it| name(it) == wanted).expect("a type")
}

#[test]
fn elements_of_every_address_become_floats() {
    // Halves at an odd address: 1, -2, 0.5.
    let half = [0, 0x00, 0x3c, 0x00, 0xc0, 0x00, 0x38];
    let mut out = [f32::NAN; 2];
    let (kind, place) = (dtype(c"f16"), out.as_mut_ptr());
    // SAFETY: everything is there, with its true sizes.
    let statuses = unsafe {
        let data = half.as_ptr().add(1);
        [1, 2].map(|first| nanoembed_dequantize(kind, data, 6, first, place, 2))
    };
    assert_eq!(statuses, [NANOEMBED_OK, of(ErrorKind::InvalidArgument)]);
    assert_eq!(out, [-2.0, 0.5]);
}

#[test]
fn blocks_of_a_tensor_are_read_a_tile_at_a_time() {
    // Two blocks of Q8_0 after a byte: a scale of a half, and codes from 0 on.
    let codes: Vec<u8> = (0..32).collect();
    let block = [&[0x00, 0x38][..], &codes].concat();
    let file = [&[7][..], &block, &block].concat();
    let (stored, mut tile) = (Stored::new(&file, 10), [0; 34]);
    let mut tensor = nanoembed_tensor {
        dtype: dtype(c"q8_0"),
        dimension_count: 1,
        dimensions: [0; NANOEMBED_MAX_DIMENSIONS],
        offset: 1,
        bytes: 68,
    };
    tensor.dimensions[0] = 64;
    let expected: Vec<f32> = (30..64).map(|at| (at % 32) as f32 / 2.0).collect();
    for source in [in_memory(&file), stored.source()] {
        let (mut out, at) = (vec![f32::NAN; 34], tile.as_mut_ptr());
        let (place, none) = (out.as_mut_ptr(), null_mut());
        // SAFETY: everything is there, with its true sizes.
        let statuses = unsafe {
            [(30, 34), (31, 34)].map(|(first, count)| {
                nanoembed_tensor_dequantize(&source, &tensor, first, at, 34, place, count, none)
            })
        };
        assert_eq!(statuses, [NANOEMBED_OK, of(ErrorKind::InvalidArgument)]);
        assert_eq!(out, expected);
    }
}

#[test]
fn a_layer_of_uqff_is_found_by_its_name() {
    let file = models::layer();
    let room = Room::new(nanoembed_uqff_bytes(8));
    let (data, bytes, memory, size) = (file.as_ptr(), file.len(), room.start, room.bytes());
    let (mut out, mut elements) = ([f32::NAN; 2], 0);
    let (place, all, none) = (out.as_mut_ptr(), &raw mut elements, null_mut());
    // SAFETY: everything is there, with its true sizes.
    let statuses = unsafe {
        ["a", "b"].map(|name| {
            let (name, length) = (name.as_ptr().cast(), name.len());
            nanoembed_uqff_dequantize(
                data, bytes, name, length, 1, memory, size, place, 2, all, none,
            )
        })
    };
    assert_eq!(statuses, [NANOEMBED_OK, NANOEMBED_NOT_FOUND]);
    assert_eq!((out, elements), ([2.0, 3.0], 4));
}

#[test]
fn formats_are_recognised_by_their_first_bytes() {
    for (file, name) in [
        (models::words(), c"finalfusion"),
        (models::table(), c"embd"),
        (models::pieces(), c"gguf"),
        (models::bert_in_amb(), c"amb"),
        (b"odd".to_vec(), c"unknown"),
    ] {
        let bytes = file.len().min(NANOEMBED_SNIFF_BYTES);
        // SAFETY: as many bytes are there; names are static.
        let found = unsafe {
            let format = nanoembed_sniff(file.as_ptr(), bytes);
            CStr::from_ptr(nanoembed_format_name(format))
        };
        assert_eq!(found, name);
    }
}

#[test]
fn the_cosine_of_nothing_is_zero() {
    let mut cosines = [f32::NAN; 3];
    let (a, b, zeros) = ([3.0, 4.0], [4.0, 3.0], [0.0; 2]);
    // SAFETY: everything is there, with its true sizes.
    unsafe {
        for (other, out) in [a, b, zeros].iter().zip(&mut cosines) {
            assert_eq!(nanoembed_cosine(a.as_ptr(), other.as_ptr(), 2, out), NANOEMBED_OK);
        }
    }
    assert_eq!(cosines, [1.0, 24.0 / 25.0, 0.0]);
}
