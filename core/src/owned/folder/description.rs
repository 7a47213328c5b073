//! What the texts of a folder say of the model in it.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{
    Base, EncoderSettings, FolderFault, FolderResult, Modules, Prompts, TableSettings, Texts, json,
    refuse_adapter, tokenizer_limit,
};
use crate::error::{Error, ErrorKind};
use crate::model::masked::refuse_masked;
use crate::model::{FamilyModel, read_config};
use crate::text::json::{Fault, Value, chars};

const CONFIG: &str = "config.json";

/// A model that embeds texts or compares them, as the texts of its folder describe it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FolderModel {
    /// What stands behind the transformer, if a file says it.
    pub modules: Option<Modules>,
    /// What the model itself is.
    pub described: Described,
    /// The settings of the encoder's module.
    pub settings: EncoderSettings,
    /// `model_max_length` of the tokenizer.
    pub tokenizer_limit: Option<u64>,
}

/// What a model is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Described {
    /// An encoder.
    Transformer(Box<FamilyModel>),
    /// A table with a vector for each token.
    Table(TableSettings),
}

impl FolderModel {
    /// Reads `modules.json`, `config.json` and what says how many tokens are used.
    ///
    /// # Errors
    ///
    /// What is wrong with a file; [`ErrorKind::MissingMetadata`] without `config.json`;
    /// [`ErrorKind::UnsupportedSetting`] for a model that fills gaps in texts without
    /// `modules.json`, and for an adapter beside the weights.
    pub fn read(texts: Texts<'_, '_>) -> FolderResult<Self> {
        let modules = Modules::read(texts)?;
        let folder = modules.as_ref().map(|modules| &*modules.folder).unwrap_or_default();
        let described = described(texts, &[folder, CONFIG].concat(), modules.as_ref())?;
        let settings = EncoderSettings::read(texts, folder)?;
        let tokenizer_limit = tokenizer_limit(texts, folder)?;
        let is_table = matches!(described, Described::Table(_));
        if !is_table {
            refuse_adapter(texts, folder)?;
        }
        let modules = modules.filter(|modules| !(is_table && modules.are_assumed));
        Ok(Self { modules, described, settings, tokenizer_limit })
    }

    /// The folder of the model itself: empty, or ending with `/`.
    #[must_use]
    pub fn folder(&self) -> &str {
        self.modules.as_ref().map(|modules| &*modules.folder).unwrap_or_default()
    }

    /// The name of the model's family; empty for a table.
    #[must_use]
    pub const fn family(&self) -> &'static str {
        match &self.described {
            Described::Transformer(model) => model.family,
            Described::Table(_) => "",
        }
    }

    /// Whether the model compares two texts and embeds none.
    #[must_use]
    pub const fn compares(&self) -> bool {
        match &self.described {
            Described::Transformer(model) => {
                let lists_modules = matches!(&self.modules, Some(modules) if !modules.are_assumed);
                model.classifier.is_some() && !lists_modules
            }
            Described::Table(_) => false,
        }
    }

    /// Whether the model compares two texts and is told which of them a token is of.
    #[must_use]
    pub const fn compares_by_types(&self) -> bool {
        match &self.described {
            Described::Transformer(model) => self.compares() && model.config.embedding.token_types,
            Described::Table(_) => false,
        }
    }

    /// Whether the tokens of a prompt count in pooling.
    #[must_use]
    pub fn pools_prompt(&self) -> bool {
        let pooling = self.modules.as_ref().and_then(|modules| modules.pooling.as_ref());
        !pooling.is_some_and(|pooling| pooling.leaves_out_prompt)
    }

    /// The prompts that the folder has.
    ///
    /// # Errors
    ///
    /// What is wrong with the text.
    pub fn prompts(&self, texts: Texts<'_, '_>) -> FolderResult<Prompts> {
        let prompts = Prompts::read(texts)?;
        Ok(Prompts { are_pooled: self.pools_prompt(), ..prompts })
    }

    /// What `id2label` calls the classes of a model.
    ///
    /// # Errors
    ///
    /// What is wrong with the file.
    pub fn labels(&self, texts: Texts<'_, '_>) -> FolderResult<Labels> {
        let labels = json(texts, &[self.folder(), CONFIG].concat(), |config| {
            let mut by_id = BTreeMap::new();
            for (id, name) in config.member("id2label").iter().flat_map(Value::members) {
                if let (Ok(id), Some(name)) = (id.parse(), name.as_text()) {
                    by_id.insert(id, chars(name).collect());
                }
            }
            Ok(Labels(by_id))
        })?;
        Ok(labels.unwrap_or_default())
    }
}

/// The names of classes by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(BTreeMap<u32, String>);

impl Labels {
    /// The names of so many classes; `LABEL_0` and so on for those without one.
    #[must_use]
    pub fn first(&self, count: usize) -> Vec<String> {
        let named = |id: u32| self.0.get(&id).cloned().unwrap_or_else(|| format!("LABEL_{id}"));
        (0..).take(count).map(named).collect()
    }
}

fn described(
    texts: Texts<'_, '_>,
    path: &str,
    modules: Option<&Modules>,
) -> FolderResult<Described> {
    let is_table = modules.is_some_and(|modules| modules.base == Base::Table);
    let listed = modules.filter(|modules| !modules.are_assumed).map(|modules| modules.normalize);
    let read = json(texts, path, |config| {
        let fault = |fault: Fault<'_>| FolderFault::new(path, fault);
        if is_table || TableSettings::are_in(config) {
            return TableSettings::read(config, listed).map(Described::Table).map_err(fault);
        }
        if modules.is_none_or(|modules| modules.are_assumed) {
            refuse_masked(config).map_err(fault)?;
        }
        let model = read_config(config).map_err(fault)?;
        Ok(Described::Transformer(Box::new(model)))
    })?;
    match read {
        Some(described) => Ok(described),
        None if is_table => {
            let normalize = listed.unwrap_or(false);
            Ok(Described::Table(TableSettings::without_config(normalize)))
        }
        None => {
            let missing = Error::without_offset(ErrorKind::MissingMetadata);
            Err(FolderFault::new(path, Fault::of(missing)))
        }
    }
}
