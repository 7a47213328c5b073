//! Changes of files as the system tells of them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::walk::TICK;

/// The time without a change after which files are read. They are not [recent](TICK) then, and need not
/// be read again.
const QUIET: Duration = TICK.saturating_add(Duration::from_millis(100));

/// The time after which files are read although some still change.
const MOST: Duration = Duration::from_secs(10);

/// True if each folder is watched by itself. Other systems tell of all that is in a folder, whether it
/// is searched or not.
const EACH: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// The folders that are searched.
type Folders = Arc<Mutex<HashSet<PathBuf>>>;

/// Folders whose changes are told.
#[derive(Debug)]
pub(super) struct Events {
    watcher: RecommendedWatcher,
    folders: Folders,
    changed: Receiver<()>,
}

impl Events {
    /// Fails with the reason if the system tells of none.
    pub(super) fn new() -> Result<Self, String> {
        // One that nobody has received yet is enough.
        let (sender, changed) = sync_channel(1);
        let folders = Folders::default();
        let searched = Arc::clone(&folders);
        let watcher = notify::recommended_watcher(move |event| {
            let searched = searched.lock().unwrap_or_else(PoisonError::into_inner);
            if concerns(&searched, event) {
                let _ = sender.try_send(());
            }
        });
        let watcher = watcher.map_err(|error| reason(&error))?;
        Ok(Self { watcher, folders, changed })
    }

    /// Waits for changes, and for their end. Returns false if there will be none.
    pub(super) fn wait(&self) -> bool {
        if self.changed.recv().is_err() {
            return false;
        }
        let start = Instant::now();
        while start.elapsed() < MOST && self.changed.recv_timeout(QUIET).is_ok() {}
        true
    }

    /// Watches the folders in `roots` that are searched, and no others. Returns true if one is new.
    ///
    /// Fails with the reason if the system does not watch as many.
    pub(super) fn follow(
        &mut self,
        roots: &[PathBuf],
        folders: Vec<PathBuf>,
    ) -> Result<bool, String> {
        let folders: HashSet<PathBuf> = folders.into_iter().collect();
        let mut searched = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *searched, folders.clone());
        drop(searched);
        let is_new = folders.iter().any(|folder| !before.contains(folder));
        if !EACH {
            return match before.is_empty() {
                true => self.watch(roots.iter(), RecursiveMode::Recursive).map(|()| is_new),
                false => Ok(is_new),
            };
        }
        // First those that are gone: a folder that was renamed is watched once, by its new name.
        for gone in before.difference(&folders) {
            let _ = self.watcher.unwatch(gone);
        }
        // All others, too: there may be a new folder of an old name.
        self.watch(folders.iter(), RecursiveMode::NonRecursive).map(|()| is_new)
    }

    fn watch<'f>(
        &mut self,
        mut folders: impl Iterator<Item = &'f PathBuf>,
        mode: RecursiveMode,
    ) -> Result<(), String> {
        folders.try_for_each(|folder| match self.watcher.watch(folder, mode) {
            Err(error) => match folder.read_dir() {
                Ok(_) => Err(reason(&error)),
                // It is gone, or its files cannot be read: they are not searched.
                Err(_) => Ok(()),
            },
            Ok(()) => Ok(()),
        })
    }
}

fn reason(error: &notify::Error) -> String {
    match error.kind {
        notify::ErrorKind::MaxFilesWatch => {
            "there are more folders than it watches (fs.inotify.max_user_watches)".to_owned()
        }
        _ => error.to_string(),
    }
}

/// True if a change is one in the folders that are searched.
fn concerns(searched: &HashSet<PathBuf>, event: notify::Result<Event>) -> bool {
    let is_searched = |path: &Path| searched.contains(path);
    let is_own = |path: &PathBuf| is_searched(path) || path.parent().is_some_and(is_searched);
    match event {
        Ok(event) if event.need_rescan() => true,
        Ok(event) => !event.kind.is_access() && event.paths.iter().any(is_own),
        Err(_) => true,
    }
}
