//! Segments of folders out of their indices, which are brought up to date first.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use nanoembed::digest::digest;
use nanoembed::{Encoder, Error, Result, VectorKind, name_of};

use super::making::{Making, Passages, draft, too_many};
use super::options::TreeOptions;
use crate::live::Named;
use crate::segment::{Content, FileDraft, Segment, Vector, write};
use crate::store::{Journal, Store, Stored};
use crate::walk::Found;

/// The hint of an error that keeps an index from being in its folder.
const NOT_IN_FOLDER: &str = "without `--in-folder`, it is in the user's folder for caches";

/// The state of a folder's index.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct IndexStatus {
    /// The indexed folder: the one that was asked about, or one that contains it.
    pub root: PathBuf,
    /// The file of the index.
    pub index: PathBuf,
    /// The number of files.
    pub files: u64,
    /// The number of passages.
    pub passages: u64,
    /// The size of the index in bytes.
    pub bytes: u64,
    /// The time when it was written.
    pub written: SystemTime,
}

impl IndexStatus {
    /// The time since it was written.
    #[must_use]
    pub fn age(&self) -> Duration {
        SystemTime::now().duration_since(self.written).unwrap_or_default()
    }
}

/// The state of a folder's index; `None` if it has none for this model, or a damaged one.
///
/// # Errors
///
/// Fails if the folder does not exist or the model fails.
pub fn index_status(
    folder: &Path,
    options: &TreeOptions,
    encoder: &Encoder,
) -> Result<Option<IndexStatus>> {
    let Some(stored) = stored(folder, options, encoder)? else { return Ok(None) };
    let Some((segment, (bytes, written))) = stored.open().zip(stored.written()) else {
        return Ok(None);
    };
    let (files, passages) = (segment.files().into(), segment.passages().into());
    let Stored { root, index, .. } = stored;
    Ok(Some(IndexStatus { root, index, files, passages, bytes, written }))
}

/// Removes a folder's index for this model. Returns the indexed folder; `None` if there is no index.
///
/// # Errors
///
/// Fails if the folder does not exist or the model fails, and if the index cannot be removed.
pub fn drop_index(
    folder: &Path,
    options: &TreeOptions,
    encoder: &Encoder,
) -> Result<Option<PathBuf>> {
    let Some(stored) = stored(folder, options, encoder)? else { return Ok(None) };
    Ok(stored.remove()?.then_some(stored.root))
}

/// The place of a folder's index; `None` if indices are not kept.
fn stored(folder: &Path, options: &TreeOptions, encoder: &Encoder) -> Result<Option<Stored>> {
    let Some(store) = store(options, encoder)? else { return Ok(None) };
    match options.in_folder {
        true => store.in_folder(folder).map(Some),
        false => store.nearest(folder).map(Some),
    }
}

/// The indices for this model; `None` if indices are not kept.
fn store<'o>(options: &'o TreeOptions, encoder: &Encoder) -> Result<Option<Store<'o>>> {
    let Some(folder) = options.store.as_deref() else { return Ok(None) };
    let mut recipe = encoder.fingerprint()?.to_le_bytes().to_vec();
    recipe.extend(format!("{:?}", options.cutting).bytes());
    let dimensions = if encoder.makes(VectorKind::Dense) { encoder.dimensions() } else { 0 };
    Ok(Some(Store { folder, fingerprint: digest(&recipe), dimensions }))
}

/// A file of the folder, and its path in the index.
struct Entry<'f> {
    found: &'f Found,
    path: PathBuf,
}

/// The files of the next index.
struct Plan<'f> {
    /// In the order of their paths.
    entries: Vec<Entry<'f>>,
    /// For each entry its number in the present index, if it has not changed since.
    kept: Vec<Option<u32>>,
    /// True if files of the present index are gone.
    lacks_files: bool,
}

impl Plan<'_> {
    /// True if all of its files are in the present index, as they are.
    fn is_kept(&self) -> bool {
        self.kept.iter().all(Option::is_some)
    }

    /// True if the present index is the next one.
    fn is_current(&self) -> bool {
        self.is_kept() && !self.lacks_files
    }
}

