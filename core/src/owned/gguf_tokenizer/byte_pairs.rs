//! Byte-level BPE, cut into words as [`bpe::PreTokenizer`] knows by the name under `tokenizer.ggml.pre`.

use super::vocabulary::{AddedRules, Vocabulary};
use super::{around, described, ends, id, merges, open};
use crate::describe::gguf::GgufFault;
use crate::describe::gguf::{Key, Keys};
use crate::owned::Pipeline;
use crate::token::bpe::{self, Pattern};
use crate::token::spec::{
    Behavior, BpeSpec, Decoder, Form, MergesSpec, ModelKind, Normalizer, PreTokenizer, SpelledText,
    SplitAt, TokenizerSpec, steps,
};

const PRE: Key = Key::TokenizerPre;

pub(super) fn read<'a>(
    keys: &Keys<'a>,
    vocabulary: &mut Vocabulary,
) -> Result<Pipeline, GgufFault<'a>> {
    vocabulary.scores.clear();
    let found = keys.text(PRE)?.and_then(bpe::PreTokenizer::from_encoder_name);
    let Some(bpe::PreTokenizer { pattern, composes, ignores_merges, adds_begin }) = found else {
        let known = "known are `gpt-2`, `roberta-bpe`, `jina-v1-en`, `jina-v2-code`, `jina-v2-es`, `jina-v2-de`, `modern-bert`, `llama-bpe`, `llama3`, `llama-v3`, `jina-v5-nano` and `qwen2`";
        return Err(keys.refuse(PRE, known).into());
    };
    keys.known(&[
        Key::Merges,
        Key::Scores,
        Key::UnknownId,
        Key::RemovesSpaces,
        // Case and accents of such models are said by WordPiece's keys alone.
        Key::LowerCase,
        Key::StripAccents,
    ]);
    for key in [Key::AddsSpace, Key::LowerCase, Key::StripAccents] {
        if keys.truth(key)? == Some(true) {
            return Err(keys.refuse(key, "only false is honoured").into());
        }
    }
    let vocabulary = &*vocabulary;
    let merges = merges::listed(&keys.file, &vocabulary.tokens)?;
    let mask = id(keys, Key::MaskId, vocabulary)?;
    let ends = ends(keys, vocabulary, (adds_begin, false))?;
    let bytes = |splits| PreTokenizer::ByteLevel { adds_space: false, splits };
    let pre_tokenizer = match pattern {
        // Its expression is part of the step.
        Pattern::Gpt2 => steps(&[bytes(true)]),
        words => {
            let at = SplitAt::Words(words);
            let behavior = Behavior::Isolated;
            steps(&[PreTokenizer::Split { at, behavior, inverted: false }, bytes(false)])
        }
    };
    let added = vocabulary.added(AddedRules { normalizes: true, strips_before: mask })?;
    let model = ModelKind::Bpe(BpeSpec {
        unknown: None,
        prefix: SpelledText::default(),
        suffix: SpelledText::default(),
        fuses_unknown: false,
        byte_fallback: false,
        ignores_merges,
        merges: MergesSpec::Apart(merges.len() as u64),
    });
    let spec = TokenizerSpec {
        normalizer: steps(if composes { &[Normalizer::Form(Form::Nfc)] } else { &[] }),
        pre_tokenizer,
        post_processor: around(vocabulary, ends),
        decoder: Some(steps(&[Decoder::ByteLevel])),
        ..described(vocabulary, &added, model)
    };
    open(keys, vocabulary, &spec, &merges)
}
