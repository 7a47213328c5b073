//! Hostile safetensors, UQFF and GGUF files: the classes of published bugs in model loaders. Each
//! is rejected in bounded time, by name and offset, or read correctly.

use nanoembed_core::error::{Error, ErrorKind, Result};
use nanoembed_core::event::{Decode, Mode};
use nanoembed_core::format::gguf::{self, Gguf};
use nanoembed_core::format::safetensors::{self, Entry, Safetensors};
use nanoembed_core::format::uqff::{self, Uqff};
use nanoembed_core::read::{ReadAt, Seek};
use nanoembed_tests::data::{files, read};
use nanoembed_tests::hostile::each_mutation;

fn container(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

fn safetensors_error(file: &[u8]) -> Option<ErrorKind> {
    let mut entries = vec![Entry::default(); 1 << 12];
    Safetensors::parse(file, Mode::Lenient, &mut entries).err().map(|error| error.kind())
}

fn uqff_error(file: &[u8]) -> Option<ErrorKind> {
    let mut entries = vec![Entry::default(); 1 << 12];
    Uqff::parse(file, Mode::Lenient, &mut entries).err().map(|error| error.kind())
}

fn gguf_error(file: &[u8]) -> Option<ErrorKind> {
    Gguf::parse(file, Mode::Lenient).err().map(|error| error.kind())
}

fn tensor(name: &str, shape: &str, begin: u64, end: u64) -> String {
    format!("\"{name}\":{{\"dtype\":\"U8\",\"shape\":{shape},\"data_offsets\":[{begin},{end}]}}")
}

#[test]
fn nothing_and_nearly_nothing_is_refused() {
    for file in [&b""[..], b"\0", b"GGUF", b"GGUF\x03\0\0\0", b"{}", &[0; 8], &[255; 64]] {
        assert!(safetensors_error(file).is_some() && uqff_error(file).is_some());
        assert!(gguf_error(file).is_some());
    }
}

#[test]
fn declared_lengths_are_no_reason_to_wait_or_to_allocate() {
    for length in [1 << 31, 1 << 32, 1 << 40, 1 << 63, u64::MAX, u64::MAX - 7] {
        let file = [&u64::to_le_bytes(length)[..], b"{}"].concat();
        assert_eq!(safetensors_error(&file), Some(ErrorKind::HeaderTooLarge), "{length}");
    }
    let file = [&u64::to_le_bytes(99_999_999)[..], b"{}"].concat();
    assert_eq!(safetensors_error(&file), Some(ErrorKind::UnexpectedEnd));
}

#[test]
fn shapes_whose_products_wrap_are_refused_in_every_container() {
    for shape in ["[4294967296,4294967296]", "[18446744073709551615,2]", "[2,9223372036854775808]"]
    {
        let file = container(&format!("{{{}}}", tensor("a", shape, 0, 0)), b"");
        assert_eq!(safetensors_error(&file), Some(ErrorKind::SizeOverflow), "{shape}");
    }
    // A zero makes the product small, whatever the other factors.
    let file = container(&format!("{{{}}}", tensor("a", "[0,18446744073709551615]", 0, 0)), b"");
    assert_eq!(safetensors_error(&file), None);
}

#[test]
fn offsets_stay_inside_the_data_and_fill_it() {
    let two = |a: (u64, u64), b: (u64, u64)| {
        let shape = |(begin, end): (u64, u64)| format!("[{}]", end.saturating_sub(begin));
        let (of_a, of_b) = (tensor("a", &shape(a), a.0, a.1), tensor("b", &shape(b), b.0, b.1));
        container(&format!("{{{of_a},{of_b}}}"), &[0; 8])
    };
    assert_eq!(safetensors_error(&two((0, 4), (4, 8))), None);
    for (a, b, kind) in [
        ((0, 4), (5, 8), ErrorKind::NotContiguous),
        ((0, 5), (4, 8), ErrorKind::Overlap),
        ((0, 8), (0, 8), ErrorKind::Overlap),
        ((0, 4), (4, 7), ErrorKind::TrailingBytes),
        ((0, 4), (4, 9), ErrorKind::UnexpectedEnd),
        ((1, 4), (4, 8), ErrorKind::NotContiguous),
        ((4, 0), (4, 8), ErrorKind::OutOfBounds),
    ] {
        assert_eq!(safetensors_error(&two(a, b)), Some(kind), "{a:?} {b:?}");
    }
}

#[test]
fn names_of_every_kind_are_told_apart_by_their_meaning() {
    let judge = |name: &str| {
        safetensors_error(&container(&format!("{{{}}}", tensor(name, "[0]", 0, 0)), b""))
    };
    for name in ["", "\\u0000", "日本語", "../../etc/passwd", &"n".repeat(65_536)] {
        assert_eq!(judge(name), None, "{name:.20}");
    }
    // Two spellings of one name, which two passes might take for two tensors.
    for (a, b) in [("a", "\\u0061"), ("/", "\\/"), ("é", "\\u00E9"), ("", "")] {
        let file =
            container(&format!("{{{},{}}}", tensor(a, "[0]", 0, 0), tensor(b, "[0]", 0, 0)), b"");
        assert_eq!(safetensors_error(&file), Some(ErrorKind::DuplicateName), "{a} {b}");
    }
    let mut file = container(&format!("{{{}}}", tensor("?", "[0]", 0, 0)), b"");
    let at = file.iter().position(|byte| *byte == b'?').unwrap();
    file[at] = 0xFF;
    assert_eq!(safetensors_error(&file), Some(ErrorKind::InvalidUtf8));
}

/// So many items that comparing each with all others would not finish.
#[test]
fn many_tiny_items_come_to_an_end() {
    let all: Vec<String> =
        (0..1_u32 << 16).map(|number| tensor(&number.to_string(), "[0]", 0, 0)).collect();
    let file = container(&format!("{{{}}}", all.join(",")), b"");
    assert_eq!(safetensors_error(&file), Some(ErrorKind::TooManyTensors));
    // Duplicate metadata keys are detected by keeping up to about a hundred keys.
    let pairs: Vec<String> = (0..1_u32 << 20).map(|number| format!("\"{number}\":\"\"")).collect();
    let file = container(&format!("{{\"__metadata__\":{{{}}}}}", pairs.join(",")), b"");
    assert_eq!(safetensors_error(&file), Some(ErrorKind::TooManyEntries));
    // An array of 2^20 empty strings, and one that claims 2^60.
    let mut file =
        [&b"GGUF"[..], &3_u32.to_le_bytes(), &0_u64.to_le_bytes(), &1_u64.to_le_bytes()].concat();
    file.extend(
        [&1_u64.to_le_bytes()[..], b"k", &9_u32.to_le_bytes(), &8_u32.to_le_bytes()].concat(),
    );
    let count_at = file.len();
    file.extend((1_u64 << 20).to_le_bytes());
    file.extend(vec![0; 8 << 20]);
    assert_eq!(gguf_error(&file), None);
    file[count_at..count_at + 8].copy_from_slice(&(1_u64 << 60).to_le_bytes());
    assert!(matches!(gguf_error(&file), Some(ErrorKind::UnexpectedEnd | ErrorKind::BadCount)));
}

#[test]
fn json_that_is_deep_or_wrong_is_no_stack() {
    for (header, kind) in [
        (format!("{{\"a\":{{\"x\":{}", "[".repeat(1 << 20)), ErrorKind::TooDeep),
        (format!("{{\"a\":{{\"x\":{}", "{\"a\":".repeat(1 << 18)), ErrorKind::TooDeep),
        ("{\"a\":1e400}".to_owned(), ErrorKind::BadField),
        ("[]".to_owned(), ErrorKind::BadField),
        ("{\"a\":{}}x".to_owned(), ErrorKind::BadField),
    ] {
        let found = safetensors_error(&container(&header, b""));
        assert!(found == Some(kind) || found == Some(ErrorKind::BadJson), "{header:.20} {found:?}");
    }
}

#[test]
fn one_generation_given_as_the_other_is_refused() {
    // The entry's name is a number, its contents are not a blob; and a blob under a name.
    let file = container(&format!("{{{}}}", tensor("0", "[4]", 0, 4)), &[0, 2, 0, 0]);
    assert_eq!(uqff_error(&file), Some(ErrorKind::OutOfBounds));
    let blob = read("uqff/legacy_0.2.0/fp8.uqfftensor");
    let named = tensor("model.x.weight", &format!("[{}]", blob.len()), 0, blob.len() as u64);
    assert_eq!(uqff_error(&container(&format!("{{{named}}}"), &blob)), Some(ErrorKind::BadVersion));
}

#[test]
fn every_field_of_every_blob_may_be_anything() {
    for (name, blob) in files("uqff/legacy_0.2.0", &["uqfftensor"]) {
        let header = tensor("0", &format!("[{}]", blob.len()), 0, blob.len() as u64);
        let start = 8 + header.len() + 2;
        let file = container(&format!("{{{header}}}"), &blob);
        // Headers and parameters are at both ends.
        let ends = (start..start + blob.len().min(48))
            .chain(file.len().saturating_sub(32).max(start)..file.len());
        let mut judged = 0_u32;
        each_mutation(&file, ends, |mutated, _| {
            let _ = uqff_error(mutated);
            judged += 1;
        });
        assert!(judged > 1000, "{name}");
    }
}

/// A source that returns one byte at a time, fails at an offset, or ends early.
struct Troubled<'f> {
    file: &'f [u8],
    claims: u64,
    fails_at: u64,
}

