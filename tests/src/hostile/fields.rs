//! Every count, length, offset, dimension and code in the headers of every format, one at a time.

use nanoembed_core::format::finalfusion::StorageSpec;
use nanoembed_core::subword::{Bracket, Subwords, WordVocabulary};

use crate::data;
use crate::finalfusion::Parts;

/// The meaning of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    /// A number of items or bytes, an offset, or a dimension: no file is as large as the largest
    /// number.
    Size,
    /// A redundant size that readers may ignore.
    Advice,
    /// One of a list of codes.
    Code,
}
use Says::{Advice, Code, Size};

/// A number in the header of a valid file, and the file with another number in its place.
pub struct Field {
    /// The format's name in the table of formats.
    pub format: &'static str,
    /// The name of the number.
    pub name: String,
    /// Its meaning.
    pub says: Says,
    /// Its width.
    pub bits: u32,
    /// Its value in the valid file.
    pub honest: u64,
    /// The file with any other value.
    pub file: Box<dyn Fn(u64) -> Vec<u8>>,
}

impl Field {
    /// Other values for it: zero, one, one more, and the limits of its width.
    #[must_use]
    pub fn values(&self) -> Vec<u64> {
        let most = u64::MAX >> (64 - self.bits);
        let mut values = vec![0, 1, self.honest.saturating_add(1), most / 2 + 1, most - 1, most];
        if self.bits == 64 {
            // Multiplied by four or eight these wrap around.
            values.extend([1 << 32, 1 << 61, 1 << 62]);
        }
        values.retain(|value| *value <= most && *value != self.honest);
        values.sort_unstable();
        values.dedup();
        values
    }
}

/// The fields of all formats.
#[must_use]
pub fn fields() -> Vec<Field> {
    let formats = [embd(), embd_stream(), amb(), gguf(), safetensors(), uqff(), finalfusion()];
    formats.into_iter().flatten().collect()
}

