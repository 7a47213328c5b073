//! A Unigram tokenizer that the settings of `tokenizer.json` describe, as XLM-RoBERTa's and those of
//! its kind do: compiled rules, perhaps white space at the ends left out and a run replaced, then
//! Metaspace.
//!
//! Other steps are refused by name: they need `owned::Pipeline`.

use super::ends::Ends;
use super::metaspace::{Metaspace, Prepends};
use super::step::{each_step, kind, refused, truth};
use super::tokenizer_root::check_whole_vocabulary;
use crate::limit::Limit;
use crate::text::json::{Object, Read, Value, chars, has_escapes};
use crate::token::run::{Run, RunOf};

/// Only these are done.
const ONLY: &str = "only what XLM-RoBERTa's tokenizers do is done without a heap";

/// What the settings say.
#[derive(Clone, Debug)]
pub(crate) struct UnigramSettings<'a> {
    /// The list of added tokens.
    pub(crate) added: Value<'a>,
    /// Compiled rules, in base64.
    pub(crate) rules: Option<Value<'a>>,
    /// White space at the start and at the end that is left out.
    pub(crate) strips: [bool; 2],
    pub(crate) replaces: Option<Replacing<'a>>,
    /// Whether white space cuts texts into pieces, and is left out.
    pub(crate) cuts_at_space: bool,
    pub(crate) metaspace: Metaspace,
    pub(crate) unknown: Option<u32>,
    pub(crate) ends: Ends,
}

/// What runs of a character become.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Replacing<'a> {
    pub(crate) character: char,
    /// Shorter runs stay as they are.
    pub(crate) least: usize,
    /// Whether all of a run is replaced at once.
    pub(crate) is_whole: bool,
    /// As JSON spells it.
    pub(crate) content: &'a str,
}

impl<'a> UnigramSettings<'a> {
    /// Reads the `tokenizer.json` of a vocabulary of `tokens`.
    pub(crate) fn read(root: &Object<'a>, tokens: u32) -> Read<'a, Self> {
        let unknown = model(root, tokens)?;
        let added = root.needed("added_tokens", root.get("added_tokens"))?;
        let ends = Ends::read(root.get("post_processor"))?;
        let (cuts_at_space, metaspace) = pre_tokenizer(root)?;
        let mut settings = Self {
            added,
            rules: None,
            strips: [false; 2],
            replaces: None,
            cuts_at_space,
            metaspace,
            unknown,
            ends,
        };
        // In this order.
        let mut last = 0;
        each_step(root.get("normalizer"), "normalizers", &mut |value| {
            let step = Object::new(value)?;
            let place = match kind(&step)? {
                "Precompiled" => {
                    const NAME: &str = "precompiled_charsmap";
                    step.text(NAME)?;
                    settings.rules = Some(step.needed(NAME, step.get(NAME))?);
                    1
                }
                "Strip" => {
                    settings.strips = [truth(&step, "strip_left")?, truth(&step, "strip_right")?];
                    2
                }
                "Replace" => {
                    settings.replaces = Some(replacing(&step)?);
                    3
                }
                _ => return Err(refused(value, ONLY)),
            };
            if place <= last {
                return Err(refused(value, ONLY));
            }
            last = place;
            step.finish(&[])
        })?;
        // No text is made of ids.
        root.finish(&["padding", "decoder"])?;
        Ok(settings)
    }
}

/// Checks the member `model`; answers the id of the unknown token.
fn model<'a>(root: &Object<'a>, tokens: u32) -> Read<'a, Option<u32>> {
    let model = root.needed("model", root.object("model")?)?;
    model.text("type")?;
    let only = "characters without a token become bytes only with a heap";
    model.neutral("byte_fallback", only, |it| it.as_bool() == Some(false))?;
    let unknown = match model.integer("unk_id")? {
        None => None,
        Some(id) => {
            let id = u32::try_from(id).ok().filter(|id| *id < tokens);
            Some(id.ok_or_else(|| model.bad("unk_id", "an id of the vocabulary is needed"))?)
        }
    };
    check_whole_vocabulary(&model, tokens)?;
    model.finish(&[])?;
    Ok(unknown)
}

/// Whether white space cuts texts, and what follows.
fn pre_tokenizer<'a>(root: &Object<'a>) -> Read<'a, (bool, Metaspace)> {
    let (mut cuts_at_space, mut metaspace) = (false, None);
    each_step(root.get("pre_tokenizer"), "pretokenizers", &mut |value| {
        let step = Object::new(value)?;
        match (kind(&step)?, metaspace) {
            ("WhitespaceSplit", None) => {
                cuts_at_space = true;
                step.finish(&[])
            }
            ("Metaspace", None) => {
                let read = Metaspace::read(&step)?;
                if read.prepends == Prepends::First {
                    return Err(step.unsupported("prepend_scheme", ONLY));
                }
                metaspace = Some(read);
                Ok(())
            }
            _ => Err(refused(value, ONLY)),
        }
    })?;
    let metaspace = metaspace.ok_or_else(|| root.unsupported("pre_tokenizer", ONLY))?;
    Ok((cuts_at_space, metaspace))
}

/// The step `Replace`, of one character or a run of one.
fn replacing<'a>(step: &Object<'a>) -> Read<'a, Replacing<'a>> {
    let pattern = step.needed("pattern", step.object("pattern")?)?;
    let (text, regex) = (pattern.text("String")?, pattern.text("Regex")?);
    pattern.finish(&[])?;
    let content = step.needed("content", step.text("content")?)?;
    if content.len() > Limit::EXPANSION.most {
        return Err(step.unsupported("content", ONLY));
    }
    let run = match (text, regex) {
        (Some(text), None) => {
            let mut characters = chars(text);
            let first = characters.next().filter(|_| characters.next().is_none());
            first.map(|character| (character, 1, 1))
        }
        // Of escapes none are known that an expression spells otherwise than JSON does.
        (None, Some(regex)) if !has_escapes(regex) => match Run::of_regex(regex) {
            Some(Run { of: RunOf::Character(character), least, most }) => {
                Some((character, least, most))
            }
            _ => None,
        },
        _ => None,
    };
    let is_known =
        |(_, least, most): &(char, usize, usize)| *most == usize::MAX || (*least, *most) == (1, 1);
    let run = run.filter(is_known);
    let (character, least, most) = run.ok_or_else(|| step.unsupported("pattern", ONLY))?;
    Ok(Replacing { character, least, is_whole: most > 1, content })
}
