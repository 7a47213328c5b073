//! Models with a Router as models of the modules of one route: `modules.json` with these in the
//! Router's place, so that nothing else needs to know of routes.

use alloc::string::String;

use super::text_loader::{no_memory, read};
use super::{FolderResult, Texts};
use crate::describe::folder as describe;
use crate::describe::folder::{MODULES, ReadText, Router, TextFault, TextPath};
use crate::error::Result;
use crate::limit::{copied, spelled, write};
use crate::text::json::{Fault, LexemeKind, Value, chars};

pub use crate::describe::folder::{ROUTER_CONFIG, STRUCTURE, Task};

/// The route of a model with a Router that texts of a task take.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Route {
    /// The route's name, after those of other Routers before it with `/` between them.
    pub name: String,
    /// `modules.json` with the modules of the route in place of the Router.
    pub list: String,
}

impl Route {
    /// The route for texts of a task; `None` if `modules.json` lists no Router or is no list at
    /// all, which its reader rejects.
    ///
    /// # Errors
    ///
    /// Any fault of a Router's settings; [`UnsupportedSetting`](crate::ErrorKind::UnsupportedSetting)
    /// if it has no such route.
    pub fn choose(texts: Texts<'_, '_>, task: Task) -> FolderResult<Option<Self>> {
        read(texts, &|texts| choose(texts, task))
    }
}

fn choose<'a>(texts: &dyn describe::Texts<'a>, task: Task) -> ReadText<'a, Option<Route>> {
    let path = TextPath::own(MODULES);
    let fault = |error| TextFault { path, fault: Fault::from_error(error) };
    let Some(text) = texts.text(path).map_err(fault)? else { return Ok(None) };
    let Ok(modules) = Value::parse(text, 0) else { return Ok(None) };
    if modules.kind() != LexemeKind::BeginArray {
        return Ok(None);
    }
    let (mut name, mut list, mut has_router) = (String::new(), List(String::new()), false);
    for module in modules.items() {
        let Some(folder) = Router::folder_in_list(module)? else {
            list.add(&[module.spelling()]).map_err(no_memory)?;
            continue;
        };
        has_router = true;
        let slash = if folder.is_empty() { "" } else { "/" };
        let router = Router::read(texts, folder)?;
        let route = router.choose(task)?;
        router.each_module(route, &mut |module| {
            let class = module.class.spelling();
            let parts = ["{\"type\":", class, ",\"path\":\"", folder, slash, module.folder, "\"}"];
            list.add(&parts).map_err(no_memory)
        })?;
        let slash = if name.is_empty() { "" } else { "/" };
        let added = write(&mut name, slash);
        added.and_then(|()| write(&mut name, &spelled(chars(route))?)).map_err(no_memory)?;
    }
    let list = list.finish().map_err(no_memory)?;
    Ok(has_router.then_some(Route { name, list }))
}

/// A JSON list that is being written.
struct List(String);

impl List {
    /// Adds an item that consists of these parts.
    fn add(&mut self, parts: &[&str]) -> Result<()> {
        let before = if self.0.is_empty() { "[" } else { "," };
        core::iter::once(&before).chain(parts).try_for_each(|part| write(&mut self.0, part))
    }

    fn finish(self) -> Result<String> {
        let mut list = if self.0.is_empty() { copied("[")? } else { self.0 };
        write(&mut list, "]")?;
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use alloc::borrow::Cow;
    use alloc::format;

    use super::*;
    use crate::error::ErrorKind;

    const LIST: &str = r#"[{"type": "sentence_transformers.base.modules.router.Router", "path": "r/"},
        {"type": "Normalize", "path": "1_Normalize"}]"#;
    const TYPES: &str = r#"{"q": "StaticEmbedding", "d": "Transformer", "p": "Pooling"}"#;
    const STRUCTURE: &str = r#"{"query": ["q"], "document": ["d", "p"], "text": []}"#;

    fn choose(list: &str, config: &str, task: Task) -> FolderResult<Option<Route>> {
        let texts = |path: &str| {
            Ok(match path {
                MODULES => Some(Cow::Borrowed(list)),
                "r/router_config.json" => Some(Cow::Borrowed(config)),
                _ => None,
            })
        };
        Route::choose(&texts, task)
    }

