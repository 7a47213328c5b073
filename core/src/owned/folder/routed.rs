//! Models with a Router as models of the modules of one route: `modules.json` with these in the
//! Router's place, so that nothing else needs to know of routes.

use alloc::string::String;

use super::loaded::{no_memory, read};
use super::{FolderResult, Texts};
use crate::describe::folder as describe;
use crate::describe::folder::{MODULES, ReadText, Router, TextFault, TextPath};
use crate::error::Result;
use crate::limit::{copied, spelled, write};
use crate::text::json::{Fault, Kind, Value, chars};

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
    if modules.kind() != Kind::BeginArray {
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
