//! `router_config.json` of a Router module: lists of modules, one of which a text passes through,
//! and the choice among them by the text's task.
//!
//! Earlier versions of sentence-transformers call the module `Asym`, and its file `config.json`.

use super::module::check_rest;
use super::modules::folder;
use super::texts::{ReadText, TextFault, TextPath, Texts};
use super::{CONFIG, DOCUMENT, MODULES, QUERY};
use crate::error::{Error, ErrorKind};
use crate::text::json::{Fault, LexemeKind, Object, Read, Value, chars, is};

/// The settings of a Router module.
pub const ROUTER_CONFIG: &str = "router_config.json";

/// The member with the modules of each route.
pub const STRUCTURE: &str = "structure";

/// The modality of all inputs here; a Router may choose a route by it, too.
const MODALITY: &str = "text";

/// The task of a text, by which sentence-transformers chooses a route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Task {
    /// None: the default route is taken.
    #[default]
    Any,
    /// Asking: `query`.
    Query,
    /// Answering: `document`.
    Document,
}

impl Task {
    /// The name in sentence-transformers.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        let [document, ..] = DOCUMENT;
        match self {
            Self::Any => None,
            Self::Query => Some(QUERY),
            Self::Document => Some(document),
        }
    }
}

/// The settings of a Router module.
#[derive(Clone, Debug)]
pub struct Router<'a> {
    path: TextPath<'a>,
    types: Value<'a>,
    structure: Value<'a>,
    mappings: Option<Value<'a>>,
    default: Option<&'a str>,
    /// True if the first route is the default where the settings name none.
    allows_any: bool,
}

/// A module of a route.
#[derive(Clone, Copy, Debug)]
pub struct RoutedModule<'a> {
    /// The class.
    pub class: Value<'a>,
    /// The folder within that of the Router, as JSON spells it.
    pub folder: &'a str,
}

impl<'a> Router<'a> {
    /// The folder of an item of `modules.json`, as JSON spells it, without a trailing `/`; `None` for
    /// other modules than a Router.
    ///
    /// # Errors
    ///
    /// Any fault of a Router's item.
    pub fn folder_in_list(item: Value<'a>) -> ReadText<'a, Option<&'a str>> {
        let class = item.member("type").and_then(|class| class.as_text());
        if !class.is_some_and(is_router) {
            return Ok(None);
        }
        let module = Object::new(item).and_then(|module| {
            module.text("type")?;
            let path = module.text("path")?.unwrap_or_default();
            check_rest(&module)?;
            folder(item, path).map(Some)
        });
        module.map_err(|fault| TextPath::own(MODULES).fault(fault))
    }

