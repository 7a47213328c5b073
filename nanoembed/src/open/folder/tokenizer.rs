//! The tokenizer of a folder: `tokenizer.json` as a whole, or BERT's files as transformers reads
//! them.

use std::borrow::Cow;
use std::path::Path;

use nanoembed_core::owned::folder::FolderFault;
use nanoembed_core::owned::{AddedWord, Pipeline};
use nanoembed_core::text::json::{Fault, Value};
use nanoembed_core::{Error as CoreError, ErrorKind};
use serde_json::json;

use super::texts::FolderTexts;
use crate::convert::checkpoint::wordpiece::FolderTokenizer;
use crate::error::{Error, Result, name_of};

const FILE: &str = "tokenizer.json";
const CONFIG: &str = "tokenizer_config.json";

/// Families whose tokenizer is BERT's unless the folder names another.
const BERT_FAMILIES: [&str; 2] = ["bert", "distilbert"];

/// Classes of transformers that set BERT's normaliser by `tokenizer_config.json`, without the
/// `Fast` behind some.
const BERT_CLASSES: [&str; 2] = ["BertTokenizer", "DistilBertTokenizer"];

/// Reads the tokenizer of the model in `folder`, which is one of this family.
pub(super) fn read(texts: &FolderTexts, folder: &Path, family: &str) -> Result<Pipeline> {
    let text = texts.get(FILE)?;
    let config = Config::read(texts)?;
    let is_word_pieces = text.as_deref().is_none_or(has_word_pieces);
    let class = config.class.as_deref().map(|class| class.strip_suffix("Fast").unwrap_or(class));
    let is_bert = match class {
        Some(class) => BERT_CLASSES.contains(&class),
        None => BERT_FAMILIES.contains(&family),
    };
    if is_word_pieces && (is_bert || text.is_none()) {
        return of_bert(&FolderTokenizer::read(folder)?, folder);
    }
    let Some(text) = text else {
        let missing = std::io::ErrorKind::NotFound.into();
        return Err(Error::reading(folder.join(FILE).display(), &missing).with_hint(
            "transformers writes it: `AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)`",
        ));
    };
    let pipeline =
        Pipeline::read(&text).map_err(|fault| texts.explained(&FolderFault::new(FILE, fault)))?;
    config.check(&pipeline, texts, &text)?;
    Ok(pipeline)
}

/// Whether a `tokenizer.json` is one of WordPiece, as far as it says.
fn has_word_pieces(text: &str) -> bool {
    let model = Value::parse(text, 0).ok().and_then(|file| file.member("model"));
    model.is_none_or(|model| model.member("type").is_none_or(|kind| kind.is_text("WordPiece")))
}

/// What `tokenizer_config.json` says beside `tokenizer.json`.
struct Config {
    class: Option<String>,
    lower_case: Option<bool>,
    adds: [(Option<bool>, Option<String>); 2],
    splits_special: bool,
    side: Option<String>,
}

/// Classes that put the tokens at the ends of texts by `tokenizer_config.json`.
const CLASSES_WITH_ENDS: [&str; 3] = ["LlamaTokenizer", "GemmaTokenizer", "CodeLlamaTokenizer"];