/// Numbers in little-endian bytes: `(name, meaning, offset, bits)`; `mend` updates checksums.
fn in_bytes(
    format: &'static str,
    file: &[u8],
    mend: fn(&mut [u8]),
    places: &[(&str, Says, usize, u32)],
) -> Vec<Field> {
    let field = |&(name, says, at, bits): &(&str, Says, usize, u32)| {
        let (file, bytes) = (file.to_vec(), bits as usize / 8);
        let mut honest = [0; 8];
        honest[..bytes].copy_from_slice(&file[at..at + bytes]);
        let changed = move |value: u64| {
            let mut file = file.clone();
            file[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
            mend(&mut file);
            file
        };
        let honest = u64::from_le_bytes(honest);
        Field { format, name: name.to_owned(), says, bits, honest, file: Box::new(changed) }
    };
    places.iter().map(field).collect()
}

const fn as_it_is(_: &mut [u8]) {}

fn embd() -> Vec<Field> {
    let file = data::read("embd/section_all_dtypes_flags7.weights");
    let place = |at: usize| {
        usize::try_from(u32::from_le_bytes(file[at..at + 4].try_into().unwrap())).unwrap()
    };
    let (metadata, vocabulary, index) = (place(12), place(20), place(28));
    let mend = |file: &mut [u8]| {
        let sum = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(&file[..56]);
        file[56..60].copy_from_slice(&sum.to_le_bytes());
    };
    in_bytes(
        "embd",
        &file,
        mend,
        &[
            ("major version", Code, 4, 16),
            ("flags", Advice, 8, 32),
            ("metadata offset", Size, 12, 32),
            ("metadata bytes", Size, 16, 32),
            ("vocabulary offset", Size, 20, 32),
            ("vocabulary bytes", Size, 24, 32),
            ("index offset", Size, 28, 32),
            ("index count", Size, 32, 32),
            ("data offset", Size, 36, 32),
            ("data bytes", Size, 40, 64),
            ("file bytes", Size, 48, 64),
            ("metadata entries", Size, metadata, 32),
            ("metadata entry bytes", Size, metadata + 4, 32),
            ("key bytes", Size, metadata + 8, 16),
            ("value bytes", Size, metadata + 10, 16),
            ("tokens", Size, vocabulary, 32),
            ("token bytes", Size, vocabulary + 4, 32),
            ("special offset", Size, vocabulary + 8, 32),
            ("bytes of a token", Size, vocabulary + 12, 16),
            ("name hash", Advice, index, 32),
            ("type", Code, index + 4, 8),
            ("dimensions", Size, index + 5, 8),
            ("name bytes", Size, index + 6, 16),
            ("dimension 0", Size, index + 8, 32),
            ("dimension 3", Size, index + 20, 32),
            ("tensor offset", Size, index + 24, 64),
        ],
    )
}

fn embd_stream() -> Vec<Field> {
    let file = data::read("embd/stream_small.bin");
    let first = 12;
    let name = usize::try_from(u32::from_le_bytes(file[first..first + 4].try_into().unwrap()));
    let dims = first + 4 + name.unwrap();
    in_bytes(
        "embd",
        &file,
        as_it_is,
        &[
            ("stream: tensors", Size, 8, 32),
            ("stream: name bytes", Size, first, 32),
            ("stream: dimensions", Size, dims, 32),
            ("stream: dimension 0", Size, dims + 4, 32),
        ],
    )
}

/// Sections without JSON and tokenizer, and one tensor called `w` of two floats.
fn amb() -> Vec<Field> {
    let mut file = b"AMBEE\x01\0\0".to_vec();
    file.extend([0; 12]);
    file.extend(28_u64.to_le_bytes());
    file.extend([1, 0, b'w', 1]);
    file.extend(2_u32.to_le_bytes());
    file.push(0);
    file.extend(8_u64.to_le_bytes());
    file.extend([0; 8]);
    file.extend([0; 3]);
    let mut fields = in_bytes(
        "amb",
        &file,
        as_it_is,
        &[
            ("version", Code, 5, 8),
            ("flags", Advice, 6, 16),
            ("metadata bytes", Size, 8, 32),
            ("config bytes", Size, 12, 32),
            ("tokenizer bytes", Size, 16, 32),
            ("weights bytes", Size, 20, 64),
            ("name bytes", Size, 28, 16),
            ("dimensions", Size, 31, 8),
            ("dimension 0", Size, 32, 32),
            ("type", Code, 36, 8),
            ("data bytes", Size, 37, 64),
        ],
    );
    let tokenizer = [&[2][..], &[0xFF; 10], &[1, 0, 0, 0, 1, 0, b'a']].concat();
    let mut file = b"AMBEE\x01\0\0".to_vec();
    file.extend([0; 8]);
    file.extend(u32::try_from(tokenizer.len()).unwrap().to_le_bytes());
    file.extend([0; 8]);
    file.extend(tokenizer);
    fields.extend(in_bytes(
        "amb",
        &file,
        as_it_is,
        &[
            ("tokenizer: bytes", Size, 16, 32),
            ("tokenizer: kind", Code, 28, 8),
            ("tokenizer: tokens", Size, 39, 32),
            ("tokenizer: bytes of a token", Size, 43, 16),
        ],
    ));
    fields
}

/// A number, an array of two numbers, and one tensor called `w` of 32 floats.
fn gguf() -> Vec<Field> {
    let mut file = b"GGUF".to_vec();
    file.extend(3_u32.to_le_bytes());
    file.extend(1_u64.to_le_bytes());
    file.extend(2_u64.to_le_bytes());
    // 24: a pair.
    file.extend(1_u64.to_le_bytes());
    file.extend(b"a");
    file.extend(4_u32.to_le_bytes());
    file.extend(7_u32.to_le_bytes());
    // 41: an array.
    file.extend(1_u64.to_le_bytes());
    file.extend(b"b");
    file.extend(9_u32.to_le_bytes());
    file.extend(4_u32.to_le_bytes());
    file.extend(2_u64.to_le_bytes());
    file.extend([0; 8]);
    // 74: a tensor.
    file.extend(1_u64.to_le_bytes());
    file.extend(b"w");
    file.extend(1_u32.to_le_bytes());
    file.extend(32_u64.to_le_bytes());
    file.extend(0_u32.to_le_bytes());
    file.extend(0_u64.to_le_bytes());
    file.resize(file.len().next_multiple_of(32) + 128, 0);
    in_bytes(
        "gguf",
        &file,
        as_it_is,
        &[
            ("version", Code, 4, 32),
            ("tensors", Size, 8, 64),
            ("pairs", Size, 16, 64),
            ("key bytes", Size, 24, 64),
            ("value type", Code, 33, 32),
            ("element type", Code, 54, 32),
            ("elements", Size, 58, 64),
            ("name bytes", Size, 74, 64),
            ("dimensions", Size, 83, 32),
            ("dimension 0", Size, 87, 64),
            ("type", Code, 95, 32),
            ("tensor offset", Size, 99, 64),
        ],
    )
}

/// Numbers in JSON text.
fn safetensors() -> Vec<Field> {
    let header = |dim: u64, begin: u64, end: u64| {
        format!(
            "{{\"w\":{{\"dtype\":\"F32\",\"shape\":[{dim}],\"data_offsets\":[{begin},{end}]}}}}"
        )
    };
    let file = |header: String| {
        let padded = header.len().next_multiple_of(8);
        let header = format!("{header:padded$}");
        [&(padded as u64).to_le_bytes(), header.as_bytes(), &[0; 8]].concat()
    };
    let mut fields =
        in_bytes("safetensors", &file(header(2, 0, 8)), as_it_is, &[("header bytes", Size, 0, 64)]);
    let mut add = |name: &str, honest, header: Box<dyn Fn(u64) -> String>| {
        let file = Box::new(move |value| file(header(value)));
        let (format, name) = ("safetensors", name.to_owned());
        fields.push(Field { format, name, says: Size, bits: 64, honest, file });
    };
    add("dimension 0", 2, Box::new(move |value| header(value, 0, 8)));
    add("begin of data", 0, Box::new(move |value| header(2, value, 8)));
    add("end of data", 8, Box::new(move |value| header(2, 0, value)));
    fields
}

/// A blob of 0.x with two floats, and one with a block of ggml.
fn uqff() -> Vec<Field> {
    let version = data::files("uqff/legacy_0.2.0", &["uqfftensor"]).remove(0).1[..4].to_vec();
    let file = |blob: &[u8]| {
        let header = format!(
            "{{\"0\":{{\"dtype\":\"U8\",\"shape\":[{0}],\"data_offsets\":[0,{0}]}}}}",
            blob.len()
        );
        let padded = header.len().next_multiple_of(8);
        let header = format!("{header:padded$}");
        let start = 8 + padded;
        ([&(padded as u64).to_le_bytes(), header.as_bytes(), blob].concat(), start)
    };
    let numbers = |numbers: &[u32]| -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    };
    // F32 is 2 in the list of types.
    let floats = [&version[..], &[1, 0], &numbers(&[8, 2, 1, 2]), &[0; 8]].concat();
    let (floats, at) = file(&floats);
    let mut fields = in_bytes(
        "uqff",
        &floats,
        as_it_is,
        &[
            ("version", Code, at, 32),
            ("layer format", Code, at + 4, 8),
            ("has bias", Code, at + 5, 8),
            ("data bytes", Size, at + 6, 32),
            ("type", Code, at + 10, 32),
            ("dimensions", Size, at + 14, 32),
            ("dimension 0", Size, at + 18, 32),
        ],
    );
    // Q8_0 is 8: 34 bytes for 32 weights.
    let blocks = [&version[..], &[0], &numbers(&[34]), &[0], &numbers(&[8, 1, 32]), &[0; 34]];
    let (blocks, at) = file(&blocks.concat());
    fields.extend(in_bytes(
        "uqff",
        &blocks,
        as_it_is,
        &[
            ("blocks: data bytes", Size, at + 5, 32),
            ("blocks: type", Code, at + 10, 32),
            ("blocks: dimensions", Size, at + 14, 32),
            ("blocks: dimension 0", Size, at + 18, 32),
        ],
    ));
    fields
}

