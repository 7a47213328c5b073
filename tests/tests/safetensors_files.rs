//! safetensors against the reference crate: the same files accepted, the same tensors, the same
//! bytes written.

use std::collections::HashMap;

use nanoembed_core::ErrorKind;
use nanoembed_core::event::Mode;
use nanoembed_core::format::safetensors::{
    Entry, Safetensors, SafetensorsPlan, SafetensorsWriter, TensorSpec, order,
};
use nanoembed_core::tensor::{Dtype, Shape};
use nanoembed_core::text::json::{chars, unescape};
use nanoembed_tests::data;
use proptest::prelude::*;
use safetensors::{Dtype as TheirDtype, SafeTensors, View};

/// The errors for files that are rejected here on purpose, and accepted by the reference.
const STRICTER: [ErrorKind; 4] = [
    ErrorKind::DuplicateName,
    ErrorKind::BadDimensions,
    ErrorKind::UnsupportedDtype,
    ErrorKind::TooManyEntries,
];

/// Name, type, shape and data of each tensor, sorted.
type All = Vec<(String, String, Vec<u64>, Vec<u8>)>;

fn ours(file: &[u8]) -> Result<All, nanoembed_core::Error> {
    let mut entries = [Entry::default(); 64];
    let parsed = Safetensors::parse(file, Mode::Lenient, &mut entries)?;
    let mut all: Vec<_> = parsed
        .tensors()
        .map(|tensor| {
            let header = tensor.header();
            let name: String = chars(header.name).collect();
            let found = parsed.tensor(&name).expect("found by its name");
            assert_eq!(found, tensor);
            let dtype = header.dtype.name().to_uppercase();
            (name, dtype, header.shape.dims().to_vec(), tensor.data().to_vec())
        })
        .collect();
    assert_eq!(all.len(), parsed.len());
    all.sort();
    Ok(all)
}

fn theirs(file: &[u8]) -> Result<All, String> {
    let parsed = SafeTensors::deserialize(file).map_err(|error| error.to_string())?;
    let mut all: Vec<_> = parsed
        .iter()
        .map(|(name, tensor)| {
            let dims = tensor.shape().iter().map(|&dim| dim as u64).collect();
            (name.to_owned(), tensor.dtype().to_string(), dims, tensor.data().to_vec())
        })
        .collect();
    all.sort();
    Ok(all)
}

fn compare(file: &[u8]) {
    match (ours(file), theirs(file)) {
        (Ok(ours), Ok(theirs)) => assert_eq!(ours, theirs),
        (Err(error), Ok(_)) => {
            assert!(STRICTER.contains(&error.kind()), "{error}: {}", String::from_utf8_lossy(file));
        }
        (Ok(_), Err(error)) => panic!("{error}: {}", String::from_utf8_lossy(file)),
        (Err(_), Err(_)) => {}
    }
}

#[test]
fn test_files_are_judged_as_the_reference_does() {
    for folder in ["safetensors", "safetensors/bad"] {
        for (name, file) in data::files(folder, &["safetensors"]) {
            println!("{name}");
            compare(&file);
            let bad = folder.ends_with("bad") || name.starts_with("bad_");
            assert_eq!(ours(&file).is_err(), bad, "{name}: {:?}", ours(&file));
        }
    }
}

fn damaged(name: &str) -> String {
    let folder = if name == "gap" { "bad_" } else { "bad/" };
    format!("safetensors/{folder}{name}.safetensors")
}

#[test]
fn each_damage_is_named_and_placed() {
    let error = |name: &str| ours(&data::read(&damaged(name))).unwrap_err();
    let at = |name: &str, text: &str| {
        let file = data::read(&damaged(name));
        let found = file.windows(text.len()).rposition(|window| window == text.as_bytes());
        (found.unwrap_or_else(|| panic!("{text} in {name}"))) as u64
    };
    for (name, kind, offset) in [
        ("gap", ErrorKind::NotContiguous, at("gap", "b\":")),
        ("overlap", ErrorKind::Overlap, at("overlap", "b\":")),
        ("size", ErrorKind::SizeMismatch, at("size", "[0, 4]")),
        ("reversed", ErrorKind::OutOfBounds, at("reversed", "[4, 0]")),
        ("product", ErrorKind::SizeOverflow, at("product", "[0, 4]")),
        ("dtype", ErrorKind::BadDtype, at("dtype", "F33")),
        ("missing", ErrorKind::BadField, at("missing", "}}")),
        ("twice", ErrorKind::DuplicateName, at("twice", "\\u0061")),
        ("depth", ErrorKind::TooDeep, 8 + 10 + 125),
        ("length_huge", ErrorKind::HeaderTooLarge, 0),
        ("length_zero", ErrorKind::BadJson, 8),
        ("metadata", ErrorKind::BadField, at("metadata", "1}}")),
    ] {
        let error = error(name);
        assert_eq!((error.kind(), error.offset()), (kind, Some(offset)), "{name}");
    }
}

#[test]
fn metadata_is_given_as_spelled() {
    let file = data::read("safetensors/mixed.safetensors");
    let mut entries = [Entry::default(); 3];
    let parsed = Safetensors::parse(&file, Mode::Strict, &mut entries).unwrap();
    assert_eq!(parsed.metadata().count(), 2);
    let note = parsed.metadata_value("note").unwrap();
    assert_eq!(unescape(note, &mut [0; 32]), Some("quoted \"word\"\n"));
    assert_eq!(parsed.metadata_value("missing"), None);
    assert!(parsed.tensor("c").is_none());
}

