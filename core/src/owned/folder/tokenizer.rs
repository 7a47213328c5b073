//! The tokenizer of a folder: `tokenizer.json`, and what `tokenizer_config.json` says beside it.
//!
//! Where transformers would do otherwise than `tokenizer.json` says, the folder is refused.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::vocabulary::{self, WordSettings};
use super::{FolderFault, FolderModel, FolderResult, Texts};
use crate::error::{Error, ErrorKind};
use crate::owned::{Pipeline, PipelineSession};
use crate::text::json::{Fault, Value, chars};
use crate::token::SpecialTokens;

const FILE: &str = "tokenizer.json";
const CONFIG: &str = "tokenizer_config.json";
const MAP: &str = "special_tokens_map.json";
const ADDED: &str = "added_tokens.json";

/// Families whose tokenizer is BERT's unless the folder names another.
const BERT_FAMILIES: [&str; 2] = ["bert", "distilbert"];

/// Classes of transformers that set BERT's normaliser by `tokenizer_config.json`, without the
/// `Fast` behind some.
const BERT_CLASSES: [&str; 2] = ["BertTokenizer", "DistilBertTokenizer"];

/// Classes that do what `tokenizer.json` says and nothing else.
const GENERAL_CLASSES: [&str; 2] = ["PreTrainedTokenizer", "TokenizersBackend"];

/// Classes that put the tokens at the ends of texts by `tokenizer_config.json`.
const CLASSES_WITH_ENDS: [&str; 3] = ["LlamaTokenizer", "GemmaTokenizer", "CodeLlamaTokenizer"];

/// How a token that is added to a vocabulary is found, as both files say it.
const RULES: [&str; 4] = ["single_word", "lstrip", "rstrip", "normalized"];

/// The keys of tokens with a role, and BERT's own.
const ROLES: [(&str, &str); 5] = [
    ("pad_token", "[PAD]"),
    ("unk_token", "[UNK]"),
    ("cls_token", "[CLS]"),
    ("sep_token", "[SEP]"),
    ("mask_token", "[MASK]"),
];

/// The keys of tokens with a role of any tokenizer, and those of further ones.
const NAMED: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];
const FURTHER: [&str; 2] = ["additional_special_tokens", "extra_special_tokens"];

/// Settings of BERT's tokenizer in Python, which does what `tokenizer.json` says as long as they are
/// true.
const BERT_STEPS: [&str; 3] = ["do_basic_tokenize", "do_word_tokenize", "do_subword_tokenize"];

const OTHERWISE: &str = "`tokenizer.json` has it otherwise";
/// Said of BERT's setting in folders of multilingual models, whose tokenizer is none of BERT's.
const UNIGRAM_OTHERWISE: &str = "the Unigram tokenizer of `tokenizer.json` has it otherwise";
const UNTOLD: &str =
    "`tokenizer.json` tells tokens of two texts apart, and the model would not be told";
const NOT_ADDED: &str = "`tokenizer.json` has not this token among `added_tokens`, so programs differ in whether texts may hold it";

impl FolderModel {
    /// The tokenizer that `tokenizer.json` describes, or without it BERT's over `vocab.txt`.
    ///
    /// # Errors
    ///
    /// What is wrong with a file; [`ErrorKind::MissingVocabulary`] without `tokenizer.json` where
    /// that is needed; [`ErrorKind::UnsupportedSetting`] where transformers would not do what it
    /// says.
    pub fn tokenizer(&self, texts: Texts<'_, '_>) -> FolderResult<Pipeline> {
        let path = [self.folder(), FILE].concat();
        let fault = |fault: Fault<'_>| FolderFault::new(&path, fault);
        let text = texts(&path).map_err(|error| fault(Fault::of(error)))?;
        let Some(text) = text else {
            let missing = Error::without_offset(ErrorKind::MissingVocabulary);
            let pipeline = self.word_pieces(texts)?;
            return pipeline.ok_or_else(|| fault(Fault::of(missing)));
        };
        let pipeline = Pipeline::read(&text).map_err(fault)?;
        let config = TokenizerConfig::read(texts, self.folder())?;
        match config.is_bert(self.family()) && TokenizerConfig::has_word_pieces(&text) {
            true => config.check_bert(texts, &pipeline)?,
            false => config.check(texts, &pipeline)?,
        }
        if self.compares_by_types() {
            config.check_pairs(&pipeline)?;
        }
        Ok(pipeline)
    }