/// Two words, four buckets, two columns, and norms.
fn finalfusion() -> Vec<Field> {
    let parts = Parts {
        metadata: None,
        vocabulary: WordVocabulary {
            words: 0,
            subwords: Subwords::Buckets { exponent: 2 },
            min_n: 2,
            max_n: 3,
            begin: Bracket::BEGIN,
            end: Bracket::END,
        },
        words: vec![b"ab".to_vec(), b"cd".to_vec()],
        ngrams: vec![],
        storage: StorageSpec::Array { rows: 6, cols: 2 },
        floats: vec![0.5; 12],
        codes: vec![],
        norms: Some(vec![1.0; 2]),
    };
    in_bytes(
        "finalfusion",
        &parts.write(),
        as_it_is,
        &[
            ("version", Code, 4, 32),
            ("chunks", Size, 8, 32),
            ("listed chunk", Advice, 12, 32),
            ("vocabulary identifier", Code, 24, 32),
            ("vocabulary bytes", Advice, 28, 64),
            ("words", Size, 36, 64),
            ("shortest n-gram", Size, 44, 32),
            ("longest n-gram", Advice, 48, 32),
            ("buckets", Size, 52, 32),
            ("bytes of a word", Size, 56, 32),
            ("storage identifier", Code, 68, 32),
            ("storage bytes", Advice, 72, 64),
            ("rows", Size, 80, 64),
            ("columns", Size, 88, 32),
            ("type", Code, 92, 32),
            ("norms bytes", Advice, 152, 64),
            ("norms", Size, 160, 64),
        ],
    )
}
