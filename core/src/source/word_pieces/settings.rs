//! The WordPiece tokenizer of a description.
//!
//! Other kinds, and rules that BERT's tokenizers do not have, are refused by name: they need
//! `owned::Pipeline`.

use crate::error::{Error, ErrorKind};
use crate::text::json::{Fault, Read};
use crate::token::spec::{
    AddedTokenSpec, AddedTokenSpecs, JsonPlace, Model, ModelKind, Normalizer, PRE_TOKENIZER,
    PreTokenizer, SpelledText, TokenizerSpec, VocabularySpec as Tokens,
};
use crate::token::special::MAX_SPECIAL_BYTES;
use crate::token::{AddedRules, MAX_WORD_CHARACTERS, Normalization, SpecialIds, Vocabulary};

/// Only these are done.
const KIND: &str = "only BERT's tokenizer is done without a heap";

/// The settings of a description.
#[derive(Clone, Copy, Debug)]
pub(in crate::source) struct WordSettings<'a> {
    added: AddedTokenSpecs<'a>,
    unknown: SpelledText<'a>,
    /// True if there are ids without a token.
    #[cfg_attr(not(feature = "families"), allow(dead_code, reason = "only other families ask"))]
    has_gaps: bool,
    normalization: Normalization,
    place: JsonPlace<'a>,
}

impl<'a> WordSettings<'a> {
    /// Those of a description of a vocabulary of `tokens`.
    pub(in crate::source) fn from_spec(spec: &TokenizerSpec<'a>, tokens: u32) -> Read<'a, Self> {
        // First, for other kinds have other steps, too.
        let unknown = unknown(&spec.model, tokens)?;
        let has_gaps = !is_whole(&spec.model, tokens);
        let normalization = normalization(spec)?;
        let name = PRE_TOKENIZER;
        match &spec.pre_tokenizer[..] {
            [step] if matches!(step.does, PreTokenizer::Bert) => {}
            [] => return Err(spec.place.fault(&[name], ErrorKind::MissingMetadata, "")),
            _ => return Err(spec.place.unsupported(&[name], KIND)),
        }
        Ok(Self { added: spec.added, unknown, has_gaps, normalization, place: spec.place })
    }

    pub(in crate::source) const fn normalization(&self) -> Normalization {
        self.normalization
    }

    /// The added tokens, of which those that the vocabulary has not are numbered after it.
    pub(in crate::source) fn added(&self) -> Read<'a, AddedTokenSpecs<'a>> {
        let only = "ids of the vocabulary without gaps are done without a heap";
        let mut fault = self.place.unsupported(&["added_tokens"], only);
        fault.key = "vocab";
        if self.has_gaps { Err(fault) } else { Ok(self.added) }
    }

    /// Returns true if a token is the unknown one.
    pub(in crate::source) fn is_unknown(&self, token: &[u8]) -> bool {
        core::str::from_utf8(token).is_ok_and(|token| self.unknown.is(token))
    }

    /// Checks the added tokens as far as their spelling goes: five of them at most, one of which is
    /// the unknown one.
    pub(in crate::source) fn check_added(&self) -> Read<'a, ()> {
        const NAME: &str = "added_tokens";
        let (mut free, mut is_unknown_added) = (4_u8, false);
        for token in self.added.iter() {
            let token = plain(token?)?;
            if token.content == self.unknown {
                is_unknown_added = true;
                continue;
            }
            let mut many = token.place.unsupported(&[], "five tokens may be added here");
            many.key = NAME;
            free = free.checked_sub(1).ok_or(many)?;
        }
        if is_unknown_added {
            return Ok(());
        }
        Err(self.place.unsupported(&[NAME], "the unknown token is to be one of them"))
    }

