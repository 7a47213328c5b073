//! Deliberately invalid AMB files, each rejected for the named reason.

use nanoembed_core::event::Mode;
use nanoembed_core::format::amb::Amb;
use nanoembed_core::{Error, ErrorKind};

use nanoembed_core::describe::BertConfig;
use nanoembed_core::source::{amb_config_value, amb_llama_config};
use nanoembed_tests::formats::FORMATS;
use nanoembed_tests::fuzz::sources_agree;

/// A file of these sections, with their sizes.
fn file(metadata: &[u8], config: &[u8], tokenizer: &[u8], weights: &[u8]) -> Vec<u8> {
    let word = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap().to_le_bytes();
    [
        b"AMBEE\x01\0\0".as_slice(),
        &word(metadata),
        &word(config),
        &word(tokenizer),
        &(weights.len() as u64).to_le_bytes(),
        metadata,
        config,
        tokenizer,
        weights,
    ]
    .concat()
}

/// A record at the start of the weights of a file without other sections, with its padding.
fn record(name: &[u8], dims: &[u32], dtype: u8, size: u64, data: &[u8]) -> Vec<u8> {
    let mut record = u16::try_from(name.len()).unwrap().to_le_bytes().to_vec();
    record.extend(name);
    record.push(u8::try_from(dims.len()).unwrap());
    record.extend(dims.iter().flat_map(|dim| dim.to_le_bytes()));
    record.push(dtype);
    record.extend(size.to_le_bytes());
    record.extend(data);
    while !(28 + record.len()).is_multiple_of(8) {
        record.push(0);
    }
    record
}

/// The results of both modes, which must be the same from every source.
fn verdicts(file: &[u8]) -> [Result<(), Error>; 2] {
    let format = FORMATS.iter().find(|format| format.name == "amb").unwrap();
    let cuts = [file.len() / 3, file.len() / 2, file.len() - file.len() / 4];
    [Mode::Lenient, Mode::Strict].map(|mode| {
        let outcome = sources_agree(format, file, mode, &cuts);
        assert_eq!(Amb::parse(file, mode).map(drop), outcome.result);
        outcome.result
    })
}

fn refused(file: &[u8], kind: ErrorKind, offset: u64) {
    assert_eq!(verdicts(file), [Err(Error::new(offset, kind)); 2]);
}

fn refused_if_strict(file: &[u8], kind: ErrorKind, offset: u64) {
    assert_eq!(verdicts(file), [Ok(()), Err(Error::new(offset, kind))]);
}

#[test]
fn the_header() {
    let good = file(b"", b"", b"", b"");
    assert_eq!(verdicts(&good), [Ok(()); 2]);
    for version in [0, 2, 255] {
        let mut wrong = good.clone();
        wrong[5] = version;
        refused(&wrong, ErrorKind::UnsupportedVersion, 5);
    }
    let mut flags = good.clone();
    flags[6] = 1;
    refused_if_strict(&flags, ErrorKind::UnknownFlags, 6);
    let mut wraps = good.clone();
    wraps[20..28].fill(0xFF);
    refused(&wraps, ErrorKind::SizeOverflow, 20);
    let mut long = good.clone();
    long[20..28].copy_from_slice(&(1_u64 << 63).to_le_bytes());
    refused(&long, ErrorKind::UnexpectedEnd, 28);
    let mut trailing = good;
    trailing.push(0);
    refused_if_strict(&trailing, ErrorKind::TrailingBytes, 28);
}

