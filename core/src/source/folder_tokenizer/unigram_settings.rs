//! A Unigram tokenizer, as XLM-RoBERTa and models of its kind have it: compiled rules, perhaps white
//! space at the ends left out and a run replaced, then Metaspace.
//!
//! Other steps are refused by name: they need `owned::Pipeline`.

use crate::error::ErrorKind;
use crate::limit::Limit;
use crate::source::word_pieces::settings::check_vocabulary;
use crate::text::json::Read;
use crate::token::spec::{
    CharacterRun, Metaspace, Normalizer, PRE_TOKENIZER, Pattern, PreTokenizer, Prepends, Replace,
    Rules, RunOf, SpelledStep, SpelledText, TokenizerSpec, UnigramSpec,
};

/// The reason for refusing others.
const ONLY: &str = "only what XLM-RoBERTa's tokenizers do is done without a heap";

/// The settings of a description.
#[derive(Clone, Debug)]
pub(crate) struct UnigramSettings<'a> {
    /// Compiled rules, in base64.
    pub(crate) rules: Option<&'a str>,
    /// White space at the start and at the end that is left out.
    pub(crate) strips: [bool; 2],
    pub(crate) replaces: Option<Replacing<'a>>,
    /// True if white space cuts texts into pieces, and is left out.
    pub(crate) cuts_at_space: bool,
    pub(crate) metaspace: Metaspace,
    pub(crate) unknown: Option<u32>,
}

/// A replacement of runs of a character.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Replacing<'a> {
    pub(crate) character: char,
    /// Shorter runs stay as they are.
    pub(crate) least: usize,
    /// True if all of a run is replaced at once.
    pub(crate) is_whole: bool,
    pub(crate) content: SpelledText<'a>,
}

impl<'a> UnigramSettings<'a> {
    /// Those of a description with this model over `tokens`.
    pub(crate) fn from_spec(
        spec: &TokenizerSpec<'a>,
        unigram: &UnigramSpec,
        tokens: u32,
    ) -> Read<'a, Self> {
        let unknown = unknown(spec, unigram, tokens)?;
        let (cuts_at_space, metaspace) = pre_tokenizer(spec)?;
        let mut settings = Self {
            rules: None,
            strips: [false; 2],
            replaces: None,
            cuts_at_space,
            metaspace,
            unknown,
        };
        // In this order.
        let mut last = 0;
        for step in &spec.normalizer {
            let place = match step.does {
                Normalizer::Precompiled(rules) => {
                    let text = match rules {
                        Rules::Base64(text) => text.as_plain(),
                        Rules::Bytes(_) => None,
                    };
                    let only = "escapes in base64 are done only with a heap";
                    let escaped = step.place.unsupported(&["precompiled_charsmap"], only);
                    settings.rules = Some(text.ok_or(escaped)?);
                    1
                }
                Normalizer::Strip { left, right } => {
                    settings.strips = [left, right];
                    2
                }
                Normalizer::Replace(replace) => {
                    settings.replaces = Some(replacing(step, replace)?);
                    3
                }
                _ => return Err(step.unsupported(ONLY)),
            };
            if place <= last {
                return Err(step.unsupported(ONLY));
            }
            last = place;
        }
        Ok(settings)
    }
}

/// Checks the model; returns the id of the unknown token.
fn unknown<'a>(
    spec: &TokenizerSpec<'a>,
    unigram: &UnigramSpec,
    tokens: u32,
) -> Read<'a, Option<u32>> {
    let model = &spec.model;
    if unigram.byte_fallback {
        let only = "characters without a token become bytes only with a heap";
        return Err(model.place.unsupported(&["byte_fallback"], only));
    }
    check_vocabulary(model, tokens)?;
    let Some(id) = unigram.unknown else { return Ok(None) };
    let id = u32::try_from(id).ok().filter(|id| *id < tokens);
    let only = "an id of the vocabulary is needed";
    id.map(Some).ok_or(model.place.fault(&["unk_id"], ErrorKind::BadMetadata, only))
}

/// True if white space cuts texts, and the step that follows.
fn pre_tokenizer<'a>(spec: &TokenizerSpec<'a>) -> Read<'a, (bool, Metaspace)> {
    let (mut cuts_at_space, mut metaspace) = (false, None);
    for step in &spec.pre_tokenizer {
        match (step.does, metaspace) {
            (PreTokenizer::WhitespaceSplit, None) => cuts_at_space = true,
            (PreTokenizer::Metaspace(read), None) => {
                if read.prepends == Prepends::First {
                    return Err(step.place.unsupported(&["prepend_scheme"], ONLY));
                }
                metaspace = Some(read);
            }
            _ => return Err(step.unsupported(ONLY)),
        }
    }
    let none = spec.place.unsupported(&[PRE_TOKENIZER], ONLY);
    Ok((cuts_at_space, metaspace.ok_or(none)?))
}

/// The step `Replace`, of one character or a run of one.
fn replacing<'a>(
    step: &SpelledStep<'a, Normalizer<'a>>,
    replace: Replace<'a>,
) -> Read<'a, Replacing<'a>> {
    let Replace { pattern, content } = replace;
    if content.len() > Limit::EXPANSION.most {
        return Err(step.place.unsupported(&["content"], ONLY));
    }
    let run = match pattern {
        Pattern::Text(text) => text.character().map(|character| (character, 1, 1)),
        Pattern::Run(CharacterRun { of: RunOf::Character(character), least, most }) => {
            Some((character, least, most))
        }
        Pattern::Run(_) => None,
    };
    let is_known =
        |(_, least, most): &(char, usize, usize)| *most == usize::MAX || (*least, *most) == (1, 1);
    let other = step.place.unsupported(&["pattern"], ONLY);
    let (character, least, most) = run.filter(is_known).ok_or(other)?;
    Ok(Replacing { character, least, is_whole: most > 1, content })
}