    /// The ids of the added tokens, which are [checked](Self::check_added): a tokenizer has places for
    /// five. Which of them stands for which role does not matter: nothing is put around texts.
    pub(in crate::source) fn special(&self, vocabulary: &impl Vocabulary) -> Read<'a, SpecialIds> {
        let bad = self.place.met("", Error::without_offset(ErrorKind::BadVocabulary));
        let unknown = find(vocabulary, self.unknown)?.ok_or(bad)?;
        let mut others = [None; 4];
        let mut free = others.iter_mut();
        for token in self.added.iter() {
            let token = plain(token?)?;
            let only = "added tokens are to be in the vocabulary";
            let missing = token.place.unsupported(&["content"], only);
            let id = find(vocabulary, token.content)?.ok_or(missing)?;
            if id != unknown
                && let Some(place) = free.next()
            {
                *place = Some(id);
            }
        }
        let [pad, mask, classify, separate] = others;
        let (classify, separate) = (classify.unwrap_or(unknown), separate.unwrap_or(unknown));
        Ok(SpecialIds { pad, unknown, classify, separate, mask })
    }
}

fn normalization<'a>(spec: &TokenizerSpec<'a>) -> Read<'a, Normalization> {
    const NAME: &str = "normalizer";
    let step = match &spec.normalizer[..] {
        [step] => step,
        [] => return Err(spec.place.fault(&[NAME], ErrorKind::MissingMetadata, "")),
        _ => return Err(spec.place.unsupported(&[NAME], KIND)),
    };
    match step.does {
        Normalizer::Bert { cleans_text: false, .. } => {
            Err(step.place.unsupported(&["clean_text"], "only true is done here"))
        }
        Normalizer::Bert { splits_ideographs, strips_accents, lowercases, .. } => {
            let usual = Normalization::new(lowercases, strips_accents);
            Ok(Normalization { split_ideographs: splits_ideographs, ..usual })
        }
        _ => Err(step.unsupported(KIND)),
    }
}

/// Checks a model over `tokens`; returns the unknown token.
fn unknown<'a>(model: &Model<'a>, tokens: u32) -> Read<'a, SpelledText<'a>> {
    let ModelKind::WordPiece(settings) = model.kind else {
        return Err(model.place.unsupported(&["type"], KIND));
    };
    if !settings.prefix.is("##") {
        let prefix = "continuing_subword_prefix";
        return Err(model.place.unsupported(&[prefix], "only \"##\" is done here"));
    }
    if settings.most_characters != MAX_WORD_CHARACTERS as u64 {
        let most = "max_input_chars_per_word";
        return Err(model.place.unsupported(&[most], "only 100 is done here"));
    }
    check_ids(model, tokens)?;
    Ok(settings.unknown)
}

const EACH: &str = "each token of the file is to be one of its vocabulary";

/// Checks that a model has ids for so many tokens, which are apart from the description.
fn check_ids<'a>(model: &Model<'a>, tokens: u32) -> Read<'a, ()> {
    match model.vocabulary {
        Tokens::Apart { ids, .. } if ids == u64::from(tokens) => Ok(()),
        _ => Err(model.place.unsupported(&["vocab", "ids"], EACH)),
    }
}

fn is_whole(model: &Model<'_>, tokens: u32) -> bool {
    matches!(model.vocabulary, Tokens::Apart { count, .. } if count >= u64::from(tokens))
}

/// Checks that a model has a token for each of so many ids.
pub(in crate::source) fn check_vocabulary<'a>(model: &Model<'a>, tokens: u32) -> Read<'a, ()> {
    check_ids(model, tokens)?;
    match model.vocabulary {
        Tokens::Apart { count, .. } if count == u64::from(tokens) => Ok(()),
        _ => Err(model.place.unsupported(&["vocab", "count"], EACH)),
    }
}

/// An added token, which a text spells as it is.
fn plain(token: AddedTokenSpec<'_>) -> Read<'_, AddedTokenSpec<'_>> {
    let AddedRules { strips_before, strips_after, single_word } = token.rules;
    for (rule, is_set) in [
        ("lstrip", strips_before),
        ("rstrip", strips_after),
        ("single_word", single_word),
        ("normalized", token.normalized),
    ] {
        if is_set {
            return Err(token.place.unsupported(&[rule], "only false is done here"));
        }
    }
    Ok(token)
}

/// The id of a token; `None` if it is longer than any special one.
fn find<'a>(vocabulary: &impl Vocabulary, token: SpelledText<'a>) -> Read<'a, Option<u32>> {
    let mut room = [0; MAX_SPECIAL_BYTES];
    let Some(token) = token.unescape(&mut room) else { return Ok(None) };
    vocabulary.find(token.as_bytes()).map_err(Fault::from_error)
}
