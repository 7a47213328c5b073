//! Tokenizers of files in caller-provided memory: the ids of the libraries that trained them, with
//! exactly the stated amount of memory.

use nanoembed_core::event::Mode;
use nanoembed_core::format::gguf::{Gguf, GgufPlan, GgufWriter, WriteValue};
use nanoembed_core::owned::{Encoder, TextSession};
use nanoembed_core::source::ModelSource;
use nanoembed_core::source::tokenizer::{
    ScratchNeeds, Tokenizer, TokenizerKind, TokenizerMemory, TokenizerScratch, TokenizerSource,
};
use nanoembed_core::token::SpecialTokens::{self, AsText, AsTokens};
use nanoembed_core::token::bpe::TokenCount;
use nanoembed_core::token::sentencepiece::PieceScratch;
use nanoembed_core::{Error, ErrorKind};
use nanoembed_tests::data;
use serde_json::Value;

/// Runs `act` with the tokenizer of `source`, in exactly the memory it needs.
fn opened<R>(source: &TokenizerSource<'_>, act: impl FnOnce(&Tokenizer<'_>) -> R) -> R {
    let needs = source.needs().unwrap();
    let (mut text, mut samples) = (vec![0; needs.text], vec![0; needs.samples]);
    let (mut slots, mut merges) = (vec![0; needs.slots], vec![Default::default(); needs.merges]);
    let mut merge_slots = vec![0; needs.merge_slots];
    let mut pieces = vec![Default::default(); needs.pieces];
    let mut piece_slots = vec![Default::default(); needs.piece_slots];
    let mut added = vec![Default::default(); needs.added];
    let mut added_ids = vec![0; needs.added_ids];
    let memory = TokenizerMemory {
        text: &mut text,
        samples: &mut samples,
        slots: &mut slots,
        merges: &mut merges,
        merge_slots: &mut merge_slots,
        pieces: &mut pieces,
        piece_slots: &mut piece_slots,
        added: &mut added,
        added_ids: &mut added_ids,
    };
    act(&source.open(memory).unwrap())
}

/// The ids of a text, limited to `room`, with scratch memory according to `needs`.
fn encode_in(
    tokenizer: &Tokenizer<'_>,
    (text, special): (&str, SpecialTokens),
    room: usize,
    needs: ScratchNeeds,
) -> Result<(Vec<u32>, TokenCount), Error> {
    let (mut symbols, mut heap) = (vec![Default::default(); needs.symbols], Vec::new());
    heap.resize(needs.heap, Default::default());
    let pieces = needs.pieces;
    let (mut normalized, mut own_symbols) = (vec![0; pieces.text], Vec::new());
    own_symbols.resize(pieces.symbols, Default::default());
    let (mut own_heap, mut steps) = (vec![Default::default(); pieces.heap], Vec::new());
    steps.resize(pieces.steps, Default::default());
    let mut splits = vec![0; pieces.splits];
    let pieces = PieceScratch::new(
        &mut normalized,
        &mut own_symbols,
        &mut own_heap,
        &mut steps,
        &mut splits,
    );
    let mut scratch = TokenizerScratch::new(&mut symbols, &mut heap, pieces);
    let mut ids = vec![u32::MAX; room];
    let found = tokenizer.encode(text, special, &mut ids, &mut scratch)?;
    ids.truncate(found.tokens);
    Ok((ids, found))
}

fn encode(tokenizer: &Tokenizer<'_>, text: &str, special: SpecialTokens) -> Vec<u32> {
    let needs = tokenizer.scratch(text).unwrap();
    let (ids, found) = encode_in(tokenizer, (text, special), 4096, needs).unwrap();
    assert_eq!(ids.len(), found.total, "{text:?}");
    ids
}

fn spelled(tokenizer: &Tokenizer<'_>, id: u32) -> Result<Vec<u8>, ErrorKind> {
    let mut out = [0; 300];
    let length = tokenizer.token(id, &mut out).map_err(|error| error.kind())?;
    // Memory that is one byte too short is rejected.
    if length > 0 {
        let error = tokenizer.token(id, &mut out[..length - 1]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BufferTooSmall);
    }
    Ok(out[..length].to_vec())
}