    /// BERT's tokenizer over `vocab.txt`, if the model has that and it is there.
    fn word_pieces(&self, texts: Texts<'_, '_>) -> FolderResult<Option<Pipeline>> {
        let config = TokenizerConfig::read(texts, self.folder())?;
        if !config.is_bert(self.family()) {
            return Ok(None);
        }
        let pipeline = vocabulary::tokenizer(texts, self.folder(), &config.word_settings())?;
        if let Some(pipeline) = &pipeline {
            config.check_bert(texts, pipeline)?;
            if self.compares_by_types() {
                config.check_pairs(pipeline)?;
            }
        }
        Ok(pipeline)
    }
}

/// What `tokenizer_config.json` says.
#[derive(Clone, Debug)]
pub struct TokenizerConfig {
    /// The folder that it lies in.
    folder: String,
    text: String,
    class: Option<String>,
}

impl TokenizerConfig {
    /// Reads that of the folder's `module`, which ends with `/` or is empty.
    ///
    /// # Errors
    ///
    /// What is wrong with the file.
    pub fn read(texts: Texts<'_, '_>, module: &str) -> FolderResult<Self> {
        let path = [module, CONFIG].concat();
        let fault = |error| FolderFault::new(&path, Fault::of(error));
        let text = texts(&path).map_err(fault)?;
        let text = text.map_or_else(|| "{}".to_string(), Cow::into_owned);
        let config = Value::parse(&text, 0).map_err(fault)?;
        let class = config.member("tokenizer_class").and_then(spelled);
        let class = class.map(|class| class.strip_suffix("Fast").unwrap_or(&class).to_string());
        Ok(Self { folder: module.to_string(), text, class })
    }

    /// What it says of BERT's tokenizer.
    fn word_settings(&self) -> WordSettings {
        let config = Value::parse(&self.text, 0).ok();
        let said = |name| config.and_then(|config| truth(config, name));
        let named = |role| config.and_then(|config| config.member(role)).and_then(spelled);
        WordSettings {
            names: ROLES.map(|(role, usual)| named(role).unwrap_or_else(|| usual.to_string())),
            splits_chinese: said("tokenize_chinese_chars"),
            strips_accents: said("strip_accents"),
            lowercase: said("do_lower_case"),
        }
    }

    /// Whether the tokenizer of a model of this family is BERT's own, whose normaliser transformers
    /// sets by this file, if it is one of WordPiece.
    #[must_use]
    pub fn is_bert(&self, family: &str) -> bool {
        match self.class.as_deref() {
            Some(class) => BERT_CLASSES.contains(&class),
            None => BERT_FAMILIES.contains(&family),
        }
    }

    /// Whether a `tokenizer.json` is one of WordPiece, as far as it says.
    #[must_use]
    pub fn has_word_pieces(tokenizer: &str) -> bool {
        let model = Value::parse(tokenizer, 0).ok().and_then(|file| file.member("model"));
        model.is_none_or(|model| model.member("type").is_none_or(|kind| kind.is_text("WordPiece")))
    }

