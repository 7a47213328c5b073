//! `modules.json` in a file: what stands behind the transformer.

use super::texts::{fault, object, value};
use crate::error::{Error, ErrorKind};
use crate::model::folder::dense::DenseSettings;
use crate::model::folder::module::{MOST_MODULES, Module, ModuleKind, check_normalize};
use crate::model::folder::pooling::PoolingSettings;
use crate::model::folder_file::FolderFile;
use crate::model::head::ways::Ways;
use crate::text::json::{Fault, Kind, Object, Read};
use crate::text::path::stays_within;

const FILE: &str = "modules.json";

/// Where the pooling is where nothing says where it is.
const USUAL_POOLING: &str = "1_Pooling";

/// The settings of a module, in its folder.
const CONFIG: &str = "config.json";

/// A linear layer behind the pooling.
#[derive(Clone, Copy, Debug)]
pub(super) struct DenseModule<'a> {
    /// Its folder, as JSON spells it, without an end.
    pub(super) folder: &'a str,
    pub(super) settings: DenseSettings,
}

/// What stands behind a transformer.
#[derive(Clone, Debug)]
pub(super) struct Modules<'a> {
    /// Whether `modules.json` is there.
    pub(super) are_listed: bool,
    /// The folder of the transformer, as JSON spells it, without an end.
    pub(super) folder: &'a str,
    pub(super) pooling: Ways,
    /// Whether the tokens of a prompt are left out of it.
    pub(super) leaves_out_prompt: bool,
    pub(super) dense: heapless::Vec<DenseModule<'a>, MOST_MODULES>,
    pub(super) normalize: bool,
}

impl<'a> Modules<'a> {
    /// Reads `modules.json`. Without it the pooling alone may be there, at length 1; and where
    /// nothing says how tokens are pooled, it is their mean.
    pub(super) fn read(file: &FolderFile<'a>) -> Read<'a, Self> {
        let mut modules = Self {
            are_listed: true,
            folder: "",
            pooling: Ways::NONE,
            leaves_out_prompt: false,
            dense: heapless::Vec::new(),
            normalize: false,
        };
        let Some(list) = value(file, "", FILE)? else {
            let config = object(file, USUAL_POOLING, CONFIG)?;
            let pooling = config.map_or(Ok(PoolingSettings::MEAN), |it| PoolingSettings::read(&it));
            let PoolingSettings { ways, leaves_out_prompt } = pooling?;
            let modules = Self { pooling: ways, leaves_out_prompt, ..modules };
            return Ok(Self { are_listed: false, normalize: true, ..modules });
        };
        if list.kind() != Kind::BeginArray {
            let only = "a list of modules is needed";
            return Err(Fault { error: list.bad(), key: FILE, only });
        }
        if list.items().count() > MOST_MODULES {
            return Err(fault(Error::new(list.offset(), ErrorKind::OverLimit), FILE));
        }
        let mut last = None;
        for item in list.items() {
            last = modules.add(file, &Module::read(&Object::new(item)?)?, last)?;
        }
        if modules.pooling == Ways::NONE {
            let error = Error::new(list.offset(), ErrorKind::UnsupportedSetting);
            let only = "a model without a module that pools makes no embedding of a text";
            return Err(Fault { error, key: FILE, only });
        }
        Ok(modules)
    }

    /// Adds a module behind those before, of which `last` is the last one; answers which is now.
    fn add(
        &mut self,
        file: &FolderFile<'a>,
        module: &Module<'a>,
        last: Option<ModuleKind>,
    ) -> Read<'a, Option<ModuleKind>> {
        let refused = |only| {
            let error = Error::new(module.value.offset(), ErrorKind::UnsupportedSetting);
            Fault { error, key: "type", only }
        };
        if !module.kind.may_follow(last) {
            return Err(refused("the module stands in an unusual place"));
        }
        let folder = folder(module)?;
        match module.kind {
            ModuleKind::Transformer => self.folder = folder,
            ModuleKind::Table => {
                let error = Error::new(module.value.offset(), ErrorKind::UnsupportedArchitecture);
                return Err(Fault { error, key: "type", only: "a table is no transformer" });
            }
            ModuleKind::Pooling => {
                let config = config_of(file, folder)?;
                let PoolingSettings { ways, leaves_out_prompt } = PoolingSettings::read(&config)?;
                (self.pooling, self.leaves_out_prompt) = (ways, leaves_out_prompt);
            }
            ModuleKind::Dense => {
                let settings = DenseSettings::read(&config_of(file, folder)?)?;
                let layer = DenseModule { folder, settings };
                self.dense.push(layer).map_err(|_| refused("no model has as many modules"))?;
            }
            ModuleKind::Normalize => {
                if let Some(config) = object(file, folder, CONFIG)? {
                    check_normalize(&config)?;
                }
                self.normalize = true;
            }
            // It does nothing but in training.
            ModuleKind::Dropout => return Ok(last),
        }
        Ok(Some(module.kind))
    }
}

/// The settings of the module in `folder`, which is listed and so has to have some.
fn config_of<'a>(file: &FolderFile<'a>, folder: &str) -> Read<'a, Object<'a>> {
    let missing = fault(Error::new(0, ErrorKind::MissingMetadata), CONFIG);
    object(file, folder, CONFIG)?.ok_or(missing)
}

/// The folder of a module, as JSON spells it, without an end.
fn folder<'a>(module: &Module<'a>) -> Read<'a, &'a str> {
    let folder = module.path.trim_end_matches('/');
    if !stays_within(folder) {
        let error = module.value.member("path").unwrap_or(module.value).bad();
        return Err(Fault { error, key: "path", only: "a path within the folder is needed" });
    }
    Ok(if folder == "." { "" } else { folder })
}
