//! Deliberately invalid UQFF files: each is rejected by name and offset, in the decoder or when a
//! layer is assembled.

use nanoembed_core::event::{Event, Format, Mode};
use nanoembed_core::format::safetensors::Entry;
use nanoembed_core::format::uqff::{Uqff, UqffDecoder, UqffPlace, place_in_blob};
use nanoembed_core::read::Slice;
use nanoembed_core::{Error, ErrorKind};
use nanoembed_tests::data::read;
use nanoembed_tests::sources::by_slice;

/// A container of entries: name, type, shape, data.
fn container(entries: &[(&str, &str, &[u64], &[u8])]) -> Vec<u8> {
    let mut header = String::from("{");
    let mut data = Vec::new();
    for (name, dtype, shape, bytes) in entries {
        let (begin, end) = (data.len(), data.len() + bytes.len());
        data.extend_from_slice(bytes);
        let comma = if header.len() > 1 { "," } else { "" };
        header += &format!(
            "{comma}\"{name}\":{{\"dtype\":\"{dtype}\",\"shape\":{shape:?},\"data_offsets\":[{begin},{end}]}}"
        );
    }
    header += "}";
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat()
}

fn blob_file(name: &str, blob: &[u8]) -> Vec<u8> {
    container(&[(name, "U8", &[blob.len() as u64], blob)])
}

fn kind(file: &[u8], mode: Mode) -> Result<(), ErrorKind> {
    let mut entries = [Entry::default(); 160];
    Uqff::parse(file, mode, &mut entries).map(|_| ()).map_err(|error| error.kind())
}

/// The error of a blob, and its offset in the blob.
fn blob_error(blob: &[u8], mode: Mode) -> Option<(ErrorKind, u64)> {
    let file = blob_file("0", blob);
    let start = (file.len() - blob.len()) as u64;
    let mut entries = [Entry::default(); 2];
    let error = Uqff::parse(&file, mode, &mut entries).err()?;
    Some((error.kind(), error.offset()? - start))
}

fn blob(name: &str) -> Vec<u8> {
    read(&format!("uqff/legacy_0.2.0/{name}.uqfftensor"))
}

/// A conformance blob with other bytes at a place.
fn patched(name: &str, at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut blob = blob(name);
    blob[at..at + bytes.len()].copy_from_slice(bytes);
    blob
}

#[test]
fn every_version_word_is_judged() {
    for (word, fine) in [
        ([0, 0, 0, 0], true),
        ([0, 1, 0, 0], true),
        ([9, 2, 0, 0], true),
        ([0, 3, 0, 0], false),
        ([0, 0, 1, 0], false),
        ([0, 2, 0, 1], false),
        ([255, 255, 255, 255], false),
    ] {
        let error = blob_error(&patched("fp8", 0, &word), Mode::Strict);
        let expected = (!fine).then_some((ErrorKind::UnsupportedVersion, 0));
        assert_eq!(error, expected, "{word:?}");
    }
}

#[test]
fn every_type_is_judged() {
    for code in 0..=255_u8 {
        let error = blob_error(&patched("unquant_f32", 4, &[code]), Mode::Strict);
        match code {
            1 => assert_eq!(error, None),
            // The bytes of one type read as another are rejected somewhere.
            0..=6 => assert!(error.is_some(), "{code}"),
            _ => assert_eq!(error, Some((ErrorKind::BadEncoding, 4))),
        }
    }
}

#[test]
fn a_bias_flag_of_two_is_true_in_lenient_mode_only() {
    let with_bias = blob("unquant_bf16");
    assert_eq!(with_bias[5], 1);
    let two = patched("unquant_bf16", 5, &[2]);
    assert_eq!(blob_error(&two, Mode::Lenient), None);
    assert_eq!(blob_error(&two, Mode::Strict), Some((ErrorKind::BadField, 5)));
    // Without its flag the bias is trailing bytes.
    let unsaid = patched("unquant_bf16", 5, &[0]);
    assert_eq!(blob_error(&unsaid, Mode::Lenient), None);
    assert_eq!(
        blob_error(&unsaid, Mode::Strict).map(|error| error.0),
        Some(ErrorKind::TrailingBytes)
    );
}

