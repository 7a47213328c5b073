//! Folders with and without an index.

mod in_folder;

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use nanoembed::{Encoder, Silent};
use tempfile::{NamedTempFile, TempDir};

use super::*;
use crate::content::Content;
use crate::cutting::Cutting;
use crate::walk::Walk;

const FILES: [(&str, &str); 4] = [
    ("a.md", "# Cats\n\nThe cat sat on the mat.\n\n# Dogs\n\nThe dog barked.\n"),
    ("b/c.txt", "Rain falls.\n\nThe sun shines.\n"),
    ("b/d.rs", "fn open() {\n    read();\n}\n"),
    ("z.txt", "The dog barked at the train.\n\nA storm at sea.\n"),
];

pub(crate) fn encoder() -> Encoder {
    Encoder::open("../ffi/tests/data/small_bert.weights").unwrap()
}

/// A folder of texts, and one for indices.
pub(crate) struct Folders {
    pub(crate) texts: TempDir,
    store: TempDir,
}

impl Folders {
    pub(crate) fn new() -> Self {
        let folders = Self { texts: TempDir::new().unwrap(), store: TempDir::new().unwrap() };
        FILES.iter().for_each(|(name, text)| folders.put(name, text));
        folders
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.texts.path().join(name)
    }

    /// Writes a file that has not changed for an hour, at once.
    pub(crate) fn put(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = NamedTempFile::new_in(self.store.path()).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let hour = Duration::from_secs(3600 + text.len() as u64);
        file.as_file().set_modified(SystemTime::now() - hour).unwrap();
        file.persist(path).unwrap();
    }

    pub(crate) fn options(&self) -> TreeOptions {
        TreeOptions { store: Some(self.store.path().join("search")), ..TreeOptions::default() }
    }

    fn open(&self, encoder: &Encoder) -> Tree {
        Tree::open(&[self.texts.path()], &self.options(), encoder, &Silent).unwrap()
    }

    /// Checks that the index gives what a search without one gives; returns the texts embedded.
    pub(crate) fn check(&self, encoder: &Encoder) -> u64 {
        self.check_of(self.texts.path(), &self.options(), encoder)
    }

    fn check_of(&self, path: &Path, options: &TreeOptions, encoder: &Encoder) -> u64 {
        let tree = Tree::open(&[path], options, encoder, &Silent).unwrap();
        assert_eq!(tree.warnings, [""; 0]);
        let without = TreeOptions { store: None, ..options.clone() };
        let fresh = Tree::open(&[path], &without, encoder, &Silent).unwrap();
        for by in [By::Both, By::Words, By::Meaning] {
            for query in ["the dog barked", "storm", "open a file"] {
                let query = Query { by, ..Query::new(query) };
                assert_eq!(hits(&tree, &query, encoder), hits(&fresh, &query, encoder));
            }
        }
        tree.embedded
    }

    fn index(&self) -> PathBuf {
        with_ending(&self.store.path().join("search"), "index").unwrap()
    }
}

/// The file with this ending in a folder.
fn with_ending(folder: &Path, ending: &str) -> Option<PathBuf> {
    let mut paths = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    paths.find(|path| path.extension().is_some_and(|own| own == ending))
}

type Row = (String, u64, u64, String, u32, Option<u32>);

fn hits(tree: &Tree, query: &Query<'_>, encoder: &Encoder) -> Vec<Row> {
    let answers = tree.search(query, encoder, &Silent).unwrap();
    let row = |it: &Answer<'_>| {
        let similarity = it.similarity.map(f32::to_bits);
        (it.file.into(), it.line, it.end_line, it.text.into(), it.score.to_bits(), similarity)
    };
    answers.all.iter().map(row).collect()
}

#[test]
fn an_index_finds_what_a_search_without_one_finds() {
    let (folders, encoder) = (Folders::new(), encoder());
    assert_eq!(folders.check(&encoder), 7);
    assert_eq!(folders.check(&encoder), 0);
}

#[test]
fn only_texts_that_are_new_are_embedded() {
    let (folders, encoder) = (Folders::new(), encoder());
    folders.check(&encoder);
    folders.put("b/c.txt", "Rain falls.\n\nSnow falls on the hills.\n");
    assert_eq!(folders.check(&encoder), 1);
    // A file that has moved has no new text.
    fs::rename(folders.path("a.md"), folders.path("b/moved.md")).unwrap();
    assert_eq!(folders.check(&encoder), 0);
    fs::remove_file(folders.path("z.txt")).unwrap();
    assert_eq!(folders.check(&encoder), 0);
    let tree = folders.open(&encoder);
    assert!(
        tree.search(&Query::new("storm"), &encoder, &Silent)
            .unwrap()
            .all
            .iter()
            .all(|it| { !it.file.ends_with("z.txt") })
    );
    folders.put("0.bin", "\0\0");
    folders.put("0.txt", "");
    assert_eq!(folders.check(&encoder), 0);
}

