//! EMBD `.weights` against files written by other code, and our writer against our reader.

use std::collections::BTreeMap;

use nanoembed_core::event::{Decode, Event, Mode, SpecialRole};
use nanoembed_core::format::embd::{
    Embd, EmbdDecoder, EmbdPlan, EmbdVerifier, EmbdVocabulary, EmbdWriter, Flags, TensorSpec,
    Variant,
};
use nanoembed_core::read::Slice;
use nanoembed_core::tensor::{Dtype, Shape};
use nanoembed_core::{Error, ErrorKind};
use nanoembed_tests::data;
use nanoembed_tests::sources::{FailsAt, by_seek, by_slice};
use proptest::prelude::*;
use serde_json::Value;

const SECTION_FILES: [&str; 5] = [
    "embd/section_all_dtypes_flags7.weights",
    "embd/section_nochecksum_flags3.weights",
    "embd/section_novocab_flags6.weights",
    "embd/section_realvocab_flags7.weights",
    "embd/section_special_relative_flags7.weights",
];

fn expected() -> BTreeMap<String, Value> {
    serde_json::from_slice(&data::read("embd/expected.json")).expect("expected.json")
}

#[test]
fn every_tensor_has_the_type_shape_and_values_that_were_written() {
    for file in SECTION_FILES {
        let bytes = data::read(file);
        let embd = Embd::parse(&bytes, Mode::Strict).expect(file);
        let expected = expected();
        assert_eq!(embd.tensors().count(), expected.len(), "{file}");
        for (name, expected) in expected {
            let tensor = embd.tensor(&name).unwrap_or_else(|| panic!("{name} in {file}"));
            assert_eq!(tensor.header().dtype.name(), expected["dtype"], "{name}");
            assert_eq!(
                format!("{:?}", tensor.header().shape.dims()).replace(' ', ""),
                expected["shape"].to_string()
            );
            let wanted: Vec<f32> =
                serde_json::from_value(expected["values"].clone()).expect("values");
            let mut values = vec![f32::NAN; wanted.len()];
            tensor.dequantize(0, &mut values).expect("as many values as the shape says");
            assert_eq!(values, wanted, "{name} in {file}");
        }
    }
}

#[test]
fn metadata_vocabulary_and_special_tokens_are_those_that_were_written() {
    let bytes = data::read("embd/section_all_dtypes_flags7.weights");
    let embd = Embd::parse(&bytes, Mode::Strict).expect("a good file");
    assert_eq!(embd.variant(), Variant::Section);
    assert_eq!(embd.metadata_value("created_at"), Some("2025-01-16T12:00:00Z"));
    assert_eq!(embd.metadata_value("hidden_size"), Some("4"));
    let tokens: Vec<_> = embd.tokens().collect();
    assert_eq!(tokens[0], b"[PAD]");
    assert_eq!(tokens[6], "##ß".as_bytes());
    assert_eq!(tokens.len(), 7);
    assert_eq!(embd.special().map(|special| special.id(SpecialRole::Mask)), Some(4));
    let entries = embd.token_entries().expect("the entries' region");
    assert_eq!(entries.bytes.len(), tokens.iter().map(|token| token.len() + 2).sum::<usize>());
}

#[test]
fn the_stream_variant_gives_tensors_and_tokens() {
    let bytes = data::read("embd/stream_small.bin");
    let embd = Embd::parse(&bytes, Mode::Strict).expect("a good file");
    assert_eq!(embd.variant(), Variant::Stream);
    let expected = expected();
    for tensor in embd.tensors() {
        let wanted: Vec<f32> =
            serde_json::from_value(expected[tensor.header().name]["values"].clone())
                .expect("values");
        let mut values = vec![f32::NAN; wanted.len()];
        tensor.dequantize(0, &mut values).expect("as many values");
        assert_eq!(values, wanted, "{}", tensor.header().name);
    }
    assert_eq!(embd.tensors().count(), 3);
    assert_eq!(embd.tokens().nth(5), Some(&b"hello"[..]));
    assert_eq!(embd.tokens().count(), 7);
}