#[test]
fn json() {
    let deep = [b"{\"a\":".repeat(127), b"1".to_vec(), b"}".repeat(127)].concat();
    assert_eq!(verdicts(&file(&deep, b"", b"", b"")), [Ok(()); 2]);
    let deeper = [b"{\"a\":".repeat(128), b"1".to_vec(), b"}".repeat(128)].concat();
    refused(&file(&deeper, b"", b"", b""), ErrorKind::TooDeep, 28 + 5 * 127);
    let bomb = b"[".repeat(100_000);
    refused(&file(b"", &bomb, b"", b""), ErrorKind::BadJson, 28);
    refused(&file(b"", b"{\"a\": \"\\ud800\"}", b"", b""), ErrorKind::BadJson, 28 + 13);
    refused(&file(b"{} x", b"", b"", b""), ErrorKind::BadJson, 31);
    refused(&file(b"{\"a\": 1", b"", b"", b""), ErrorKind::BadJson, 35);
    refused(&file(b"  12", b"", b"", b""), ErrorKind::BadJson, 30);
    refused(&file(b"   ", b"", b"", b""), ErrorKind::BadJson, 31);
    refused(&file(b"{\"a\": \"\xff\"}", b"", b"", b""), ErrorKind::InvalidUtf8, 35);
    refused(&file(b"{\"a\": \"\xe2\x82", b"", b"", b""), ErrorKind::InvalidUtf8, 35);
}

#[test]
fn members_that_two_readers_might_resolve_differently() {
    let twice =
        file(b"", b"{\"n_embd\": 8, \"x\": {\"n_heads\": 3}, \"n\\u005fembd\": 9}", b"", b"");
    let amb = Amb::parse(&twice, Mode::Strict).unwrap();
    let error = amb.config_value("n_embd").unwrap_err();
    assert_eq!(error, Error::new(28 + 36, ErrorKind::DuplicateName));
    assert_eq!(amb.duplicate_member(), Some(error));
    assert_eq!(amb_config_value(&amb, "hidden_size"), None);
    assert_eq!(amb.config_value("n_heads"), Ok(None), "members of members are not members");
}

