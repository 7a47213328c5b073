//! Texts to ids and back through C: the ids that Hugging Face `tokenizers` gave (`tests/data/bpe`),
//! from both formats.

use std::path::Path;
use std::ptr::null_mut;

use nanoembed_core::format::amb;
use nanoembed_core::format::gguf::{self, WriteValue};
use nanoembed_ffi::bpe::*;
use nanoembed_ffi::owned::*;
use nanoembed_ffi::source::*;
use nanoembed_ffi::status::*;
use nanoembed_ffi::tokenized::nanoembed_tokenized;
use serde_json::{Value, json};

/// A tokenizer and what it makes of texts.
struct Reference(Value);

impl Reference {
    fn read(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/bpe");
        let text = std::fs::read(folder.join(format!("{name}.json"))).expect("a reference");
        Self(serde_json::from_slice(&text).expect("JSON"))
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
        let plan = gguf::Plan {
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
        gguf::Writer::new(plan, Vec::new()).unwrap().finish().unwrap()
    }

    fn amb(&self, pattern: &str) -> Vec<u8> {
        let (tokens, merges) = (self.tokens(), self.merges());
        let tokens: Vec<&[u8]> = tokens.iter().map(String::as_bytes).collect();
        let merges: Vec<(&str, &str)> = merges.iter().map(|(a, b)| (&**a, &**b)).collect();
        let ids: Vec<u32> = self.added().iter().map(|it| it.1).collect();
        let config = json!({"pre_tokenizer": pattern, "add_bos": true, "added_tokens": ids});
        let payload = amb::Payload::Bpe { merges: &merges, tokens: &tokens };
        let tokenizer =
            amb::TokenizerSpec { special: [Some(1), Some(2), None, None, None], payload };
        let plan = amb::Plan {
            metadata: "{}",
            config: &config.to_string(),
            tokenizer: Some(tokenizer),
            tensors: &[],
            checksum: false,
        };
        amb::Writer::new(plan, Vec::new()).unwrap().finish().unwrap()
    }
}

/// What C says with a tokenizer on the heap.
struct Tokenizer(*mut nanoembed_bpe);

impl Tokenizer {
    fn open(file: &[u8]) -> Self {
        let source = nanoembed_source {
            data: file.as_ptr(),
            length: file.len() as u64,
            read_at: None,
            context: null_mut(),
        };
        let mut made = null_mut();
        // SAFETY: pointers to what lives here; the file outlives the tokenizer.
        let status = unsafe { nanoembed_bpe_new(&source, &mut made, null_mut()) };
        assert_eq!(status, NANOEMBED_OK);
        Self(made)
    }

    fn encode(&self, text: &str) -> Vec<u32> {
        let mut ids = vec![0; text.len() + 1];
        let bytes = nanoembed_bpe_scratch_bytes(text.len());
        let mut scratch = vec![0_u128; bytes.div_ceil(16) + 1];
        let mut tokenized = nanoembed_tokenized { tokens: 0, total: 0, truncated: 0 };
        // SAFETY: pointers to what lives here, with their lengths.
        let status = unsafe {
            nanoembed_bpe_encode(
                self.0,
                text.as_ptr(),
                text.len(),
                scratch.as_mut_ptr().cast(),
                bytes,
                ids.as_mut_ptr(),
                ids.len(),
                &mut tokenized,
                null_mut(),
            )
        };
        assert_eq!((status, tokenized.truncated), (NANOEMBED_OK, 0));
        ids.truncate(tokenized.tokens as usize);
        ids
    }

    fn bytes(&self, id: u32) -> Vec<u8> {
        let (mut out, mut length) = ([0; 512], 0);
        // SAFETY: pointers to what lives here, with their lengths.
        let status =
            unsafe { nanoembed_bpe_token(self.0, id, out.as_mut_ptr(), out.len(), &mut length) };
        assert_eq!(status, NANOEMBED_OK);
        out[..length].to_vec()
    }
}

impl Drop for Tokenizer {
    fn drop(&mut self) {
        // SAFETY: made by `nanoembed_bpe_new`, used no more.
        unsafe { nanoembed_bpe_free(self.0) };
    }
}

#[test]
fn ids_are_those_of_hugging_face_and_spell_the_text() {
    for name in ["gpt-2", "llama-bpe", "smollm"] {
        let reference = Reference::read(name);
        let (gguf, amb) = (reference.gguf(name), reference.amb(name));
        let (from_gguf, from_amb) = (Tokenizer::open(&gguf), Tokenizer::open(&amb));
        let texts = reference.0["texts"].as_array().unwrap();
        assert!(texts.len() > 1000);
        for entry in texts {
            let text = entry["text"].as_str().unwrap();
            let ids: Vec<u32> = entry["ids"]
                .as_array()
                .unwrap()
                .iter()
                .map(|id| id.as_u64().unwrap() as u32)
                .collect();
            let found = from_gguf.encode(text);
            assert_eq!(found, ids, "{name}: {text:?}");
            // The AMB file has a token that begins every text.
            let begun = from_amb.encode(text);
            assert_eq!((begun[0], &begun[1..]), (1, &ids[..]), "{name}: {text:?}");
            let spelled: Vec<u8> = found.iter().flat_map(|id| from_gguf.bytes(*id)).collect();
            assert_eq!(spelled, text.as_bytes(), "{name}");
        }
    }
}
