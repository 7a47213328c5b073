//! Writes a [`Description`] as the texts of a folder, for a model that comes from another format.

use core::fmt::{self, Display, Formatter};

use super::description::TOKENIZER_CONFIG;
use super::modules::USUAL_POOLING;
use super::pooling::MODES;
use super::{CONFIG, Description, Kind, MODULES, ModuleList, Origin, PoolingSettings, TextPath};
use crate::error::Result;
use crate::model::{ConfigJson, DenseSettings, HeadModule, PoolingModes};
use crate::text::json::{List, Members, Quoted};

/// Takes the path and the contents of a text.
pub type PutText<'p> = &'p mut dyn FnMut(TextPath<'_>, &dyn Display) -> Result<()>;

impl Description<'_> {
    /// Calls `put` with each text that describes the transformer, its modules and the number of
    /// tokens that it uses; nothing for a table.
    ///
    /// # Errors
    ///
    /// Any error of `put`.
    pub fn each_text(&self, put: PutText<'_>) -> Result<()> {
        let Kind::Transformer(family) = &self.kind else { return Ok(()) };
        put(TextPath::own(CONFIG), &ConfigJson(family))?;
        if let Some(limit) = self.tokenizer_limit {
            put(TextPath::own(TOKENIZER_CONFIG), &LimitJson(limit))?;
        }
        if self.modules.origin == Origin::Nothing {
            return Ok(());
        }
        put(TextPath::own(MODULES), &ModulesJson(&self.modules))?;
        if let Some(pooling) = &self.modules.pooling {
            put(TextPath { folder: USUAL_POOLING, name: CONFIG }, &PoolingJson(pooling))?;
        }
        for module in &self.modules.head {
            let Some(folder) = module.folder() else { continue };
            put(TextPath { folder, name: CONFIG }, &ModuleJson(module))?;
        }
        Ok(())
    }
}

/// Displays the settings of a tokenizer that state the number of tokens.
struct LimitJson(u64);

impl Display for LimitJson {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut members = Members::new(f)?;
        members.put("model_max_length", &self.0)?;
        members.finish()
    }
}

/// Displays the list of a transformer's modules.
struct ModulesJson<'m, 'a>(&'m ModuleList<'a>);

impl Display for ModulesJson<'_, '_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(modules) = self;
        let first = ("Transformer", Some(modules.folder));
        let pooling = modules.pooling.map(|_| ("Pooling", Some(USUAL_POOLING)));
        let head = modules.head.iter().filter_map(|module| Some((kind(module)?, module)));
        let head = head.map(|(kind, module)| (kind, module.folder().copied()));
        let normalize = modules.normalize.then_some((NORMALIZE, None));
        let all = core::iter::once(first).chain(pooling).chain(head).chain(normalize);
        let all = all.enumerate();
        let item = |(place, (kind, folder))| ListedModule { place, kind, folder };
        write!(f, "{}", List(all.map(item)))
    }
}

/// The module that scales vectors to length 1.
const NORMALIZE: &str = "Normalize";

/// The name of a module; `None` for one that another file states.
const fn kind<S>(module: &HeadModule<S>) -> Option<&'static str> {
    match module {
        HeadModule::Dense(_) => Some("Dense"),
        HeadModule::LayerNorm(_) => Some("LayerNorm"),
        HeadModule::Normalize => Some(NORMALIZE),
        HeadModule::First(_) => None,
    }
}

/// Displays an item of the list of modules.
struct ListedModule<'a> {
    place: usize,
    kind: &'static str,
    /// `None` for a module without files.
    folder: Option<&'a str>,
}

impl Display for ListedModule<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { place, kind, folder } = *self;
        let mut members = Members::new(f)?;
        members.put("type", &Quoted(format_args!("sentence_transformers.models.{kind}")))?;
        match folder {
            Some(folder) => members.text("path", folder)?,
            None => members.put("path", &Quoted(format_args!("{place}_{kind}")))?,
        }
        members.finish()
    }
}

/// Displays the settings of a pooling module.
struct PoolingJson<'m>(&'m PoolingSettings);

impl Display for PoolingJson<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut members = Members::new(f)?;
        let name = |mode| MODES.iter().find(|(.., known)| *known == mode).map(|(_, name, _)| name);
        let names: heapless::Vec<_, { PoolingModes::MOST }> =
            self.0.modes.iter().filter_map(name).collect();
        members.put("pooling_mode", &List(names.iter().map(Quoted)))?;
        if self.0.leaves_out_prompt {
            members.put("include_prompt", &false)?;
        }
        members.finish()
    }
}

/// Displays the settings of a module after the pooling.
struct ModuleJson<'m, S>(&'m HeadModule<S>);

impl<S> Display for ModuleJson<'_, S> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut members = Members::new(f)?;
        match self.0 {
            HeadModule::Dense(module) => {
                let DenseSettings { inputs, outputs, bias, activation, .. } = module.settings;
                members.put("in_features", &inputs)?;
                members.put("out_features", &outputs)?;
                members.put("bias", &bias)?;
                members.text("activation_function", activation.torch_class())?;
            }
            HeadModule::LayerNorm(module) => members.put("dimension", &module.elements)?,
            HeadModule::Normalize | HeadModule::First(_) => {}
        }
        members.finish()
    }
}
