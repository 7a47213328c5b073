//! `modules.json`: what stands behind the transformer, as sentence-transformers writes it. Without
//! it, the pooling alone may be there.
//!
//! The types have been spelled three ways: `sentence_transformers.models.Pooling`, since version 6
//! `sentence_transformers.sentence_transformer.modules.pooling.Pooling`, and bare.

use alloc::string::String;
use alloc::vec::Vec;

use super::{FolderFault, FolderResult, Texts, json, object};
use crate::error::{Error, ErrorKind};
use crate::model::dense::DenseSettings;
use crate::model::module::{MOST_MODULES, Module, ModuleKind, check_normalize};
use crate::model::pooling::PoolingSettings;
use crate::model::{DenseActivation, Way};
use crate::text::json::{Fault, Kind, Object, Read, Value, chars};
use crate::text::path::stays_within;

const FILE: &str = "modules.json";

/// Where the pooling is where nothing says where it is.
const USUAL_POOLING: &str = "1_Pooling/";

/// The settings of a module, in its folder.
const CONFIG: &str = "config.json";

/// The modules of a model, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Modules {
    /// Whether `modules.json` is missing, and these are what most models have.
    pub are_assumed: bool,
    /// What the first module is.
    pub base: Base,
    /// The folder of the first module: empty, or ending with `/`.
    pub folder: String,
    /// How the tokens' vectors become one.
    pub pooling: Option<PoolingModule>,
    /// Dense layers behind the pooling.
    pub dense: Vec<DenseModule>,
    /// Whether the result is brought to length 1.
    pub normalize: bool,
}

/// What makes vectors of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Base {
    /// A transformer.
    #[default]
    Transformer,
    /// A table with a row for each token.
    Table,
}

/// How the tokens' vectors become one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolingModule {
    /// One way, or several whose results stand one behind the other.
    pub ways: Vec<Way>,
    /// Whether the tokens of a prompt are left out.
    pub leaves_out_prompt: bool,
}

/// A dense layer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DenseModule {
    /// Its folder, ending with `/`: the weights are in `model.safetensors` there, as
    /// `linear.weight` and `linear.bias`.
    pub folder: String,
    /// Elements of its input.
    pub inputs: usize,
    /// Elements of its output.
    pub outputs: usize,
    /// Whether it has a bias.
    pub bias: bool,
    /// What is applied to its output.
    pub activation: DenseActivation,
}

impl Modules {
    /// Reads `modules.json`. Without it, `1_Pooling/config.json` says how a transformer's tokens are
    /// pooled, at length 1; `None` if the folder has neither.
    ///
    /// # Errors
    ///
    /// What is wrong with a file; modules and settings that are not known are refused by name.
    pub fn read(texts: Texts<'_, '_>) -> FolderResult<Option<Self>> {
        if let Some(listed) = json(texts, FILE, |list| Self::of(texts, list))? {
            return Ok(Some(listed));
        }
        let pooling = PoolingModule::find(texts, USUAL_POOLING)?;
        Ok(pooling.map(|pooling| Self {
            are_assumed: true,
            pooling: Some(pooling),
            normalize: true,
            ..Self::default()
        }))
    }

    /// The folders of all modules, each with `/` at its end; that of the pooling where nothing lists
    /// the modules. What lies in the model's folder itself has none.
    ///
    /// # Errors
    ///
    /// What is wrong with `modules.json`.
    pub fn folders(texts: Texts<'_, '_>) -> FolderResult<Vec<String>> {
        let listed = json(texts, FILE, |list| {
            check_list(list)?;
            list.items().map(|item| folder_of(&module(item)?).map_err(in_list)).collect()
        })?;
        let mut folders: Vec<String> = listed.unwrap_or_else(|| [USUAL_POOLING.into()].into());
        folders.retain(|folder| !folder.is_empty());
        Ok(folders)
    }