#[test]
fn word_pieces_are_those_of_the_owned_model() {
    let file = data::read("../../ffi/tests/data/small_bert.weights");
    let owned = Encoder::open(file.as_slice()).unwrap();
    let source = ModelSource::parse(&file).unwrap().tokenizer().unwrap();
    assert_eq!(source.kind(), TokenizerKind::WordPiece);
    opened(&source, |tokenizer| {
        assert_eq!(tokenizer.kind(), TokenizerKind::WordPiece);
        assert_eq!(tokenizer.count(), owned.tokenizer().count());
        let [begin, end] = [tokenizer.begin(), tokenizer.end()].map(Option::unwrap);
        assert_eq!(spelled(tokenizer, begin).unwrap(), b"[CLS]");
        assert_eq!(spelled(tokenizer, end).unwrap(), b"[SEP]");
        assert!(tokenizer.ends_text(end) && !tokenizer.ends_text(begin));
        let texts = data::read("../../ffi/tests/data/texts.txt");
        for text in String::from_utf8(texts).unwrap().lines().chain(["", "[SEP] a [MASK]"]) {
            let expected = owned.encode(text, usize::MAX, &mut TextSession::default()).unwrap().ids;
            assert_eq!(encode(tokenizer, text, AsTokens), expected, "{text:?}");
            // As text, brackets are separate words: the only special tokens are around the text.
            let ids = encode(tokenizer, text, AsText);
            assert_eq!((ids[0], ids[ids.len() - 1]), (begin, end));
            assert!(ids[1..ids.len() - 1].iter().all(|id| ![begin, end].contains(id)), "{text:?}");
        }
        assert_eq!(spelled(tokenizer, tokenizer.count()), Err(ErrorKind::TokenOutOfRange));
        // A truncated text keeps both of its special tokens.
        let needs = ScratchNeeds::default();
        let (ids, found) = encode_in(tokenizer, ("a b c d e", AsTokens), 4, needs).unwrap();
        assert_eq!((ids.len(), ids[0], ids[3]), (4, begin, end));
        assert!(found.total > 4);
        let error = encode_in(tokenizer, ("a", AsTokens), 1, needs).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BufferTooSmall);
    });
}

#[test]
fn byte_pairs_spell_the_text_again() {
    let file = data::read("llama/tiny.gguf");
    let source = ModelSource::parse(&file).unwrap().tokenizer().unwrap();
    assert_eq!(source.kind(), TokenizerKind::BytePairs);
    opened(&source, |tokenizer| {
        assert_eq!(tokenizer.kind(), TokenizerKind::BytePairs);
        assert_eq!((tokenizer.count(), tokenizer.begin()), (283, None));
        assert_eq!(tokenizer.end(), Some(282));
        assert!(tokenizer.ends_text(282) && !tokenizer.ends_text(281));
        for text in ["", "the thing in Then", "w\u{f6}rld \u{1F600}\n\t1234", "a  b"] {
            let ids = encode(tokenizer, text, AsTokens);
            let bytes: Vec<u8> =
                ids.iter().flat_map(|id| spelled(tokenizer, *id).unwrap()).collect();
            assert_eq!(bytes, text.as_bytes());
            assert!(ids.len() <= text.len());
            // Scratch for the whole text suffices; scratch for an empty text does not.
            if text.len() > 4 {
                let none = ScratchNeeds::default();
                let error = encode_in(tokenizer, (text, AsTokens), 99, none).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::BufferTooSmall);
            }
        }
        // The merges of the file: `t h`, then `th e`.
        let [the] = encode(tokenizer, "the", AsTokens)[..] else { panic!("one token") };
        assert_eq!(spelled(tokenizer, the).unwrap(), b"the");
        let end = String::from_utf8(spelled(tokenizer, 282).unwrap()).unwrap();
        assert_eq!(encode(tokenizer, &end, AsTokens), [282]);
        assert!(!encode(tokenizer, &end, AsText).contains(&282));
        assert_eq!(spelled(tokenizer, 283), Err(ErrorKind::TokenOutOfRange));
    });
}

