//! BERT's own class of transformers, which sets the normaliser and names special tokens.

use alloc::string::String;

use super::added::{MAP, NOT_ADDED, added_tokens};
use super::config::{OTHERWISE, ROLES, TokenizerConfig};
use super::said::{parsed, spelled, truth};
use crate::owned::folder::{FolderResult, Texts};
use crate::owned::{Pipeline, PipelineSession};
use crate::text::json::Value;
use crate::token::SpecialTokens;

/// Settings of BERT's tokenizer in Python, which does what `tokenizer.json` says as long as they are
/// true.
const BERT_STEPS: [&str; 3] = ["do_basic_tokenize", "do_word_tokenize", "do_subword_tokenize"];

impl TokenizerConfig {
    /// As [`check`](Self::check), for BERT's own class, of which this file sets the normaliser and names the special
    /// tokens.
    pub(super) fn check_bert(&self, texts: Texts<'_, '_>, pipeline: &Pipeline) -> FolderResult<()> {
        let file = Value::parse(pipeline.settings(), 0);
        let (Ok(config), Ok(file)) = (Value::parse(&self.text, 0), file) else { return Ok(()) };
        self.check_truncation()?;
        self.check_split(config)?;
        self.check_added(config, pipeline, file)?;
        for name in BERT_STEPS {
            if truth(config, name) == Some(false) {
                return Err(self.refuse(config, name, "only true is honoured"));
            }
        }
        if config.member("never_split").is_some_and(|words| words.items().next().is_some()) {
            return Err(self.refuse(config, "never_split", "no words are kept from being split"));
        }
        self.check_normalizer(config, file)?;
        self.check_words(config, file)?;
        let map = self.older(texts, config, MAP)?;
        let map = map.as_deref().and_then(parsed);
        self.check_ends_of(config, map, pipeline)?;
        self.check_roles(texts, config, file, map)
    }

    /// BERT's class cleans texts and splits words as BERT does, whatever `tokenizer.json` says.
    fn check_words(&self, config: Value<'_>, file: Value<'_>) -> FolderResult<()> {
        let cleans = file.member("normalizer").and_then(|step| truth(step, "clean_text"));
        let split = file.member("pre_tokenizer").and_then(|step| step.member("type"));
        if cleans != Some(false) && split.is_some_and(|kind| kind.is_text("BertPreTokenizer")) {
            return Ok(());
        }
        let only = "`tokenizer.json` cleans or splits texts otherwise than this class";
        Err(self.refuse(config, "tokenizer_class", only))
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
        let named = |role, usual: &str| {
            let said = role_of(config, map, role);
            pipeline.id(said.as_deref().unwrap_or(usual))
        };
        let [cls, sep] = [("cls_token", "[CLS]"), ("sep_token", "[SEP]")]
            .map(|(role, usual)| (role, named(role, usual)));
        for ((role, id), end) in [(cls, ends.first()), (sep, ends.get(1))] {
            if ends.len() != 2 || end.copied() != id {
                return Err(self.refuse(config, role, OTHERWISE));
            }
        }
        Ok(())
    }

    /// BERT's class takes what is not said for its default.
    fn check_normalizer(&self, config: Value<'_>, file: Value<'_>) -> FolderResult<()> {
        let normalizer = file.member("normalizer");
        let kind = normalizer.and_then(|step| step.member("type"));
        if kind.is_none_or(|kind| !kind.is_text("BertNormalizer")) {
            let only = "`tokenizer.json` has another normaliser than this class";
            return Err(self.refuse(config, "tokenizer_class", only));
        }
        let said = |name| truth(config, name);
        let does = |name| normalizer.and_then(|step| truth(step, name));
        let lower = [said("do_lower_case"), does("lowercase")].map(|it| it.unwrap_or(true));
        let accents = [said("strip_accents"), does("strip_accents")];
        let [said_accents, does_accents] = [0, 1].map(|at| accents[at].unwrap_or(lower[at]));
        let split = [said("tokenize_chinese_chars"), does("handle_chinese_chars")];
        let [said_split, does_split] = split.map(|it| it.unwrap_or(true));
        for (name, is_same) in [
            ("do_lower_case", lower[0] == lower[1]),
            ("strip_accents", said_accents == does_accents),
            ("tokenize_chinese_chars", said_split == does_split),
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
        file: Value<'_>,
        map: Option<Value<'_>>,
    ) -> FolderResult<()> {
        let added = added_tokens(file);
        for (role, usual) in ROLES {
            if role_of(config, map, role).is_none() && !added.contains(usual) {
                return Err(self.refuse(config, role, NOT_ADDED));
            }
        }
        self.check_named(texts, config, map, &|token| added.contains(token))
    }
}

/// The token that has a role by `tokenizer_config.json`, or by the older map beside it.
fn role_of(config: Value<'_>, map: Option<Value<'_>>, role: &str) -> Option<String> {
    config.member(role).or_else(|| map.and_then(|map| map.member(role))).and_then(spelled)
}
