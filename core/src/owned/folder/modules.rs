//! The modules of a model, with memory of their own.

use alloc::string::String;
use alloc::vec::Vec;

use super::text_loader::{folder, no_memory, read};
use super::{FolderResult, Texts};
use crate::describe::folder as describe;
use crate::describe::folder::{Base, Origin, PoolingSettings};
use crate::error::Result;
use crate::limit::{collected, copied, push};
use crate::model::{HeadModule, PoolingMode, PoolingModes, SpladeSettings};

/// The modules of a model, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Modules {
    /// True if `modules.json` is missing, and these are the modules of most models.
    pub are_assumed: bool,
    /// The kind of the first module.
    pub base: Base,
    /// The folder of the first module: empty, or ending with `/`.
    pub folder: String,
    /// How the tokens' vectors become one.
    pub pooling: Option<PoolingModule>,
    /// Modules after the pooling, but for a last one that scales vectors to length 1.
    pub head: Vec<HeadModule<String>>,
    /// True if the result is scaled to length 1.
    pub normalize: bool,
    /// True if the modules are applied to the vector of each token, and nothing pools these.
    pub take_tokens: bool,
    /// True if the result is the scores of classes.
    pub give_scores: bool,
    /// The pooling of the scores of a masked language model, whose result is a sparse vector.
    pub splade: Option<SpladeSettings>,
}

/// How the tokens' vectors become one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolingModule {
    /// One way, or several whose results stand one after the other.
    pub modes: Vec<PoolingMode>,
    /// True if the tokens of a prompt are left out.
    pub leaves_out_prompt: bool,
}

impl Modules {
    /// Reads `modules.json`. Without it, `1_Pooling/config.json` says how a transformer's tokens
    /// are pooled, at length 1; `None` if the folder has neither.
    ///
    /// # Errors
    ///
    /// The fault of a file; unknown modules and settings are rejected by name.
    pub fn read(texts: Texts<'_, '_>) -> FolderResult<Option<Self>> {
        read(texts, &|texts| {
            Self::from_described(&describe::ModuleList::read(texts)?).map_err(no_memory)
        })
    }

    /// The folders of all modules, each with `/` at its end; that of the pooling where nothing
    /// lists the modules. What lies in the model's folder itself has none.
    ///
    /// # Errors
    ///
    /// The fault of `modules.json`.
    pub fn folders(texts: Texts<'_, '_>) -> FolderResult<Vec<String>> {
        read(texts, &|texts| {
            let folders = describe::ModuleList::folders(texts)?;
            let mut copies = Vec::new();
            for spelled in &folders {
                folder(spelled).and_then(|it| push(&mut copies, it)).map_err(no_memory)?;
            }
            Ok(copies)
        })
    }

    /// The folder of the first module, whatever it is: empty, or ending with `/`.
    ///
    /// # Errors
    ///
    /// The fault of `modules.json`.
    pub fn first_folder(texts: Texts<'_, '_>) -> FolderResult<String> {
        read(texts, &|texts| folder(describe::ModuleList::first_folder(texts)?).map_err(no_memory))
    }

    /// A copy of `modules`; `None` if no text describes them.
    pub(super) fn from_described(modules: &describe::ModuleList<'_>) -> Result<Option<Self>> {
        let mut head = Vec::new();
        for module in &modules.head {
            push(&mut head, module.try_map_folder(|folder| copied(folder))?)?;
        }
        Ok(Some(Self {
            are_assumed: match modules.origin {
                Origin::List => false,
                Origin::Pooling | Origin::Artifact => true,
                Origin::Nothing => return Ok(None),
            },
            base: modules.base,
            folder: folder(modules.folder)?,
            pooling: modules.pooling.map(PoolingModule::from_settings).transpose()?,
            head,
            normalize: modules.normalize,
            take_tokens: modules.late.is_some(),
            give_scores: modules.give_scores,
            splade: modules.splade,
        }))
    }

    /// The folders of the modules with weights of their own after the pooling, each ending with `/`.
    ///
    /// # Errors
    ///
    /// [`NoMemory`](crate::ErrorKind::NoMemory), in the place of one.
    pub fn weight_folders(&self) -> impl Iterator<Item = Result<String>> {
        let folders = self.head.iter().filter_map(HeadModule::folder);
        folders.filter(|plain| !plain.is_empty()).map(|plain| folder(plain))
    }

    /// The pooling modes; none if no module pools.
    pub(in crate::owned) fn modes(&self) -> PoolingModes {
        self.pooling.iter().flat_map(|pooling| &pooling.modes).copied().collect()
    }
}

impl PoolingModule {
    fn from_settings(
        PoolingSettings { modes, leaves_out_prompt }: PoolingSettings,
    ) -> Result<Self> {
        Ok(Self { modes: collected(modes.iter())?, leaves_out_prompt })
    }
}

#[cfg(test)]
mod tests {
    use alloc::borrow::Cow;

    use super::*;
    use crate::error::ErrorKind;
    use crate::model::{DenseActivation, DenseSettings};

    const FILE: &str = describe::MODULES;
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

    fn pooling(config: &str) -> FolderResult<Vec<PoolingMode>> {
        let files =
            [(FILE, LIST), ("1_Pooling/config.json", config), ("2_Dense/config.json", DENSE)];
        read(&files).map(|modules| modules.unwrap().pooling.unwrap().modes)
    }

    #[test]
    fn modules_of_every_spelling_are_read_in_order() {
        let mean = r#"{"pooling_mode_mean_tokens": true}"#;
        let files = [(FILE, LIST), ("1_Pooling/config.json", mean), ("2_Dense/config.json", DENSE)];
        let modules = read(&files).unwrap().unwrap();
        assert_eq!((modules.base, modules.normalize), (Base::Transformer, true));
        assert_eq!(modules.pooling.as_ref().unwrap().modes, [PoolingMode::Mean]);
        let [HeadModule::Dense(dense)] = &modules.head[..] else { panic!("{modules:?}") };
        let DenseSettings { inputs, outputs, bias, activation, .. } = dense.settings;
        assert_eq!((&*dense.folder, inputs, outputs), ("2_Dense", 48, 40));
        assert_eq!((bias, activation), (false, DenseActivation::Identity));
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
        assert_eq!((&*pooling.modes, pooling.leaves_out_prompt), (&[PoolingMode::First][..], true));
        let fault = read(&[("1_Pooling/config.json", "{}")]).unwrap_err();
        assert_eq!(&*fault.file, "1_Pooling/config.json");
    }

    #[test]
    fn ways_of_pooling_have_two_spellings_and_stand_as_listed() {
        use PoolingMode::{First, Last, Max, Mean, MeanByRoot, WeightedMean};
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