#[test]
fn every_ggml_type_is_judged() {
    for code in (0..=64_u32).chain([255, 1 << 16, u32::MAX]) {
        let error = blob_error(&patched("gguf_q8_0", 10, &code.to_le_bytes()), Mode::Strict);
        match code {
            8 => assert_eq!(error, None),
            0..=3 | 6..=15 | 30 => assert_eq!(error, Some((ErrorKind::SizeMismatch, 5)), "{code}"),
            _ => assert_eq!(error, Some((ErrorKind::BadDtype, 10)), "{code}"),
        }
    }
}

#[test]
fn lengths_and_dimensions_are_held_against_each_other() {
    let word = |n: u32| n.to_le_bytes();
    for (blob, expected) in [
        // data_len against dims, both ways, and against the blob.
        (patched("gguf_q8_0", 5, &word(1631)), (ErrorKind::SizeMismatch, 5)),
        (patched("gguf_q8_0", 5, &word(u32::MAX)), (ErrorKind::SizeMismatch, 5)),
        (patched("gguf_q8_0", 18, &word(4)), (ErrorKind::SizeMismatch, 5)),
        (patched("gguf_q8_0", 22, &word(511)), (ErrorKind::SizeMismatch, 5)),
        (patched("gguf_q8_0", 14, &word(0)), (ErrorKind::SizeMismatch, 5)),
        (patched("gguf_q8_0", 14, &word(9)), (ErrorKind::BadDimensions, 14)),
        (patched("gguf_q8_0", 14, &word(u32::MAX)), (ErrorKind::BadDimensions, 14)),
        // A tensor's own length, type and dimensions.
        (patched("fp8", 6, &word(63)), (ErrorKind::SizeMismatch, 6)),
        (patched("fp8", 10, &word(14)), (ErrorKind::BadDtype, 10)),
        (patched("fp8", 10, &word(12)), (ErrorKind::UnsupportedDtype, 10)),
        (patched("fp8", 10, &word(0)), (ErrorKind::BadDtype, 26)),
        (patched("fp8", 14, &word(u32::MAX)), (ErrorKind::BadDimensions, 14)),
        (patched("fp8", 18, &word(u32::MAX)), (ErrorKind::SizeMismatch, 6)),
        (patched("fp8", 102, &word(8)), (ErrorKind::BadDtype, 102)),
        // F8Q8: blocks against dims.
        (patched("f8q8", 6, &word(7)), (ErrorKind::SizeMismatch, 6)),
    ] {
        assert_eq!(blob_error(&blob, Mode::Lenient), Some(expected), "{expected:?}");
    }
}

#[test]
fn products_of_dimensions_do_not_wrap() {
    let mut blob = vec![0, 2, 0, 0, 1, 0];
    for word in [0_u32, 0, 3, u32::MAX, u32::MAX, u32::MAX] {
        blob.extend(word.to_le_bytes());
    }
    assert_eq!(blob_error(&blob, Mode::Lenient), Some((ErrorKind::SizeOverflow, 14)));
}

#[test]
fn undefined_quantisations_are_refused() {
    // After HQQ's arrays: ndim, two dims, bits, group size, axis; then a bias of six values in 40
    // bytes.
    let hqq = blob("hqq_4").len() - 40 - 24;
    for (at, byte, expected) in [
        (hqq + 12, 5, ErrorKind::BadQuantization),
        (hqq + 12, 8, ErrorKind::SizeMismatch),
        (hqq + 13, 0, ErrorKind::BadQuantization),
        (hqq + 13, 63, ErrorKind::SizeMismatch),
        (hqq + 17, 2, ErrorKind::BadQuantization),
        (hqq + 4, 7, ErrorKind::SizeMismatch),
    ] {
        let error = blob_error(&patched("hqq_4", at, &[byte]), Mode::Lenient).unwrap();
        assert_eq!(error.0, expected, "{at} {byte}");
    }
    let afq = blob("afq4_g32").len() - 2;
    for (at, byte, expected) in [
        (afq, 5, ErrorKind::SizeMismatch),
        (afq, 0, ErrorKind::SizeMismatch),
        (afq, 1, ErrorKind::BadQuantization),
        (afq, 8, ErrorKind::SizeMismatch),
        (afq + 1, 0, ErrorKind::BadQuantization),
        (afq + 1, 64, ErrorKind::SizeMismatch),
    ] {
        let error = blob_error(&patched("afq4_g32", at, &[byte]), Mode::Lenient).unwrap();
        assert_eq!(error.0, expected, "{at} {byte}");
    }
}