#[test]
fn files_that_are_gone_leave_the_index() {
    let (folders, encoder) = (Folders::new(), encoder());
    folders.check(&encoder);
    let count = || {
        let status = index_status(folders.texts.path(), &folders.options(), &encoder);
        status.unwrap().unwrap().files
    };
    fs::remove_file(folders.path("z.txt")).unwrap();
    fs::remove_file(folders.path("b/d.rs")).unwrap();
    // A search of other files does not look for them, and words alone make no index.
    let walk = Walk::default().types(vec!["md".into()]);
    folders.check_of(folders.texts.path(), &TreeOptions { walk, ..folders.options() }, &encoder);
    let words = TreeOptions { vectors: false, ..folders.options() };
    let tree = Tree::open(&[folders.texts.path()], &words, &encoder, &Silent).unwrap();
    assert_eq!((tree.files_read, count()), (0, 4));
    let tree = Tree::open(&[folders.path("b")], &folders.options(), &encoder, &Silent).unwrap();
    assert_eq!((tree.files_read, tree.files_removed, count()), (0, 2, 2));
    assert_eq!((folders.check(&encoder), count()), (0, 2));
}

#[test]
fn indices_are_no_texts_of_a_folder_that_contains_them() {
    let (folders, encoder) = (Folders::new(), encoder());
    let walk = Walk::default().hidden(true);
    let options =
        TreeOptions { walk, store: Some(folders.path("own/search")), ..folders.options() };
    let open = || Tree::open(&[folders.texts.path()], &options, &encoder, &Silent).unwrap();
    assert_eq!((open().files_read, open().files_read), (4, 0));
    // Only the folder of indices has this meaning.
    folders.put("search/a.txt", "found");
    assert_eq!(open().files_read, 1);
}

#[test]
fn a_file_that_changed_just_now_is_read_again() {
    let (folders, encoder) = (Folders::new(), encoder());
    let path = folders.path("new.txt");
    fs::write(&path, "One house").unwrap();
    let modified = path.metadata().unwrap().modified().unwrap();
    folders.check(&encoder);
    fs::write(&path, "Two mouse").unwrap();
    File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    assert_eq!(folders.check(&encoder), 1);
    // A time that somebody gave it says that it has changed if it changes.
    let tomorrow = SystemTime::now() + Duration::from_secs(86_400);
    File::options().write(true).open(&path).unwrap().set_modified(tomorrow).unwrap();
    assert_eq!((folders.open(&encoder).files_read, folders.open(&encoder).files_read), (1, 0));
}

#[test]
fn parts_of_a_folder_are_searched_in_its_index() {
    let (folders, encoder) = (Folders::new(), encoder());
    folders.check(&encoder);
    assert_eq!(folders.check_of(&folders.path("b"), &folders.options(), &encoder), 0);
    let walk = Walk::default().types(vec!["md".into()]);
    let options = TreeOptions { walk, ..folders.options() };
    folders.put("a.md", "# Cats\n\nThe cat ran.\n");
    assert_eq!(folders.check_of(folders.texts.path(), &options, &encoder), 1);
    // The other files are still there.
    assert_eq!(folders.check(&encoder), 0);
    let status = index_status(&folders.path("b"), &folders.options(), &encoder).unwrap().unwrap();
    assert_eq!((status.files, status.root), (4, folders.texts.path().canonicalize().unwrap()));
    assert!(drop_index(folders.texts.path(), &folders.options(), &encoder).unwrap().is_some());
    assert!(drop_index(folders.texts.path(), &folders.options(), &encoder).unwrap().is_none());
    assert!(folders.check(&encoder) > 0);
}

#[test]
fn damaged_indices_are_made_again() {
    let (folders, encoder) = (Folders::new(), encoder());
    folders.check(&encoder);
    let path = folders.index();
    let bytes = fs::read(&path).unwrap();
    for at in (0..bytes.len()).step_by(bytes.len() / 40) {
        let mut changed = bytes.clone();
        changed[at] ^= 4;
        for damaged in [&changed[..], &bytes[..at]] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(folders.check(&encoder), 7);
            assert_eq!(fs::read(&path).unwrap().len(), bytes.len());
        }
    }
    // A folder in its place cannot be replaced, which is said.
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let tree = folders.open(&encoder);
    assert_eq!((tree.passages(), tree.warnings.len()), (7, 1));
}

#[test]
fn other_models_and_ways_to_cut_have_indices_of_their_own() {
    let (folders, encoder) = (Folders::new(), encoder());
    folders.check(&encoder);
    let shorter = Encoder::options().max_tokens(Some(8));
    let shorter = shorter.open("../ffi/tests/data/small_bert.weights").unwrap();
    assert!(folders.check(&shorter) > 0);
    assert_ne!(shorter.fingerprint().unwrap(), encoder.fingerprint().unwrap());
    let cutting = Cutting { form: Some(crate::Form::Lines), lossy: false };
    let options = TreeOptions { cutting, ..folders.options() };
    assert!(folders.check_of(folders.texts.path(), &options, &encoder) > 0);
    assert_eq!(folders.check(&encoder), 0);
}

