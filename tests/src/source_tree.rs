//! The dependencies among the files of a source tree, by the paths in their code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Sources by their paths from the root of the crate.
#[derive(Debug, Default)]
pub struct SourceTree {
    files: BTreeMap<String, File>,
    /// Files by module path.
    modules: BTreeMap<Vec<String>, String>,
}

#[derive(Debug)]
struct File {
    module: Vec<String>,
    /// Every path in its code, with `use` declarations expanded.
    paths: Vec<String>,
    /// Re-exported items by name.
    exports: BTreeMap<String, String>,
}

/// Entries of a folder that name each other in a circle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circle {
    /// The folder.
    pub folder: String,
    /// Files and folders in it.
    pub entries: Vec<String>,
}

impl SourceTree {
    /// All sources below `root` except for tests: files and folders with that name, and `mod
    /// tests`.
    ///
    /// # Panics
    ///
    /// If something cannot be read.
    #[must_use]
    pub fn read(root: &Path) -> Self {
        let mut tree = Self::default();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.file_stem().is_some_and(|name| name == "tests") {
                    continue;
                }
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|ending| ending == "rs") {
                    let name = path.strip_prefix(root).expect("inside").to_string_lossy();
                    tree.add(&name, &std::fs::read_to_string(&path).expect("UTF-8"));
                }
            }
        }
        tree
    }

    /// Adds a source.
    pub fn add(&mut self, path: &str, source: &str) {
        let without_ending = path.trim_end_matches(".rs").trim_end_matches("/mod");
        let module: Vec<String> = match without_ending {
            "lib" => Vec::new(),
            module => module.split('/').map(String::from).collect(),
        };
        let code: String = source
            .split("#[cfg(test)]\nmod tests")
            .next()
            .unwrap_or_default()
            .lines()
            .map(|line| line.split("//").next().unwrap_or_default())
            .flat_map(|line| [line, "\n"])
            .collect();
        let code = without_visibilities(&code);
        let (mut paths, mut exports) = (Vec::new(), BTreeMap::new());
        let mut rest = String::new();
        let mut lines = code.lines();
        while let Some(line) = lines.next() {
            let Some((before, start)) = use_declaration(line) else {
                rest.extend([line, "\n"]);
                continue;
            };
            let mut tree = start.to_owned();
            while !tree.contains(';') {
                let Some(line) = lines.next() else { break };
                tree.push_str(line);
            }
            let mut all = Vec::new();
            expand("", tree.trim_end_matches(';'), &mut all);
            for (path, name) in all {
                if before.starts_with("pub") {
                    exports.insert(name, path.clone());
                }
                paths.push(path);
            }
        }
        paths.extend(paths_of(&rest));
        self.modules.insert(module.clone(), path.to_owned());
        self.files.insert(path.to_owned(), File { module, paths, exports });
    }

    /// The file that defines the item at `path`, as seen from a file and through re-exports.
    fn resolve(&self, from: &[String], path: &str, depth: usize) -> Option<&str> {
        let mut at: Vec<String> = from.to_vec();
        let mut segments = path.split("::").peekable();
        match segments.peek().copied()? {
            "crate" => {
                at.clear();
                segments.next();
            }
            "self" => {
                segments.next();
            }
            _ => {
                while segments.next_if_eq(&"super").is_some() {
                    at.pop();
                }
            }
        }
        let start = at.len();
        while let Some(segment) = segments.peek() {
            at.push((*segment).to_owned());
            if !self.modules.contains_key(&at) {
                at.pop();
                break;
            }
            segments.next();
        }
        let is_anchored = ["crate", "self", "super"].iter().any(|it| path.starts_with(it));
        if at.len() == start && !is_anchored {
            return None;
        }
        let found = self.modules.get(&at)?;
        let export = segments.next().and_then(|name| self.files[found].exports.get(name));
        match export.filter(|_| depth < 8) {
            Some(path) => self.resolve(&at, path, depth + 1).or(Some(found)),
            None => Some(found),
        }
    }

    /// The files that each file refers to.
    #[must_use]
    pub fn namings(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let of = |(path, file): (&'_ String, &File)| {
            let named = file.paths.iter().filter_map(|named| self.resolve(&file.module, named, 0));
            named.filter(|named| named != path).collect::<BTreeSet<_>>()
        };
        self.files.iter().map(|entry| (entry.0.as_str(), of(entry))).collect()
    }

    /// Every circle among the files and folders of a folder, in `top` and the folders inside; the
    /// whole crate with an empty `top`. A folder's `mod.rs` (`lib.rs` of a crate) and the folder's
    /// other files may name each other.
    #[must_use]
    pub fn circles(&self, top: &str) -> Vec<Circle> {
        let namings = self.namings();
        let mut folders: BTreeSet<&str> = BTreeSet::new();
        for mut folder in self.files.keys().map(String::as_str) {
            while !folder.is_empty() {
                folder = folder.rsplit_once('/').map_or("", |(parent, _)| parent);
                folders.insert(folder);
            }
        }
        folders.retain(|folder| is_inside(folder, top));
        let circles = folders.into_iter().flat_map(|folder| {
            let circles = circles(&entries(folder, &namings));
            circles.into_iter().map(|entries| Circle { folder: folder.to_owned(), entries })
        });
        circles.collect()
    }
}