#[test]
fn names_are_indices_in_one_spelling() {
    let fp8 = blob("fp8");
    let judge = |name: &str| kind(&blob_file(name, &fp8), Mode::Lenient);
    assert_eq!(judge("0"), Ok(()));
    assert_eq!(judge("4294967295"), Ok(()));
    for name in ["010", "00", "4294967296", "99999999999999999999"] {
        assert_eq!(judge(name), Err(ErrorKind::BadField), "{name}");
    }
    for name in ["-1", "1e3", "", " 1", "1 ", "٣"] {
        assert_eq!(judge(name), Err(ErrorKind::BadVersion), "{name}");
    }
    assert_eq!(judge("\\u0030"), Err(ErrorKind::BadField));
}

#[test]
fn generations_are_told_apart_and_not_mixed() {
    let fp8 = blob("fp8");
    let one = &1_u32.to_le_bytes()[..];
    let version =
        [("uqff.version.major", "U32", &[][..], one), ("uqff.version.minor", "U32", &[], one)];
    let bytes = [fp8.len() as u64];
    assert_eq!(kind(&container(&version), Mode::Strict), Ok(()));
    let mixed = [version[0], version[1], ("0", "U8", &bytes, &fp8)];
    assert_eq!(kind(&container(&mixed), Mode::Lenient), Err(ErrorKind::BadVersion));
    assert_eq!(kind(&container(&version[..1]), Mode::Lenient), Err(ErrorKind::BadVersion));
    assert_eq!(kind(&container(&[]), Mode::Lenient), Err(ErrorKind::BadVersion));
    let no_version = read("uqff/containers/bad_no_version.uqff");
    assert_eq!(kind(&no_version, Mode::Lenient), Err(ErrorKind::BadVersion));
    for (major, minor, expected) in [
        (1, 2, Ok(())),
        (1, 3, Err(ErrorKind::UnsupportedVersion)),
        (0, 2, Err(ErrorKind::UnsupportedVersion)),
        (2, 0, Err(ErrorKind::UnsupportedVersion)),
        (u32::MAX, 0, Err(ErrorKind::UnsupportedVersion)),
    ] {
        let (major, minor) = (major.to_le_bytes(), u32::to_le_bytes(minor));
        let mut version = version;
        (version[0].3, version[1].3) = (&major, &minor);
        assert_eq!(kind(&container(&version), Mode::Lenient), expected);
    }
    let (wide, list) = ([0; 8], [1_u64]);
    let mut wrong = version;
    (wrong[0].1, wrong[0].3) = ("U64", &wide);
    assert_eq!(kind(&container(&wrong), Mode::Lenient), Err(ErrorKind::BadDtype));
    let mut wrong = version;
    wrong[0].2 = &list;
    assert_eq!(kind(&container(&wrong), Mode::Lenient), Err(ErrorKind::BadDimensions));
}

#[test]
fn parts_of_1_x_must_be_there_and_fit() {
    let one = &1_u32.to_le_bytes()[..];
    let (dims, shape) = ([2_u64], [3_u32.to_le_bytes(), 32_u32.to_le_bytes()].concat());
    let (length, blocks) = ([102_u64], [0; 102]);
    let eight = 8_u32.to_le_bytes();
    let good = [
        ("uqff.version.major", "U32", &[][..], one),
        ("uqff.version.minor", "U32", &[], one),
        ("k.weight.format", "U8", &[], &[0]),
        ("k.weight.dtype", "U32", &[], &eight),
        ("k.weight.shape", "U32", &dims, &shape),
        ("k.weight", "U8", &length, &blocks),
    ];
    assert_eq!(kind(&container(&good), Mode::Strict), Ok(()));
    for missing in 3..good.len() {
        let mut some = good.to_vec();
        some.remove(missing);
        assert_eq!(kind(&container(&some), Mode::Lenient), Err(ErrorKind::MissingTensor));
    }
    let (bad, wide) = ([7_u8], [9_u64; 1]);
    let (four, long) = (4_u32.to_le_bytes(), [1; 36]);
    for (index, data, dims, expected) in [
        (2, &bad[..], &[][..], ErrorKind::BadEncoding),
        (2, &[2], &[], ErrorKind::MissingTensor),
        (3, &four, &[], ErrorKind::BadDtype),
        (4, &long, &wide, ErrorKind::BadDimensions),
        (5, &blocks[..68], &[68], ErrorKind::SizeMismatch),
    ] {
        let mut wrong = good;
        (wrong[index].3, wrong[index].2) = (data, dims);
        assert_eq!(kind(&container(&wrong), Mode::Lenient), Err(expected), "{index}");
    }
}

