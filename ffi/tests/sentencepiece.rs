//! SentencePiece through C: the ids that `sentencepiece` gave (`tests/data/sentencepiece`), from
//! models alone and from AMB files.

use std::path::{Path, PathBuf};
use std::ptr::null_mut;

use nanoembed_core::ErrorKind;
use nanoembed_core::format::amb::{Payload, Plan, TokenizerSpec, Writer};
use nanoembed_ffi::bpe::NANOEMBED_NO_TOKEN;
use nanoembed_ffi::owned::*;
use nanoembed_ffi::sentencepiece::*;
use nanoembed_ffi::source::*;
use nanoembed_ffi::status::*;
use nanoembed_ffi::tokenized::nanoembed_tokenized;
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/sentencepiece")
}

fn read(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).expect("a test file")
}

fn json(name: &str) -> Value {
    serde_json::from_slice(&read(name)).expect("JSON")
}

fn in_memory(file: &[u8]) -> nanoembed_source {
    let (data, length) = (file.as_ptr(), file.len() as u64);
    nanoembed_source { data, length, read_at: None, context: null_mut() }
}

/// The model in an `.amb` file whose texts begin with piece 1, and in which it is found.
fn amb(model: &[u8]) -> Vec<u8> {
    let special = [Some(1), Some(2), None, None, None];
    let plan = Plan {
        metadata: "{}",
        config: r#"{"architecture":"llama","added_tokens":[1],"add_bos":true}"#,
        tokenizer: Some(TokenizerSpec { special, payload: Payload::SentencePiece(model) }),
        tensors: &[],
        checksum: false,
    };
    Writer::new(plan, Vec::new()).unwrap().finish().unwrap()
}

struct Tokenizer(*mut nanoembed_sentencepiece);

impl Drop for Tokenizer {
    fn drop(&mut self) {
        // SAFETY: made by `_new`, used no more.
        unsafe { nanoembed_sentencepiece_free(self.0) };
    }
}

impl Tokenizer {
    fn open(source: &nanoembed_source) -> Self {
        let mut made = null_mut();
        // SAFETY: everything is there.
        let status = unsafe { nanoembed_sentencepiece_new(source, &mut made, null_mut()) };
        assert_eq!(status, NANOEMBED_OK);
        Self(made)
    }

    fn encode(
        &self,
        text: &str,
        room: usize,
        less_scratch: usize,
    ) -> (nanoembed_status, Vec<u32>, u32) {
        let (mut bytes, mut ids) = (0, vec![u32::MAX; room]);
        let mut tokenized = nanoembed_tokenized { tokens: 0, total: 0, truncated: 0 };
        // SAFETY: everything is there, with its true sizes.
        let status = unsafe {
            let (at, length) = (text.as_ptr(), text.len());
            let asked = nanoembed_sentencepiece_scratch_bytes(self.0, at, length, &mut bytes);
            assert_eq!(asked, NANOEMBED_OK);
            let bytes = bytes - less_scratch;
            let mut scratch = vec![0_u128; bytes.div_ceil(16)];
            let scratch = scratch.as_mut_ptr().cast();
            let (ids, error) = (ids.as_mut_ptr(), null_mut());
            nanoembed_sentencepiece_encode(
                self.0,
                at,
                length,
                scratch,
                bytes,
                ids,
                room,
                &mut tokenized,
                error,
            )
        };
        ids.truncate(tokenized.tokens as usize);
        (status, ids, tokenized.total)
    }

    fn piece(&self, id: u32) -> Result<Vec<u8>, nanoembed_status> {
        let (mut out, mut length) = (vec![0; 200], 0);
        // SAFETY: everything is there, with its true sizes.
        let status = unsafe {
            nanoembed_sentencepiece_piece(self.0, id, out.as_mut_ptr(), out.len(), &mut length)
        };
        out.truncate(length);
        if status == NANOEMBED_OK { Ok(out) } else { Err(status) }
    }
}

fn plan(source: &nanoembed_source) -> nanoembed_sentencepiece_plan {
    let mut plan = core::mem::MaybeUninit::uninit();
    // SAFETY: written where the status is 0.
    unsafe {
        let status = nanoembed_plan_sentencepiece(source, plan.as_mut_ptr(), null_mut());
        assert_eq!(status, NANOEMBED_OK);
        plan.assume_init()
    }
}

#[test]
fn ids_are_those_of_sentencepiece() {
    let texts = json("texts.json");
    for name in ["llama", "t5", "unused-bpe", "suffix-unigram"] {
        let (model, expected) = (read(&format!("{name}.model")), json(&format!("{name}.json")));
        let source = in_memory(&model);
        assert_eq!(plan(&source).begin, NANOEMBED_NO_TOKEN);
        let tokenizer = Tokenizer::open(&source);
        let texts = texts.as_array().unwrap().iter().zip(expected["ids"].as_array().unwrap());
        for (text, ids) in texts {
            let ids: Vec<u32> = serde_json::from_value(ids.clone()).unwrap();
            let text = text.as_str().unwrap();
            let (status, ours, total) = tokenizer.encode(text, ids.len(), 0);
            assert_eq!((status, total as usize), (NANOEMBED_OK, ids.len()));
            assert_eq!(ours, ids, "{name}: {text:?}");
        }
    }
}

#[test]
fn an_amb_file_says_what_begins_a_text_and_what_is_found_in_it() {
    let model = read("llama.model");
    let file = amb(&model);
    let source = in_memory(&file);
    let plan = plan(&source);
    assert_eq!((plan.begin, plan.end), (1, 2));
    let tokenizer = Tokenizer::open(&source);
    let (_, ids, total) = tokenizer.encode("the <s>of", 20, 0);
    assert_eq!(total as usize, ids.len());
    assert_eq!(ids.iter().filter(|id| **id == 1).count(), 2);
    let text: Vec<u8> = ids.iter().flat_map(|id| tokenizer.piece(*id).unwrap()).collect();
    assert_eq!(text, b" the  of");
    for room in 0..ids.len() {
        let (status, some, total) = tokenizer.encode("the <s>of", room, 0);
        assert_eq!((status, total as usize), (NANOEMBED_OK, ids.len()));
        assert_eq!(some, ids[..room]);
    }
    let (status, ..) = tokenizer.encode("the <s>of", 20, 16);
    assert_eq!(status, u32::from(ErrorKind::BufferTooSmall.code()));
    assert_eq!(tokenizer.piece(plan.pieces), Err(u32::from(ErrorKind::TokenOutOfRange.code())));
}