    /// Reads the settings of the Router in `folder`.
    ///
    /// # Errors
    ///
    /// Any fault of the text; [`ErrorKind::MissingMetadata`] if it is missing.
    pub fn read(texts: &dyn Texts<'a>, folder: &'a str) -> ReadText<'a, Self> {
        let own = TextPath { folder, name: ROUTER_CONFIG };
        let older = TextPath { folder, name: CONFIG };
        let (path, text) = match own.text(texts)? {
            Some(text) => (own, text),
            None => (older, older.text(texts)?.ok_or(own.missing())?),
        };
        path.object(text, |config| Self::from_config(path, config))
    }

    fn from_config(path: TextPath<'a>, config: &Object<'a>) -> Read<'a, Self> {
        let needed = |name| config.object(name).and_then(|it| config.needed(name, it));
        let (types, structure) = (needed("types")?.value(), needed(STRUCTURE)?.value());
        let parameters = needed("parameters")?;
        let default = parameters.text("default_route")?;
        let allows_any = parameters.truth("allow_empty_key")?.unwrap_or(true);
        let mappings = parameters.object("route_mappings")?.map(|it| it.value());
        parameters.finish(&[])?;
        config.finish(&[])?;
        let router = Self { path, types, structure, mappings, default, allows_any };
        if router.names().next().is_none() {
            return Err(config.bad(STRUCTURE, "at least one route is needed"));
        }
        if default.is_some_and(|name| router.route(name).is_none()) {
            return Err(parameters.bad("default_route", "it names no route of `structure`"));
        }
        for (key, route) in mappings.iter().flat_map(Value::members) {
            let is_known = route.as_text().is_some_and(|name| router.route(name).is_some());
            if !is_known {
                return Err(parameters.bad("route_mappings", "each has to name a route"));
            }
            if !is_mapping(key) {
                let only = "each key has to be a task and a modality, as Python spells them";
                return Err(parameters.unsupported("route_mappings", only));
            }
        }
        Ok(router)
    }

    /// The names of the routes, as JSON spells them.
    pub fn names(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.structure.members().map(|(name, _)| name)
    }

    /// The route for texts of a task, as JSON spells its name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnsupportedSetting`] if there is none, as in sentence-transformers.
    pub fn choose(&self, task: Task) -> ReadText<'a, &'a str> {
        let task = task.name();
        let mapped = [(task, Some(MODALITY)), (task, None), (None, Some(MODALITY)), (None, None)];
        let mapped = mapped.into_iter().find_map(|(task, modality)| self.mapped(task, modality));
        let named = || [task, Some(MODALITY)].into_iter().flatten().find_map(|it| self.named(it));
        let usual = || if self.allows_any { self.names().next() } else { None };
        let default = || task.map_or_else(|| self.default.or_else(usual), |_| None);
        let only = match task {
            Some(_) => "none of the routes is for such texts",
            None => "no route is the default one: texts have to be queries or documents",
        };
        let error = Error::new(self.structure.offset(), ErrorKind::UnsupportedSetting);
        let fault = self.path.fault(Fault { error, key: STRUCTURE, only });
        mapped.or_else(named).or_else(default).ok_or(fault)
    }

    /// The route that the mappings name for a task and a modality.
    fn mapped(&self, task: Option<&str>, modality: Option<&str>) -> Option<&'a str> {
        let is_it = |key: &str| {
            mapping(key).is_some_and(|(a, b)| is_python(a, task) && is_python(b, modality))
        };
        let found = self.mappings?.members().filter(|(key, _)| is_it(key)).last();
        self.route(found?.1.as_text()?)
    }

    fn named(&self, name: &str) -> Option<&'a str> {
        self.names().find(|known| is(known, name))
    }

    /// The route of this name, as `structure` spells it.
    fn route(&self, spelling: &str) -> Option<&'a str> {
        self.names().find(|known| chars(known).eq(chars(spelling)))
    }

    /// Calls `take` with each module of a route.
    ///
    /// # Errors
    ///
    /// Any fault of the route; any error of `take`.
    pub fn each_module(
        &self,
        route: &str,
        take: &mut dyn FnMut(RoutedModule<'a>) -> ReadText<'a, ()>,
    ) -> ReadText<'a, ()> {
        let modules = self.structure.members().filter(|(name, _)| *name == route).last();
        let modules = modules.map(|(_, modules)| modules).unwrap_or(self.structure);
        if modules.kind() != LexemeKind::BeginArray {
            return Err(self.fault("each route has to be a list of modules"));
        }
        for module in modules.items() {
            let folder = module.as_text();
            let folder = folder.ok_or_else(|| self.fault("each module has to be a folder"))?;
            let same = |known: &str| chars(known).eq(chars(folder));
            let class = self.types.members().filter(|(known, _)| same(known)).last();
            let class = class.map(|(_, class)| class).filter(|class| class.as_text().is_some());
            let class = class.ok_or_else(|| {
                let only = "each module of a route has to have a class there";
                self.path.fault(Fault { error: self.types.bad(), key: "types", only })
            })?;
            take(RoutedModule { class, folder })?;
        }
        Ok(())
    }

    /// The fault of a route that is no list of modules.
    fn fault(&self, only: &'static str) -> TextFault<'a> {
        self.path.fault(Fault { error: self.structure.bad(), key: STRUCTURE, only })
    }
}

/// Returns true if a `type` of `modules.json` names a Router.
fn is_router(class: &str) -> bool {
    let name = class.rsplit('.').next().unwrap_or_default();
    let is_known = name.len() == class.len() || class.starts_with("sentence_transformers.");
    is_known && matches!(name, "Router" | "Asym")
}

/// The two items of a mapping's key, such as `('query', None)`.
fn mapping(key: &str) -> Option<(&str, &str)> {
    key.strip_prefix('(')?.strip_suffix(')')?.split_once(", ")
}

/// Returns true if a mapping's key is spelled as Python spells a task and a modality, which may be
/// a tuple; neither contains anything that Python escapes.
fn is_mapping(key: &str) -> bool {
    mapping(key).is_some_and(|(task, modality)| {
        let inner = modality.strip_prefix('(').and_then(|it| it.strip_suffix(')'));
        let mut parts = inner.unwrap_or(modality).trim_end_matches(',').split(", ");
        is_word(task) && parts.all(is_word)
    })
}

/// Returns true for `None`, and for a quoted word without quotes, commas and escapes.
fn is_word(item: &str) -> bool {
    let quoted = item.strip_prefix('\'').and_then(|it| it.strip_suffix('\''));
    let is_plain = |word: &str| !word.contains(['\'', '"', '\\', ',', '(', ')']);
    item == "None" || quoted.is_some_and(is_plain)
}

/// Returns true if Python spells `value` as `item`.
fn is_python(item: &str, value: Option<&str>) -> bool {
    match value {
        None => item == "None",
        Some(value) => {
            let quoted = item.strip_prefix('\'').and_then(|it| it.strip_suffix('\''));
            quoted.is_some_and(|word| is(word, value))
        }
    }
}
