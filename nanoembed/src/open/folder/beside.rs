//! What `tokenizer_config.json` says beside a `tokenizer.json`, which says all of a tokenizer. Where
//! transformers would do otherwise than the latter, the folder is refused.

use nanoembed_core::owned::folder::FolderFault;
use nanoembed_core::owned::{Pipeline, PipelineSession};
use nanoembed_core::text::json::{Fault, Value, chars};
use nanoembed_core::token::SpecialTokens;
use nanoembed_core::{Error as CoreError, ErrorKind};

use super::texts::FolderTexts;
use super::tokenizer::FILE;
use crate::error::{Error, Result, name_of};

const CONFIG: &str = "tokenizer_config.json";

/// Classes that do what `tokenizer.json` says and nothing else.
const GENERAL_CLASSES: [&str; 2] = ["PreTrainedTokenizer", "TokenizersBackend"];

/// Classes that put the tokens at the ends of texts by `tokenizer_config.json`.
const CLASSES_WITH_ENDS: [&str; 3] = ["LlamaTokenizer", "GemmaTokenizer", "CodeLlamaTokenizer"];

/// How a token that is added to a vocabulary is found, as both files say it.
const RULES: [&str; 4] = ["single_word", "lstrip", "rstrip", "normalized"];

/// The text of `tokenizer_config.json`.
pub(super) struct Beside<'f> {
    texts: &'f FolderTexts,
    text: String,
    class: Option<String>,
}

impl<'f> Beside<'f> {
    pub(super) fn read(texts: &'f FolderTexts) -> Result<Self> {
        let text = texts.get(CONFIG)?.unwrap_or_else(|| "{}".to_owned());
        let config = Value::parse(&text, 0)
            .map_err(|error| texts.explained(&FolderFault::new(CONFIG, Fault::of(error))))?;
        let class = config.member("tokenizer_class").and_then(spelled);
        let class = class.map(|class| class.strip_suffix("Fast").unwrap_or(&class).to_owned());
        Ok(Self { texts, class, text })
    }

    /// The class of the tokenizer, without the `Fast` behind some.
    pub(super) fn class(&self) -> Option<&str> {
        self.class.as_deref()
    }

    /// Refuses what transformers would do otherwise than the `tokenizer.json` that `pipeline` has
    /// been made of.
    pub(super) fn check(&self, pipeline: &Pipeline) -> Result<()> {
        // Both have been parsed before.
        let file = Value::parse(pipeline.settings(), 0);
        let (Ok(config), Ok(file)) = (Value::parse(&self.text, 0), file) else {
            return Ok(());
        };
        if truth(config, "split_special_tokens") == Some(true) {
            return self.refuse("`split_special_tokens` is true; only false is honoured");
        }
        if config.member("truncation_side").is_some_and(|side| !side.is_text("right")) {
            return self.refuse("`truncation_side` is not \"right\", the only one honoured");
        }
        self.check_added(config, pipeline, file)?;
        let class = self.class().unwrap_or(GENERAL_CLASSES[0]);
        if GENERAL_CLASSES.contains(&class) {
            return Ok(());
        }
        self.check_case(config, file)?;
        let spaces = file.member("pre_tokenizer").and_then(|it| within(it, "add_prefix_space"));
        if let (Some(said), Some(does)) = (truth(config, "add_prefix_space"), spaces)
            && said != does
        {
            return self.refuse(&format!(
                "`add_prefix_space` is {said}, and `tokenizer.json` has it otherwise"
            ));
        }
        match CLASSES_WITH_ENDS.contains(&class) {
            true => self.check_ends(config, pipeline),
            false => Ok(()),
        }
    }

    /// Tokens that this file adds have to be found as those of `tokenizer.json` are. Ids that are
    /// those of other tokens there are remnants of another tokenizer, and mean nothing.
    fn check_added(&self, config: Value<'_>, pipeline: &Pipeline, file: Value<'_>) -> Result<()> {
        let Some(decoder) = config.member("added_tokens_decoder") else { return Ok(()) };
        let known: Vec<Value<'_>> =
            file.member("added_tokens").iter().flat_map(Value::items).collect();
        for (id, token) in decoder.members() {
            let content = token.member("content").and_then(spelled).unwrap_or_default();
            let there = id.parse().ok().and_then(|id| pipeline.token(id));
            if there.is_some_and(|there| there != content.as_bytes()) {
                continue;
            }
            let same = |name: &str, other: Value<'_>| {
                truth(token, name).unwrap_or(false) == truth(other, name).unwrap_or(false)
            };
            let is_same = |other: &Value<'_>| {
                other.member("id").is_some_and(|known| known.spelling() == id)
                    && RULES.iter().all(|name| same(name, *other))
            };
            if !known.iter().any(is_same) {
                return self.refuse(&format!(
                    "`added_tokens_decoder.{id}` is {content:?}, which `tokenizer.json` has not, or finds in another way"
                ));
            }
        }
        Ok(())
    }

    fn check_case(&self, config: Value<'_>, file: Value<'_>) -> Result<()> {
        let Some(said) = truth(config, "do_lower_case") else { return Ok(()) };
        let does = file.member("normalizer").and_then(lower_case);
        if (said || does.is_some()) && said != does.unwrap_or(false) {
            let model = file.member("model").and_then(|model| model.member("type")?.as_text());
            return self.refuse(&format!(
                "`do_lower_case` is {said}, and the {} tokenizer of `tokenizer.json` has it otherwise",
                model.unwrap_or_default()
            ));
        }
        Ok(())
    }

    fn check_ends(&self, config: Value<'_>, pipeline: &Pipeline) -> Result<()> {
        let ids = encode_nothing(pipeline)
            .map_err(|error| Error::in_file(name_of(&self.texts.path().join(FILE)), error))?;
        let ends = [
            ("add_bos_token", "bos_token", ids.first()),
            ("add_eos_token", "eos_token", ids.last()),
        ];
        for (adds, token, end) in ends {
            let token = config.member(token).and_then(spelled);
            let Some(id) = token.and_then(|token| pipeline.id(&token)) else { continue };
            let does = end == Some(&id);
            if truth(config, adds).is_some_and(|said| said != does) {
                return self.refuse(&format!(
                    "`{adds}` is {}, and `tokenizer.json` has it otherwise",
                    !does
                ));
            }
        }
        Ok(())
    }

    fn refuse(&self, message: &str) -> Result<()> {
        let failure = Error::input(ErrorKind::UnsupportedSetting, message);
        Err(failure.at(name_of(&self.texts.path().join(CONFIG))).with_hint(
            "transformers and `tokenizers` give other ids for this folder; save the tokenizer again with `save_pretrained`",
        ))
    }
}

fn truth(object: Value<'_>, name: &str) -> Option<bool> {
    object.member(name).and_then(|value| value.as_bool())
}

/// The text of a token, which some files have as an object.
fn spelled(value: Value<'_>) -> Option<String> {
    let text = value.member("content").unwrap_or(value).as_text()?;
    Some(chars(text).collect())
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

/// The tokens around an empty text.
fn encode_nothing(pipeline: &Pipeline) -> Result<Vec<u32>, CoreError> {
    let mut session = PipelineSession::default();
    pipeline.encode("", usize::MAX, SpecialTokens::AsTokens, &mut session).map(|found| found.ids)
}
