//! Fingerprints through C equal those of the crate `nanoembed`, which the command line and Python
//! show, of the same files.

mod support {
    pub(crate) mod source;
}

use std::ffi::{CStr, c_char};

use nanoembed::{Encoder, ErrorKind};
use nanoembed_ffi::owned::*;
use nanoembed_ffi::status::*;

use crate::support::source::in_memory;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn read(path: &str) -> Vec<u8> {
    std::fs::read(format!("{DATA}/{path}")).expect(path)
}

/// The fingerprint of a file, or what refuses it.
fn fingerprint(file: &[u8]) -> Result<String, nanoembed_error> {
    let mut digits = [1; NANOEMBED_FINGERPRINT_BYTES];
    let mut error = nanoembed_error::default();
    let (source, capacity) = (in_memory(file), digits.len());
    // SAFETY: everything is there.
    let status = unsafe {
        nanoembed_fingerprint(&raw const source, digits.as_mut_ptr(), capacity, &raw mut error)
    };
    if status != NANOEMBED_OK {
        assert!(digits == [1; NANOEMBED_FINGERPRINT_BYTES]);
        return Err(error);
    }
    let bytes = digits.map(c_char::cast_unsigned);
    Ok(CStr::from_bytes_until_nul(&bytes).expect("an end").to_str().expect("ASCII").to_owned())
}

#[test]
fn fingerprints_are_those_of_all_other_surfaces() {
    for path in [
        "ffi/tests/data/small_bert.weights",
        "ffi/tests/data/default_prompt.weights",
        "ffi/tests/data/small_table.weights",
        "ffi/tests/data/small_unigram.weights",
        "tests/data/cases/gguf-mean/model.gguf",
        "tests/data/cases/gguf-cased/model.gguf",
    ] {
        let file = read(path);
        let expected = Encoder::from_bytes(file.clone()).expect(path).fingerprint().expect(path);
        assert_eq!(fingerprint(&file).expect(path), expected.to_string(), "{path}");
    }
    // A format without checksums.
    let mut changed = read("tests/data/cases/gguf-mean/model.gguf");
    let before = fingerprint(&changed).expect("a model");
    let last = changed.len() - 5;
    changed[last] ^= 1;
    assert_ne!(fingerprint(&changed).expect("still a model"), before);
}

#[test]
fn what_has_no_fingerprint_is_refused() {
    assert_eq!(
        fingerprint(b"nothing").err().map(|error| error.status),
        Some(u32::from(ErrorKind::UnknownFormat.code()))
    );
    assert!(fingerprint(&read("ffi/tests/data/small_llama.gguf")).is_err());
    let file = read("ffi/tests/data/small_bert.weights");
    let (source, mut error) = (in_memory(&file), nanoembed_error::default());
    let mut digits = [1; NANOEMBED_FINGERPRINT_BYTES];
    for capacity in [0, NANOEMBED_FINGERPRINT_BYTES - 1] {
        // SAFETY: everything is there.
        let status = unsafe {
            nanoembed_fingerprint(&raw const source, digits.as_mut_ptr(), capacity, &raw mut error)
        };
        assert_eq!(status, u32::from(ErrorKind::BufferTooSmall.code()));
        assert_eq!(error.needed, NANOEMBED_FINGERPRINT_BYTES as u64);
    }
    // SAFETY: pointers that are NULL are a status.
    let status =
        unsafe { nanoembed_fingerprint(std::ptr::null(), digits.as_mut_ptr(), 33, &raw mut error) };
    assert_eq!(status, NANOEMBED_BAD_POINTER);
}
