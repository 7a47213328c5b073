//! Static models in `.weights` files opened without the rest of the code: the ids and vectors of
//! `Encoder`, bit by bit, and what is refused.

use std::path::Path;

use nanoembed_core::model::InOrder;
use nanoembed_core::owned::{Encoder, TableFile, TextSession};
use nanoembed_core::text::json::Fault;
use nanoembed_core::{Error, ErrorKind};

fn small_table() -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::fs::read(root.join("ffi/tests/data/small_table.weights")).unwrap()
}

#[test]
fn ids_and_vectors_are_those_of_the_encoder() {
    let file = small_table();
    let (table, any) = (TableFile::open(&file).unwrap(), Encoder::open(&file[..]).unwrap());
    let table = table.with_file(file.clone());
    assert_eq!(table.dimensions(), any.dimensions());
    assert_eq!(table.usual_tokens(), any.usual_tokens());
    assert_eq!(table.positions(), any.positions());
    let (long, wide) = ("word ".repeat(3000), "漢".repeat(700));
    let texts = ["", "Hello, world!", "ÅNGSTRÖM \u{130} 𝔘", "[UNK] [PAD] x", &long, &wide];
    for limit in [1, 7, 512] {
        let (mut ids, mut lengths) = (Vec::new(), Vec::new());
        for text in texts {
            let found = table.tokenize(text, limit).unwrap();
            let expected = any.encode(text, limit, &mut TextSession::default()).unwrap();
            assert_eq!(found, expected, "{limit} of {text}");
            ids.extend_from_slice(&found.ids);
            lengths.push(found.ids.len());
        }
        let mut vectors = vec![vec![0.0_f32; texts.len() * table.dimensions()]; 2];
        table.embed(&ids, &lengths, &mut vectors[0]).unwrap();
        let mut session = any.session_for(any.plan(ids.len())).unwrap();
        any.embed(&mut session, &InOrder, &ids, &lengths, 0, &mut vectors[1]).unwrap();
        assert_eq!(vectors[0], vectors[1]);
        assert!(vectors[0].iter().any(|x| *x != 0.0));
    }
}

#[test]
fn vectors_go_where_there_is_room_for_them() {
    let file = small_table();
    let table = TableFile::open(&file).unwrap();
    let embed = |ids: &[u32], lengths: &[usize], room: usize| {
        let result = table.embed(ids, lengths, &mut vec![0.0; room]);
        result.map_err(|error| error.kind())
    };
    let width = table.dimensions();
    assert_eq!(embed(&[5, 6], &[1, 1], 2 * width), Ok(()));
    assert_eq!(embed(&[5, 6], &[1, 1], width), Err(ErrorKind::InvalidArgument));
    assert_eq!(embed(&[5], &[2], width), Err(ErrorKind::InvalidArgument));
    assert_eq!(embed(&[u32::MAX], &[1], width), Err(ErrorKind::TokenOutOfRange));
}

/// The file with sentence-transformers settings, written over the unneeded part of its
/// `config.json`.
fn with_prompts(settings: &str) -> Vec<u8> {
    let mut file = small_table();
    let key = b"config.json";
    let entry = file.windows(key.len()).position(|it| it == key).unwrap() - 4;
    let value = entry + 4 + key.len();
    let bytes = usize::from(u16::from_le_bytes([file[entry + 2], file[entry + 3]]));
    let config = r#"{"model_type":"model2vec","architectures":["StaticModel"],"normalize":true}"#;
    let name = "config_sentence_transformers.json";
    let rest = bytes - config.len() - 4 - name.len();
    let mut both = Vec::from(config);
    both.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
    both.extend(u16::try_from(rest).unwrap().to_le_bytes());
    both.extend(name.bytes());
    both.extend(format!("{settings:rest$}").bytes());
    assert_eq!(both.len(), bytes, "{settings} is too long");
    file[entry + 2..entry + 4].copy_from_slice(&u16::try_from(config.len()).unwrap().to_le_bytes());
    file[value..value + bytes].copy_from_slice(&both);
    file[64] += 1;
    file
}

#[test]
fn prompts_that_are_empty_are_none() {
    let (with, without) =
        (with_prompts(r#"{"prompts":{"query":"","document":null}}"#), small_table());
    let (with, without) = (TableFile::open(&with).unwrap(), TableFile::open(&without).unwrap());
    let ids = with.tokenize("hello, world", 512).unwrap().ids;
    assert_eq!(ids, without.tokenize("hello, world", 512).unwrap().ids);
    let mut vectors = vec![vec![0.0_f32; with.dimensions()]; 2];
    with.embed(&ids, &[ids.len()], &mut vectors[0]).unwrap();
    without.embed(&ids, &[ids.len()], &mut vectors[1]).unwrap();
    assert_eq!(vectors[0], vectors[1]);
}

#[test]
fn prompts_that_say_something_are_refused_by_name() {
    for settings in [
        r#"{"prompts":{"query":"","document":"text: "}}"#,
        r#"{"prompts":{"query":""},"default_prompt_name":"query"}"#,
    ] {
        let file = with_prompts(settings);
        let Fault { error, key, .. } = TableFile::open(&file).unwrap_err();
        let name = if settings.contains("default") { "default_prompt_name" } else { "prompts" };
        assert_eq!((error.kind(), key), (ErrorKind::UnsupportedSetting, name), "{settings}");
    }
}

#[test]
fn what_needs_more_code_is_refused_by_name() {
    let file = small_table();
    let refused = |from: &str, to: &str| {
        assert_eq!(from.len(), to.len());
        let mut file = file.clone();
        let at = file.windows(from.len()).position(|it| it == from.as_bytes()).expect(from);
        file[at..at + to.len()].copy_from_slice(to.as_bytes());
        let Fault { error, key, .. } = TableFile::open(&file).unwrap_err();
        (error.kind(), key.to_owned())
    };
    let setting = ErrorKind::UnsupportedSetting;
    let other = "BertPreTokenizes";
    assert_eq!(refused("BertPreTokenizer", other), (setting, other.into()));
    assert_eq!(refused("\"max_length\":512", "\"max_lengtj\":512"), (setting, "max_lengtj".into()));
    assert_eq!(refused("architecturestatic", "architecturestatik").0, ErrorKind::OtherModel);
    let small_bert = std::fs::read(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../ffi/tests/data/small_bert.weights"),
    );
    let fault = TableFile::open(&small_bert.unwrap()).unwrap_err().error;
    assert_eq!(fault, Error::without_offset(ErrorKind::OtherModel));
}