    /// Refuses what transformers would do otherwise than the `tokenizer.json` that `pipeline` has
    /// been made of.
    ///
    /// # Errors
    ///
    /// The setting.
    pub fn check(&self, texts: Texts<'_, '_>, pipeline: &Pipeline) -> FolderResult<()> {
        // Both have been parsed before.
        let file = Value::parse(pipeline.settings(), 0);
        let (Ok(config), Ok(file)) = (Value::parse(&self.text, 0), file) else { return Ok(()) };
        self.check_cuts(config)?;
        self.check_added(config, pipeline, file)?;
        let added = added_tokens(file);
        let map = self.older(texts, config, MAP)?;
        self.check_named(texts, config, map.as_deref().and_then(parsed), &|token| {
            added.contains(token) || pipeline.id(token).is_none() || is_control(token)
        })?;
        let class = self.class.as_deref().unwrap_or(GENERAL_CLASSES[0]);
        if GENERAL_CLASSES.contains(&class) {
            return Ok(());
        }
        self.check_case(config, file)?;
        let spaces = file.member("pre_tokenizer").and_then(|it| within(it, "add_prefix_space"));
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

    /// The same for BERT's own class, of which this file sets the normaliser and names the special
    /// tokens.
    fn check_bert(&self, texts: Texts<'_, '_>, pipeline: &Pipeline) -> FolderResult<()> {
        let file = Value::parse(pipeline.settings(), 0);
        let (Ok(config), Ok(file)) = (Value::parse(&self.text, 0), file) else { return Ok(()) };
        self.check_cuts(config)?;
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
        self.check_roles(texts, config, file)
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
    ) -> FolderResult<()> {
        let added = added_tokens(file);
        let map = self.older(texts, config, MAP)?;
        let map = map.as_deref().and_then(parsed);
        for (role, usual) in ROLES {
            let said = config.member(role).or_else(|| map.and_then(|map| map.member(role)));
            if said.and_then(spelled).is_none() && !added.contains(usual) {
                return Err(self.refuse(config, role, NOT_ADDED));
            }
        }
        self.check_named(texts, config, map, &|token| added.contains(token))
    }

    /// Tokens that this file names, or older ones beside it, are found in texts by transformers, and
    /// by `tokenizers` if they are added ones: refuses those of which `is_found` is false. `map` is
    /// what `special_tokens_map.json` says, if it counts.
    fn check_named(
        &self,
        texts: Texts<'_, '_>,
        config: Value<'_>,
        map: Option<Value<'_>>,
        is_found: &dyn Fn(&str) -> bool,
    ) -> FolderResult<()> {
        for role in NAMED {
            let said = config.member(role).or_else(|| map.and_then(|map| map.member(role)));
            if said.and_then(spelled).is_some_and(|token| !is_found(&token)) {
                return Err(self.refuse(config, role, NOT_ADDED));
            }
        }
        for further in [Some(config), map].into_iter().flatten() {
            for name in FURTHER {
                let Some(tokens) = further.member(name) else { continue };
                let by_name = tokens.members().map(|(_, token)| token);
                let mut tokens = tokens.items().chain(by_name).filter_map(spelled);
                if tokens.any(|token| !is_found(&token)) {
                    return Err(self.refuse(config, name, NOT_ADDED));
                }
            }
        }
        let words = self.older(texts, config, ADDED)?;
        let words = words.as_deref().and_then(parsed);
        let mut words = words.iter().flat_map(Value::members);
        match words.find(|(word, _)| !is_found(&written(word))) {
            None => Ok(()),
            Some((word, id)) => {
                let error = Error::new(id.offset(), ErrorKind::UnsupportedSetting);
                let path = [&*self.folder, ADDED].concat();
                Err(FolderFault::new(&path, Fault { error, key: word, only: NOT_ADDED }))
            }
        }
    }

    /// An older file beside this one, which counts where this one does not list what is added.
    fn older<'t>(
        &self,
        texts: Texts<'t, '_>,
        config: Value<'_>,
        file: &str,
    ) -> FolderResult<Option<Cow<'t, str>>> {
        if config.member("added_tokens_decoder").is_some() {
            return Ok(None);
        }
        let path = [&*self.folder, file].concat();
        let fault = |error| FolderFault::new(&path, Fault::of(error));
        let text = texts(&path).map_err(fault)?;
        text.as_deref().map(|text| Value::parse(text, 0)).transpose().map_err(fault)?;
        Ok(text)
    }

    fn check_cuts(&self, config: Value<'_>) -> FolderResult<()> {
        if truth(config, "split_special_tokens") == Some(true) {
            return Err(self.refuse(config, "split_special_tokens", "only false is honoured"));
        }
        if config.member("truncation_side").is_some_and(|side| !side.is_text("right")) {
            return Err(self.refuse(config, "truncation_side", "only \"right\" is honoured"));
        }
        Ok(())
    }

    /// Tokens that this file adds have to be found as those of `tokenizer.json` are. Ids that are
    /// those of other tokens there are remnants of another tokenizer: what counts is whether texts are
    /// made of them.
    fn check_added(
        &self,
        config: Value<'_>,
        pipeline: &Pipeline,
        file: Value<'_>,
    ) -> FolderResult<()> {
        let Some(decoder) = config.member("added_tokens_decoder") else { return Ok(()) };
        let known: Vec<Value<'_>> =
            file.member("added_tokens").iter().flat_map(Value::items).collect();
        for (id, token) in decoder.members() {
            let content = token.member("content").and_then(spelled).unwrap_or_default();
            let there = id.parse().ok().and_then(|id| pipeline.token(id));
            let is_remnant = there.is_some_and(|there| there != content.as_bytes());
            if is_remnant && pipeline.id(&content).is_none() {
                continue;
            }
            let same = |name: &str, other: Value<'_>| {
                truth(token, name).unwrap_or(false) == truth(other, name).unwrap_or(false)
            };
            let is_same = |other: &Value<'_>| {
                let (known, text) = (other.member("id"), other.member("content"));
                let is_it = match is_remnant {
                    true => text.and_then(spelled).as_ref() == Some(&content),
                    false => known.is_some_and(|known| known.spelling() == id),
                };
                is_it && RULES.iter().all(|name| same(name, *other))
            };
            if !known.iter().any(is_same) {
                let only = "`tokenizer.json` has it not, or finds it in another way";
                return Err(self.refuse_value(token, "added_tokens_decoder", only));
            }
        }
        Ok(())
    }

    fn check_case(&self, config: Value<'_>, file: Value<'_>) -> FolderResult<()> {
        let Some(said) = truth(config, "do_lower_case") else { return Ok(()) };
        let does = file.member("normalizer").and_then(lower_case);
        if (said || does.is_some()) && said != does.unwrap_or(false) {
            let model = file.member("model").and_then(|model| model.member("type"));
            let is_unigram = model.is_some_and(|kind| kind.is_text("Unigram"));
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
            let token = config.member(token).and_then(spelled);
            let Some(id) = token.and_then(|token| pipeline.id(&token)) else { continue };
            let does = end == Some(&id);
            if truth(config, adds).is_some_and(|said| said != does) {
                return Err(self.refuse(config, adds, OTHERWISE));
            }
        }
        Ok(())
    }

    fn fault_of_tokenizer(&self, error: Error) -> FolderFault {
        FolderFault::new(&[&*self.folder, FILE].concat(), Fault::of(error))
    }

    /// Refuses a setting, at its value if it is there.
    fn refuse(&self, config: Value<'_>, name: &'static str, only: &'static str) -> FolderFault {
        self.refuse_value(config.member(name).unwrap_or(config), name, only)
    }

    fn refuse_value(&self, at: Value<'_>, name: &'static str, only: &'static str) -> FolderFault {
        let error = Error::new(at.offset(), ErrorKind::UnsupportedSetting);
        FolderFault::new(&[&*self.folder, CONFIG].concat(), Fault { error, key: name, only })
    }
}