#[test]
fn a_stream_file_without_vocabulary_count_is_refused_as_the_published_loader_does() {
    let bytes = data::read("embd/stream_missing_vocab_count.bin");
    let error = Embd::parse(&bytes, Mode::Lenient).expect_err("no vocabulary count");
    assert_eq!(error, Error::new(bytes.len() as u64, ErrorKind::UnexpectedEnd));
}

/// Rewrites `embd`, with data in pieces of `piece` bytes.
fn rewrite(embd: &Embd<'_>, piece: usize) -> Vec<u8> {
    let metadata: Vec<_> = embd.metadata().collect();
    let tokens: Vec<_> = embd.tokens().collect();
    let vocabulary = embd.special().map(|special| EmbdVocabulary {
        tokens: &tokens,
        special: SpecialRole::ALL.map(|role| special.id(role)),
    });
    let tensors: Vec<_> = embd
        .tensors()
        .map(|tensor| {
            let header = tensor.header();
            TensorSpec { name: header.name, dtype: header.dtype, shape: header.shape }
        })
        .collect();
    let plan = EmbdPlan {
        metadata: &metadata,
        vocabulary,
        tensors: &tensors,
        aligned: embd.flags().has(Flags::ALIGNED),
        checksums: embd.flags().has(Flags::CHECKSUMS),
    };
    let mut writer = EmbdWriter::new(plan, Vec::new()).expect("a plan that fits");
    for tensor in embd.tensors() {
        for part in tensor.data().chunks(piece) {
            writer.data(part).expect("room");
        }
    }
    let written = writer.finish().expect("all the data");
    assert_eq!(written.len() as u64, plan.file_bytes().expect("a plan that fits"));
    written
}

#[test]
fn what_is_read_is_written_back_byte_for_byte() {
    for file in SECTION_FILES {
        let bytes = data::read(file);
        let embd = Embd::parse(&bytes, Mode::Strict).expect(file);
        let mut wanted = bytes.clone();
        if file.contains("relative") {
            // The writer stores absolute offsets; the header's checksum follows in the footer.
            let place = embd.token_entries().map(|entries| entries.bytes.len() + 12);
            let vocabulary = u32::from_le_bytes(bytes[20..24].try_into().expect("four bytes"));
            let absolute = vocabulary + u32::try_from(place.expect("a vocabulary")).expect("small");
            let at = vocabulary as usize + 8;
            wanted[at..at + 4].copy_from_slice(&absolute.to_le_bytes());
            let footer = wanted.len() - 16;
            let checksum = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(&wanted[..footer]);
            wanted[footer + 4..footer + 8].copy_from_slice(&checksum.to_le_bytes());
        }
        for piece in [1, 3, 4096] {
            assert!(rewrite(&embd, piece) == wanted, "{file} in pieces of {piece}");
        }
    }
}

fn verify(bytes: &[u8], mode: Mode) -> Result<(), Error> {
    let result = by_slice(EmbdVerifier::<64>::new(mode), bytes, true).result;
    let without = by_slice(EmbdVerifier::<64>::new(mode).without_tokens(), bytes, true).result;
    assert_eq!(without, result, "tokens seen and tokens passed over");
    result
}

#[test]
fn a_flipped_bit_anywhere_is_found_by_the_verifier() {
    let bytes = data::read("embd/section_all_dtypes_flags7.weights");
    assert_eq!(verify(&bytes, Mode::Strict), Ok(()));
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        let error = verify(&damaged, Mode::Strict).expect_err("a damaged file");
        assert!(error.offset().is_some_and(|it| it <= bytes.len() as u64), "at {at}: {error:?}");
    }
}

#[test]
fn the_verifier_says_which_checksum_is_wrong_and_where_it_stands() {
    let bytes = data::read("embd/section_all_dtypes_flags7.weights");
    let footer = bytes.len() as u64 - 16;
    let mut damaged = bytes.clone();
    damaged[1000] ^= 1;
    assert_eq!(verify(&damaged, Mode::Lenient), Err(Error::new(footer, ErrorKind::DataChecksum)));
    let mut damaged = bytes.clone();
    damaged[0x58] ^= 1;
    assert_eq!(
        verify(&damaged, Mode::Lenient),
        Err(Error::new(footer + 4, ErrorKind::FileChecksum))
    );
    let mut damaged = bytes;
    damaged[45] ^= 1;
    assert_eq!(verify(&damaged, Mode::Lenient), Err(Error::new(56, ErrorKind::HeaderChecksum)));
}