impl ReadAt for Troubled<'_> {
    fn len(&self) -> u64 {
        self.claims
    }

    fn read_at(&self, offset: u64, destination: &mut [u8]) -> Result<usize> {
        if offset >= self.fails_at {
            return Err(Error::new(offset, ErrorKind::ReadFailed));
        }
        let most = destination.len().min(1);
        self.file.read_at(offset, &mut destination[..most])
    }
}

fn drive(source: Troubled<'_>, decoder: impl Decode) -> Result<()> {
    let mut buffer = vec![0; 1 << 16];
    let mut seek = Seek::new(source, decoder, &mut buffer);
    while seek.next_event(|_| Ok(()))? {}
    Ok(())
}

#[test]
fn sources_that_fail_or_change_are_named() {
    for path in [
        "uqff/v1.2.0/mixed-0.uqff",
        "uqff/containers/all-0.uqff",
        "safetensors/mixed.safetensors",
        "gguf/small.gguf",
    ] {
        let file = read(path);
        let length = file.len() as u64;
        let run = |claims: u64, fails_at: u64| {
            let source = Troubled { file: &file, claims, fails_at };
            let mut entries = vec![Entry::default(); 200];
            if path.starts_with("uqff") {
                drive(source, uqff::UqffDecoder::new(Mode::Lenient, &mut entries))
            } else if path.starts_with("gguf") {
                drive(source, gguf::GgufDecoder::<8>::new(Mode::Lenient))
            } else {
                drive(source, safetensors::SafetensorsDecoder::new(Mode::Lenient, &mut entries))
            }
        };
        assert_eq!(run(length, u64::MAX), Ok(()), "{path}");
        for place in [0, 7, length / 2, length - 1] {
            let failed = run(length, place);
            assert_eq!(failed, Err(Error::new(place, ErrorKind::ReadFailed)), "{path} at {place}");
        }
        // It was longer when it was opened.
        assert!(run(length + 9, u64::MAX).is_err(), "{path}");
    }
}