    fn of(texts: Texts<'_, '_>, list: Value<'_>) -> FolderResult<Self> {
        check_list(list)?;
        let mut modules = Self::default();
        let mut last = None;
        for item in list.items() {
            last = modules.add(texts, module(item)?, last)?;
        }
        let is_whole = modules.pooling.is_some() || modules.base == Base::Table;
        if last.is_none() || !is_whole {
            let only = "a model without a module that pools makes no embedding of a text";
            return Err(wrong_list(list, ErrorKind::UnsupportedSetting, only));
        }
        Ok(modules)
    }

    /// Adds a module behind those before, of which `last` is the last one; answers which is now.
    fn add(
        &mut self,
        texts: Texts<'_, '_>,
        module: Module<'_>,
        last: Option<ModuleKind>,
    ) -> FolderResult<Option<ModuleKind>> {
        use ModuleKind as K;
        let folder = folder_of(&module).map_err(in_list)?;
        let Module { kind, value, .. } = module;
        if !kind.may_follow(last) {
            let error = Error::new(value.offset(), ErrorKind::UnsupportedSetting);
            let only = "the module stands in an unusual place";
            return Err(in_list(Fault { error, key: "type", only }));
        }
        match kind {
            K::Transformer => self.folder = folder,
            K::Table => (self.base, self.folder) = (Base::Table, folder),
            K::Pooling => self.pooling = Some(PoolingModule::read(texts, &folder)?),
            K::Dense => self.dense.push(DenseModule::read(texts, folder)?),
            K::Normalize => {
                let path = [&*folder, CONFIG].concat();
                object(texts, &path, |config| {
                    check_normalize(config).map_err(|fault| FolderFault::new(&path, fault))
                })?;
                self.normalize = true;
            }
            // It does nothing but in training.
            K::Dropout => return Ok(last),
        }
        Ok(Some(kind))
    }
}

/// What is wrong with `modules.json`.
fn in_list(fault: Fault<'_>) -> FolderFault {
    FolderFault::new(FILE, fault)
}

/// What is wrong with the list as a whole.
fn wrong_list(list: Value<'_>, kind: ErrorKind, only: &'static str) -> FolderFault {
    in_list(Fault { error: Error::new(list.offset(), kind), key: "", only })
}

fn check_list(list: Value<'_>) -> FolderResult<()> {
    if list.kind() != Kind::BeginArray {
        return Err(wrong_list(list, ErrorKind::BadMetadata, "a list of modules is needed"));
    }
    if list.items().count() > MOST_MODULES {
        return Err(wrong_list(list, ErrorKind::OverLimit, "no model has as many modules"));
    }
    Ok(())
}

fn module<'t>(item: Value<'t>) -> FolderResult<Module<'t>> {
    Object::new(item).and_then(|module| Module::read(&module)).map_err(in_list)
}

/// A path within the folder, as it stands before the names of files: empty, or ending with `/`.
fn folder_of<'t>(module: &Module<'t>) -> Read<'t, String> {
    let mut folder: String = chars(module.path).collect();
    while folder.ends_with('/') {
        folder.pop();
    }
    if !stays_within(&folder) {
        let error = module.value.member("path").map_or(module.value, |path| path).bad();
        return Err(Fault { error, key: "path", only: "a path within the folder is needed" });
    }
    if folder == "." {
        folder.clear();
    }
    if !folder.is_empty() {
        folder.push('/');
    }
    Ok(folder)
}

/// What is wrong where a module that is listed has no settings.
fn no_config(path: &str) -> FolderFault {
    FolderFault::new(path, Fault::of(Error::new(0, ErrorKind::MissingMetadata)))
}

impl PoolingModule {
    /// The module in `folder`.
    fn read(texts: Texts<'_, '_>, folder: &str) -> FolderResult<Self> {
        Self::find(texts, folder)?.ok_or_else(|| no_config(&[folder, CONFIG].concat()))
    }