/// `file` with one field replaced and the header's checksum updated.
fn with_header_field(file: &[u8], at: usize, field: &[u8]) -> Vec<u8> {
    let mut changed = file.to_vec();
    changed[at..at + field.len()].copy_from_slice(field);
    let checksum = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(&changed[..56]);
    changed[56..60].copy_from_slice(&checksum.to_le_bytes());
    changed
}

#[test]
fn a_right_checksum_over_wrong_fields_does_not_help() {
    let file = data::read("embd/section_all_dtypes_flags7.weights");
    let length = file.len() as u32;
    let cases: &[(usize, u32, u64, ErrorKind)] = &[
        (8, 15, 8, ErrorKind::Compressed),
        (8, 0x17, 8, ErrorKind::UnknownFlags),
        (12, 68, 20, ErrorKind::Overlap),
        (16, 7, 16, ErrorKind::SizeMismatch),
        (16, 0xffff_ffff, 12, ErrorKind::OutOfBounds),
        (20, 60, 20, ErrorKind::OutOfBounds),
        (20, 64, 20, ErrorKind::Overlap),
        (24, 31, 24, ErrorKind::SizeMismatch),
        (28, length, 28, ErrorKind::OutOfBounds),
        (28, 600, 36, ErrorKind::Overlap),
        (32, 65, 28, ErrorKind::OutOfBounds),
        (36, 128, 48, ErrorKind::SizeMismatch),
        (40, 0, 48, ErrorKind::SizeMismatch),
        (48, length + 1, 48, ErrorKind::SizeMismatch),
        (60, 1, 60, ErrorKind::ReservedNotZero),
    ];
    for (at, value, offset, kind) in cases {
        let changed = with_header_field(&file, *at, &value.to_le_bytes());
        let error = verify(&changed, Mode::Strict).expect_err("a wrong field");
        assert_eq!(error, Error::new(*offset, *kind), "u32 at {at} set to {value}");
    }
}

#[test]
fn tensors_may_not_share_bytes_or_names_or_leave_the_data() {
    let file = data::read("embd/section_all_dtypes_flags7.weights");
    let index = 358;
    let changed = |at: usize, field: &[u8]| {
        let mut changed = file.clone();
        changed[at..at + field.len()].copy_from_slice(field);
        Embd::parse(&changed, Mode::Lenient).map(|_| ())
    };
    let second = index + 32;
    assert_eq!(
        changed(second + 24, &64_u64.to_le_bytes()),
        Err(Error::new(second as u64 + 24, ErrorKind::Overlap))
    );
    assert_eq!(
        changed(second + 24, &u64::MAX.to_le_bytes()),
        Err(Error::new(second as u64 + 24, ErrorKind::OutOfBounds))
    );
    assert_eq!(changed(second + 4, &[9]), Err(Error::new(second as u64 + 4, ErrorKind::BadDtype)));
    assert_eq!(
        changed(second + 5, &[0]),
        Err(Error::new(second as u64 + 5, ErrorKind::BadDimensions))
    );
    assert_eq!(
        changed(second + 8, &0_u32.to_le_bytes()),
        Err(Error::new(second as u64 + 8, ErrorKind::BadDimensions))
    );
    assert_eq!(
        changed(second + 12, &[1]),
        Err(Error::new(second as u64 + 12, ErrorKind::ReservedNotZero))
    );
    // "t.u32" becomes a second "t.i32".
    let names = index + 12 * 32;
    let at = file.windows(5).position(|window| window == b"t.u32").expect("the name");
    assert!(at > names);
    assert_eq!(changed(at, b"t.i32"), Err(Error::new(at as u64, ErrorKind::DuplicateName)));
}

#[test]
fn a_wrong_name_hash_is_an_error_only_in_strict_mode() {
    let mut file = data::read("embd/section_nochecksum_flags3.weights");
    file[358] ^= 1;
    assert!(Embd::parse(&file, Mode::Lenient).is_ok());
    let error = Embd::parse(&file, Mode::Strict).expect_err("a wrong hash");
    assert_eq!(error, Error::new(358, ErrorKind::NameHashMismatch));
}

