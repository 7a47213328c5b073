//! The WordPiece tokenizer that the settings of `tokenizer.json` describe.
//!
//! Other kinds, and rules that BERT's tokenizers do not have, are refused by name: they need
//! `owned::Pipeline`.

use crate::error::{Error, ErrorKind};
#[cfg(feature = "folder-models")]
use crate::model::folder::ends::{self, Ends};
use crate::model::folder::tokenizer_root;
use crate::text::character::utf8;
#[cfg(feature = "folder-models")]
use crate::text::json::is;
use crate::text::json::{Fault, Object, Read, Value, chars};
use crate::token::MAX_WORD_CHARACTERS;
use crate::token::special::MAX_SPECIAL_BYTES;
use crate::token::{Normalization, SpecialIds, Vocabulary};

/// Only these are done.
const KIND: &str = "only BERT's tokenizer is done without a heap";

/// What the settings say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordSettings<'a> {
    added: Value<'a>,
    unknown: &'a str,
    /// Whether there are ids without a token.
    #[cfg_attr(
        not(feature = "folder-models"),
        allow(dead_code, reason = "only other families ask")
    )]
    has_gaps: bool,
    #[cfg(feature = "folder-models")]
    post: Option<Value<'a>>,
    normalization: Normalization,
    offset: u64,
}

impl<'a> WordSettings<'a> {
    /// Reads a `tokenizer.json` of a vocabulary of `tokens`.
    pub(crate) fn of(root: Object<'a>, tokens: u32) -> Read<'a, Self> {
        let offset = root.value().offset();
        // First, for other kinds have other steps, too.
        let (unknown, has_gaps) = model(&root, tokens)?;
        let normalization = normalization(&root)?;
        root.neutral("pre_tokenizer", KIND, |it| {
            it.member("type").is_some_and(|kind| kind.is_text("BertPreTokenizer"))
        })?;
        root.needed("pre_tokenizer", root.get("pre_tokenizer"))?;
        let added = root.needed("added_tokens", root.get("added_tokens"))?;
        #[cfg(feature = "folder-models")]
        let post = root.get("post_processor");
        // What is put around texts is for who puts it there, and none are decoded.
        root.finish(&["padding", "post_processor", "decoder"])?;
        Ok(Self {
            added,
            unknown,
            has_gaps,
            #[cfg(feature = "folder-models")]
            post,
            normalization,
            offset,
        })
    }

    pub(crate) const fn normalization(&self) -> Normalization {
        self.normalization
    }

    /// The list of added tokens, of which those that the vocabulary has not are numbered behind it.
    #[cfg(feature = "folder-models")]
    pub(crate) fn added(&self) -> Read<'a, Value<'a>> {
        let error = Error::new(self.added.offset(), ErrorKind::UnsupportedSetting);
        let only = "ids of the vocabulary without gaps are done without a heap";
        if self.has_gaps { Err(Fault { error, key: "vocab", only }) } else { Ok(self.added) }
    }

    /// Whether a token is the unknown one.
    #[cfg(feature = "folder-models")]
    pub(crate) fn is_unknown(&self, token: &[u8]) -> bool {
        core::str::from_utf8(token).is_ok_and(|token| is(self.unknown, token))
    }

    /// The ids of the tokens before and behind every text.
    #[cfg(feature = "folder-models")]
    pub(crate) fn ends(&self) -> Read<'a, [u32; 2]> {
        let missing = Error::new(self.offset, ErrorKind::UnsupportedSetting);
        let Ends { before, behind } = Ends::read(self.post)?;
        let both = before.zip(behind).map(|(before, behind)| [before, behind]);
        both.ok_or(Fault { error: missing, key: "post_processor", only: ends::ONLY })
    }