    /// The module in `folder`, if it has a configuration.
    fn find(texts: Texts<'_, '_>, folder: &str) -> FolderResult<Option<Self>> {
        let path = [folder, CONFIG].concat();
        object(texts, &path, |config| {
            Self::of(config).map_err(|fault| FolderFault::new(&path, fault))
        })
    }

    fn of<'t>(config: &Object<'t>) -> Read<'t, Self> {
        PoolingSettings::read(config).map(Self::from)
    }
}

impl From<PoolingSettings> for PoolingModule {
    fn from(PoolingSettings { ways, leaves_out_prompt }: PoolingSettings) -> Self {
        Self { ways: ways.iter().collect(), leaves_out_prompt }
    }
}

impl DenseModule {
    fn read(texts: Texts<'_, '_>, folder: String) -> FolderResult<Self> {
        let path = [&*folder, CONFIG].concat();
        let fault = |fault: Fault<'_>| FolderFault::new(&path, fault);
        let read = object(texts, &path, |config| Self::of(config, folder.clone()).map_err(fault))?;
        read.ok_or_else(|| no_config(&path))
    }

    fn of<'t>(config: &Object<'t>, folder: String) -> Read<'t, Self> {
        let DenseSettings { inputs, outputs, bias, activation } = DenseSettings::read(config)?;
        Ok(Self { folder, inputs, outputs, bias, activation })
    }
}

#[cfg(test)]
mod tests {
    use alloc::borrow::Cow;

    use super::*;

