//! A BPE tokenizer over characters with byte fallback that the settings of `tokenizer.json`
//! describe, as Gemma has it: spaces become a mark, and the text is merged as a whole.
//!
//! Other steps are refused by name: they need `owned::Pipeline`.

use super::bpe_model::BpeModel;
use super::ends::Ends;
use super::step::{character, each_step, kind, refused};
use crate::text::json::{Object, Read, Value};

/// Only these are done.
const ONLY: &str = "only what Gemma's tokenizers do is done without a heap";

/// What the settings say.
#[derive(Clone, Debug)]
pub(crate) struct FallbackSettings<'a> {
    /// The list of added tokens.
    pub(crate) added: Value<'a>,
    /// What spaces become.
    pub(crate) mark: char,
    /// How many merges there are.
    pub(crate) merges: u64,
    pub(crate) ends: Ends,
}

impl<'a> FallbackSettings<'a> {
    /// Reads the `tokenizer.json` of this model.
    pub(crate) fn read(root: &Object<'a>, model: BpeModel) -> Read<'a, Self> {
        if model.ignores_merges {
            let settings = root.needed("model", root.object("model")?)?;
            return Err(settings.unsupported("ignore_merges", ONLY));
        }
        let mark = normalizer(root)?;
        pre_tokenizer(root)?;
        let added = root.needed("added_tokens", root.get("added_tokens"))?;
        let ends = Ends::read(root.get("post_processor"))?;
        // No text is made of ids.
        root.finish(&["padding", "decoder"])?;
        Ok(Self { added, mark, merges: model.merges, ends })
    }
}

/// The character that spaces become.
fn normalizer<'a>(root: &Object<'a>) -> Read<'a, char> {
    let mut mark = None;
    each_step(root.get("normalizer"), "normalizers", &mut |value| {
        let step = Object::new(value)?;
        if kind(&step)? != "Replace" || mark.is_some() {
            return Err(refused(value, ONLY));
        }
        is_space(&step)?;
        let content = character(&step, "content").map_err(|_| step.unsupported("content", ONLY))?;
        mark = Some(content);
        step.finish(&[])
    })?;
    mark.filter(|mark| *mark != ' ').ok_or_else(|| root.unsupported("normalizer", ONLY))
}

/// Checks that texts are cut at spaces alone, of which none are left.
fn pre_tokenizer<'a>(root: &Object<'a>) -> Read<'a, ()> {
    each_step(root.get("pre_tokenizer"), "pretokenizers", &mut |value| {
        let step = Object::new(value)?;
        if kind(&step)? != "Split" {
            return Err(refused(value, ONLY));
        }
        is_space(&step)?;
        let only = "only false is done without a heap";
        step.neutral("invert", only, |it| it.as_bool() == Some(false))?;
        // What becomes of spaces that there are not.
        step.finish(&["behavior"])
    })
}

/// Checks that a step is about spaces.
fn is_space<'a>(step: &Object<'a>) -> Read<'a, ()> {
    let pattern = step.needed("pattern", step.object("pattern")?)?;
    pattern.neutral("String", ONLY, |it| it.is_text(" "))?;
    pattern.needed("String", pattern.get("String"))?;
    pattern.finish(&[])
}