    /// The settings of a Router with these parameters.
    fn config(structure: &str, parameters: &str) -> String {
        format!(r#"{{"types": {TYPES}, "structure": {structure}, "parameters": {{{parameters}}}}}"#)
    }

    #[test]
    fn the_modules_of_a_route_take_the_place_of_the_router() {
        let config = config(STRUCTURE, r#""default_route": "document""#);
        let route = choose(LIST, &config, Task::Document).unwrap().unwrap();
        assert_eq!(route.name, "document");
        assert_eq!(
            route.list,
            r#"[{"type":"Transformer","path":"r/d"},{"type":"Pooling","path":"r/p"},{"type": "Normalize", "path": "1_Normalize"}]"#
        );
        let others = [r#"[{"type": "Transformer"}]"#, "{}", "[1]", "no list", "[]"];
        assert!(others.iter().all(|list| choose(list, "", Task::Any).unwrap().is_none()));
    }

    #[test]
    fn routes_are_chosen_as_sentence_transformers_does() {
        let name = |structure: &str, parameters: &str, task| {
            let route = choose(LIST, &config(structure, parameters), task);
            route.map(|route| route.unwrap().name).map_err(|fault| (fault.error.kind(), fault.key))
        };
        let own = r#""route_mappings": {"('query', 'text')": "document"}"#;
        let task = r#""route_mappings": {"('query', None)": "text", "(None, None)": "query"}"#;
        let modality = r#""route_mappings": {"(None, ('text', 'image'))": "query", "(None, 'text')": "document"}"#;
        let none = Err((ErrorKind::UnsupportedSetting, "structure".into()));
        let two = r#"{"query": ["q"], "document": ["d"]}"#;
        let odd = r#"{"QRY": ["q"], "DOC": ["d"]}"#;
        let strict = r#""default_route": null, "allow_empty_key": false"#;
        for (structure, parameters, chosen, expected) in [
            (STRUCTURE, own, Task::Query, Ok("document")),
            (STRUCTURE, own, Task::Document, Ok("document")),
            // Nothing is said of texts without a task, and there is a route for texts.
            (STRUCTURE, own, Task::Any, Ok("text")),
            (STRUCTURE, task, Task::Query, Ok("text")),
            (STRUCTURE, task, Task::Document, Ok("query")),
            (STRUCTURE, modality, Task::Query, Ok("document")),
            (two, "", Task::Any, Ok("query")),
            (two, r#""default_route": "document""#, Task::Any, Ok("document")),
            (two, r#""default_route": "document""#, Task::Query, Ok("query")),
            (two, strict, Task::Document, Ok("document")),
            (two, strict, Task::Any, none.clone()),
            (odd, "", Task::Any, Ok("QRY")),
            (odd, "", Task::Query, none),
        ] {
            let expected = expected.map(String::from);
            assert_eq!(name(structure, parameters, chosen), expected, "{structure} {parameters}");
        }
    }

    #[test]
    fn settings_of_routers_are_used_or_refused_by_name() {
        let key = |config: &str| choose(LIST, config, Task::Any).unwrap_err().key;
        for (parameters, expected) in [
            (r#""odd": 1"#, "odd"),
            (r#""default_route": "none""#, "default_route"),
            (r#""allow_empty_key": 1"#, "allow_empty_key"),
            (r#""route_mappings": {"('query', None)": "none"}"#, "route_mappings"),
            (r#""route_mappings": {"query": "query"}"#, "route_mappings"),
            (r#""route_mappings": {"('it\\'s', None)": "query"}"#, "route_mappings"),
        ] {
            assert_eq!(key(&config(STRUCTURE, parameters)), expected, "{parameters}");
        }
        assert_eq!(key(&config("{}", "")), "structure");
        assert_eq!(key(&config(r#"{"a": "q"}"#, "")), "structure");
        assert_eq!(key(&config(r#"{"a": [1]}"#, "")), "structure");
        assert_eq!(key(&config(r#"{"a": ["none"]}"#, "")), "types");
        let whole = config(STRUCTURE, "");
        assert_eq!(key(&whole.replacen('{', r#"{"odd": 1, "#, 1)), "odd");
        assert_eq!(key(&whole.replace("parameters", "other")), "parameters");
        let listed = |module: &str| choose(&format!("[{module}]"), &whole, Task::Any).unwrap_err();
        assert_eq!(listed(r#"{"type": "Asym", "path": "../r"}"#).key, "path");
        assert_eq!(listed(r#"{"type": "Asym", "path": "r", "odd": 1}"#).key, "odd");
        let missing = listed(r#"{"type": "Asym", "path": "other"}"#);
        assert_eq!(missing.file, "other/router_config.json");
        assert_eq!(missing.error.kind(), ErrorKind::MissingMetadata);
    }
}
