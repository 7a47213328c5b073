//! A model's sizes and habits, from the JSON files of a Hugging Face folder.
//!
//! | setting | from |
//! |---|---|
//! | sizes, `layer_norm_eps` | `config.json` |
//! | lower-casing, accents, ideographs | the tokenizer's files, see `wordpiece` |
//! | `max_tokens` | `sentence_bert_config.json`, else `tokenizer_config.json`, at most the positions |
//! | pooling, normalisation | `modules.json` and its modules' files, see `sentence_transformer` |
//! | prompts | `config_sentence_transformers.json` |
//! | licence | the front matter of `README.md` |

use std::path::Path;

use nanoembed_core::ErrorKind;
use nanoembed_core::limit::Limit;
use serde_json::{Value, json};

use super::wordpiece::FolderTokenizer;
use crate::error::{Error, Result, name_of};
use crate::limits;
use crate::open::folder::texts::FolderTexts;
use crate::open::prompts::Prompts;
use crate::open::settings_rule::{Members, irrelevant};

/// Sizes and habits of a BERT encoder.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub hidden: usize,
    pub layers: usize,
    pub heads: usize,
    pub intermediate: usize,
    pub positions: usize,
    pub vocabulary: usize,
    pub layer_norm_eps: f64,
    pub pooling: String,
    pub normalize: bool,
    pub do_lower_case: bool,
    /// `None` does as lower-casing does.
    pub strip_accents: Option<bool>,
    pub split_ideographs: bool,
    pub max_tokens: usize,
    pub license: Option<String>,
    pub prompts: Prompts,
    /// Metadata of the source beyond these, in its order.
    pub further: Vec<(String, String)>,
}

impl Settings {
    /// Reads the settings of the model in `folder`, whose tokenizer's files have been read.
    pub fn of_folder(
        folder: &Path,
        config: Option<&Path>,
        tokenizer: &FolderTokenizer,
    ) -> Result<Self> {
        let usual = folder.join("config.json");
        let mut settings = Self::of_config(config.unwrap_or(&usual))?;
        settings.tokenizer(tokenizer);
        let texts = FolderTexts::with_config(folder, config);
        settings.sentence_transformer(&texts, &tokenizer.vocabulary)?;
        settings.license = crate::files::whole_file::read_text(&folder.join("README.md"))
            .ok()
            .and_then(|card| license_in(&card));
        Ok(settings)
    }

    /// Reads the sizes from a `config.json`; everything else is what most models do.
    pub fn of_config(path: &Path) -> Result<Self> {
        let config = read_json(path)?.ok_or_else(|| {
            Error::reading(path.display(), &std::io::ErrorKind::NotFound.into())
                .with_hint("a model's folder has a `config.json` with its sizes beside the weights")
        })?;
        let config = Members::new(&config, name_of(path))?;
        let within = |name: &str, limit: Limit| {
            let value = config.get(name).and_then(Value::as_u64).filter(|&size| size > 0);
            let bad = || config.bad(name, "is missing or not a positive number");
            limits::size(limit, name, value.ok_or_else(bad)?).map_err(|it| it.at(name_of(path)))
        };
        let size = |name: &str| within(name, Limit::SIZE);
        config.neutral("model_type", &[json!("bert")])?;
        config.neutral("hidden_act", &[json!("gelu"), json!("gelu_python")])?;
        config.neutral("position_embedding_type", &[json!("absolute")])?;
        refuse_what_other_models_do(&config)?;
        let positions = size("max_position_embeddings")?;
        let settings = Self {
            hidden: size("hidden_size")?,
            layers: within("num_hidden_layers", Limit::LAYERS)?,
            heads: size("num_attention_heads")?,
            intermediate: size("intermediate_size")?,
            positions,
            vocabulary: size("vocab_size")?,
            layer_norm_eps: config.number("layer_norm_eps")?.unwrap_or(1e-12),
            pooling: "mean".into(),
            normalize: true,
            do_lower_case: true,
            strip_accents: None,
            split_ideographs: true,
            max_tokens: positions,
            license: None,
            prompts: Prompts::default(),
            further: Vec::new(),
        };
        config.finish(irrelevant::CONFIG)?;
        Ok(settings)
    }