impl Making<'_> {
    /// The segment of a folder's files: of its index if that is kept.
    pub(super) fn add_folder(&mut self, folder: &Path, found: &[Found]) -> Result<Named> {
        let Some(stored) = stored(folder, self.options, self.encoder)? else {
            return self.in_memory(found);
        };
        let options = self.options;
        let plan = |segment: Option<&Segment>| plan(&stored, folder, found, segment, options);
        if let Some(segment) = stored.open() {
            let plan = plan(Some(&segment))?;
            if plan.is_current() || plan.is_kept() && self.dimensions == 0 {
                return Ok(named(segment, &plan.entries));
            }
        }
        if self.dimensions == 0 {
            // Words alone are soon counted, and shall not take the place of vectors.
            return self.in_memory(found);
        }
        let mut journal = match stored.lock(self.observer) {
            Ok(journal) => Some(journal),
            Err(error) if options.in_folder => return Err(error.with_hint(NOT_IN_FOLDER)),
            Err(error) => {
                self.warnings.push(format!("the index is not kept: {error}"));
                None
            }
        };
        // Another process may have replaced it before it was locked.
        let mut old = stored.open();
        if let Some(old) = &old {
            let plan = plan(Some(old))?;
            if plan.is_current() {
                return Ok(named(old.clone(), &plan.entries));
            }
        }
        old = old.or_else(|| stored.open_earlier());
        let plan = plan(old.as_ref())?;
        let bytes = self.updated(&stored, old.as_ref(), &plan, &mut journal)?;
        self.replaced(&stored, bytes, &plan, journal)
    }

    /// The bytes of the next index.
    fn updated(
        &mut self,
        stored: &Stored,
        old: Option<&Segment>,
        plan: &Plan<'_>,
        journal: &mut Option<Journal>,
    ) -> Result<Vec<u8>> {
        let is_new =
            |(entry, kept): (&Entry<'_>, &Option<u32>)| kept.is_none().then(|| entry.found.clone());
        let new: Vec<Found> = plan.entries.iter().zip(&plan.kept).filter_map(is_new).collect();
        let contents = self.read(&new)?;
        let mut drafts = drafts(plan, &contents);
        if let Some(old) = old {
            add_others(stored, old, plan, &mut drafts);
        }
        drafts.sort_by(|(a, _), (b, _)| a.cmp(b));
        let drafts: Vec<FileDraft<'_>> = drafts.into_iter().map(|(_, draft)| draft).collect();
        self.files_removed += old.map_or(0, |old| files_without(old, &drafts));
        let mut known = old.map(|old| vectors_of(old, &drafts)).unwrap_or_default();
        if let Some(journal) = journal {
            known.extend(std::mem::take(&mut journal.vectors));
        }
        let vectors = self.vectors(&drafts, known, journal)?;
        write(stored.identity(), &drafts, old, &vectors).ok_or_else(too_many)
    }

    /// Replaces the index by `bytes`. If that fails, or without a journal, they stay in memory.
    fn replaced(
        &mut self,
        stored: &Stored,
        bytes: Vec<u8>,
        plan: &Plan<'_>,
        journal: Option<Journal>,
    ) -> Result<Named> {
        if let Some(mut journal) = journal {
            match stored.replace(&bytes) {
                Ok(()) => {
                    // What is left in it is of no harm.
                    let _ = journal.clear();
                    stored.remove_earlier();
                    if let Some(segment) = stored.open() {
                        return Ok(named(segment, &plan.entries));
                    }
                }
                Err(error) => self.warnings.push(format!("the index is not kept: {error}")),
            }
        }
        let segment = Segment::parse(bytes.into(), stored.identity()).ok_or_else(too_many)?;
        Ok(named(segment, &plan.entries))
    }
}

/// Looks up which of a folder's files have not changed since `segment` was made.
fn plan<'f>(
    stored: &Stored,
    folder: &Path,
    found: &'f [Found],
    segment: Option<&Segment>,
    options: &TreeOptions,
) -> Result<Plan<'f>> {
    let below = folder.canonicalize().map_err(|error| Error::reading(folder.display(), &error))?;
    let below = below.strip_prefix(&stored.root).unwrap_or(Path::new("")).to_owned();
    let entry = |found: &'f Found| {
        let own = found.path.strip_prefix(folder).unwrap_or(&found.path);
        Entry { found, path: below.join(own) }
    };
    let entries: Vec<Entry<'f>> = found.iter().map(entry).collect();
    let mut files = HashMap::new();
    if let Some(segment) = segment {
        for at in 0..segment.files() {
            files.insert(segment.file(at).path, at);
        }
    }
    let is_kept = |entry: &Entry<'_>| {
        let at = *files.get(entry.path.as_os_str().as_encoded_bytes())?;
        let file = segment?.file(at);
        let Found { size, changed, .. } = entry.found;
        (file.size == *size && file.changed == *changed && *changed != 0).then_some(at)
    };
    let kept = entries.iter().map(is_kept).collect();
    let mut plan = Plan { entries, kept, lacks_files: false };
    // Where only some files are looked for, those that are not found say nothing.
    if let Some(segment) = segment.filter(|_| options.walk.is_whole()) {
        plan.lacks_files = lacks_files(stored, segment, &plan, &below);
    }
    Ok(plan)
}