/// True if `folder` is `top` or inside it.
fn is_inside(folder: &str, top: &str) -> bool {
    top.is_empty()
        || folder.strip_prefix(top).is_some_and(|it| it.is_empty() || it.starts_with('/'))
}

/// Which entry of a folder names which others.
fn entries(
    folder: &str,
    namings: &BTreeMap<&str, BTreeSet<&str>>,
) -> BTreeMap<String, BTreeSet<String>> {
    let entry = |file: &str| -> Option<String> {
        let inside = match folder {
            "" => file,
            folder => file.strip_prefix(folder)?.strip_prefix('/')?,
        };
        let entry = inside.split('/').next()?;
        (!["mod.rs", "lib.rs"].contains(&entry)).then(|| entry.to_owned())
    };
    let mut named: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, others) in namings {
        let Some(from) = entry(file) else { continue };
        let others = others.iter().filter_map(|other| entry(other));
        named.entry(from.clone()).or_default().extend(others.filter(|to| *to != from));
    }
    named
}

/// The groups of entries of which each reaches every other.
fn circles(named: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        named.keys().map(|from| (from, reached(named, from))).collect();
    let mut circles = BTreeSet::new();
    for (from, to) in &reached {
        if to.contains(from) {
            let back = to.iter().filter(|it| reached.get(*it).is_some_and(|it| it.contains(from)));
            circles.insert(back.map(|it| (*it).clone()).collect::<Vec<_>>());
        }
    }
    circles.into_iter().collect()
}

/// The entries that `from` names, and those that these name.
fn reached<'n>(
    named: &'n BTreeMap<String, BTreeSet<String>>,
    from: &'n String,
) -> BTreeSet<&'n String> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from];
    while let Some(entry) = next.pop() {
        next.extend(named.get(entry).into_iter().flatten().filter(|to| reached.insert(*to)));
    }
    reached
}

/// Code without the paths that say who may see what.
fn without_visibilities(code: &str) -> String {
    let mut parts = code.split("pub(in ");
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        rest.push_str("pub");
        rest.push_str(part.split_once(')').map_or(part, |(_, after)| after));
    }
    rest
}

/// The parts before and after `use` in the first line of a declaration.
fn use_declaration(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    let (before, tree) = line.split_once("use ")?;
    (before.is_empty() || before.starts_with("pub")).then_some((before, tree))
}

/// The paths of a `use` tree, each with its local name.
fn expand(prefix: &str, tree: &str, out: &mut Vec<(String, String)>) {
    let tree = tree.trim();
    let join =
        |path: &str| if prefix.is_empty() { path.into() } else { format!("{prefix}::{path}") };
    if let Some((before, inside)) = tree.split_once('{') {
        let prefix = join(before.trim().trim_end_matches("::"));
        let prefix = prefix.trim_end_matches("::");
        let inside = inside.rsplit_once('}').map_or(inside, |(inside, _)| inside);
        let (mut depth, mut start) = (0, 0);
        for (at, character) in inside.char_indices().chain([(inside.len(), ',')]) {
            match character {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    let item = &inside[start..at];
                    if !item.trim().is_empty() {
                        expand(prefix, item, out);
                    }
                    start = at + 1;
                }
                _ => {}
            }
        }
        return;
    }
    let (path, name) = tree.split_once(" as ").map_or((tree, None), |(a, b)| (a, Some(b)));
    let path = join(path.trim());
    let path = path.trim_end_matches("::self").to_owned();
    let last = path.rsplit("::").next().unwrap_or_default();
    let name = name.unwrap_or(last).trim().to_owned();
    out.push((path, name));
}

