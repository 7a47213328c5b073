//! Tokenizers of every kind through C: the ids that Hugging Face `tokenizers` gave
//! (`tests/data/bpe`), those of `sentencepiece` (`tests/data/sentencepiece`) and those of Rust's own
//! `Encoder`, from all formats.

use std::path::Path;
use std::ptr::null_mut;

use nanoembed_core::ErrorKind;
use nanoembed_core::format::amb;
use nanoembed_core::format::gguf::{self, Gguf, WriteValue};
use nanoembed_core::token::sentencepiece::{Piece, PieceKind, SentencePiece, Slot, Spec};
use nanoembed_ffi::owned::*;
use nanoembed_ffi::source::*;
use nanoembed_ffi::status::*;
use nanoembed_ffi::tokenized::nanoembed_tokenized;
use nanoembed_ffi::tokenizer::*;
use serde_json::{Value, json};

fn read(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data");
    std::fs::read(folder.join(name)).expect("a test file")
}

fn parsed(name: &str) -> Value {
    serde_json::from_slice(&read(name)).expect("JSON")
}

fn in_memory(file: &[u8]) -> nanoembed_source {
    let (data, length) = (file.as_ptr(), file.len() as u64);
    nanoembed_source { data, length, read_at: None, context: null_mut(), ..Default::default() }
}

/// A tokenizer and what it makes of texts.
struct Reference(Value);

impl Reference {
    fn read(name: &str) -> Self {
        Self(parsed(&format!("bpe/{name}.json")))
    }

    /// With holes between the tokens and the added ones filled.
    fn tokens(&self) -> Vec<String> {
        let tokens = self.0["tokens"].as_array().unwrap().iter();
        let mut tokens: Vec<String> = tokens.map(|it| it.as_str().unwrap().to_owned()).collect();
        for (text, id) in self.added() {
            for id in tokens.len()..=id as usize {
                tokens.push(format!("unused {id}"));
            }
            tokens[id as usize] = text;
        }
        tokens
    }

    fn added(&self) -> Vec<(String, u32)> {
        let added = self.0["added"].as_array().unwrap().iter();
        added
            .map(|it| (it[0].as_str().unwrap().to_owned(), it[1].as_u64().unwrap() as u32))
            .collect()
    }

    fn merges(&self) -> Vec<(String, String)> {
        let part = |value: &Value| value.as_str().unwrap().to_owned();
        self.0["merges"].as_array().unwrap().iter().map(|it| (part(&it[0]), part(&it[1]))).collect()
    }

    fn gguf(&self, pattern: &str) -> Vec<u8> {
        let (tokens, merges) = (self.tokens(), self.merges());
        let tokens: Vec<&[u8]> = tokens.iter().map(String::as_bytes).collect();
        let merges: Vec<String> = merges.iter().map(|(a, b)| format!("{a} {b}")).collect();
        let merges: Vec<&[u8]> = merges.iter().map(String::as_bytes).collect();
        let added = self.added();
        let is_added = |id: usize| added.iter().any(|it| it.1 as usize == id);
        let types: Vec<i32> =
            (0..tokens.len()).map(|id| if is_added(id) { 3 } else { 1 }).collect();
        let plan = gguf::GgufPlan {
            metadata: &[
                ("general.architecture", WriteValue::Text("llama")),
                ("tokenizer.ggml.model", WriteValue::Text("gpt2")),
                ("tokenizer.ggml.pre", WriteValue::Text(pattern)),
                ("tokenizer.ggml.tokens", WriteValue::Texts(&tokens)),
                ("tokenizer.ggml.merges", WriteValue::Texts(&merges)),
                ("tokenizer.ggml.token_type", WriteValue::I32s(&types)),
                ("tokenizer.ggml.eos_token_id", WriteValue::U32(2)),
                // The pre-tokenizer of Llama 3 has texts begin with a token unless the file says
                // otherwise.
                ("tokenizer.ggml.add_bos_token", WriteValue::Bool(false)),
            ],
            tensors: &[],
            alignment: 32,
        };
        gguf::GgufWriter::new(plan, Vec::new()).unwrap().finish().unwrap()
    }

