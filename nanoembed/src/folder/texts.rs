//! The texts of a folder, and their faults in words.

use std::borrow::Cow;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use nanoembed_core::limit::Growing;
use nanoembed_core::owned::folder::{
    ADAPTER, CONFIG, FolderFault, FolderResult, MODULES, Route, STRUCTURE, Texts, ignored_setting,
    read_allowing,
};
use nanoembed_core::text::json::{LexemeKind, UNKNOWN, Value};
use nanoembed_core::{Error as CoreError, ErrorKind};

use crate::error::{Error, Result, name_of};
use crate::files::whole_file;
use crate::role::Role;

/// The files of a tokenizer, which belong together.
const TOKENIZER: [&str; 5] = [
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
];

/// The texts of a folder.
pub(crate) struct FolderTexts {
    folder: PathBuf,
    /// The file that is read for `config.json`, if that is another one.
    config: Option<PathBuf>,
    /// The folder of the model that the folder's adapter is for.
    base: Option<PathBuf>,
    allowed: Arc<Allowed>,
    /// The role of texts, by which a model with a Router has its modules.
    role: Role,
    /// The route that they take, once it is known.
    route: OnceLock<Option<Route>>,
}

/// Names of unknown members that are passed over, and which of them were.
#[derive(Debug, Default)]
pub(crate) struct Allowed {
    names: Vec<String>,
    /// Warnings in alphabetical order, each once.
    passed: Mutex<Growing<String>>,
}

impl Allowed {
    /// Members of these names are passed over.
    pub(crate) fn new(names: &[String]) -> Self {
        Self { names: names.to_vec(), passed: Mutex::default() }
    }

    /// Returns true if none is passed over.
    pub(crate) const fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// A warning for each member that was passed over.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.passed.lock().map(|passed| passed.to_vec()).unwrap_or_default()
    }

    /// Calls `warn` with each of these.
    pub(crate) fn each_warning(&self, warn: impl FnMut(&String)) {
        if let Ok(passed) = self.passed.lock() {
            passed.iter().for_each(warn);
        }
    }

    /// Fails if there was no memory for a warning.
    pub(crate) fn check(&self) -> Result<()> {
        let Ok(passed) = self.passed.lock() else { return Ok(()) };
        passed.check().map_err(|error| Error::in_file("the settings", error))
    }

    /// The names.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Remembers that a setting is passed over.
    pub(crate) fn pass(&self, fault: &FolderFault) {
        self.tell(&fault.file, &fault.key);
    }

    /// Returns true if an unknown member of this name in `file` is passed over, and remembers it.
    pub(crate) fn passes(&self, file: &str, name: &str) -> bool {
        let passes = self.names.iter().any(|allowed| allowed == name);
        if passes {
            self.tell(file, name);
        }
        passes
    }

    fn tell(&self, file: &str, name: &str) {
        let Ok(mut passed) = self.passed.lock() else { return };
        let Ok(warning) = ignored_setting(file, name) else { return passed.refuse() };
        if let Err(place) = passed.binary_search(&warning) {
            passed.push(warning);
            // It is not there if there was no memory for it.
            if let Some(after @ [_, ..]) = passed.get_mut(place..) {
                after.rotate_right(1);
            }
        }
    }
}

impl FolderTexts {
    pub(crate) fn new(folder: &Path) -> Self {
        let (allowed, role, route) = Default::default();
        Self { folder: folder.to_owned(), config: None, base: None, allowed, role, route }
    }

    /// The same, but `config` is read for `config.json`.
    pub(crate) fn with_config(folder: &Path, config: Option<&Path>) -> Self {
        Self { config: config.map(Path::to_owned), ..Self::new(folder) }
    }

    /// The same, but the folder holds an adapter for the model in `base`, which has the texts that
    /// the folder lacks. If the adapter was saved with modules, that is `config.json` alone.
    pub(crate) fn adapting(self, base: Option<PathBuf>) -> Self {
        Self { base, ..self }
    }

    /// The folder of the model that the folder's adapter is for, if it has one.
    pub(crate) fn base(&self) -> Option<&Path> {
        self.base.as_deref()
    }

    /// The texts of `folder`, which is that of the model or of a module, read in the same way.
    pub(crate) fn for_module(&self, folder: &Path) -> Self {
        let base = self.base.clone().filter(|_| folder == self.folder);
        Self::new(folder).allowing(&self.allowed).adapting(base)
    }