/// What a text says that was found to be JSON.
fn parsed(text: &str) -> Option<Value<'_>> {
    Value::parse(text, 0).ok()
}

/// Whether a token is of those that texts hold only where somebody spells it out, such as `<mask>`,
/// which multilingual-e5-small has among its pieces alone.
fn is_control(token: &str) -> bool {
    let ends = |first, last| token.starts_with(first) && token.ends_with(last);
    ends('<', '>') || ends('[', ']')
}

/// The tokens that a `tokenizer.json` adds to its vocabulary.
fn added_tokens(file: Value<'_>) -> BTreeSet<String> {
    let added = file.member("added_tokens");
    let added = added.iter().flat_map(Value::items);
    added.filter_map(|token| token.member("content").and_then(spelled)).collect()
}

fn truth(object: Value<'_>, name: &str) -> Option<bool> {
    object.member(name).and_then(|value| value.as_bool())
}

fn written(spelling: &str) -> String {
    chars(spelling).collect()
}

/// The text of a token, which some files have as an object.
fn spelled(value: Value<'_>) -> Option<String> {
    value.member("content").unwrap_or(value).as_text().map(written)
}

/// The truth called `name` of a step, or of the first among its steps that has it.
fn within(step: Value<'_>, name: &str) -> Option<bool> {
    let steps = ["pretokenizers", "normalizers"];
    let inner = || steps.iter().filter_map(|steps| step.member(steps)).flat_map(|it| it.items());
    truth(step, name).or_else(|| inner().find_map(|step| within(step, name)))
}

/// Whether a normaliser makes letters lower case, as far as it says.
fn lower_case(normalizer: Value<'_>) -> Option<bool> {
    if normalizer.member("type").is_some_and(|kind| kind.is_text("Lowercase")) {
        return Some(true);
    }
    let inner = || normalizer.member("normalizers")?.items().find_map(lower_case);
    truth(normalizer, "lowercase").or_else(inner)
}