    fn amb(&self, pattern: &str) -> Vec<u8> {
        let (tokens, merges) = (self.tokens(), self.merges());
        let tokens: Vec<&[u8]> = tokens.iter().map(String::as_bytes).collect();
        let merges: Vec<(&str, &str)> = merges.iter().map(|(a, b)| (&**a, &**b)).collect();
        let ids: Vec<u32> = self.added().iter().map(|it| it.1).collect();
        let config = json!({"pre_tokenizer": pattern, "add_bos": true, "added_tokens": ids});
        let payload = amb::Payload::Bpe { merges: &merges, tokens: &tokens };
        let tokenizer =
            amb::AmbTokenizerSpec { special: [Some(1), Some(2), None, None, None], payload };
        let plan = amb::AmbPlan {
            metadata: "{}",
            config: &config.to_string(),
            tokenizer: Some(tokenizer),
            tensors: &[],
            checksum: false,
        };
        amb::AmbWriter::new(plan, Vec::new()).unwrap().finish().unwrap()
    }
}

/// What C says with a tokenizer on the heap.
struct Tokenizer(*mut nanoembed_tokenizer);

impl Drop for Tokenizer {
    fn drop(&mut self) {
        // SAFETY: made by `_new`, used no more.
        unsafe { nanoembed_tokenizer_free(self.0) };
    }
}

const AS_TOKENS: nanoembed_special_tokens = NANOEMBED_SPECIAL_TOKENS_AS_TOKENS;

impl Tokenizer {
    fn open(file: &[u8]) -> Self {
        let mut made = null_mut();
        // SAFETY: pointers to what lives here; the file outlives the tokenizer.
        let status = unsafe { nanoembed_tokenizer_new(&in_memory(file), &mut made, null_mut()) };
        assert_eq!(status, NANOEMBED_OK);
        Self(made)
    }

    fn info(&self) -> nanoembed_tokenizer_info {
        let mut info = nanoembed_tokenizer_info::default();
        // SAFETY: written where the status is 0.
        unsafe {
            let status = nanoembed_tokenizer_get_info(self.0, &mut info);
            assert_eq!(status, NANOEMBED_OK);
        }
        info
    }

    fn encode_in(
        &self,
        text: &str,
        special: nanoembed_special_tokens,
        room: usize,
        less_scratch: usize,
    ) -> (nanoembed_status, Vec<u32>, u32) {
        let (mut bytes, mut ids) = (0, vec![u32::MAX; room]);
        let mut tokenized = nanoembed_tokenized::default();
        // SAFETY: everything is there, with its true sizes.
        let status = unsafe {
            let (at, length) = (text.as_ptr().cast(), text.len());
            let asked = nanoembed_tokenizer_scratch_bytes(self.0, at, length, &mut bytes);
            assert_eq!(asked, NANOEMBED_OK);
            let bytes = bytes - less_scratch;
            let mut scratch = vec![0_u128; bytes.div_ceil(16)];
            let scratch = scratch.as_mut_ptr().cast();
            nanoembed_tokenizer_encode(
                self.0,
                at,
                length,
                special,
                scratch,
                bytes,
                ids.as_mut_ptr(),
                room,
                &mut tokenized,
                null_mut(),
            )
        };
        ids.truncate(tokenized.tokens as usize);
        (status, ids, tokenized.total)
    }

    fn encode(&self, text: &str) -> Vec<u32> {
        let (status, ids, total) = self.encode_in(text, AS_TOKENS, 3 * text.len() + 8, 0);
        assert_eq!((status, total as usize), (NANOEMBED_OK, ids.len()));
        ids
    }

    fn bytes(&self, id: u32) -> Result<Vec<u8>, nanoembed_status> {
        let (mut out, mut length) = (vec![0_u8; 512], 0);
        // SAFETY: everything is there, with its true sizes.
        let status = unsafe {
            let (at, room) = (out.as_mut_ptr().cast(), out.len());
            nanoembed_tokenizer_token(self.0, id, at, room, &mut length)
        };
        out.truncate(length);
        if status == NANOEMBED_OK { Ok(out) } else { Err(status) }
    }

    fn spelled(&self, ids: &[u32]) -> Vec<u8> {
        ids.iter().flat_map(|id| self.bytes(*id).unwrap()).collect()
    }
}