#[test]
fn more_tensors_than_room_are_refused() {
    let file = data::read("safetensors/mixed.safetensors");
    let mut entries = [Entry::default(); 2];
    let error = Safetensors::parse(&file, Mode::Strict, &mut entries).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooManyTensors);
}

struct Theirs(TheirDtype, Vec<usize>, Vec<u8>);

impl View for &Theirs {
    fn dtype(&self) -> TheirDtype {
        self.0
    }
    fn shape(&self) -> &[usize] {
        &self.1
    }
    fn data(&self) -> std::borrow::Cow<'_, [u8]> {
        (&self.2).into()
    }
    fn data_len(&self) -> usize {
        self.2.len()
    }
}

const DTYPES: [(TheirDtype, Dtype); 10] = [
    (TheirDtype::F32, Dtype::F32),
    (TheirDtype::U8, Dtype::U8),
    (TheirDtype::BF16, Dtype::BF16),
    (TheirDtype::F16, Dtype::F16),
    (TheirDtype::I64, Dtype::I64),
    (TheirDtype::U32, Dtype::U32),
    (TheirDtype::F8_E4M3, Dtype::F8E4M3),
    (TheirDtype::BOOL, Dtype::Bool),
    (TheirDtype::F64, Dtype::F64),
    (TheirDtype::I16, Dtype::I16),
];

fn any_tensors() -> impl Strategy<Value = HashMap<String, (usize, Vec<usize>)>> {
    let tensor = (0..DTYPES.len(), prop::collection::vec(0..4_usize, 0..4));
    prop::collection::hash_map(any::<String>(), tensor, 0..6)
}

fn their_file(tensors: &HashMap<String, (usize, Vec<usize>)>, note: Option<&String>) -> Vec<u8> {
    let tensors: HashMap<_, _> = tensors
        .iter()
        .map(|(name, (dtype, shape))| {
            let (theirs, dtype) = DTYPES[*dtype];
            let bytes = shape.iter().product::<usize>() * dtype.block_bytes();
            (name.clone(), Theirs(theirs, shape.clone(), (0..bytes).map(|i| i as u8).collect()))
        })
        .collect();
    let metadata = note.map(|note| HashMap::from([("note".to_owned(), note.clone())]));
    safetensors::serialize(tensors.iter(), metadata).unwrap()
}

#[test]
fn more_metadata_than_is_read_is_not_written() {
    let keys: Vec<String> = (0..129).map(|n| n.to_string()).collect();
    let metadata: Vec<_> = keys.iter().map(|key| (key.as_str(), "")).collect();
    let write = |metadata| {
        let plan = SafetensorsPlan { metadata, tensors: &[] };
        SafetensorsWriter::new(&plan, Vec::new()).and_then(SafetensorsWriter::finish)
    };
    assert_eq!(write(&metadata).err().map(|error| error.kind()), Some(ErrorKind::InvalidArgument));
    assert_eq!(ours(&write(&metadata[1..]).unwrap()), Ok(Vec::new()));
    // The member with the metadata is not a key of it.
    assert_eq!(ours(&write(&[("__metadata__", "")]).unwrap()), Ok(Vec::new()));
}

proptest! {
    #[test]
    fn files_of_the_reference_are_read_alike(tensors in any_tensors(), note: Option<String>) {
        compare(&their_file(&tensors, note.as_ref()));
    }

    #[test]
    fn damaged_headers_are_judged_alike(tensors in any_tensors(), at: prop::sample::Index, byte in "[0-9{}\\[\\]\",: a-zA-Z\\\\_]") {
        let mut file = their_file(&tensors, None);
        let at = at.index(file.len());
        file[at] = byte.as_bytes()[0];
        compare(&file);
    }

    #[test]
    fn what_we_write_is_what_the_reference_writes(tensors in any_tensors(), note: Option<String>) {
        prop_assume!(!tensors.contains_key("__metadata__"));
        let expected = their_file(&tensors, note.as_ref());
        let mut specs: Vec<_> = tensors.iter().map(|(name, (dtype, shape))| {
            let dims: Vec<_> = shape.iter().map(|&dim| dim as u64).collect();
            TensorSpec { name, dtype: DTYPES[*dtype].1, shape: Shape::new(&dims).unwrap() }
        }).collect();
        specs.sort_by(order);
        let metadata: Vec<_> = note.iter().map(|note| ("note", note.as_str())).collect();
        let plan = SafetensorsPlan { metadata: &metadata, tensors: &specs };
        let mut writer = SafetensorsWriter::new(&plan, Vec::new()).unwrap();
        for spec in &specs {
            let data: Vec<_> = (0..spec.bytes().unwrap()).map(|i| i as u8).collect();
            writer.data(&data).unwrap();
        }
        let file = writer.finish().unwrap();
        prop_assert_eq!(plan.file_bytes().unwrap(), file.len() as u64);
        // Control characters can be escaped in two ways, so headers are compared by meaning.
        prop_assert_eq!(theirs(&file), theirs(&expected));
        if !expected.contains(&b'\\') {
            prop_assert_eq!(file, expected);
        }
    }
}
