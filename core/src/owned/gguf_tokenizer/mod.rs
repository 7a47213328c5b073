//! The tokenizer of an encoder in a GGUF file, with the ids that Hugging Face's gives, not those of
//! llama.cpp where they differ.
//!
//! | `tokenizer.ggml.model` | what it is |
//! |---|---|
//! | `bert` | WordPiece; `▁` stands before what begins a word, nothing before what goes on with one |
//! | `t5` | Unigram: SentencePiece's normalisation, pieces with scores |
//! | `gpt2` | byte-level BPE, cut into words as `tokenizer.ggml.pre` says |
//! | `llama` | SentencePiece's BPE, whose merges follow from scores |
//! | `gemma4` | the same, whose merges are listed |
//!
//! `nanoembed.tokenizer` has the settings of the `tokenizer.json` that the file was made of; they
//! count where they are. Otherwise they are what such models have.

mod byte_pairs;
mod merges;
mod sentence_piece;
mod vocabulary;
mod word_piece;

use alloc::string::String;

use self::sentence_piece::MergesBy;
use self::vocabulary::Vocabulary;
use crate::describe::gguf::{GgufArchitecture, GgufFault, GgufRefusal, Key, Keys, Outcome};
use crate::error::{Error, ErrorKind};
use crate::event::Value;
use crate::limit::{Limit, collected};
use crate::owned::Pipeline;
use crate::token::spec::{
    self, AddedTokenSpec, AddedTokenSpecs, JsonPlace, Model, ModelKind, PostProcessor, Steps,
    TokenizerSpec,
};

const MODEL: Key = Key::TokenizerModel;
const OWN: Key = Key::OwnTokenizer;

/// Reads the tokenizer.
pub(in crate::owned) fn read<'a>(keys: &Keys<'a>) -> Result<Pipeline, GgufFault<'a>> {
    let mut vocabulary = Vocabulary::read(&keys.file)?;
    vocabulary.drop_unused();
    keys.known(&[Key::Tokens, Key::TokenTypes]);
    match keys.text(MODEL)? {
        Some("bert") => word_piece::read(keys, &mut vocabulary),
        Some("t5") => sentence_piece::unigram(keys, &mut vocabulary),
        Some("gpt2") => byte_pairs::read(keys, &mut vocabulary),
        Some("llama") => sentence_piece::byte_pairs(keys, &mut vocabulary, MergesBy::Score),
        Some("gemma4") => sentence_piece::byte_pairs(keys, &mut vocabulary, MergesBy::List),
        Some(_) => {
            let known = "known are `bert`, `t5`, `gpt2`, `llama` and `gemma4`";
            Err(keys.refuse(MODEL, known).into())
        }
        None => Err(Error::without_offset(ErrorKind::MissingVocabulary).into()),
    }
}

/// The tokenizer of these tokens and merges: that which the file describes itself, or else `spec`.
fn open<'a>(
    keys: &Keys<'a>,
    vocabulary: &Vocabulary,
    spec: &TokenizerSpec<'_>,
    merges: &[(u32, u32)],
) -> Result<Pipeline, GgufFault<'a>> {
    let tokens = collected(vocabulary.tokens.iter().map(String::as_str))?;
    let scores = (!vocabulary.scores.is_empty()).then_some(vocabulary.scores.as_slice());
    match keys.text(OWN)? {
        // What is wrong has a place in a text that is in no file.
        Some(own) => Pipeline::from_parts(own, &tokens, scores, merges).map_err(|fault| {
            let refusal = keys.refuse(OWN, "it does not describe the file's tokens");
            refusal.with_kind(fault.error.kind()).into()
        }),
        None => Pipeline::from_spec(spec, &tokens, scores, merges)
            .map_err(|fault| Error::without_offset(fault.error.kind()).into()),
    }
}

/// A description of the file's tokens, by a model of this kind.
fn described<'t>(
    vocabulary: &Vocabulary,
    added: &'t [AddedTokenSpec<'t>],
    kind: ModelKind<'t>,
) -> TokenizerSpec<'t> {
    let tokens = vocabulary.tokens.len() as u64;
    TokenizerSpec {
        added: AddedTokenSpecs::Listed(added),
        normalizer: Steps::new(),
        pre_tokenizer: Steps::new(),
        model: Model {
            kind,
            vocabulary: spec::VocabularySpec::Apart { ids: tokens, count: tokens },
            place: JsonPlace::NONE,
        },
        post_processor: PostProcessor::default(),
        decoder: None,
        truncation: None,
        place: JsonPlace::NONE,
    }
}

/// The id under a key of `tokenizer.ggml.`, if it is one of the vocabulary.
fn id<'a>(keys: &Keys<'a>, key: Key, vocabulary: &Vocabulary) -> Outcome<'a, Option<u32>> {
    let id = keys.size(key, Limit::TOKENS)?;
    match id {
        // llama.cpp does without those beyond.
        Some(id) if id < vocabulary.tokens.len() => Ok(Some(id as u32)),
        _ => Ok(None),
    }
}

/// The tokens around texts by the keys that say which they are and whether they are added. Where
/// they do not say it, `usual` tokens are, and both in architectures whose texts always have them.
fn ends<'a>(
    keys: &Keys<'a>,
    vocabulary: &Vocabulary,
    usual: (bool, bool),
) -> Outcome<'a, [Option<u32>; 2]> {
    let begin = id(keys, Key::BeginId, vocabulary)?;
    let end = id(keys, Key::EndId, vocabulary)?;
    let architecture = GgufArchitecture::from_name(keys.architecture);
    let usual = match architecture.is_some_and(GgufArchitecture::frames_texts) {
        true => (true, true),
        false => usual,
    };
    let adds_begin = keys.truth(Key::AddsBegin)?.unwrap_or(usual.0);
    let adds_end = keys.truth(Key::AddsEnd)?.unwrap_or(usual.1);
    keys.known(&[Key::PaddingId, Key::ClassifyId]);
    keys.known(&[Key::SeparatorId]);
    let missing = |key: Key| {
        let reason = "it is missing, and a tokenizer of this kind (`t5`, `gpt2`, `llama` or `gemma4`) puts it around texts";
        Err(GgufRefusal::at(key.name(), 0, reason).with_kind(ErrorKind::MissingMetadata))
    };
    if adds_begin && begin.is_none() {
        return missing(Key::BeginId);
    }
    if adds_end && end.is_none() {
        return missing(Key::EndId);
    }
    Ok([begin.filter(|_| adds_begin), end.filter(|_| adds_end)])
}

/// The post-processor that puts these around texts.
fn around(vocabulary: &Vocabulary, ends: [Option<u32>; 2]) -> PostProcessor<'_> {
    let [begin, end] = ends.map(|id| id.and_then(|id| vocabulary.named(id)));
    PostProcessor::around(begin, end, false)
}

/// Keys that only other kinds of tokenizers have; a value that asks for nothing is as good as none.
fn is_absent(value: Option<Value<'_>>) -> bool {
    matches!(value, None | Some(Value::Bool(false) | Value::Array { count: 0 }))
}