#[test]
fn elements_are_those_of_the_member_that_is_an_array() {
    let elements = |config: &str| {
        let bytes = file(b"", config.as_bytes(), b"", b"");
        let amb = Amb::parse(&bytes, Mode::Strict).unwrap();
        amb.config_elements("ids").map(|token| token.spelling.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        elements(r#"{"a":{"ids":[9]},"ids":[3,"x",4.5,17],"b":[1]}"#),
        ["3", "x", "4.5", "17"]
    );
    assert_eq!(elements(r#"{"ids":[1,[2],3]}"#), ["1", "["]);
    assert!(elements(r#"{"ids":5,"b":[1]}"#).is_empty() && elements(r#"{"b":[1]}"#).is_empty());
}

#[test]
fn sizes_of_models() {
    let read = |config: &str| {
        let bytes = file(b"", config.as_bytes(), b"", b"");
        let amb = Amb::parse(&bytes, Mode::Strict).unwrap();
        let llama = amb_llama_config(&amb).map_err(|error| error.kind());
        let bert = BertConfig::from_metadata(|key| amb_config_value(&amb, key));
        (llama.map(drop), bert.map(drop).map_err(|error| error.kind()))
    };
    let sizes = |heads: &str, kv_heads: &str, embd: &str| {
        format!(
            "{{\"n_vocab\": 9, \"n_embd\": {embd}, \"n_layers\": 1, \"n_heads\": {heads}, \
             \"n_kv_heads\": {kv_heads}, \"max_seq_len\": 4, \"intermediate_size\": 8}}"
        )
    };
    let bad = ErrorKind::BadMetadata;
    assert_eq!(read(&sizes("2", "1", "8")), (Ok(()), Ok(())));
    assert_eq!(read(&sizes("0", "1", "8")), (Err(bad), Err(bad)));
    assert_eq!(read(&sizes("2", "4", "8")).0, Err(bad), "more heads of keys than of queries");
    assert_eq!(read(&sizes("2", "0", "8")).0, Err(bad));
    assert_eq!(read(&sizes("2", "1", "1e400")), (Err(bad), Err(bad)));
    assert_eq!(read(&sizes("2", "1", "-8")), (Err(bad), Err(bad)));
    let missing = ErrorKind::MissingMetadata;
    assert_eq!(read(&sizes("2", "1", "[8]")), (Err(bad), Err(missing)));
}

#[test]
fn tokenizers() {
    let head = |kind: u8| [&[kind][..], &[0xFF; 10]].concat();
    let with =
        |kind: u8, payload: &[u8]| file(b"", b"", &[head(kind), payload.to_vec()].concat(), b"");
    for length in 1..11 {
        refused(&file(b"", b"", &head(0)[..length], b""), ErrorKind::SizeMismatch, 16);
    }
    for kind in [4, 5, 100, 255] {
        refused(&with(kind, b""), ErrorKind::BadEncoding, 28);
    }
    for kind in 0..4 {
        assert_eq!(verdicts(&with(kind, b"")), [Ok(()); 2], "declared only");
    }
    let payload = 28 + 11;
    refused(&with(2, &[0xFF; 4]), ErrorKind::BadCount, payload);
    refused(&with(2, &[1, 0, 0, 0, 0]), ErrorKind::BadCount, payload);
    refused(&with(2, &[1, 0, 0, 0, 5, 0, b'a']), ErrorKind::OutOfBounds, payload + 4);
    refused(&with(2, &[1, 0, 0, 0, 1, 0, b'a', 0]), ErrorKind::SizeMismatch, payload + 7);
    refused(&with(2, &[1, 0]), ErrorKind::OutOfBounds, payload);
    refused(&with(0, &[0xFF; 4]), ErrorKind::BadCount, payload);
    refused(&with(0, &[1, 0, 0, 0, 1, 0, 0xFF, 0, 0]), ErrorKind::InvalidUtf8, payload + 6);
    refused(&with(0, &[0, 0, 0, 0]), ErrorKind::OutOfBounds, payload + 4);
    assert_eq!(
        verdicts(&with(1, &[7; 5])),
        [Ok(()); 2],
        "a model of SentencePiece is not looked at"
    );
}

/// Offsets in the record of a tensor called `w` of one dimension, from the start of the file.
const NDIM: u64 = 31;
const DTYPE: u64 = 36;
const SIZE: u64 = 37;
const DATA: u64 = 45;

#[test]
fn records() {
    let with = |weights: &[u8]| file(b"", b"", b"", weights);
    let good = record(b"w", &[2], 0, 8, &[0; 8]);
    assert_eq!(verdicts(&with(&good)), [Ok(()); 2]);
    refused(&with(&record(b"", &[2], 0, 8, &[0; 8])), ErrorKind::EmptyName, 28);
    refused(&with(&record(b"\xff", &[2], 0, 8, &[0; 8])), ErrorKind::InvalidUtf8, 30);
    refused(&with(&record(b"w", &[1; 9], 0, 4, &[0; 4])), ErrorKind::BadDimensions, NDIM);
    refused(&with(&record(b"w", &[u32::MAX; 3], 0, 4, &[0; 4])), ErrorKind::SizeOverflow, NDIM);
    for dtype in [9, 10, 128, 255] {
        refused(&with(&record(b"w", &[2], dtype, 8, &[0; 8])), ErrorKind::BadDtype, DTYPE);
    }
    for size in [0, 7, 9, 1 << 40, u64::MAX] {
        refused(&with(&record(b"w", &[2], 0, size, &[0; 8])), ErrorKind::SizeMismatch, SIZE);
    }
    // The size is right, but the section ends early.
    refused(&with(&record(b"w", &[2], 0, 8, &[0; 8])[..21]), ErrorKind::OutOfBounds, SIZE);
    refused(&with(&good[..16]), ErrorKind::OutOfBounds, 28);
    // 25 bytes of record, so that the next begins after 3 bytes of padding.
    let twice = [good.clone(), good.clone()].concat();
    refused(&with(&twice), ErrorKind::DuplicateName, 28 + 28);
    let mut padded = good.clone();
    padded[26] = 1;
    refused_if_strict(&with(&padded), ErrorKind::ReservedNotZero, 28 + 26);
    refused_if_strict(&with(&good[..25]), ErrorKind::Misaligned, 28 + 25);
    refused_if_strict(&with(&good[..27]), ErrorKind::Misaligned, 28 + 25);
    assert_eq!(verdicts(&with(&record(&[b'n'; 0xFFFF], &[], 0, 4, &[0; 4]))), [Ok(()); 2]);
    assert_eq!(verdicts(&with(&record(b"a\0b", &[0, 7], 2, 0, &[]))), [Ok(()); 2]);
}

#[test]
fn quantisations() {
    let with = |dtype: u8, parameters: [u8; 4], payload: usize| {
        let data = [&parameters[..], &vec![0; payload]].concat();
        file(b"", b"", b"", &record(b"w", &[32], dtype, data.len() as u64, &data))
    };
    assert_eq!(verdicts(&with(6, [6, 32, 0, 1], 18)), [Ok(()); 2]);
    assert_eq!(verdicts(&with(3, [3, 0, 0, 0], 36)), [Ok(()); 2]);
    for kind in [0, 1, 3, 5, 7, 255] {
        refused(&with(6, [kind, 32, 0, 1], 18), ErrorKind::MissingQuantization, DATA);
    }
    for block in [0_u16, 1, 3, 65535] {
        let [low, high] = block.to_le_bytes();
        refused(&with(6, [6, low, high, 1], 18), ErrorKind::BadQuantization, DATA + 1);
    }
    for scale_type in [2, 3, 255] {
        refused(&with(6, [6, 32, 0, scale_type], 18), ErrorKind::BadQuantization, DATA + 3);
    }
    for payload in [17, 19, 20] {
        refused(&with(6, [6, 32, 0, 1], payload), ErrorKind::SizeMismatch, SIZE);
    }
    // Four bytes fewer: as if the parameters were not counted.
    refused(&with(6, [6, 32, 0, 1], 14), ErrorKind::MissingQuantization, DATA);
    let size_only = file(b"", b"", b"", &record(b"w", &[32], 6, 3, &[6, 32, 0]));
    refused(&size_only, ErrorKind::SizeMismatch, SIZE);
    // A tensor without elements has only its parameters.
    let empty = file(b"", b"", b"", &record(b"w", &[0], 6, 4, &[6, 32, 0, 1]));
    assert_eq!(verdicts(&empty), [Ok(()); 2]);
}

#[test]
fn adaptive_masks() {
    // 4 blocks of 8: one byte of mask; 6 bytes per coded block, 16 per full one.
    let with = |mask: u8, payload: usize| {
        let data = [&[4, 8, 0, 1, mask][..], &vec![0; payload]].concat();
        file(b"", b"", b"", &record(b"w", &[32], 8, data.len() as u64, &data))
    };
    for (mask, full) in [(0, 0), (1, 1), (0b1010, 2), (0b1111, 4)] {
        assert_eq!(verdicts(&with(mask, 24 + 10 * full)), [Ok(()); 2]);
        if full < 4 {
            refused(&with(mask, 34 + 10 * full), ErrorKind::SizeMismatch, SIZE);
        }
    }
    refused(&with(0, 25), ErrorKind::SizeMismatch, SIZE);
    refused(&with(0, 74), ErrorKind::SizeMismatch, SIZE);
    refused_if_strict(&with(0x10, 24), ErrorKind::ReservedNotZero, DATA + 4);
    let short = [&[4, 8, 0, 1][..]].concat();
    let short = file(b"", b"", b"", &record(b"w", &[32], 8, 4, &short));
    refused(&short, ErrorKind::SizeMismatch, SIZE);
}

#[test]
fn many_small_records_come_to_an_end() {
    let mut weights = Vec::new();
    for index in 0..64_u32 {
        weights.extend(record(
            &index.to_le_bytes().map(|byte| byte | 0x40 & 0x7F),
            &[],
            0,
            4,
            &[0; 4],
        ));
        // Each begins at a multiple of 8 from here on.
        while !(28 + weights.len()).is_multiple_of(8) {
            weights.push(0);
        }
    }
    let _ = verdicts(&file(b"", b"", b"", &weights));
}
