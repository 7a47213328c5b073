//! Classes of transformers that do what `tokenizer.json` says: whether `tokenizer_config.json` says it, too.

use super::FILE;
use super::added::{MAP, added_tokens, is_control};
use super::config::{OTHERWISE, TokenizerConfig};
use super::members::{parsed, spelled_member, truth};
use crate::error::Error;
use crate::limit::joined;
use crate::owned::folder::{FolderFault, FolderResult, Texts};
use crate::owned::{Pipeline, PipelineSession};
use crate::text::json::{Fault, Value};
use crate::token::SpecialTokens;
use crate::token::spec::{ModelKind, Normalizer, TokenizerSpec};

/// Classes that do what `tokenizer.json` says and nothing else.
const GENERAL_CLASSES: [&str; 2] = ["PreTrainedTokenizer", "TokenizersBackend"];

/// Classes that put the tokens at the ends of texts by `tokenizer_config.json`.
const CLASSES_WITH_ENDS: [&str; 3] = ["LlamaTokenizer", "GemmaTokenizer", "CodeLlamaTokenizer"];

/// Said of BERT's setting in folders of multilingual models, whose tokenizer is none of BERT's.
const UNIGRAM_OTHERWISE: &str = "the Unigram tokenizer of `tokenizer.json` has it otherwise";
const UNTOLD: &str =
    "`tokenizer.json` tells tokens of two texts apart, and the model would not be told";

impl TokenizerConfig {
    /// Refuses what transformers would do otherwise than the `tokenizer.json` that `pipeline` has
    /// been made of.
    ///
    /// # Errors
    ///
    /// The setting.
    pub fn check(&self, texts: Texts<'_, '_>, pipeline: &Pipeline) -> FolderResult<()> {
        self.check_truncation()?;
        self.check_whole(texts, pipeline)
    }

    /// The same for texts that are not cut: those that models continue.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    pub fn check_whole(&self, texts: Texts<'_, '_>, pipeline: &Pipeline) -> FolderResult<()> {
        // Both have been read before.
        let (Ok(config), Ok(spec)) = (Value::parse(&self.text, 0), pipeline.spec()) else {
            return Ok(());
        };
        self.check_split(config)?;
        self.check_added(config, pipeline, &spec)?;
        let added = added_tokens(&spec)?;
        let map = self.older(texts, config, MAP)?;
        self.check_named(texts, config, map.as_deref().and_then(parsed), &|token| {
            added.contains(token) || pipeline.id(token).is_none() || is_control(token)
        })?;
        let class = self.class.as_deref().unwrap_or(GENERAL_CLASSES[0]);
        if GENERAL_CLASSES.contains(&class) {
            return Ok(());
        }
        self.check_case(config, &spec)?;
        let mut steps = spec.pre_tokenizer.iter().filter_map(|step| step.place.value());
        let spaces = steps.find_map(|step| truth(step, "add_prefix_space"));
        if let (Some(said), Some(does)) = (truth(config, "add_prefix_space"), spaces)
            && said != does
        {
            return Err(self.refuse(config, "add_prefix_space", OTHERWISE));
        }
        match CLASSES_WITH_ENDS.contains(&class) {
            true => self.check_ends(config, pipeline),
            false => Ok(()),
        }
    }

    /// The same for a model that is to be told which of two texts a token is of.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    pub fn check_pairs(&self, pipeline: &Pipeline) -> FolderResult<()> {
        let Ok(config) = Value::parse(&self.text, 0) else { return Ok(()) };
        let Some(inputs) = config.member("model_input_names") else { return Ok(()) };
        if inputs.items().any(|input| input.is_text("token_type_ids")) {
            return Ok(());
        }
        let mut session = PipelineSession::default();
        let pair = pipeline.encode_pair("a", "b", usize::MAX, &mut session);
        let pair = pair.map_err(|error| self.fault_of_tokenizer(error))?;
        match pair.types.iter().all(|kind| *kind == 0) {
            true => Ok(()),
            false => Err(self.refuse(config, "model_input_names", UNTOLD)),
        }
    }

    /// Refuses what transformers would do otherwise than a SentencePiece model, which puts a space
    /// before texts if `has_prefix`. Tokens that the folder names are found in texts if `is_found`.
    ///
    /// # Errors
    ///
    /// The setting.
    pub fn check_pieces(
        &self,
        texts: Texts<'_, '_>,
        has_prefix: bool,
        is_found: &dyn Fn(&str) -> bool,
    ) -> FolderResult<()> {
        let Ok(config) = Value::parse(&self.text, 0) else { return Ok(()) };
        self.check_split(config)?;
        if has_prefix && truth(config, "add_prefix_space") == Some(false) {
            let only = "`tokenizer.model` puts a space before texts";
            return Err(self.refuse(config, "add_prefix_space", only));
        }
        let map = self.older(texts, config, MAP)?;
        self.check_named(texts, config, map.as_deref().and_then(parsed), is_found)
    }

    /// Refuses to cut texts elsewhere than at their ends.
    ///
    /// # Errors
    ///
    /// The setting.
    pub fn check_truncation(&self) -> FolderResult<()> {
        let Ok(config) = Value::parse(&self.text, 0) else { return Ok(()) };
        if config.member("truncation_side").is_some_and(|side| !side.is_text("right")) {
            return Err(self.refuse(config, "truncation_side", "only \"right\" is honoured"));
        }
        Ok(())
    }

    /// Refuses to read special tokens as text.
    pub(super) fn check_split(&self, config: Value<'_>) -> FolderResult<()> {
        match truth(config, "split_special_tokens") {
            Some(true) => {
                Err(self.refuse(config, "split_special_tokens", "only false is honoured"))
            }
            _ => Ok(()),
        }
    }

    fn check_case(&self, config: Value<'_>, spec: &TokenizerSpec<'_>) -> FolderResult<()> {
        let Some(said) = truth(config, "do_lower_case") else { return Ok(()) };
        let does = spec.normalizer.iter().find_map(|step| match step.does {
            Normalizer::Lowercase => Some(true),
            Normalizer::Bert { lowercases, .. } => Some(lowercases),
            _ => None,
        });
        if (said || does.is_some()) && said != does.unwrap_or(false) {
            let is_unigram = matches!(spec.model.kind, ModelKind::Unigram(_));
            let only = if is_unigram { UNIGRAM_OTHERWISE } else { OTHERWISE };
            return Err(self.refuse(config, "do_lower_case", only));
        }
        Ok(())
    }

    fn check_ends(&self, config: Value<'_>, pipeline: &Pipeline) -> FolderResult<()> {
        let mut session = PipelineSession::default();
        let ids = pipeline.encode("", usize::MAX, SpecialTokens::AsTokens, &mut session);
        let ids = ids.map_err(|error| self.fault_of_tokenizer(error))?.ids;
        let ends = [
            ("add_bos_token", "bos_token", ids.first()),
            ("add_eos_token", "eos_token", ids.last()),
        ];
        for (adds, token, end) in ends {
            let token = spelled_member(Some(config), token)?;
            let Some(id) = token.and_then(|token| pipeline.id(&token)) else { continue };
            let does = end == Some(&id);
            if truth(config, adds).is_some_and(|said| said != does) {
                return Err(self.refuse(config, adds, OTHERWISE));
            }
        }
        Ok(())
    }

    pub(super) fn fault_of_tokenizer(&self, error: Error) -> FolderFault {
        let path = joined(&[&self.folder, FILE]).unwrap_or_default();
        FolderFault::new(&path, Fault::from_error(error))
    }
}