#[test]
fn padding_must_be_zero_only_in_strict_mode() {
    let file = data::read("embd/section_all_dtypes_flags7.weights");
    // After the second tensor: four f32 at 128 of the data, the next tensor at 192.
    let padding = 896 + 128 + 16;
    let mut changed = file;
    changed[padding + 3] = 1;
    assert!(Embd::parse(&changed, Mode::Lenient).is_ok());
    let error = by_slice(EmbdDecoder::<64>::new(Mode::Strict), &changed, true).result;
    assert_eq!(error, Err(Error::new(padding as u64 + 3, ErrorKind::ReservedNotZero)));
}

#[test]
fn seek_reads_less_than_the_file_when_only_the_index_is_asked_for() {
    let tensors: Vec<_> = (0..50).map(|k| format!("layer.{k}.weight")).collect();
    let specs: Vec<_> = tensors
        .iter()
        .map(|name| TensorSpec {
            name,
            dtype: Dtype::F32,
            shape: Shape::new(&[64, 256]).expect("two dimensions"),
        })
        .collect();
    let plan = EmbdPlan {
        metadata: &[],
        vocabulary: None,
        tensors: &specs,
        aligned: true,
        checksums: true,
    };
    let mut writer = EmbdWriter::new(plan, Vec::new()).expect("a plan that fits");
    for _ in 0..50 {
        writer.data(&[7; 64 * 256 * 4]).expect("room");
    }
    let file = writer.finish().expect("all the data");
    let (outcome, bytes_read) =
        by_seek(EmbdDecoder::<64>::new(Mode::Lenient), &file[..], 4096, false);
    assert_eq!(outcome.result, Ok(()));
    assert_eq!(outcome, by_slice(EmbdDecoder::<64>::new(Mode::Lenient), &file, false));
    assert!(bytes_read < 16 * 1024, "{bytes_read} of {}", file.len());
}

#[test]
fn a_source_that_fails_midway_is_reported_as_such() {
    let file = data::read("embd/section_all_dtypes_flags7.weights");
    let (outcome, _) =
        by_seek(EmbdDecoder::<64>::new(Mode::Strict), FailsAt(&file, 300), 4096, true);
    assert_eq!(outcome.result, Err(Error::new(300, ErrorKind::ReadFailed)));
}

#[test]
fn more_tensors_than_the_decoder_keeps_are_refused() {
    let file = data::read("embd/section_all_dtypes_flags7.weights");
    let error = by_slice(EmbdDecoder::<11>::new(Mode::Strict), &file, true).result;
    assert_eq!(error, Err(Error::new(32, ErrorKind::TooManyTensors)));
}