/// The results of `sentencepiece` itself: see `tools/sentencepiece_reference.py`.
fn expected(name: &str) -> (Vec<String>, Vec<Vec<u32>>, [i64; 4]) {
    let read = |name: &str| -> Value {
        serde_json::from_slice(&data::read(&format!("sentencepiece/{name}.json"))).unwrap()
    };
    let own = read(name);
    let of = |value: &Value| serde_json::from_value(value.clone()).unwrap();
    let ids = serde_json::from_value(own["ids"].clone()).unwrap();
    let special = serde_json::from_value(own["special"].clone()).unwrap();
    (of(&read("texts")), ids, special)
}

#[test]
fn pieces_are_those_of_sentencepiece() {
    for name in ["albert", "gemma", "llama", "suffix-bpe", "t5", "unused-bpe", "unused-unigram"] {
        let file = data::read(&format!("sentencepiece/{name}.model"));
        let source = TokenizerSource::model(&file).unwrap();
        let (texts, ids, special) = expected(name);
        opened(&source, |tokenizer| {
            assert_eq!(tokenizer.kind(), TokenizerKind::SentencePiece);
            let end = tokenizer.end().map_or(-1, i64::from);
            assert_eq!(end, special[2], "{name}");
            assert!(tokenizer.end().is_none_or(|end| tokenizer.ends_text(end)), "{name}");
            for (text, expected) in texts.iter().zip(&ids) {
                assert_eq!(&encode(tokenizer, text, AsTokens), expected, "{name} {text:?}");
            }
            let none = ScratchNeeds::default();
            let error = encode_in(tokenizer, ("some words", AsTokens), 99, none).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::BufferTooSmall, "{name}");
            let count = tokenizer.count();
            assert_eq!(spelled(tokenizer, count), Err(ErrorKind::TokenOutOfRange), "{name}");
        });
    }
    assert!(TokenizerSource::model(b"{}").is_none());
    assert!(TokenizerSource::model(b"").is_none());
}

/// A SentencePiece model as stored by llama.cpp: three arrays, with spaces in tokens that are
/// matched literally in texts.
struct Arrays {
    tokens: Vec<Vec<u8>>,
    scores: Vec<f32>,
    kinds: Vec<i32>,
}

/// The next field of a protocol buffer message: its number, and its bytes or its value's bytes.
fn field<'m>(message: &mut &'m [u8]) -> Option<(u8, &'m [u8])> {
    let (tag, rest) = message.split_first()?;
    let (length, rest) = match tag & 7 {
        // Numbers and lengths have at most two 7-bit digits here.
        0 => (if rest[0] < 128 { 1 } else { 2 }, rest),
        2 if rest[0] < 128 => (usize::from(rest[0]), &rest[1..]),
        2 => (usize::from(rest[0] & 127) | usize::from(rest[1]) << 7, &rest[2..]),
        5 => (4, rest),
        other => panic!("a field of type {other}"),
    };
    let (value, rest) = rest.split_at(length);
    *message = rest;
    Some((tag >> 3, value))
}

impl Arrays {
    /// The arrays of a serialized model, whose pieces are its first field: spelling, score, type.
    fn from_model(mut file: &[u8]) -> Self {
        let mut arrays = Self { tokens: Vec::new(), scores: Vec::new(), kinds: Vec::new() };
        while let Some((1, mut piece)) = field(&mut file) {
            let (mut score, mut kind) = (0.0, 1);
            while let Some((number, value)) = field(&mut piece) {
                match number {
                    1 => arrays.tokens.push(value.to_vec()),
                    2 => score = f32::from_le_bytes(value.try_into().unwrap()),
                    _ => kind = i32::from(value[0]),
                }
            }
            arrays.scores.push(score);
            arrays.kinds.push(kind);
        }
        assert!(arrays.tokens.len() > 100);
        arrays
    }