    /// The same, but unknown members of these names are passed over.
    pub(crate) fn allowing(self, allowed: &Arc<Allowed>) -> Self {
        Self { allowed: Arc::clone(allowed), ..self }
    }

    /// The same, but `modules.json` lists the modules for texts of a role.
    pub(crate) fn for_role(self, role: Role) -> Self {
        Self { role, route: OnceLock::new(), ..self }
    }

    /// The unknown members that are passed over.
    pub(crate) const fn allowed(&self) -> &Arc<Allowed> {
        &self.allowed
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }

    /// The file at `path` of the folder.
    pub(crate) fn file(&self, path: &str) -> PathBuf {
        match &self.config {
            Some(config) if path == CONFIG => config.clone(),
            _ => self.folder_of(path).join(path),
        }
    }

    /// The folder with the file at `path`.
    fn folder_of(&self, path: &str) -> &Path {
        let Self { folder, base, .. } = self;
        let Some(base) = base else { return folder };
        let has = |name: &str| folder.join(name).exists();
        let is_own = match path {
            CONFIG => has(CONFIG),
            _ if TOKENIZER.contains(&path) => TOKENIZER.iter().any(|name| has(name)),
            _ => has(path) || has(MODULES),
        };
        if is_own { folder } else { base }
    }

    /// The folder with the files of the tokenizer.
    pub(crate) fn tokenizer_folder(&self) -> &Path {
        let [first, ..] = TOKENIZER;
        self.folder_of(first)
    }

    /// The text at `path` of the folder, if it is there.
    pub(crate) fn get(&self, path: &str) -> Result<Option<String>> {
        if path == ADAPTER && self.base.is_some() {
            // It is merged into the weights.
            return Ok(None);
        }
        let whole = self.file(path);
        match whole_file::read_text(&whole) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::reading(name_of(&whole), &error)),
        }
    }

    /// The text at `path` of the folder.
    pub(crate) fn needed(&self, path: &str) -> Result<String> {
        let missing =
            || Error::reading(self.file(path).display(), &std::io::ErrorKind::NotFound.into());
        self.get(path)?.ok_or_else(missing)
    }

    /// The result of `read` on the texts. Of a model with a Router they are those of a model of the
    /// route that texts of the role take.
    pub(crate) fn read<R>(&self, read: impl Fn(Texts<'_, '_>) -> FolderResult<R>) -> Result<R> {
        self.read_routed(self.route()?, read)
    }

    /// The route that texts of the role take; `None` for a model without a Router.
    pub(crate) fn route(&self) -> Result<Option<&Route>> {
        if let Some(route) = self.route.get() {
            return Ok(route.as_ref());
        }
        let route = self.read_routed(None, |texts| Route::choose(texts, self.role.task()))?;
        Ok(self.route.get_or_init(|| route).as_ref())
    }

    /// The result of `read` on the texts, with `route`'s list of modules.
    fn read_routed<R>(
        &self,
        route: Option<&Route>,
        read: impl Fn(Texts<'_, '_>) -> FolderResult<R>,
    ) -> Result<R> {
        // Why a text could not be read.
        let unread = RefCell::new(None);
        let text = |path: &str| match route {
            Some(route) if path == MODULES => Ok(Some(Cow::Borrowed(&*route.list))),
            _ => self.get(path).map(|text| text.map(Cow::Owned)).map_err(|failure| {
                *unread.borrow_mut() = Some(failure);
                CoreError::without_offset(ErrorKind::ReadFailed)
            }),
        };
        let read =
            read_allowing(&text, &self.allowed.names, &mut |fault| self.allowed.pass(fault), &read);
        read.map_err(|fault| match (unread.take(), route) {
            (Some(failure), _) => failure,
            (None, Some(route)) if fault.file == MODULES => {
                explained(&fault, &route.list, &name_of(&self.file(MODULES)))
            }
            (None, _) => self.explained(&fault),
        })
    }

    /// An error with the setting and its value.
    pub(crate) fn explained(&self, fault: &FolderFault) -> Error {
        if fault.error.kind() == ErrorKind::NoMemory {
            return Error::in_file(name_of(&self.folder), fault.error);
        }
        let text = match self.needed(&fault.file) {
            Ok(text) => text,
            Err(failure) if fault.file == CONFIG => {
                return failure.with_hint(
                    "a model's folder has a `config.json` with its sizes beside the weights",
                );
            }
            Err(failure) => return failure,
        };
        explained(fault, &text, &name_of(&self.file(&fault.file)))
    }
}

