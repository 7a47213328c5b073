//! BERT's own class of transformers, which sets the normaliser and names special tokens.

use alloc::string::String;

use super::added::{MAP, NOT_ADDED, added_tokens};
use super::config::{OTHERWISE, ROLES, TokenizerConfig};
use super::members::{parsed, spelled, truth};
use crate::error::Result;
use crate::owned::folder::{FolderResult, Texts};
use crate::owned::{Pipeline, PipelineSession};
use crate::text::json::Value;
use crate::token::SpecialTokens;
use crate::token::spec::{Normalizer, PreTokenizer, SpelledStep, TokenizerSpec};

/// Settings of BERT's tokenizer in Python, which does what `tokenizer.json` says as long as they are
/// true.
const BERT_STEPS: [&str; 3] = ["do_basic_tokenize", "do_word_tokenize", "do_subword_tokenize"];

const CLEANS_OTHERWISE: &str = "`tokenizer.json` cleans or splits texts otherwise than this class";

impl TokenizerConfig {
    /// As [`check`](Self::check), for BERT's own class, of which this file sets the normaliser and names the special
    /// tokens.
    pub(super) fn check_bert(&self, texts: Texts<'_, '_>, pipeline: &Pipeline) -> FolderResult<()> {
        // Both have been read before.
        let (Ok(config), Ok(spec)) = (Value::parse(&self.text, 0), pipeline.spec()) else {
            return Ok(());
        };
        self.check_truncation()?;
        self.check_split(config)?;
        self.check_added(config, pipeline, &spec)?;
        for name in BERT_STEPS {
            if truth(config, name) == Some(false) {
                return Err(self.refuse(config, name, "only true is honoured"));
            }
        }
        if config.member("never_split").is_some_and(|words| words.items().next().is_some()) {
            return Err(self.refuse(config, "never_split", "no words are kept from being split"));
        }
        self.check_normalizer(config, &spec)?;
        self.check_words(config, &spec)?;
        let map = self.older(texts, config, MAP)?;
        let map = map.as_deref().and_then(parsed);
        self.check_ends_of(config, map, pipeline)?;
        self.check_roles(texts, config, &spec, map)
    }

    /// BERT's class cleans texts and splits words as BERT does, whatever `tokenizer.json` says.
    fn check_words(&self, config: Value<'_>, spec: &TokenizerSpec<'_>) -> FolderResult<()> {
        let is_clean = |step: &SpelledStep<'_, Normalizer<'_>>| {
            !matches!(step.does, Normalizer::Bert { cleans_text: false, .. })
        };
        let [SpelledStep { does: PreTokenizer::Bert, .. }] = &spec.pre_tokenizer[..] else {
            return Err(self.refuse(config, "tokenizer_class", CLEANS_OTHERWISE));
        };
        if spec.normalizer.iter().all(is_clean) {
            return Ok(());
        }
        Err(self.refuse(config, "tokenizer_class", CLEANS_OTHERWISE))
    }

    /// Its texts stand between the tokens that are named, which `tokenizer.json` may name otherwise.
    fn check_ends_of(
        &self,
        config: Value<'_>,
        map: Option<Value<'_>>,
        pipeline: &Pipeline,
    ) -> FolderResult<()> {
        let mut session = PipelineSession::default();
        let ends = pipeline.encode("", usize::MAX, SpecialTokens::AsTokens, &mut session);
        let ends = ends.map_err(|error| self.fault_of_tokenizer(error))?.ids;
        for (role, usual, end) in
            [("cls_token", "[CLS]", ends.first()), ("sep_token", "[SEP]", ends.get(1))]
        {
            let said = role_of(config, map, role)?;
            let id = pipeline.id(said.as_deref().unwrap_or(usual));
            if ends.len() != 2 || end.copied() != id {
                return Err(self.refuse(config, role, OTHERWISE));
            }
        }
        Ok(())
    }

    /// BERT's class takes what is not said for its default.
    fn check_normalizer(&self, config: Value<'_>, spec: &TokenizerSpec<'_>) -> FolderResult<()> {
        let [
            SpelledStep {
                does: Normalizer::Bert { splits_ideographs, strips_accents, lowercases, .. },
                ..
            },
        ] = spec.normalizer[..]
        else {
            let only = "`tokenizer.json` has another normaliser than this class";
            return Err(self.refuse(config, "tokenizer_class", only));
        };
        let said = |name| truth(config, name);
        let lower = said("do_lower_case").unwrap_or(true);
        let accents = said("strip_accents").unwrap_or(lower);
        let split = said("tokenize_chinese_chars").unwrap_or(true);
        for (name, is_same) in [
            ("do_lower_case", lower == lowercases),
            ("strip_accents", accents == strips_accents.unwrap_or(lowercases)),
            ("tokenize_chinese_chars", split == splits_ideographs),
        ] {
            if !is_same {
                return Err(self.refuse(config, name, OTHERWISE));
            }
        }
        Ok(())
    }

    /// Tokens with a role are found in texts by transformers, and by `tokenizers` if they are added
    /// ones: BERT's class has those that are not named, too.
    fn check_roles(
        &self,
        texts: Texts<'_, '_>,
        config: Value<'_>,
        spec: &TokenizerSpec<'_>,
        map: Option<Value<'_>>,
    ) -> FolderResult<()> {
        let added = added_tokens(spec)?;
        for (role, usual) in ROLES {
            if role_of(config, map, role)?.is_none() && !added.contains(usual) {
                return Err(self.refuse(config, role, NOT_ADDED));
            }
        }
        self.check_named(texts, config, map, &|token| added.contains(token))
    }
}

/// The token that has a role by `tokenizer_config.json`, or by the older map beside it.
fn role_of(config: Value<'_>, map: Option<Value<'_>>, role: &str) -> Result<Option<String>> {
    let said = config.member(role).or_else(|| map.and_then(|map| map.member(role)));
    said.map_or(Ok(None), spelled)
}
