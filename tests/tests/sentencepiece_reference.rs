//! SentencePiece against `sentencepiece` itself: see `tools/sentencepiece_reference.py`.

use std::path::{Path, PathBuf};

use nanoembed_core::ErrorKind;
use nanoembed_core::owned::{PieceSession, SentencePieceModel};
use nanoembed_core::token::AddedTable;
use nanoembed_core::token::SpecialTokens;
use nanoembed_tests::data::environment;
use serde::Deserialize;

/// The contents of a model's reference file.
#[derive(Deserialize)]
struct Expected {
    /// The ids of each text.
    ids: Vec<Vec<u32>>,
    /// The decoded text of each of those.
    decoded: Vec<String>,
    /// The unknown, beginning, end and padding pieces; negative for none.
    special: [i64; 4],
    /// Arbitrary sequences of ids, and their text.
    streams: Vec<(Vec<u32>, String)>,
}

type Model = SentencePieceModel<Vec<u8>>;

fn read<T: for<'a> Deserialize<'a>>(path: PathBuf) -> T {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn open(folder: &Path, name: &str) -> Model {
    let model = std::fs::read(folder.join(format!("{name}.model"))).unwrap();
    SentencePieceModel::open(model, 0).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn encode(model: &Model, text: &str) -> Vec<u32> {
    let (mut ids, mut session) = (Vec::new(), PieceSession::default());
    model.encode(text, SpecialTokens::AsTokens, &mut session, &mut ids).unwrap();
    ids
}

/// Asserts that ids and texts are those of the reference; returns the number of texts.
fn check(folder: &Path) -> usize {
    let texts: Vec<String> = read(folder.join("texts.json"));
    let mut session = PieceSession::default();
    let mut models = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "model") {
            continue;
        }
        let name = path.file_stem().unwrap().to_string_lossy();
        let expected: Expected = read(path.with_extension("json"));
        let model = open(folder, &name);
        models += 1;
        assert_eq!(expected.ids.len(), texts.len());
        for ((text, ids), decoded) in texts.iter().zip(&expected.ids).zip(&expected.decoded) {
            let mut ours = Vec::new();
            model.encode(text, SpecialTokens::AsTokens, &mut session, &mut ours).unwrap();
            assert_eq!(&ours, ids, "{name}: {text:?}");
            assert_eq!(&model.decode(ids).unwrap(), decoded, "{name}: {text:?}");
        }
        for (ids, text) in &expected.streams {
            assert_eq!(&model.decode(ids).unwrap(), text, "{name}: {ids:?}");
        }
        let tokenizer = model.tokenizer();
        let ours = [tokenizer.unknown(), tokenizer.begin(), tokenizer.end(), tokenizer.padding()];
        assert_eq!(ours.map(|id| id.map_or(-1, i64::from)), expected.special, "{name}");
    }
    texts.len() * models
}

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/sentencepiece")
}

#[test]
fn ids_and_texts_are_those_of_sentencepiece() {
    assert!(check(&data()) > 4000);
}

/// With complete normalisation tables, other projects' models, and many more texts.
#[test]
fn ids_of_large_models_are_those_of_sentencepiece() {
    let test = "ids_of_large_models_are_those_of_sentencepiece";
    let Some(folder) = environment("NANOEMBED_SENTENCEPIECE", test) else { return };
    println!("{} texts compared", check(&folder));
}

#[test]
fn ids_do_not_depend_on_memory_and_what_does_not_fit_is_counted() {
    let model = open(&data(), "llama");
    let tokenizer = model.tokenizer();
    let text = "the quick brown fox\u{1F600}";
    let whole = encode(&model, text);
    let needs = tokenizer.needs(text).unwrap();
    for less in 0..=needs.text {
        let mut normalized = vec![0; needs.text - less];
        let mut symbols = vec![Default::default(); needs.symbols];
        let mut heap = vec![Default::default(); needs.heap];
        let mut scratch = nanoembed_core::token::sentencepiece::PieceScratch::new(
            &mut normalized,
            &mut symbols,
            &mut heap,
            &mut [],
            &mut [],
        );
        let mut ids = [u32::MAX; 3];
        match tokenizer.encode(text, &AddedTable::EMPTY, &mut ids, &mut scratch) {
            Ok(found) => {
                assert_eq!((found.tokens, found.total), (3, whole.len()));
                assert_eq!(ids, whole[..3]);
            }
            Err(error) => {
                assert!(less > 0);
                assert_eq!(error.kind(), ErrorKind::BufferTooSmall);
            }
        }
    }
}

#[test]
fn long_texts_without_spaces_come_to_an_end() {
    for name in ["llama", "gemma", "unused-bpe", "t5", "spaces-unigram"] {
        let model = open(&data(), name);
        let text = "they".repeat(50_000);
        let ids = encode(&model, &text);
        assert!(ids.len() < text.len(), "{name}");
    }
}

#[test]
fn added_tokens_are_found_first_and_what_is_between_is_a_text_of_its_own() {
    let model = open(&data(), "llama");
    let begin = model.tokenizer().begin().unwrap();
    let parts = [encode(&model, "the "), vec![begin], encode(&model, " of")].concat();
    assert_ne!(encode(&model, "the <s> of"), parts);
    assert_eq!(encode(&model.with_added(&[begin]).unwrap(), "the <s> of"), parts);
}

#[test]
fn tokens_come_out_as_text_when_their_characters_are_complete() {
    let model = open(&data(), "llama");
    let tokenizer = model.tokenizer();
    let ids = encode(&model, "the \u{1F600}!");
    let mut decoder = nanoembed_core::token::sentencepiece::PieceDecoder::within();
    let mut pieces = Vec::new();
    for id in ids {
        let mut add = |piece: &str| {
            pieces.push(piece.to_owned());
            Ok(())
        };
        decoder.token(&tokenizer, id, &mut add).unwrap();
    }
    // Within a text the leading space stays.
    assert_eq!(pieces.concat(), " the \u{1F600}!");
    let error = decoder.token(&tokenizer, 1 << 20, &mut |_| Ok(())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TokenOutOfRange);
}