    /// Checks the added tokens as far as their spelling goes: five of them at most, one of which is
    /// the unknown one.
    pub(crate) fn check_added(&self) -> Read<'a, ()> {
        let (mut free, mut is_unknown_added) = (4_u8, false);
        for value in self.added.items() {
            if chars(content(value)?.1).eq(chars(self.unknown)) {
                is_unknown_added = true;
                continue;
            }
            let many = Error::new(value.offset(), ErrorKind::UnsupportedSetting);
            let only = "five tokens may be added here";
            free = free.checked_sub(1).ok_or(Fault { error: many, key: "added_tokens", only })?;
        }
        if is_unknown_added {
            return Ok(());
        }
        let error = Error::new(self.added.offset(), ErrorKind::UnsupportedSetting);
        Err(Fault { error, key: "added_tokens", only: "the unknown token is to be one of them" })
    }

    /// The ids of the added tokens, which are [checked](Self::check_added): a tokenizer has places for
    /// five. Which of them stands for which role does not matter: nothing is put around texts.
    pub(crate) fn special(&self, vocabulary: &impl Vocabulary) -> Read<'a, SpecialIds> {
        let bad = Fault::of(Error::new(self.offset, ErrorKind::BadVocabulary));
        let unknown = find(vocabulary, self.unknown)?.ok_or(bad)?;
        let mut others = [None; 4];
        let mut free = others.iter_mut();
        for value in self.added.items() {
            let id = added(vocabulary, value)?;
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

fn normalization<'a>(root: &Object<'a>) -> Read<'a, Normalization> {
    let step = root.needed("normalizer", root.object("normalizer")?)?;
    step.neutral("type", KIND, |kind| kind.is_text("BertNormalizer"))?;
    step.neutral("clean_text", "only true is done here", |it| it.as_bool() == Some(true))?;
    let lower_case = step.needed("lowercase", step.truth("lowercase")?)?;
    let split_ideographs = step.truth("handle_chinese_chars")?;
    let split_ideographs = step.needed("handle_chinese_chars", split_ideographs)?;
    let strips_accents = step.truth("strip_accents")?;
    step.finish(&[])?;
    Ok(Normalization { split_ideographs, ..Normalization::new(lower_case, strips_accents) })
}

/// Checks the member `model`; answers how the unknown token is spelled, and whether there are ids
/// without a token.
fn model<'a>(root: &Object<'a>, tokens: u32) -> Read<'a, (&'a str, bool)> {
    let model = root.needed("model", root.object("model")?)?;
    model.neutral("type", KIND, |kind| kind.is_text("WordPiece"))?;
    model.needed("type", model.get("type"))?;
    let unknown = model.needed("unk_token", model.text("unk_token")?)?;
    let prefix = "continuing_subword_prefix";
    model.neutral(prefix, "only \"##\" is done here", |it| it.is_text("##"))?;
    model.needed(prefix, model.get(prefix))?;
    let most = "max_input_chars_per_word";
    model.neutral(most, "only 100 is done here", |it| {
        it.as_u64() == Some(MAX_WORD_CHARACTERS as u64)
    })?;
    model.needed(most, model.get(most))?;
    let vocabulary = tokenizer_root::vocabulary(&model, tokens)?;
    let count = vocabulary.integer("count")?;
    vocabulary.finish(&[])?;
    model.finish(&[])?;
    Ok((unknown, count.is_some_and(|count| count < tokens.into())))
}

/// An added token, which a text spells as it is, and its spelling.
fn content(value: Value<'_>) -> Read<'_, (Object<'_>, &str)> {
    let token = Object::new(value)?;
    for rule in ["lstrip", "rstrip", "single_word", "normalized"] {
        token.neutral(rule, "only false is done here", |it| it.as_bool() == Some(false))?;
    }
    token.finish(&["id", "special", "content"])?;
    let content = token.needed("content", token.text("content")?)?;
    Ok((token, content))
}

/// The id of an added token, which the vocabulary has.
fn added<'a>(vocabulary: &impl Vocabulary, value: Value<'a>) -> Read<'a, u32> {
    let (token, content) = content(value)?;
    let only = "added tokens are to be in the vocabulary";
    find(vocabulary, content)?.ok_or_else(|| token.unsupported("content", only))
}

/// The id of a token that JSON spells so; `None` if it is longer than any special one.
fn find<'a>(vocabulary: &impl Vocabulary, spelling: &'a str) -> Read<'a, Option<u32>> {
    let mut token = heapless::Vec::<u8, MAX_SPECIAL_BYTES>::new();
    let mut room = [0; 4];
    for c in chars(spelling) {
        if token.extend_from_slice(utf8(c, &mut room).as_bytes()).is_err() {
            return Ok(None);
        }
    }
    vocabulary.find(&token).map_err(Fault::of)
}