#[test]
fn scales_that_are_no_numbers_are_values_not_errors() {
    // NaN and infinity are accepted here; running the model checks them.
    let scale = blob("fp8").len() - 16;
    for value in [f32::NAN, f32::INFINITY, -1.0, f32::MIN_POSITIVE / 2.0] {
        assert_eq!(blob_error(&patched("fp8", scale, &value.to_le_bytes()), Mode::Strict), None);
    }
}

#[test]
fn every_byte_of_a_blob_has_a_name() {
    let named = |name: &str, offset: u64| {
        place_in_blob(&blob(name), offset).map(|place| (place.part, place.field))
    };
    assert_eq!(named("gguf_q8_0", 0), Some(("header", "version")));
    assert_eq!(named("gguf_q8_0", 4), Some(("header", "type")));
    assert_eq!(named("gguf_q8_0", 9), Some(("weight", "has_bias")));
    assert_eq!(named("gguf_q8_0", 12), Some(("weight", "ggml dtype")));
    assert_eq!(named("gguf_q8_0", 18), Some(("weight", "dimensions")));
    assert_eq!(named("gguf_q8_0", 26), Some(("weight", "data")));
    assert_eq!(named("fp8", 5), Some(("header", "has_bias")));
    assert_eq!(named("fp8", 102), Some(("dtype", "")));
    assert_eq!(named("fp8", 106), None);
    let afq = blob("afq4_g32").len() as u64;
    assert_eq!(named("afq4_g32", afq - 1), Some(("group_size", "")));
    // An invalid field is named all the same.
    let wrong = patched("hqq_4", 10, &[14]);
    assert_eq!(place_in_blob(&wrong, 10), Some(UqffPlace { part: "weight", field: "dtype" }));
    let cut = &blob("hqq_4")[..20];
    assert_eq!(place_in_blob(cut, 18), Some(UqffPlace { part: "weight", field: "dimensions" }));
}

/// The container is a safetensors file; its contents are not.
#[test]
fn a_header_says_that_the_file_is_uqff() {
    let file = blob_file("0", &blob("fp8"));
    let mut entries = [Entry::default(); 2];
    let mut source = Slice::new(UqffDecoder::new(Mode::Strict, &mut entries), &file);
    let mut formats = Vec::new();
    loop {
        match source.next_event().unwrap() {
            Event::Header(info) => formats.push(info.format),
            Event::End => break,
            _ => {}
        }
    }
    assert_eq!(formats, [Format::Uqff]);
}

#[test]
fn layers_without_a_version_are_refused_where_the_header_begins() {
    let one = &1_u32.to_le_bytes()[..];
    let (dims, shape) = ([2_u64], [3_u32.to_le_bytes(), 32_u32.to_le_bytes()].concat());
    let eight = 8_u32.to_le_bytes();
    let all = [
        ("uqff.version.major", "U32", &[][..], one),
        ("uqff.version.minor", "U32", &[], one),
        ("k.weight.format", "U8", &[], &[0]),
        ("k.weight.dtype", "U32", &[], &eight),
        ("k.weight.shape", "U32", &dims, &shape),
        ("k.weight", "U8", &[102], &[0; 102]),
    ];
    for missing in [0, 1] {
        let mut some = all.to_vec();
        some.remove(missing);
        let file = container(&some);
        let mut entries = [Entry::default(); 8];
        let decoder = UqffDecoder::new(Mode::Lenient, &mut entries);
        let expected = Error::new(8, ErrorKind::BadVersion);
        assert_eq!(by_slice(decoder, &file, true).result, Err(expected), "without {missing}");
    }
}
