//! A byte-level BPE tokenizer that the settings of `tokenizer.json` describe, as RoBERTa, ModernBERT
//! and Qwen have it: perhaps Unicode's form NFC, then words by a pattern that is known.
//!
//! Other steps are refused by name: they need `owned::Pipeline`.

use super::bpe_model::BpeModel;
use super::ends::Ends;
use super::step::{each_step, kind, refused, truth};
use crate::text::json::{Object, Read, Value, is};
use crate::token::bpe::Pattern;
use crate::token::bpe::split::EXPRESSIONS;

/// Only these are done.
const ONLY: &str =
    "only what RoBERTa's, ModernBERT's and Qwen's tokenizers do is done without a heap";

/// What the settings say.
#[derive(Clone, Debug)]
pub(crate) struct PairSettings<'a> {
    /// The list of added tokens.
    pub(crate) added: Value<'a>,
    /// Whether texts are brought into Unicode's form NFC.
    pub(crate) composes: bool,
    pub(crate) pattern: Pattern,
    /// Whether a word that is in the vocabulary is one token, whatever the merges make of it.
    pub(crate) ignores_merges: bool,
    /// How many merges there are.
    pub(crate) merges: u64,
    pub(crate) ends: Ends,
}

impl<'a> PairSettings<'a> {
    /// Reads the `tokenizer.json` of this model.
    pub(crate) fn read(root: &Object<'a>, model: BpeModel) -> Read<'a, Self> {
        let BpeModel { ignores_merges, merges, .. } = model;
        let mut composes = false;
        each_step(root.get("normalizer"), "normalizers", &mut |value| {
            let step = Object::new(value)?;
            if kind(&step)? != "NFC" {
                return Err(refused(value, ONLY));
            }
            composes = true;
            step.finish(&[])
        })?;
        let pattern = pre_tokenizer(root)?;
        let added = root.needed("added_tokens", root.get("added_tokens"))?;
        let ends = Ends::read(root.get("post_processor"))?;
        // No text is made of ids.
        root.finish(&["padding", "decoder"])?;
        Ok(Self { added, composes, pattern, ignores_merges, merges, ends })
    }
}

/// How texts are cut into words.
fn pre_tokenizer<'a>(root: &Object<'a>) -> Read<'a, Pattern> {
    let (mut pattern, mut is_bytes) = (None, false);
    each_step(root.get("pre_tokenizer"), "pretokenizers", &mut |value| {
        let step = Object::new(value)?;
        match kind(&step)? {
            "Split" if pattern.is_none() && !is_bytes => {
                pattern = Some(split(&step)?);
                step.finish(&[])
            }
            "ByteLevel" if !is_bytes => {
                is_bytes = true;
                if truth(&step, "add_prefix_space")? {
                    return Err(step.unsupported("add_prefix_space", ONLY));
                }
                match (step.truth("use_regex")?.unwrap_or(true), pattern) {
                    (true, None) => pattern = Some(Pattern::Gpt2),
                    (false, Some(_)) => {}
                    _ => return Err(step.unsupported("use_regex", ONLY)),
                }
                step.finish(&["trim_offsets"])
            }
            _ => Err(refused(value, ONLY)),
        }
    })?;
    let pattern = pattern.filter(|_| is_bytes);
    pattern.ok_or_else(|| root.unsupported("pre_tokenizer", ONLY))
}

/// The step `Split`, whose expression every character is part of.
fn split<'a>(step: &Object<'a>) -> Read<'a, Pattern> {
    step.neutral("behavior", ONLY, |it| it.is_text("Isolated"))?;
    step.needed("behavior", step.get("behavior"))?;
    step.neutral("invert", ONLY, |it| it.as_bool() == Some(false))?;
    let pattern = step.needed("pattern", step.object("pattern")?)?;
    let regex = pattern.needed("Regex", pattern.text("Regex")?)?;
    pattern.finish(&[])?;
    let known = EXPRESSIONS.iter().find(|(known, _)| is(regex, known));
    let known = known.map(|(_, known)| *known);
    known.ok_or_else(|| pattern.unsupported("Regex", "no such expression is known"))
}