/// An error in the text called `name`, with the setting and its value.
pub(crate) fn explained(fault: &FolderFault, text: &str, name: &str) -> Error {
    let FolderFault { error, key, only, .. } = fault;
    let kind = error.kind();
    let place = error.offset().and_then(|offset| Place::find(text, offset));
    let because = if only.is_empty() { String::new() } else { format!("; {only}") };
    let message = match (kind, &place) {
        (ErrorKind::MissingMetadata, Some(Place { path, .. }))
            if !key.is_empty() && !path.is_empty() =>
        {
            format!("`{path}.{key}` is missing")
        }
        (ErrorKind::MissingMetadata, _) if !key.is_empty() => format!("`{key}` is missing"),
        // A template is no JSON.
        (ErrorKind::UnsupportedSetting, None) if !key.is_empty() => {
            format!("`{key}`: {}{because}", kind.message())
        }
        (ErrorKind::BadJson | ErrorKind::TooDeep | ErrorKind::InvalidUtf8, _) | (_, None) => {
            return Error::in_file(name, *error);
        }
        (_, Some(Place { path, value })) if path.is_empty() => {
            format!("{}{because} ({value})", kind.message())
        }
        (ErrorKind::UnsupportedSetting | ErrorKind::BadMetadata, Some(place)) => {
            format!("`{}` is {}{because}", place.path, place.value)
        }
        (_, Some(Place { path, value })) => {
            format!("`{path}` is {value}: {}{because}", kind.message())
        }
    };
    let failure = Error::input(kind, message).at(name);
    match *only {
        _ if kind == ErrorKind::UnsupportedSetting && key == STRUCTURE => {
            failure.with_hint(route_hint(text))
        }
        UNKNOWN => failure.with_hint(format!(
            "if it does not change results, take it out of the file, or go on without it: `--allow-unknown {key}`"
        )),
        _ => failure,
    }
}

/// The hint that lists the routes of a Router's settings, and the options that choose one.
fn route_hint(settings: &str) -> String {
    let structure = Value::parse(settings, 0).ok().and_then(|it| it.member(STRUCTURE));
    let names: Vec<&str> =
        structure.iter().flat_map(Value::members).map(|(name, _)| name).collect();
    format!(
        "its routes are {}; `--as query` and `--as document` choose one, in Rust `Prefix::Query` and `Prefix::Document`",
        names.join(", ")
    )
}

/// A value of a text, by the names that lead to it.
struct Place {
    path: String,
    value: String,
}

impl Place {
    /// The value that begins at `offset`.
    fn find(text: &str, offset: u64) -> Option<Self> {
        let mut value = Value::parse(text, 0).ok()?;
        let mut path = String::new();
        while value.offset() != offset {
            let (step, inner) = inside(value, offset)?;
            let point = if path.is_empty() || step.starts_with('[') { "" } else { "." };
            path = format!("{path}{point}{step}");
            value = inner;
        }
        Some(Self { path, value: brief(value) })
    }
}

/// The member or item of `value` that contains `offset`.
fn inside<'t>(value: Value<'t>, offset: u64) -> Option<(String, Value<'t>)> {
    let holds = |inner: &Value<'_>| {
        (inner.offset()..inner.offset() + inner.spelling().len() as u64).contains(&offset)
    };
    if value.kind() == LexemeKind::BeginObject {
        let (name, inner) = value.members().find(|(_, inner)| holds(inner))?;
        return Some((name.to_owned(), inner));
    }
    let (at, inner) = value.items().enumerate().find(|(_, inner)| holds(inner))?;
    Some((format!("[{at}]"), inner))
}

/// A value as messages show it.
fn brief(value: Value<'_>) -> String {
    /// Names, of a module's class for example, are shown in full.
    const LONGEST_NAME: usize = 160;
    const LONGEST: usize = 60;
    let is_name = value.as_text().is_some_and(|text| !text.contains(char::is_whitespace));
    let longest = if is_name { LONGEST_NAME } else { LONGEST };
    let text = value.spelling().split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{} …", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_named_by_what_leads_to_it() {
        let text = r#"{"a": 1, "rope": {"list": [1, {"type": "odd"}]}}"#;
        let at = text.find("\"odd\"").unwrap() as u64;
        let place = Place::find(text, at).unwrap();
        assert_eq!((&*place.path, &*place.value), ("rope.list[1].type", "\"odd\""));
        assert!(Place::find(text, 3).is_none() && Place::find("{", 0).is_none());
        assert_eq!(Place::find(text, 0).unwrap().path, "");
    }
}
