//! What sentence-transformers puts behind an encoder: `modules.json` and the files that it names.
//!
//! `do_lower_case` of `sentence_bert_config.json` is about another lower-casing, before the
//! tokenizer's own: true there means lower case, false nothing.

use std::path::Path;

use nanoembed_core::ErrorKind;
use serde_json::json;

use super::settings::{Settings, read_json};
use super::vocabulary::Vocabulary;
use crate::error::{Error, Result, name_of};
use crate::open::settings_rule::{Members, irrelevant};

/// The names that the settings of an encoder's module have had.
const ENCODER_SETTINGS: [&str; 7] = [
    "sentence_bert_config.json",
    "sentence_roberta_config.json",
    "sentence_distilbert_config.json",
    "sentence_camembert_config.json",
    "sentence_albert_config.json",
    "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
];

/// The mean times the root of the length, whose direction is the mean's.
const MEAN_BY_ROOT: &str = "mean_sqrt_len_tokens";

impl Settings {
    pub(super) fn sentence_transformer(
        &mut self,
        folder: &Path,
        vocabulary: &Vocabulary,
    ) -> Result<()> {
        for name in ENCODER_SETTINGS {
            let path = folder.join(name);
            if let Some(value) = read_json(&path)? {
                self.encoder_module(&Members::new(&value, name_of(&path))?, vocabulary)?;
                break;
            }
        }
        self.modules(folder)?;
        self.prompts.read_folder(folder)
    }

    fn encoder_module(&mut self, module: &Members<'_>, vocabulary: &Vocabulary) -> Result<()> {
        self.limit(module.get("max_seq_length").and_then(serde_json::Value::as_u64));
        if module.truth("do_lower_case")? == Some(true) {
            if vocabulary.added.iter().any(|word| !word.normalized) {
                let only = "only false is done for a vocabulary with added special tokens";
                return Err(module.unsupported("do_lower_case", only));
            }
            // Accents are the tokenizer's, which knows nothing of this.
            self.strip_accents = Some(self.strip_accents.unwrap_or(self.do_lower_case));
            self.do_lower_case = true;
        }
        module.neutral("transformer_task", &[json!("feature-extraction")])?;
        for name in ["tokenizer_args", "config_args", "processor_kwargs", "config_kwargs"] {
            module.neutral(name, &[json!({})])?;
        }
        module.finish(irrelevant::SENTENCE_BERT)
    }

    fn modules(&mut self, folder: &Path) -> Result<()> {
        let path = folder.join("modules.json");
        let Some(modules) = read_json(&path)? else {
            return self.pooling(&folder.join("1_Pooling"));
        };
        let refuse = |message: String| {
            Err(Error::input(ErrorKind::UnsupportedSetting, message).at(name_of(&path)))
        };
        self.normalize = false;
        let mut seen: Vec<String> = Vec::new();
        for (at, module) in modules.as_array().into_iter().flatten().enumerate() {
            let module = Members::new(module, format!("{}: module {at}", name_of(&path)))?;
            let kind = module.text("type")?.unwrap_or_default();
            let kind = kind.rsplit('.').next().unwrap_or_default().to_owned();
            let place = module.text("path")?.unwrap_or_default();
            let before: Vec<&str> = seen.iter().map(String::as_str).collect();
            match (kind.as_str(), before.as_slice()) {
                ("Transformer", []) if place.is_empty() => {}
                ("Transformer", []) => {
                    return refuse(format!(
                        "the encoder lies in {place:?}; only a folder with the encoder beside `modules.json` is read"
                    ));
                }
                ("Pooling", ["Transformer"]) => self.pooling(&folder.join(place))?,
                ("Normalize", ["Transformer", "Pooling", ..]) => self.normalize = true,
                // It does nothing but in training.
                ("Dropout", ["Transformer", ..]) => continue,
                ("Transformer" | "Pooling" | "Normalize", _) => {
                    return refuse(format!("the module {kind:?} stands in an unusual place"));
                }
                (other, _) => {
                    return refuse(format!(
                        "the model has a {other:?} module, which is not known here"
                    ));
                }
            }
            module.finish(irrelevant::MODULE)?;
            seen.push(kind);
        }
        if !seen.iter().any(|kind| kind == "Pooling") {
            return refuse("the model has no module that pools, so no embedding of a text".into());
        }
        if self.pooling == MEAN_BY_ROOT {
            if !self.normalize {
                return refuse(format!("pooling by {MEAN_BY_ROOT} is done only before Normalize"));
            }
            self.pooling = "mean".into();
        }
        Ok(())
    }

    fn pooling(&mut self, folder: &Path) -> Result<()> {
        let path = folder.join("config.json");
        let Some(value) = read_json(&path)? else { return Ok(()) };
        let config = Members::new(&value, name_of(&path))?;
        let mut set: Vec<&str> = Vec::new();
        for mode in [
            "cls_token",
            "mean_tokens",
            "max_tokens",
            MEAN_BY_ROOT,
            "weightedmean_tokens",
            "lasttoken",
        ] {
            if config.truth(&format!("pooling_mode_{mode}"))?.unwrap_or(false) {
                set.push(mode);
            }
        }
        // Newer configurations name the mode instead.
        let named = config.get("pooling_mode");
        match named {
            Some(serde_json::Value::Array(modes)) => {
                set = modes.iter().filter_map(serde_json::Value::as_str).collect();
            }
            Some(mode) => set = mode.as_str().into_iter().collect(),
            None => {}
        }
        self.pooling = match set.as_slice() {
            ["mean_tokens" | "mean"] => "mean".into(),
            ["cls_token" | "cls"] => "cls".into(),
            [MEAN_BY_ROOT] => MEAN_BY_ROOT.into(),
            other => {
                let modes =
                    if other.is_empty() { "nothing".to_owned() } else { other.join(" and ") };
                return Err(Error::input(
                    ErrorKind::UnsupportedSetting,
                    format!("pooling by {modes} is not known; only by mean_tokens or cls_token"),
                )
                .at(name_of(&path)));
            }
        };
        self.prompts.set_pooled(config.truth("include_prompt")?.unwrap_or(true));
        config.finish(irrelevant::POOLING)
    }
}