    /// Takes what the tokenizer's files say.
    fn tokenizer(&mut self, tokenizer: &FolderTokenizer) {
        self.do_lower_case = tokenizer.lower_case;
        self.strip_accents = tokenizer.strip_accents;
        self.split_ideographs = tokenizer.split_ideographs;
        self.limit(tokenizer.max_tokens);
    }

    pub(super) fn limit(&mut self, limit: Option<u64>) {
        // Some tokenizers say 1e30 for "no limit".
        let limit = limit.and_then(|limit| usize::try_from(limit).ok());
        if let Some(limit) = limit.filter(|&limit| limit > 0) {
            self.max_tokens = limit.min(self.positions);
        }
    }

    /// The metadata of a `.weights` file: the keys that the specification requires and those that
    /// this project adds.
    pub fn metadata(&self) -> Vec<(String, String)> {
        let mut metadata: Vec<(String, String)> = [
            ("embedding_dim", self.hidden),
            ("vocab_size", self.vocabulary),
            ("num_layers", self.layers),
            ("num_attention_heads", self.heads),
            ("hidden_size", self.hidden),
            ("intermediate_size", self.intermediate),
            ("max_position_emb", self.positions),
            ("max_tokens", self.max_tokens),
        ]
        .map(|(key, size)| (key.to_owned(), size.to_string()))
        .into();
        let mut add = |key: &str, value: String| metadata.push((key.to_owned(), value));
        add("layer_norm_eps", format!("{:e}", self.layer_norm_eps));
        add("pooling", self.pooling.clone());
        add("normalize", self.normalize.to_string());
        add("do_lower_case", self.do_lower_case.to_string());
        if let Some(strip) = self.strip_accents.filter(|&strip| strip != self.do_lower_case) {
            add("strip_accents", strip.to_string());
        }
        if !self.split_ideographs {
            add("split_ideographs", "false".into());
        }
        if let Some(license) = &self.license {
            add("license", license.clone());
        }
        metadata.extend(self.prompts.metadata());
        metadata.extend(self.further.iter().cloned());
        metadata
    }
}

/// Refuses what BERT's `config.json` may ask for and no encoder here does; the values of most files
/// change nothing.
fn refuse_what_other_models_do(config: &Members<'_>) -> Result<()> {
    let off = [json!(false)];
    for name in ["is_decoder", "add_cross_attention", "is_encoder_decoder", "tie_encoder_decoder"] {
        config.neutral(name, &off)?;
    }
    // The table's first row is added to every token; how many rows it has is in its shape.
    config.get("type_vocab_size");
    // Of masked language models' heads, which an encoder has no use for.
    config.get("tie_word_embeddings");
    config.get("bos_token_id");
    config.get("eos_token_id");
    config.neutral("directionality", &[json!("bidi")])?;
    config.neutral("pruned_heads", &[json!({})])?;
    config.neutral("layer_types", &[])?;
    config.neutral("cross_attention_hidden_size", &[])?;
    config.neutral("quantization_config", &[])?;
    config.neutral("auto_map", &[])
}

/// A JSON file; `None` if there is none.
pub fn read_json(path: &Path) -> Result<Option<Value>> {
    let text = match crate::files::whole_file::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::reading(name_of(path), &error)),
    };
    serde_json::from_slice(&text).map(Some).map_err(|error| {
        Error::input(ErrorKind::BadMetadata, format!("not valid JSON: {error}")).at(path.display())
    })
}

/// The licence that a model card's front matter names, as SPDX writes the common ones.
pub(crate) fn license_in(card: &str) -> Option<String> {
    let front = card.trim_start().strip_prefix("---")?.split("\n---").next()?;
    let named = front.lines().find_map(|line| line.strip_prefix("license:"))?.trim();
    let named = named.trim_matches(['"', '\'']);
    Some(match named {
        "" => return None,
        "apache-2.0" => "Apache-2.0".into(),
        "mit" => "MIT".into(),
        other => other.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_licence_is_read_from_the_front_matter() {
        let card = "---\nlanguage: en\nlicense: apache-2.0\ntags:\n- x\n---\n# license: none\n";
        assert_eq!(license_in(card).as_deref(), Some("Apache-2.0"));
        assert_eq!(license_in("# Model\nlicense: mit\n"), None);
    }
}
