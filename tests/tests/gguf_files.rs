//! GGUF against the Python package `gguf`: files of its writer are read as its reader reads them.

use nanoembed_core::event::{Mode, Value};
use nanoembed_core::format::gguf::{Gguf, GgufPlan, GgufWriter, TensorSpec, WriteValue};
use nanoembed_core::quant::dequantize;
use nanoembed_core::tensor::{Dtype, Shape};
use nanoembed_core::{Error, ErrorKind};
use nanoembed_tests::data::{read, read_f32};
use nanoembed_tests::hostile::each_mutation;
use nanoembed_tests::values::bits;
use serde_json::Value as Json;

fn expected(file: &str) -> Json {
    serde_json::from_slice::<Json>(&read("gguf/expected.json")).unwrap()[file].clone()
}

fn same(ours: Value<'_>, theirs: &Json) -> bool {
    match ours {
        Value::Unsigned(n) => theirs.as_u64() == Some(n),
        Value::Signed(n) => theirs.as_i64() == Some(n),
        Value::Float(n) => theirs.as_f64() == Some(n),
        Value::Bool(truth) => theirs.as_bool() == Some(truth),
        Value::Text(text) => theirs.as_str() == Some(text),
        Value::Array { count } => theirs.as_array().is_some_and(|all| all.len() as u64 == count),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn metadata_and_tensors_are_those_that_the_reference_reader_sees() {
    for name in ["blocks", "small"] {
        let file = read(&format!("gguf/{name}.gguf"));
        let gguf = Gguf::parse(&file, Mode::Strict).unwrap();
        let expected = expected(name);
        assert_eq!(gguf.version(), 3);
        assert_eq!(gguf.metadata().count(), expected["fields"].as_object().unwrap().len());
        for (key, value) in gguf.metadata() {
            let theirs = &expected["fields"][key];
            assert!(same(value, theirs), "{key}: {value:?} and {theirs}");
            let Value::Array { .. } = value else { continue };
            let theirs = theirs.as_array().unwrap();
            if key == "tokenizer.ggml.tokens" {
                let tokens: Vec<_> = gguf.tokens().map(hex).collect();
                assert_eq!(tokens, theirs.iter().map(|t| t.as_str().unwrap()).collect::<Vec<_>>());
                continue;
            }
            let elements: Vec<_> = gguf.elements(key).unwrap().collect();
            assert_eq!(elements.len(), theirs.len());
            for (ours, theirs) in elements.into_iter().zip(theirs) {
                match ours {
                    Value::Text(text) => assert_eq!(hex(text.as_bytes()), theirs.as_str().unwrap()),
                    other => assert!(same(other, theirs), "{key}: {other:?} and {theirs}"),
                }
            }
        }
        let tensors = expected["tensors"].as_object().unwrap();
        assert_eq!(gguf.tensors().count(), tensors.len());
        for (name, theirs) in tensors {
            let tensor = gguf.tensor(name).unwrap();
            let header = tensor.header();
            assert_eq!(header.dtype.name(), theirs["dtype"].as_str().unwrap());
            assert_eq!(header.offset, theirs["offset"].as_u64().unwrap());
            assert_eq!(header.bytes, theirs["bytes"].as_u64().unwrap());
            let dims: Vec<_> =
                theirs["shape"].as_array().unwrap().iter().map(|d| d.as_u64().unwrap()).collect();
            assert_eq!(header.shape.dims(), dims);
        }
    }
}

#[test]
fn blocks_are_dequantised_where_they_lie() {
    let file = read("gguf/blocks.gguf");
    let gguf = Gguf::parse(&file, Mode::Strict).unwrap();
    for tensor in gguf.tensors().filter(|tensor| tensor.header().dtype.is_block()) {
        let mut values = vec![0.0; 2048];
        dequantize(tensor.header().dtype, tensor.data(), 0, &mut values).unwrap();
        let expected = read_f32(&format!("quant/{}.expected.f32", tensor.header().name));
        assert_eq!(bits(&values), bits(&expected), "{}", tensor.header().name);
    }
}

#[test]
fn a_file_without_tensors_is_a_file() {
    let gguf = read("gguf/unpadded/no_tensors.gguf");
    let gguf = Gguf::parse(&gguf, Mode::Strict).unwrap();
    assert_eq!(
        (gguf.tensors().count(), gguf.value("general.architecture")),
        (0, Some(Value::Text("x")))
    );
}

#[test]
fn what_the_reference_wrote_is_written_alike() {
    let expected = read("gguf/small.gguf");
    let gguf = Gguf::parse(&expected, Mode::Strict).unwrap();
    let tensors: Vec<_> = gguf
        .tensors()
        .map(|tensor| {
            let header = *tensor.header();
            TensorSpec { name: header.name, dtype: header.dtype, shape: header.shape }
        })
        .collect();
    // The Python writer puts the alignment where it was set, at the end; the core writes it first.
    let metadata = [
        ("general.architecture", WriteValue::Text("x")),
        ("b", WriteValue::Bool(true)),
        ("i", WriteValue::I8(-3)),
        ("f", WriteValue::F32(1.5)),
        ("a", WriteValue::I32s(&[1, 2])),
        ("tokenizer.ggml.tokens", WriteValue::Texts(&[b"t", b"\xff"])),
    ];
    let plan = GgufPlan { metadata: &metadata, tensors: &tensors, alignment: 64 };
    let mut writer = GgufWriter::new(plan, Vec::new()).unwrap();
    for tensor in gguf.tensors() {
        for piece in tensor.data().chunks(7) {
            writer.data(piece).unwrap();
        }
    }
    assert!(writer.data(b"x").is_err());
    let file = writer.finish().unwrap();
    assert_eq!(plan.file_bytes().unwrap(), file.len() as u64);
    assert_eq!(file.len(), expected.len());
    let back = Gguf::parse(&file, Mode::Strict).unwrap();
    for (key, value) in gguf.metadata() {
        assert_eq!(back.value(key), Some(value), "{key}");
    }
    assert!(back.tensors().eq(gguf.tensors()));
    assert!(back.tokens().eq(gguf.tokens()));
    let data = usize::try_from(gguf.data_offset()).unwrap();
    assert_eq!(file[data..], expected[data..]);
}

#[test]
fn plans_that_the_format_cannot_hold_are_refused() {
    let spec =
        |name, dtype, dims: &[u64]| TensorSpec { name, dtype, shape: Shape::new(dims).unwrap() };
    let refuse = |tensors: &[TensorSpec<'_>], metadata: &[(&str, WriteValue<'_>)], alignment| {
        let plan = GgufPlan { metadata, tensors, alignment };
        GgufWriter::new(plan, Vec::new()).err().unwrap().kind()
    };
    assert_eq!(refuse(&[spec("a", Dtype::Q4K, &[100])], &[], 32), ErrorKind::InvalidArgument);
    assert_eq!(refuse(&[spec("a", Dtype::F32, &[])], &[], 32), ErrorKind::InvalidArgument);
    assert_eq!(refuse(&[spec("a", Dtype::F32, &[0])], &[], 32), ErrorKind::InvalidArgument);
    assert_eq!(refuse(&[spec("", Dtype::F32, &[1])], &[], 32), ErrorKind::InvalidArgument);
    assert_eq!(refuse(&[spec("a", Dtype::U8, &[1])], &[], 32), ErrorKind::UnsupportedDtype);
    assert_eq!(refuse(&[spec("a", Dtype::F32, &[1 << 62])], &[], 32), ErrorKind::InvalidArgument);
    let twice = [spec("a", Dtype::F32, &[1]), spec("a", Dtype::F32, &[1])];
    assert_eq!(refuse(&twice, &[], 32), ErrorKind::DuplicateName);
    let keys = [("k", WriteValue::U8(1)), ("k", WriteValue::U8(2))];
    assert_eq!(refuse(&[], &keys, 32), ErrorKind::DuplicateName);
    assert_eq!(refuse(&[], &[], 48), ErrorKind::InvalidArgument);
    // Input that the reader would reject.
    let text = "x".repeat((1 << 20) + 1);
    assert_eq!(refuse(&[], &[("k", WriteValue::Text(&text))], 32), ErrorKind::InvalidArgument);
    let texts = [text.as_bytes()];
    assert_eq!(refuse(&[], &[("k", WriteValue::Texts(&texts))], 32), ErrorKind::InvalidArgument);
    let names: Vec<String> = (0..2049).map(|n| n.to_string()).collect();
    let many: Vec<_> = names.iter().map(|name| spec(name, Dtype::F32, &[1])).collect();
    assert_eq!(refuse(&many, &[], 32), ErrorKind::TooManyTensors);
    let keys: Vec<String> = (0..257).map(|n| n.to_string()).collect();
    let pairs: Vec<_> = keys.iter().map(|key| (key.as_str(), WriteValue::U8(1))).collect();
    assert_eq!(refuse(&[], &pairs, 32), ErrorKind::InvalidArgument);
    assert_eq!(refuse(&[], &pairs[..256], 64), ErrorKind::InvalidArgument);
    for (pairs, alignment, text) in
        [(&pairs[..256], 32, None), (&pairs[..254], 64, Some(&text[1..]))]
    {
        let last = text.map(|text| ("text", WriteValue::Text(text)));
        let metadata: Vec<_> = pairs.iter().copied().chain(last).collect();
        let plan = GgufPlan { metadata: &metadata, tensors: &[], alignment };
        let file = GgufWriter::new(plan, Vec::new()).unwrap().finish().unwrap();
        assert_eq!(Gguf::parse(&file, Mode::Strict).map(drop), Ok(()));
    }
}

/// `small.gguf` with other bytes after the first match of `find`.
fn damaged(find: &[u8], skip: usize, bytes: &[u8]) -> (Vec<u8>, u64) {
    let mut file = read("gguf/small.gguf");
    let at =
        file.windows(find.len()).position(|window| window == find).unwrap() + find.len() + skip;
    file[at..at + bytes.len()].copy_from_slice(bytes);
    (file, at as u64)
}

#[test]
fn each_damage_is_named_and_placed() {
    let w = b"\x01\0\0\0\0\0\0\0w";
    let q = b"\x01\0\0\0\0\0\0\0q";
    let alignment = b"general.alignment";
    let tokens = b"tokenizer.ggml.tokens";
    let huge = u64::MAX.to_le_bytes();
    for ((file, at), kind, before) in [
        (damaged(b"GGUF", 0, &[1]), ErrorKind::UnsupportedVersion, 0),
        (damaged(b"GGUF", 0, &[0, 0, 0, 3]), ErrorKind::BigEndian, 0),
        (damaged(b"GGUF\x03\0\0\0", 0, &huge), ErrorKind::TooManyTensors, 0),
        (damaged(b"GGUF\x03\0\0\0", 8, &huge), ErrorKind::TooManyEntries, 0),
        (damaged(b"GGUF\x03\0\0\0", 16, &huge), ErrorKind::NameTooLong, 0),
        (damaged(b"general.architecture", 0, &[13]), ErrorKind::BadField, 0),
        (damaged(b"general.architecture", 4, &huge), ErrorKind::NameTooLong, 0),
        (damaged(alignment, 4, &[0]), ErrorKind::BadAlignment, 0),
        (damaged(alignment, 4, &[48]), ErrorKind::BadAlignment, 0),
        (damaged(alignment, 0, &[5]), ErrorKind::BadAlignment, 0),
        (damaged(tokens, 8, &huge), ErrorKind::BadCount, 0),
        (damaged(tokens, 8, &(1_u64 << 32).to_le_bytes()), ErrorKind::BadCount, 0),
        (damaged(w, 0, &[5]), ErrorKind::BadDimensions, 0),
        (damaged(w, 0, &[0]), ErrorKind::BadDimensions, 0),
        (damaged(w, 4, &[0]), ErrorKind::BadDimensions, 0),
        (damaged(w, 4, &huge), ErrorKind::SizeOverflow, 4),
        (damaged(w, 12, &[4]), ErrorKind::RemovedDtype, 0),
        (damaged(w, 12, &[200]), ErrorKind::BadDtype, 0),
        (damaged(w, 12, &[8]), ErrorKind::SizeMismatch, 0),
        (damaged(w, 16, &[64]), ErrorKind::NotContiguous, 0),
        (damaged(q, 24, &[0]), ErrorKind::Overlap, 0),
        (damaged(q, 24, &[65]), ErrorKind::NotContiguous, 0),
    ] {
        let error = Gguf::parse(&file, Mode::Strict).err();
        let error = error.unwrap_or_else(|| panic!("{kind:?} at {at} accepted"));
        assert_eq!(error, Error::new(at - before, kind));
    }
    let mut file = read("gguf/small.gguf");
    let name = file.windows(9).position(|window| window == q).unwrap();
    file[name + 8] = b'w';
    let error = Gguf::parse(&file, Mode::Strict).unwrap_err();
    assert_eq!(error, Error::new(name as u64, ErrorKind::DuplicateName));
}

#[test]
fn mutations_never_panic_a_view() {
    let file = read("gguf/small.gguf");
    each_mutation(&file, 0..file.len(), |mutated, _| {
        let Ok(gguf) = Gguf::parse(mutated, Mode::Lenient) else { return };
        for (key, _) in gguf.metadata() {
            gguf.elements(key).into_iter().flatten().for_each(drop);
        }
        gguf.tokens().for_each(drop);
        for tensor in gguf.tensors() {
            let _ = dequantize(tensor.header().dtype, tensor.data(), 1, &mut [0.0; 31]);
        }
    });
}

#[test]
fn padding_between_tensors_is_zero_or_refused_in_strict_mode() {
    let mut file = read("gguf/small.gguf");
    let gguf = Gguf::parse(&file, Mode::Strict).unwrap();
    let ends = gguf.tensors().map(|tensor| tensor.header().offset + tensor.header().bytes);
    let padded: Vec<_> = ends.filter(|end| *end % 32 != 0).collect();
    assert!(padded.len() > 1, "no padding in the file");
    for at in padded {
        let place = usize::try_from(at).unwrap();
        file[place] = 1;
        let refused = Gguf::parse(&file, Mode::Strict).unwrap_err();
        assert_eq!(refused, Error::new(at, ErrorKind::ReservedNotZero));
        assert!(Gguf::parse(&file, Mode::Lenient).is_ok());
        file[place] = 0;
    }
}

#[test]
fn values_are_copied_as_they_are_stored() {
    let file = read("gguf/blocks.gguf");
    let gguf = Gguf::parse(&file, Mode::Strict).unwrap();
    let metadata: Vec<_> = gguf
        .metadata()
        .map(|(key, _)| (key, WriteValue::Stored(gguf.stored_value(key).unwrap())))
        .collect();
    let plan = GgufPlan { metadata: &metadata, tensors: &[], alignment: 32 };
    let copy = GgufWriter::new(plan, Vec::new()).unwrap().finish().unwrap();
    let copy = Gguf::parse(&copy, Mode::Lenient).unwrap();
    assert!(copy.metadata().eq(gguf.metadata()));
    for (key, _) in gguf.metadata() {
        assert_eq!(copy.stored_value(key), gguf.stored_value(key), "{key}");
    }
}
