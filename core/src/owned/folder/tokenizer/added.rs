//! Tokens that files beside `tokenizer.json` name or add: whether that finds them in texts, too.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::config::TokenizerConfig;
use super::members::{parsed, spelled, spelled_member, truth, written};
use crate::error::{Error, ErrorKind, Result};
use crate::limit::{collected, formatted, joined, push};
use crate::owned::Pipeline;
use crate::owned::folder::{FolderFault, FolderResult, Texts};
use crate::text::json::{Fault, Value};
use crate::token::AddedRules;
use crate::token::spec::{AddedTokenSpec, TokenizerSpec};

pub(super) const MAP: &str = "special_tokens_map.json";
const ADDED: &str = "added_tokens.json";

/// The keys of tokens with a role of any tokenizer, and those of further ones.
const NAMED: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];
const FURTHER: [&str; 2] = ["additional_special_tokens", "extra_special_tokens"];

pub(super) const NOT_ADDED: &str = "`tokenizer.json` has not this token among `added_tokens`, so programs differ in whether texts may hold it";

impl TokenizerConfig {
    /// Tokens that this file names, or older ones beside it, are found in texts by transformers,
    /// and by `tokenizers` if they are added ones: refuses those of which `is_found` is false.
    /// `map` is what `special_tokens_map.json` says, if it counts.
    pub(super) fn check_named(
        &self,
        texts: Texts<'_, '_>,
        config: Value<'_>,
        map: Option<Value<'_>>,
        is_found: &dyn Fn(&str) -> bool,
    ) -> FolderResult<()> {
        for role in NAMED {
            let said = config.member(role).or_else(|| map.and_then(|map| map.member(role)));
            let said = said.map_or(Ok(None), spelled)?;
            if said.is_some_and(|token| !is_found(&token)) {
                return Err(self.refuse(config, role, NOT_ADDED));
            }
        }
        for further in [Some(config), map].into_iter().flatten() {
            for name in FURTHER {
                let Some(tokens) = further.member(name) else { continue };
                let by_name = tokens.members().map(|(_, token)| token);
                for token in tokens.items().chain(by_name) {
                    if spelled(token)?.is_some_and(|token| !is_found(&token)) {
                        return Err(self.refuse(config, name, NOT_ADDED));
                    }
                }
            }
        }
        let words = self.older(texts, config, ADDED)?;
        let words = words.as_deref().and_then(parsed);
        for (word, id) in words.iter().flat_map(Value::members) {
            if !is_found(&written(word)?) {
                let error = Error::new(id.offset(), ErrorKind::UnsupportedSetting);
                let path = joined(&[&self.folder, ADDED])?;
                return Err(FolderFault::new(&path, Fault { error, key: word, only: NOT_ADDED }));
            }
        }
        Ok(())
    }

    /// An older file beside this one, which counts where this one does not list what is added.
    pub(super) fn older<'t>(
        &self,
        texts: Texts<'t, '_>,
        config: Value<'_>,
        file: &str,
    ) -> FolderResult<Option<Cow<'t, str>>> {
        if config.member("added_tokens_decoder").is_some() {
            return Ok(None);
        }
        let path = joined(&[&self.folder, file])?;
        let fault = |error| FolderFault::new(&path, Fault::from_error(error));
        let text = texts(&path).map_err(fault)?;
        text.as_deref().map(|text| Value::parse(text, 0)).transpose().map_err(fault)?;
        Ok(text)
    }

    /// Tokens that this file adds have to be found as those of `tokenizer.json` are. Ids that are
    /// those of other tokens there are remnants of another tokenizer: what counts is whether texts
    /// are made of them.
    pub(super) fn check_added(
        &self,
        config: Value<'_>,
        pipeline: &Pipeline,
        spec: &TokenizerSpec<'_>,
    ) -> FolderResult<()> {
        let Some(decoder) = config.member("added_tokens_decoder") else { return Ok(()) };
        let known: Vec<AddedTokenSpec<'_>> = collected(spec.added.iter().flatten())?;
        for (id, token) in decoder.members() {
            let content = spelled_member(Some(token), "content")?.unwrap_or_default();
            let there = id.parse().ok().and_then(|id| pipeline.token(id));
            let is_remnant = there.is_some_and(|there| there != content.as_bytes());
            if is_remnant && pipeline.id(&content).is_none() {
                continue;
            }
            let said = |name| truth(token, name).unwrap_or(false);
            let rules = AddedRules {
                strips_before: said("lstrip"),
                strips_after: said("rstrip"),
                single_word: said("single_word"),
            };
            let normalized = said("normalized");
            let is_same = |other: &AddedTokenSpec<'_>| {
                let is_it = match is_remnant {
                    true => other.content.is(&content),
                    false => id.parse() == Ok(other.id),
                };
                is_it && (other.rules, other.normalized) == (rules, normalized)
            };
            if !known.iter().any(is_same) {
                let only = "`tokenizer.json` has it not, or finds it in another way";
                return Err(self.refuse_value(token, "added_tokens_decoder", only));
            }
        }
        Ok(())
    }
}

/// Returns true for a token that texts contain only if somebody spells it, such as `<mask>`, which
/// multilingual-e5-small has only among its pieces.
pub(super) fn is_control(token: &str) -> bool {
    let ends = |first, last| token.starts_with(first) && token.ends_with(last);
    ends('<', '>') || ends('[', ']')
}

/// The tokens that a `tokenizer.json` adds to its vocabulary.
pub(super) fn added_tokens(spec: &TokenizerSpec<'_>) -> Result<Added> {
    let mut added = Vec::new();
    for token in spec.added.iter().flatten() {
        push(&mut added, formatted(format_args!("{}", token.content))?)?;
    }
    added.sort_unstable();
    Ok(Added(added))
}

/// Added tokens, in the order of their spellings.
pub(super) struct Added(Vec<String>);

impl Added {
    pub(super) fn contains(&self, token: &str) -> bool {
        self.0.binary_search_by(|known| known.as_str().cmp(token)).is_ok()
    }
}