#[test]
fn writers_at_once_leave_an_index_that_is_right() {
    let (folders, encoder) = (Folders::new(), encoder());
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (folders, encoder) = (&folders, &encoder);
            scope.spawn(move || {
                for round in 0..5 {
                    folders.put(&format!("{writer}.txt"), &"dog ".repeat(round + 1));
                    assert_eq!(folders.open(encoder).warnings, [""; 0]);
                }
            });
        }
    });
    folders.check(&encoder);
    assert_eq!(folders.check(&encoder), 0);
}

#[test]
fn words_alone_need_no_vectors_and_leave_the_index() {
    let (folders, encoder) = (Folders::new(), encoder());
    let options = TreeOptions { vectors: false, ..folders.options() };
    let open = || Tree::open(&[folders.texts.path()], &options, &encoder, &Silent).unwrap();
    let query = Query { by: By::Words, ..Query::new("dog") };
    assert_eq!((open().embedded, folders.store.path().join("search").exists()), (0, false));
    folders.check(&encoder);
    let before = fs::read(folders.index()).unwrap();
    folders.put("new.txt", "another dog");
    assert_eq!(hits(&open(), &query, &encoder).len(), 3);
    assert_eq!(fs::read(folders.index()).unwrap(), before);
}

/// A reader that fails for one file, and has another vanish.
struct Failing;

impl Reader for Failing {
    fn content(&self, found: &Found, _: &Encoder) -> Option<Result<Content>> {
        if found.path.ends_with("z.txt") {
            fs::remove_file(&found.path).unwrap();
        }
        None
    }
}

#[test]
fn json_lines_are_texts_with_their_members() {
    let (folders, encoder) = (Folders::new(), encoder());
    folders.put("r.jsonl", "{\"id\": 7, \"text\": \"A whale.\"}\n{\"body\": \"x\"}\nno json\n");
    let tree = folders.open(&encoder);
    let query = Query { by: By::Words, ..Query::new("whale") };
    let answers = tree.search(&query, &encoder, &Silent).unwrap();
    let members = answers.all[0].members().unwrap();
    assert_eq!((answers.all[0].text, &members["id"]), ("A whale.", &7.into()));
    let [message] = &tree.messages()[..] else { panic!("{:?}", tree.messages()) };
    assert!(message.starts_with("2 lines left out, the first: ") && message.contains("line 2"));
    // In a file that was given, they are errors.
    let given = [folders.path("r.jsonl")];
    let error = Tree::open(&given, &folders.options(), &encoder, &Silent).unwrap_err();
    assert!(error.to_string().contains("no member `text`"), "{error}");
    // Whole texts have no members.
    let query = Query { by: By::Words, ..Query::new("storm") };
    assert!(tree.search(&query, &encoder, &Silent).unwrap().all[0].members().is_none());
}

#[test]
fn texts_in_memory_are_passages_with_names() {
    let encoder = encoder();
    let texts = [("a", "The cat sat."), ("b", " "), ("c", "It rains.")];
    let tree = Tree::from_texts(&texts, &encoder, &Silent).unwrap();
    assert_eq!((tree.passages(), tree.embedded), (2, 2));
    let answers = tree.search(&Query::new("rains"), &encoder, &Silent).unwrap();
    assert_eq!((answers.all[0].file, answers.all[0].text), ("c", "It rains."));
    let mut none = answers.clone();
    none.leave_out_below(2.0);
    assert!(none.all.is_empty() && answers.all.len() == 2);
}

/// Cancels before anything is done.
struct Cancelling;

impl Observer for Cancelling {
    fn is_cancelled(&self) -> bool {
        true
    }
}

#[test]
fn work_can_be_cancelled() {
    let (folders, encoder) = (Folders::new(), encoder());
    let paths = [folders.texts.path()];
    let kind = |result: Result<Tree>| result.unwrap_err().kind();
    let cancelled = nanoembed::Kind::Cancelled;
    let opened = Tree::open(&paths, &folders.options(), &encoder, &Cancelling);
    assert_eq!(kind(opened), cancelled);
    assert_eq!(kind(Tree::from_texts(&[("a", "b")], &encoder, &Cancelling)), cancelled);
}

#[test]
fn files_that_vanish_meanwhile_are_left_out() {
    let (folders, encoder) = (Folders::new(), encoder());
    let paths = [folders.texts.path()];
    let tree = Tree::open_with(&paths, &folders.options(), &encoder, &Failing, &Silent).unwrap();
    assert_eq!((tree.passages(), tree.warnings.len()), (5, 1));
    assert_eq!(folders.check(&encoder), 0);
}

#[cfg(unix)]
#[test]
fn names_of_any_bytes_are_files_too() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let (folders, encoder) = (Folders::new(), encoder());
    for name in [&b"new\nline.txt"[..], b"\x1b[31m.txt", b"\xff\xfe.txt", b"\xff\xfd.txt"] {
        let name = OsStr::from_bytes(name);
        // Some file systems take UTF-8 alone.
        if fs::write(folders.texts.path().join(name), "dogs and trains").is_err() {
            return;
        }
    }
    fs::write(folders.path("\u{1}.txt"), "unlike the others").unwrap();
    folders.check(&encoder);
    assert_eq!(folders.check(&encoder), 0);
}