    fn file(&self, more: &[(&str, WriteValue<'_>)]) -> Vec<u8> {
        let tokens: Vec<&[u8]> = self.tokens.iter().map(Vec::as_slice).collect();
        let metadata = [
            ("general.architecture", WriteValue::Text("llama")),
            ("tokenizer.ggml.model", WriteValue::Text("llama")),
            ("tokenizer.ggml.tokens", WriteValue::Texts(&tokens)),
            ("tokenizer.ggml.scores", WriteValue::F32s(&self.scores)),
            ("tokenizer.ggml.token_type", WriteValue::I32s(&self.kinds)),
            ("tokenizer.ggml.add_bos_token", WriteValue::Bool(false)),
        ];
        let metadata = [&metadata[..], more].concat();
        let plan = GgufPlan { metadata: &metadata, ..GgufPlan::new(&[]) };
        GgufWriter::new(plan, Vec::new()).unwrap().finish().unwrap()
    }
}

fn failure(file: &[u8]) -> ErrorKind {
    let source = ModelSource::parse(file).and_then(|model| model.tokenizer());
    source.and_then(|source| source.needs().map(|_| ())).unwrap_err().kind()
}

#[test]
fn the_arrays_of_a_gguf_file_are_the_model_that_they_were_made_of() {
    let file = data::read("sentencepiece/llama.model");
    let arrays = Arrays::from_model(&file);
    let (texts, ids, special) = expected("llama");
    let id = |at: usize| u32::try_from(special[at]).unwrap();
    let gguf = arrays.file(&[
        ("tokenizer.ggml.bos_token_id", WriteValue::U32(id(1))),
        ("tokenizer.ggml.eos_token_id", WriteValue::U32(id(2))),
    ]);
    let parsed = Gguf::parse(&gguf, Mode::Strict).unwrap();
    assert_eq!(parsed.tokens().count(), arrays.tokens.len());
    let source = ModelSource::parse(&gguf).unwrap().tokenizer().unwrap();
    assert_eq!(source.kind(), TokenizerKind::SentencePiece);
    opened(&source, |tokenizer| {
        assert_eq!(tokenizer.count() as usize, arrays.tokens.len());
        assert_eq!((tokenizer.begin(), tokenizer.end()), (None, Some(id(2))));
        for (text, expected) in texts.iter().zip(&ids) {
            assert_eq!(&encode(tokenizer, text, AsText), expected, "{text:?}");
        }
        let end = String::from_utf8(arrays.tokens[id(2) as usize].clone()).unwrap();
        assert!(encode(tokenizer, &end, AsTokens).contains(&id(2)));
        assert!(!encode(tokenizer, &end, AsText).contains(&id(2)));
    });
    let needs = source.needs().unwrap();
    assert!(needs.text > 0 && needs.pieces == arrays.tokens.len());

    let bad = [
        Arrays { scores: arrays.scores[1..].to_vec(), ..Arrays::from_model(&file) },
        Arrays { kinds: arrays.kinds[1..].to_vec(), ..Arrays::from_model(&file) },
        Arrays { kinds: vec![77; arrays.kinds.len()], ..Arrays::from_model(&file) },
        Arrays { kinds: vec![-1; arrays.kinds.len()], ..Arrays::from_model(&file) },
    ];
    for arrays in bad {
        assert_eq!(failure(&arrays.file(&[])), ErrorKind::BadVocabulary);
    }
}

/// llama.cpp searches texts for user-defined tokens before spaces become `▁`.
#[test]
fn spaces_of_a_users_token_are_found_in_texts() {
    let mut arrays = Arrays::from_model(&data::read("sentencepiece/llama.model"));
    let token = u32::try_from(arrays.tokens.len()).unwrap();
    arrays.tokens.push(b"New York".to_vec());
    arrays.scores.push(0.0);
    arrays.kinds.push(4);
    let gguf = arrays.file(&[]);
    let source = ModelSource::parse(&gguf).unwrap().tokenizer().unwrap();
    opened(&source, |tokenizer| {
        assert!(encode(tokenizer, "in New York today", AsText).contains(&token));
        assert!(!encode(tokenizer, "in New  York today", AsText).contains(&token));
    });
    // If another piece has that spelling, it takes precedence.
    arrays.tokens.push("New▁York".as_bytes().to_vec());
    arrays.scores.push(0.0);
    arrays.kinds.push(4);
    let gguf = arrays.file(&[]);
    let source = ModelSource::parse(&gguf).unwrap().tokenizer().unwrap();
    opened(&source, |tokenizer| {
        let ids = encode(tokenizer, "in New York today", AsText);
        assert!(ids.contains(&(token + 1)) && !ids.contains(&token), "{ids:?}");
    });
}
