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
use std::sync::Arc;

use nanoembed_core::describe::BertConfig;
use nanoembed_core::model::{Config, FamilyModel, read_config};
use nanoembed_core::owned::folder::{CONFIG, FolderFault};
use nanoembed_core::text::json::{self, Fault};
use nanoembed_core::{Error as CoreError, ErrorKind, limit};

use super::wordpiece::FolderTokenizer;
use crate::error::{Error, Result, name_of, passed_over};
use crate::folder::json_text::JsonText;
use crate::folder::prompts::Prompts;
use crate::folder::texts::{Allowed, FolderTexts};
use crate::pairs::{self, Pairs};

/// Sizes and habits of a BERT encoder.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub hidden: usize,
    pub layers: usize,
    pub heads: usize,
    pub intermediate: usize,
    pub positions: usize,
    pub vocabulary: usize,
    pub layer_norm_eps: f32,
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
    pub(crate) fn from_folder(
        folder: &Path,
        config: Option<&Path>,
        tokenizer: &FolderTokenizer,
        allowed: &Arc<Allowed>,
    ) -> Result<Self> {
        let usual = folder.join("config.json");
        let mut settings = Self::from_config(config.unwrap_or(&usual), allowed)?;
        settings.tokenizer(tokenizer);
        let texts = FolderTexts::with_config(folder, config).allowing(allowed);
        settings.sentence_transformer(&texts, &tokenizer.vocabulary)?;
        settings.license = license(&FolderTexts::new(folder))?;
        Ok(settings)
    }

    /// Reads the sizes from a `config.json`; everything else is what most models do.
    pub(crate) fn from_config(path: &Path, allowed: &Arc<Allowed>) -> Result<Self> {
        let FamilyModel { family, config, .. } = read_config_file(path, allowed)?;
        if family != "bert" || config.feed_forward != Config::BERT.feed_forward {
            let message = "the file is of a model whose settings this form has no words for";
            return Err(Error::input(ErrorKind::UnsupportedSetting, message)
                .at(name_of(path))
                .with_hint("name the folder that the model lies in as the source"));
        }
        Ok(Self::from_sizes(&config))
    }

    /// The settings of most models of these sizes.
    fn from_sizes(config: &Config) -> Self {
        Self {
            hidden: config.hidden,
            layers: config.layers,
            heads: config.heads.query,
            intermediate: config.intermediate,
            positions: config.positions,
            vocabulary: config.vocabulary,
            layer_norm_eps: config.epsilon,
            pooling: "mean".into(),
            normalize: true,
            do_lower_case: true,
            strip_accents: None,
            split_ideographs: true,
            max_tokens: config.positions,
            license: None,
            prompts: Prompts::default(),
            further: Vec::new(),
        }
    }

    /// The settings of an encoder in a file.
    pub fn from_bert(config: &BertConfig, prompts: Prompts) -> Self {
        Self {
            pooling: config.pooling_name().into(),
            normalize: config.normalize,
            do_lower_case: config.do_lower_case,
            strip_accents: config.strip_accents,
            split_ideographs: config.split_ideographs,
            max_tokens: config.max_tokens,
            prompts,
            ..Self::from_sizes(config)
        }
    }

    /// Takes the settings of the tokenizer's files.
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
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub(crate) fn metadata(&self) -> Result<Pairs, CoreError> {
        let mut metadata = self.own_metadata()?;
        pairs::add_all(&mut metadata, &self.further)?;
        Ok(metadata)
    }

    /// The same without the source's further metadata.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoMemory`].
    pub(crate) fn own_metadata(&self) -> Result<Pairs, CoreError> {
        let mut metadata = Pairs::new();
        let mut add = |key: &str, value: &str| pairs::add(&mut metadata, key, value);
        for (key, size) in [
            ("embedding_dim", self.hidden),
            ("vocab_size", self.vocabulary),
            ("num_layers", self.layers),
            ("num_attention_heads", self.heads),
            ("hidden_size", self.hidden),
            ("intermediate_size", self.intermediate),
            ("max_position_emb", self.positions),
            ("max_tokens", self.max_tokens),
        ] {
            add(key, &size.to_string())?;
        }
        add("layer_norm_eps", &format!("{:e}", self.layer_norm_eps))?;
        add("pooling", &self.pooling)?;
        add("normalize", &self.normalize.to_string())?;
        add("do_lower_case", &self.do_lower_case.to_string())?;
        if let Some(strip) = self.strip_accents.filter(|&strip| strip != self.do_lower_case) {
            add("strip_accents", &strip.to_string())?;
        }
        if !self.split_ideographs {
            add("split_ideographs", "false")?;
        }
        if let Some(license) = &self.license {
            add("license", license)?;
        }
        limit::extend(&mut metadata, self.prompts.metadata()?)?;
        Ok(metadata)
    }
}

/// The encoder that the `config.json` at `path` describes.
fn read_config_file(path: &Path, allowed: &Arc<Allowed>) -> Result<FamilyModel> {
    JsonText::open(path).map_err(|failure| {
        failure.with_hint("a model's folder has a `config.json` with its sizes beside the weights")
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let texts = FolderTexts::with_config(folder, Some(path)).allowing(allowed);
    texts.read(|texts| {
        let failed = |fault| FolderFault::new(CONFIG, fault);
        let text =
            texts(CONFIG).map_err(|error| failed(Fault::from_error(error)))?.unwrap_or_default();
        let value =
            json::Value::parse(&text, 0).map_err(|error| failed(Fault::from_error(error)))?;
        read_config(value).map_err(failed)
    })
}

/// The licence that a folder's model card names.
pub(crate) fn license(folder: &FolderTexts) -> Result<Option<String>> {
    let card = passed_over(folder.get("README.md"))?.flatten();
    let license = card.as_deref().and_then(license_in).map(limit::copied).transpose();
    license.map_err(|error| Error::in_file("README.md", error))
}

/// The licence that a model card's front matter names, as SPDX writes the common ones.
fn license_in(card: &str) -> Option<&str> {
    let front = card.trim_start().strip_prefix("---")?.split("\n---").next()?;
    let named = front.lines().find_map(|line| line.strip_prefix("license:"))?.trim();
    let named = named.trim_matches(['"', '\'']);
    Some(match named {
        "" => return None,
        "apache-2.0" => "Apache-2.0",
        "mit" => "MIT",
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_licence_is_read_from_the_front_matter() {
        let card = "---\nlanguage: en\nlicense: apache-2.0\ntags:\n- x\n---\n# license: none\n";
        assert_eq!(license_in(card), Some("Apache-2.0"));
        assert_eq!(license_in("# Model\nlicense: mit\n"), None);
    }
}