#[test]
fn ids_are_those_of_hugging_face_and_spell_the_text() {
    for name in ["gpt-2", "llama-bpe", "smollm"] {
        let reference = Reference::read(name);
        let (gguf, amb) = (reference.gguf(name), reference.amb(name));
        let (from_gguf, from_amb) = (Tokenizer::open(&gguf), Tokenizer::open(&amb));
        assert_eq!(from_gguf.info().kind, NANOEMBED_TOKENIZER_BPE);
        let texts = reference.0["texts"].as_array().unwrap();
        assert!(texts.len() > 1000);
        for entry in texts {
            let text = entry["text"].as_str().unwrap();
            let ids: Vec<u32> = serde_json::from_value(entry["ids"].clone()).unwrap();
            let found = from_gguf.encode(text);
            assert_eq!(found, ids, "{name}: {text:?}");
            // The AMB file has a token that begins every text.
            let begun = from_amb.encode(text);
            assert_eq!((begun[0], &begun[1..]), (1, &ids[..]), "{name}: {text:?}");
            assert_eq!(from_gguf.spelled(&found), text.as_bytes(), "{name}");
        }
    }
}

#[test]
fn added_tokens_of_byte_pairs_are_text_where_that_is_asked_for() {
    let reference = Reference::read("smollm");
    let gguf = reference.gguf("smollm");
    let tokenizer = Tokenizer::open(&gguf);
    let (added, id) = reference.added().remove(0);
    assert_eq!(tokenizer.encode(&added), [id]);
    let as_text = NANOEMBED_SPECIAL_TOKENS_AS_TEXT;
    let (status, ids, _) = tokenizer.encode_in(&added, as_text, 100, 0);
    assert_eq!(status, NANOEMBED_OK);
    assert!(ids.len() > 1 && !ids.contains(&id));
    assert_eq!(tokenizer.spelled(&ids), added.as_bytes());
}

/// The model in an `.amb` file whose texts begin with piece 1, and in which it is found.
fn pieces_in_amb(model: &[u8]) -> Vec<u8> {
    let special = [Some(1), Some(2), None, None, None];
    let payload = amb::Payload::SentencePiece(model);
    let plan = amb::AmbPlan {
        metadata: "{}",
        config: r#"{"architecture":"llama","added_tokens":[1],"add_bos":true}"#,
        tokenizer: Some(amb::AmbTokenizerSpec { special, payload }),
        tensors: &[],
        checksum: false,
    };
    amb::AmbWriter::new(plan, Vec::new()).unwrap().finish().unwrap()
}

/// The pieces of a model as the arrays of a GGUF file.
fn pieces_in_gguf(model: &[u8]) -> Vec<u8> {
    let spec = Spec::read(model, 0).unwrap();
    let mut pieces = vec![Piece::default(); spec.pieces() as usize];
    let mut slots = vec![Slot::default(); spec.slots_needed().unwrap()];
    let built = SentencePiece::build(model, 0, &mut pieces, &mut slots).unwrap();
    let of = |id| built.piece(id).unwrap();
    let tokens: Vec<&[u8]> = (0..spec.pieces()).map(|id| of(id).0.as_bytes()).collect();
    let scores: Vec<f32> = (0..spec.pieces()).map(|id| built.score(id).unwrap()).collect();
    let types: Vec<i32> = (0..spec.pieces()).map(|id| of(id).1.code() as i32).collect();
    assert!(types.contains(&(PieceKind::Byte.code() as i32)));
    let plan = gguf::GgufPlan {
        metadata: &[
            ("general.architecture", WriteValue::Text("llama")),
            ("tokenizer.ggml.model", WriteValue::Text("llama")),
            ("tokenizer.ggml.tokens", WriteValue::Texts(&tokens)),
            ("tokenizer.ggml.scores", WriteValue::F32s(&scores)),
            ("tokenizer.ggml.token_type", WriteValue::I32s(&types)),
            ("tokenizer.ggml.bos_token_id", WriteValue::U32(1)),
            ("tokenizer.ggml.eos_token_id", WriteValue::U32(2)),
        ],
        tensors: &[],
        alignment: 32,
    };
    gguf::GgufWriter::new(plan, Vec::new()).unwrap().finish().unwrap()
}