    const LIST: &str = r#"[
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.sentence_transformer.modules.pooling.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Dense/", "type": "Dense"},
        {"idx": 3, "name": "3", "path": "3_Normalize", "type": "sentence_transformers.models.Normalize"}]"#;
    const DENSE: &str = r#"{"in_features": 48, "out_features": 40, "bias": false, "activation_function": "torch.nn.modules.linear.Identity"}"#;

    fn read(files: &[(&str, &str)]) -> FolderResult<Option<Modules>> {
        let find = |path: &str| {
            let found = files.iter().find(|(known, _)| *known == path);
            Ok(found.map(|(_, text)| Cow::Borrowed(*text)))
        };
        Modules::read(&find)
    }

    fn pooling(config: &str) -> FolderResult<Vec<Way>> {
        let files =
            [(FILE, LIST), ("1_Pooling/config.json", config), ("2_Dense/config.json", DENSE)];
        read(&files).map(|modules| modules.unwrap().pooling.unwrap().ways)
    }

    #[test]
    fn modules_of_every_spelling_are_read_in_order() {
        let mean = r#"{"pooling_mode_mean_tokens": true}"#;
        let files = [(FILE, LIST), ("1_Pooling/config.json", mean), ("2_Dense/config.json", DENSE)];
        let modules = read(&files).unwrap().unwrap();
        assert_eq!((modules.base, modules.normalize), (Base::Transformer, true));
        assert_eq!(modules.pooling.unwrap().ways, [Way::Mean]);
        let dense = &modules.dense[0];
        assert_eq!((&*dense.folder, dense.inputs, dense.outputs), ("2_Dense/", 48, 40));
        assert_eq!((dense.bias, dense.activation), (false, DenseActivation::Identity));
        assert!(!modules.are_assumed);
        assert_eq!(read(&[]).unwrap(), None);
    }

    #[test]
    fn modules_lie_where_the_list_says_or_where_they_usually_do() {
        let folders = |list: Option<&'static str>| {
            let find = |path: &str| Ok(list.filter(|_| path == FILE).map(Cow::Borrowed));
            Modules::folders(&find)
        };
        assert_eq!(folders(Some(LIST)).unwrap(), ["1_Pooling/", "2_Dense/", "3_Normalize/"]);
        assert_eq!(folders(None).unwrap(), ["1_Pooling/"]);
        assert_eq!(folders(Some("{}")).unwrap_err().file, FILE);
        let outside = r#"[{"type": "Normalize", "path": "../x"}]"#;
        assert_eq!(folders(Some(outside)).unwrap_err().key, "path");
    }

    #[test]
    fn without_a_list_the_usual_place_says_how_tokens_are_pooled() {
        let config = r#"{"pooling_mode_cls_token": true, "include_prompt": false}"#;
        let modules = read(&[("1_Pooling/config.json", config)]).unwrap().unwrap();
        assert_eq!((modules.are_assumed, modules.normalize), (true, true));
        assert_eq!((modules.base, &*modules.folder), (Base::Transformer, ""));
        let pooling = modules.pooling.unwrap();
        assert_eq!((&*pooling.ways, pooling.leaves_out_prompt), (&[Way::First][..], true));
        let fault = read(&[("1_Pooling/config.json", "{}")]).unwrap_err();
        assert_eq!(&*fault.file, "1_Pooling/config.json");
    }

    #[test]
    fn ways_of_pooling_have_two_spellings_and_stand_as_listed() {
        use Way::{First, Last, Max, Mean, MeanByRoot, WeightedMean};
        let old = r#"{"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true, "pooling_mode_max_tokens": false}"#;
        assert_eq!(pooling(old).unwrap(), [First, Mean]);
        let new =
            r#"{"embedding_dimension": 48, "pooling_mode": ["lasttoken", "max", "weightedmean"]}"#;
        assert_eq!(pooling(new).unwrap(), [Last, Max, WeightedMean]);
        assert_eq!(pooling(r#"{"pooling_mode": "mean_sqrt_len_tokens"}"#).unwrap(), [MeanByRoot]);
        assert_eq!(pooling(r#"{"pooling_mode": "odd"}"#).unwrap_err().key, "pooling_mode");
        assert_eq!(pooling("{}").unwrap_err().key, "pooling_mode");
        let fault = pooling(r#"{"pooling_mode": "cls", "pooling_by_luck": true}"#).unwrap_err();
        assert_eq!((&*fault.file, &*fault.key), ("1_Pooling/config.json", "pooling_by_luck"));
    }

    #[test]
    fn modules_that_are_not_known_or_misplaced_are_refused() {
        let one = |kind: &str, path: &str| {
            let list = alloc::format!(
                r#"[{{"type": "sentence_transformers.models.Transformer", "path": ""}}, {{"type": "{kind}", "path": "{path}"}}]"#
            );
            let fault = read(&[(FILE, &list)]).unwrap_err();
            (fault.error.kind(), fault.key)
        };
        let unsupported = |key: &str| (ErrorKind::UnsupportedSetting, String::from(key));
        assert_eq!(one("sentence_transformers.models.LSTM", "x"), unsupported("type"));
        assert_eq!(one("custom_st.Pooling", "x"), unsupported("type"));
        assert_eq!(one("Normalize", "x"), unsupported("type"));
        assert_eq!(one("Pooling", "../x").0, ErrorKind::BadMetadata);
        assert_eq!(one("Dense", "x").1, "type");
        assert!(read(&[(FILE, "{}")]).is_err() && read(&[(FILE, "[]")]).is_err());
        let config = r#"{"in_features": 0, "out_features": 4}"#;
        let pooling = ("1_Pooling/config.json", r#"{"pooling_mode": "cls"}"#);
        let files = [(FILE, LIST), pooling, ("2_Dense/config.json", config)];
        assert_eq!(read(&files).unwrap_err().key, "in_features");
        for (files, missing) in [
            (&[(FILE, LIST), pooling][..], "2_Dense/config.json"),
            (&[(FILE, LIST), ("2_Dense/config.json", DENSE)], "1_Pooling/config.json"),
        ] {
            let fault = read(files).unwrap_err();
            assert_eq!((&*fault.file, fault.error.kind()), (missing, ErrorKind::MissingMetadata));
        }
    }
}