/// True if files of an index that are `below` a folder of it are gone.
fn lacks_files(stored: &Stored, segment: &Segment, plan: &Plan<'_>, below: &Path) -> bool {
    let paths = || (0..segment.files()).filter_map(|at| path_of(segment.file(at).path));
    let is_below = |path: &PathBuf| path.starts_with(below);
    let count = match below.as_os_str().is_empty() {
        true => segment.files() as usize,
        false => paths().filter(is_below).count(),
    };
    if plan.is_kept() && count == plan.entries.len() {
        return false;
    }
    let found: HashSet<&Path> = plan.entries.iter().map(|entry| entry.path.as_path()).collect();
    let mut others = paths().filter(|path| is_below(path) && !found.contains(path.as_path()));
    others.any(|path| !stored.root.join(path).is_file())
}

/// The number of files of an index that the next one does not have.
fn files_without(old: &Segment, drafts: &[FileDraft<'_>]) -> u64 {
    let kept: HashSet<&[u8]> = drafts.iter().map(|draft| &*draft.path).collect();
    (0..old.files()).filter(|at| !kept.contains(old.file(*at).path)).count() as u64
}

/// Drafts of the plan's files with their paths, but for files that could not be read.
fn drafts<'d>(plan: &Plan<'_>, contents: &'d [Option<Passages>]) -> Vec<(PathBuf, FileDraft<'d>)> {
    let mut contents = contents.iter();
    let mut drafts = Vec::with_capacity(plan.entries.len());
    for (entry, kept) in plan.entries.iter().zip(&plan.kept) {
        let content = match kept {
            Some(at) => Some(Content::Kept(*at)),
            None => contents.next().and_then(Option::as_deref).map(Content::New),
        };
        let Some(content) = content else { continue };
        let path = entry.path.as_os_str().as_encoded_bytes().to_vec();
        let mut draft = draft(entry.found, path, content);
        if kept.is_none() && entry.found.is_recent() {
            // It is read again next time.
            draft.changed = 0;
        }
        drafts.push((entry.path.clone(), draft));
    }
    drafts
}

/// Adds the files of the old index that this search does not ask for, such as those of another type,
/// if they still exist.
fn add_others(
    stored: &Stored,
    old: &Segment,
    plan: &Plan<'_>,
    drafts: &mut Vec<(PathBuf, FileDraft<'_>)>,
) {
    let own: HashSet<&[u8]> =
        plan.entries.iter().map(|entry| entry.path.as_os_str().as_encoded_bytes()).collect();
    for at in 0..old.files() {
        let file = old.file(at);
        let Some(path) = path_of(file.path).filter(|_| !own.contains(file.path)) else { continue };
        if stored.root.join(&path).is_file() {
            let (size, changed) = (file.size, file.changed);
            let content = Content::Kept(at);
            drafts.push((path, FileDraft { path: file.path.to_vec(), size, changed, content }));
        }
    }
}

/// The path with these bytes; `None` if the system has no such paths.
fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        Some(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
    }
    #[cfg(not(unix))]
    str::from_utf8(bytes).ok().map(PathBuf::from)
}

/// The vectors that the old index has for texts of new passages, by the texts' digests: a text may
/// have moved to another file.
fn vectors_of(old: &Segment, drafts: &[FileDraft<'_>]) -> HashMap<u128, Vector> {
    let mut wanted = HashSet::new();
    for draft in drafts {
        let Content::New(passages) = draft.content else { continue };
        for (passage, _) in passages {
            let digests = passage.parts.iter().map(|part| digest(passage.read_of(part).as_bytes()));
            wanted.extend(digests);
        }
    }
    let mut vectors = HashMap::new();
    if wanted.is_empty() {
        return vectors;
    }
    for part in 0..old.parts() {
        let of = old.part(part).digest;
        if wanted.contains(&of) {
            let row = old.row(part);
            let codes = row.codes.to_vec();
            vectors.insert(of, Vector { codes, scale: row.scale, length: row.length });
        }
    }
    vectors
}

/// The segment with the names of the files that are searched.
fn named(segment: Segment, entries: &[Entry<'_>]) -> Named {
    let of: HashMap<&[u8], &Found> = entries
        .iter()
        .map(|entry| (entry.path.as_os_str().as_encoded_bytes(), entry.found))
        .collect();
    let name = |at| of.get(segment.file(at).path).map(|found| Arc::from(name_of(&found.path)));
    let names = (0..segment.files()).map(name).collect();
    Named { segment, names }
}