#[test]
fn ids_are_those_of_sentencepiece() {
    let texts = parsed("sentencepiece/texts.json");
    for name in ["llama", "t5", "unused-bpe", "suffix-unigram"] {
        let model = read(&format!("sentencepiece/{name}.model"));
        let expected = parsed(&format!("sentencepiece/{name}.json"));
        let tokenizer = Tokenizer::open(&model);
        let info = tokenizer.info();
        assert_eq!(info.kind, NANOEMBED_TOKENIZER_SENTENCEPIECE);
        assert_eq!(info.begin, NANOEMBED_NO_TOKEN);
        let texts = texts.as_array().unwrap().iter().zip(expected["ids"].as_array().unwrap());
        for (text, ids) in texts {
            let ids: Vec<u32> = serde_json::from_value(ids.clone()).unwrap();
            let text = text.as_str().unwrap();
            let (status, ours, total) = tokenizer.encode_in(text, AS_TOKENS, ids.len(), 0);
            assert_eq!((status, total as usize), (NANOEMBED_OK, ids.len()));
            assert_eq!(ours, ids, "{name}: {text:?}");
        }
    }
}

#[test]
fn pieces_of_gguf_give_the_ids_of_their_model() {
    let texts = parsed("sentencepiece/texts.json");
    let expected = parsed("sentencepiece/llama.json");
    let file = pieces_in_gguf(&read("sentencepiece/llama.model"));
    assert!(Gguf::parse(&file, nanoembed_core::event::Mode::Strict).is_ok());
    let tokenizer = Tokenizer::open(&file);
    let info = tokenizer.info();
    assert_eq!((info.kind, info.begin, info.end), (NANOEMBED_TOKENIZER_SENTENCEPIECE, 1, 2));
    let texts = texts.as_array().unwrap().iter().zip(expected["ids"].as_array().unwrap());
    let mut compared = 0;
    for (text, ids) in texts {
        let ids: Vec<u32> = serde_json::from_value(ids.clone()).unwrap();
        let text = text.as_str().unwrap();
        // What GGUF has no keys for: rules of normalisation, which this model has none of, and
        // spaces, which it keeps.
        let (status, ours, _) =
            tokenizer.encode_in(text, NANOEMBED_SPECIAL_TOKENS_AS_TEXT, ids.len() + 1, 0);
        assert_eq!(status, NANOEMBED_OK);
        assert_eq!((ours[0], &ours[1..]), (1, &ids[..]), "{text:?}");
        compared += 1;
    }
    assert!(compared > 100);
    assert_eq!(tokenizer.encode("<s>"), [1, 1]);
}

#[test]
fn an_amb_file_says_what_begins_a_text_and_what_is_found_in_it() {
    let file = pieces_in_amb(&read("sentencepiece/llama.model"));
    let tokenizer = Tokenizer::open(&file);
    let info = tokenizer.info();
    assert_eq!((info.begin, info.end), (1, 2));
    let text = "the <s>of";
    let ids = tokenizer.encode(text);
    assert_eq!(ids.iter().filter(|id| **id == 1).count(), 2);
    assert_eq!(tokenizer.spelled(&ids), b" the  of");
    for room in 0..ids.len() {
        let (status, some, total) = tokenizer.encode_in(text, AS_TOKENS, room, 0);
        assert_eq!((status, total as usize), (NANOEMBED_OK, ids.len()));
        assert_eq!(some, ids[..room]);
    }
    let (status, as_text, _) = tokenizer.encode_in(text, NANOEMBED_SPECIAL_TOKENS_AS_TEXT, 20, 0);
    assert_eq!(status, NANOEMBED_OK);
    assert_eq!(as_text.iter().filter(|id| **id == 1).count(), 1);
    let (status, ..) = tokenizer.encode_in(text, AS_TOKENS, 20, 16);
    assert_eq!(status, u32::from(ErrorKind::BufferTooSmall.code()));
    assert_eq!(tokenizer.bytes(info.tokens), Err(u32::from(ErrorKind::TokenOutOfRange.code())));
}