fn plan_of<'a>(tensors: &'a [TensorSpec<'a>]) -> EmbdPlan<'a> {
    EmbdPlan { metadata: &[], vocabulary: None, tensors, aligned: true, checksums: true }
}

#[test]
fn a_plan_that_the_format_cannot_hold_is_refused() {
    let long = "x".repeat(65_536);
    let shape = Shape::new(&[2]).expect("one dimension");
    let spec = |name| TensorSpec { name, dtype: Dtype::F32, shape };
    let refusal = |tensors: &[TensorSpec<'_>]| {
        EmbdWriter::new(plan_of(tensors), Vec::new()).err().map(|error| error.kind())
    };
    assert_eq!(refusal(&[spec(&long)]), Some(ErrorKind::InvalidArgument));
    assert_eq!(refusal(&[spec("")]), Some(ErrorKind::InvalidArgument));
    assert_eq!(refusal(&[spec("a"), spec("b"), spec("a")]), Some(ErrorKind::DuplicateName));
    let flat = TensorSpec { shape: Shape::SCALAR, ..spec("a") };
    assert_eq!(refusal(&[flat]), Some(ErrorKind::InvalidArgument));
    let keys: Vec<String> = (0..129).map(|n| n.to_string()).collect();
    let pairs: Vec<_> = keys.iter().map(|key| (key.as_str(), "")).collect();
    let with =
        |metadata| EmbdWriter::new(EmbdPlan { metadata, ..plan_of(&[]) }, Vec::new()).map(drop);
    for metadata in [&pairs[..], &[("", "value")]] {
        assert_eq!(with(metadata).map_err(|error| error.kind()), Err(ErrorKind::InvalidArgument));
    }
    assert_eq!(with(&pairs[1..]), Ok(()));
    let good = [spec("a")];
    let mut writer = EmbdWriter::new(plan_of(&good), Vec::new()).expect("a good plan");
    writer.data(&[0; 7]).expect("room");
    assert_eq!(
        writer.data(&[0; 2]).err().map(|error| error.kind()),
        Some(ErrorKind::InvalidArgument)
    );
}

fn dtype() -> impl Strategy<Value = Dtype> {
    prop::sample::select(vec![
        Dtype::F32,
        Dtype::F16,
        Dtype::BF16,
        Dtype::I32,
        Dtype::I16,
        Dtype::I8,
        Dtype::U32,
        Dtype::U16,
        Dtype::U8,
    ])
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        metadata in prop::collection::btree_map("\\PC{1,12}", "\\PC{0,30}", 0..6),
        tokens in prop::option::of(prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..30)),
        tensors in prop::collection::btree_map(
            "\\PC{1,20}",
            (dtype(), prop::collection::vec(1_u64..6, 1..=4), any::<u8>()),
            0..8
        ),
        aligned: bool,
        checksums: bool,
        special: [u32; 5],
    ) {
        let metadata: Vec<_> = metadata.iter().map(|(key, value)| (&key[..], &value[..])).collect();
        let tokens: Option<Vec<&[u8]>> = tokens.as_ref().map(|tokens| tokens.iter().map(|token| &token[..]).collect());
        let specs: Vec<_> = tensors
            .iter()
            .map(|(name, (dtype, dims, _))| TensorSpec { name, dtype: *dtype, shape: Shape::new(dims).expect("four at most") })
            .collect();
        let vocabulary = tokens.as_ref().map(|tokens| EmbdVocabulary { tokens, special });
        let plan = EmbdPlan { metadata: &metadata, vocabulary, tensors: &specs, aligned, checksums };
        let mut writer = EmbdWriter::new(plan, Vec::new()).expect("a plan that fits");
        let data: Vec<Vec<u8>> = tensors
            .values()
            .map(|(dtype, dims, fill)| {
                let elements = usize::try_from(dims.iter().product::<u64>()).expect("small");
                vec![*fill; elements * dtype.block_bytes()]
            })
            .collect();
        for bytes in &data {
            writer.data(bytes).expect("room");
        }
        let file = writer.finish().expect("all the data");
        prop_assert_eq!(verify(&file, Mode::Strict), Ok(()));
        let embd = Embd::parse(&file, Mode::Strict).expect("our own file");
        prop_assert_eq!(embd.metadata().collect::<Vec<_>>(), metadata);
        prop_assert_eq!(embd.tokens().collect::<Vec<_>>(), tokens.unwrap_or_default());
        let read: Vec<_> = embd.tensors().map(|tensor| (tensor.header().name, tensor.header().dtype, tensor.header().shape, tensor.data().to_vec())).collect();
        let wanted: Vec<_> = specs.iter().zip(data).map(|(spec, data)| (spec.name, spec.dtype, spec.shape, data)).collect();
        prop_assert_eq!(read, wanted);
    }
}

#[test]
fn the_verifier_gives_the_decoders_events() {
    for file in SECTION_FILES {
        let bytes = data::read(file);
        let verified = by_slice(EmbdVerifier::<64>::new(Mode::Strict), &bytes, true);
        assert_eq!(
            verified,
            by_slice(EmbdDecoder::<64>::new(Mode::Strict), &bytes, true),
            "{file}"
        );
    }
}

#[test]
fn a_finished_decoder_says_end_again() {
    let bytes = data::read("embd/stream_small.bin");
    let mut source = Slice::new(EmbdDecoder::<64>::new(Mode::Strict), &bytes);
    while source.next_event().expect("a good file") != Event::End {}
    assert_eq!(source.next_event(), Ok(Event::End));
    assert!(source.decoder().is_complete());
}