/// The paths of more than one segment in code.
fn paths_of(code: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = code.split(|c: char| !is_part(c));
    let paths = words.filter(|word| word.contains("::")).map(|word| word.trim_matches(':'));
    paths.filter(|path| path.starts_with(|c: char| c.is_lowercase())).map(String::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> SourceTree {
        let mut tree = SourceTree::default();
        for (path, source) in files {
            tree.add(path, source);
        }
        tree
    }

    #[test]
    fn two_files_that_name_each_other_are_a_circle() {
        let tree = tree(&[
            ("m/mod.rs", "mod a;\nmod b;\npub use a::A;\n"),
            ("m/a.rs", "use super::b::B;\npub struct A;\n"),
            ("m/b.rs", "pub struct B;\nfn f() -> crate::m::a::A { todo() }\n"),
        ]);
        let entries = vec!["a.rs".into(), "b.rs".into()];
        assert_eq!(tree.circles("m"), [Circle { folder: "m".into(), entries }]);
    }

    #[test]
    fn what_a_mod_file_gives_on_belongs_to_the_file_that_has_it() {
        let tree = tree(&[
            ("m/mod.rs", "pub use inner::{Deep as Given, other};\n"),
            ("m/inner/mod.rs", "pub use self::deep::Deep;\n"),
            ("m/inner/deep.rs", "use crate::m::user::User;\npub struct Deep;\n"),
            ("m/user.rs", "use crate::m::{\n    Given,\n};\npub struct User;\n"),
        ]);
        let entries = vec!["inner".into(), "user.rs".into()];
        assert_eq!(tree.circles("m"), [Circle { folder: "m".into(), entries }]);
        assert!(tree.namings()["m/user.rs"].contains("m/inner/deep.rs"));
    }

    #[test]
    fn a_folder_and_a_file_beside_it_are_a_circle_through_different_files() {
        let tree = tree(&[
            ("m/wide/mod.rs", "pub const LANES: usize = 16;\n"),
            ("m/wide/lanes.rs", "use super::super::turn::turn;\n"),
            ("m/turn.rs", "use super::wide::LANES;\n"),
        ]);
        assert_eq!(tree.circles("m").len(), 1);
    }

    #[test]
    fn circles_of_a_crate_are_told_apart_and_its_lib_file_is_in_none() {
        let tree = tree(&[
            ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\npub struct Root;\nuse a::A;\n"),
            ("a.rs", "use crate::{Root, b::B};\npub struct A;\n"),
            ("b.rs", "use crate::a::A;\nuse crate::c::deep::C;\npub struct B;\n"),
            ("c/mod.rs", "pub mod deep;\n"),
            ("c/deep.rs", "use crate::d::D;\npub struct C;\n"),
            ("d.rs", "use crate::c::deep::C;\npub struct D;\n"),
        ]);
        let circle = |entries: [&str; 2]| Circle {
            folder: String::new(),
            entries: entries.map(String::from).to_vec(),
        };
        assert_eq!(tree.circles(""), [circle(["a.rs", "b.rs"]), circle(["c", "d.rs"])]);
    }

    #[test]
    fn a_mod_file_and_its_children_may_name_each_other_and_comments_name_nothing() {
        let tree = tree(&[
            ("m/mod.rs", "mod a;\nmod b;\npub struct M;\nuse a::A;\n"),
            ("m/a.rs", "use super::M;\npub struct A;\n// use super::b::B;\n"),
            (
                "m/b.rs",
                "use super::a::A;\npub(in crate::m::a) fn f() {}\n#[cfg(test)]\nmod tests { use super::*; }\n",
            ),
        ]);
        assert_eq!(tree.circles("m"), []);
    }
}