impl Config {
    fn read(texts: &FolderTexts) -> Result<Self> {
        let text = texts.get(CONFIG)?.unwrap_or_else(|| "{}".to_owned());
        let value = Value::parse(&text, 0)
            .map_err(|error| texts.explained(&FolderFault::new(CONFIG, Fault::of(error))))?;
        let spelled = |value: Value<'_>| {
            let text = value.member("content").unwrap_or(value).as_text()?;
            Some(nanoembed_core::text::json::chars(text).collect::<String>())
        };
        let truth = |name: &str| value.member(name).and_then(|value| value.as_bool());
        let text = |name: &str| value.member(name).and_then(spelled);
        let adds = [("add_bos_token", "bos_token"), ("add_eos_token", "eos_token")];
        Ok(Self {
            class: text("tokenizer_class"),
            lower_case: truth("do_lower_case"),
            adds: adds.map(|(adds, token)| (truth(adds), text(token))),
            splits_special: truth("split_special_tokens").unwrap_or(false),
            side: text("truncation_side"),
        })
    }

    /// Refuses what transformers would do otherwise than `tokenizer.json` says.
    fn check(&self, pipeline: &Pipeline, texts: &FolderTexts, file: &str) -> Result<()> {
        let refuse = |message: &str| {
            let failure = Error::input(ErrorKind::UnsupportedSetting, message);
            Err(failure.at(name_of(&texts.path().join(CONFIG))))
        };
        if self.splits_special {
            return refuse("`split_special_tokens` is true; only false is honoured");
        }
        if self.side.as_deref().is_some_and(|side| side != "right") {
            return refuse("`truncation_side` is not \"right\", which is the only one honoured");
        }
        let class = self.class.as_deref().unwrap_or_default();
        let is_general = matches!(class, "" | "PreTrainedTokenizerFast" | "TokenizersBackend");
        let file = Value::parse(file, 0).ok();
        let lower_case = file.and_then(|file| lower_case(file.member("normalizer")?));
        if let (Some(said), false) = (self.lower_case, is_general)
            && (said || lower_case.is_some())
            && said != lower_case.unwrap_or(false)
        {
            let model = file.and_then(|file| file.member("model")?.member("type")?.as_text());
            return refuse(&format!(
                "`do_lower_case` is {said}, and the {} tokenizer of `tokenizer.json` has it otherwise",
                model.unwrap_or_default()
            ));
        }
        let class = class.strip_suffix("Fast").unwrap_or(class);
        if CLASSES_WITH_ENDS.contains(&class) {
            let ids = encode_nothing(pipeline)
                .map_err(|error| Error::in_file(name_of(&texts.path().join(FILE)), error))?;
            let ends = [ids.first(), ids.last()];
            for ((name, (adds, token)), end) in
                ["add_bos_token", "add_eos_token"].iter().zip(&self.adds).zip(ends)
            {
                let id = token.as_deref().and_then(|token| pipeline.id(token));
                let has = id.is_some() && end.copied() == id;
                if adds.is_some_and(|adds| adds != has && id.is_some()) {
                    return refuse(&format!(
                        "`{name}` is {} where `tokenizer.json` has it otherwise",
                        !has
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Whether a normaliser makes letters lower case, as far as it says.
fn lower_case(normalizer: Value<'_>) -> Option<bool> {
    if normalizer.member("type").is_some_and(|kind| kind.is_text("Lowercase")) {
        return Some(true);
    }
    let own = normalizer.member("lowercase").and_then(|lower| lower.as_bool());
    own.or_else(|| normalizer.member("normalizers")?.items().find_map(lower_case))
}

/// The tokens around an empty text.
fn encode_nothing(pipeline: &Pipeline) -> Result<Vec<u32>, CoreError> {
    use nanoembed_core::owned::PipelineSession;
    use nanoembed_core::token::SpecialTokens;
    let mut session = PipelineSession::default();
    pipeline.encode("", usize::MAX, SpecialTokens::AsTokens, &mut session).map(|found| found.ids)
}

/// BERT's tokenizer as a pipeline.
fn of_bert(tokenizer: &FolderTokenizer, folder: &Path) -> Result<Pipeline> {
    let FolderTokenizer { vocabulary, lower_case, strip_accents, split_ideographs, .. } = tokenizer;
    let spelled = |id: &u32| {
        let token = usize::try_from(*id).ok().and_then(|at| vocabulary.tokens.get(at));
        token.map(|token| String::from_utf8_lossy(token).into_owned()).unwrap_or_default()
    };
    let [_, unknown, classify, separate, _] = &vocabulary.special;
    let special =
        |id: &u32, type_id: u32| json!({"SpecialToken": {"id": spelled(id), "type_id": type_id}});
    let text = |name: &str, type_id: u32| json!({"Sequence": {"id": name, "type_id": type_id}});
    let named = |id: &u32| {
        let token = spelled(id);
        (token.clone(), json!({"id": token, "ids": [id], "tokens": [token]}))
    };
    let special_tokens: serde_json::Map<_, _> =
        [classify, separate].map(named).into_iter().collect();
    let mut added: Vec<serde_json::Value> = vocabulary
        .special
        .iter()
        .map(|id| json!({"id": id, "content": spelled(id), "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}))
        .collect();
    added.extend(vocabulary.added.iter().map(|word: &AddedWord| {
        json!({
            "id": word.id,
            "content": word.spelling,
            "single_word": word.rules.single_word,
            "lstrip": word.rules.strips_before,
            "rstrip": word.rules.strips_behind,
            "normalized": word.normalized,
            "special": false,
        })
    }));
    let settings = json!({
        "version": "1.0",
        "added_tokens": added,
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": true,
            "handle_chinese_chars": split_ideographs,
            "strip_accents": strip_accents,
            "lowercase": lower_case,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [special(classify, 0), text("A", 0), special(separate, 0)],
            "pair": [
                special(classify, 0), text("A", 0), special(separate, 0),
                text("B", 1), special(separate, 1),
            ],
            "special_tokens": special_tokens,
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {
            "type": "WordPiece",
            "unk_token": spelled(unknown),
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {"ids": vocabulary.tokens.len(), "count": vocabulary.tokens.len()},
        },
    });
    let tokens: Vec<Cow<'_, str>> =
        vocabulary.tokens.iter().map(|token| String::from_utf8_lossy(token)).collect();
    let tokens: Vec<&str> = tokens.iter().map(|token| &**token).collect();
    Pipeline::from_parts(&settings.to_string(), &tokens, None, &[])
        .map_err(|fault| Error::in_file(name_of(folder), fault.error))
}
