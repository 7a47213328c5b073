//! Indices that are kept up to date while files change.
//!
//! The system tells of changes in the folders that are searched, and in no others, so that those of a
//! build or of a repository's own files wake nobody. Where it does not, the files are looked at every
//! few seconds.
//!
//! | file | role |
//! |---|---|
//! | `events` | changes as the system tells of them |
//! | `no_events` | the same for builds that ask no system |

#[cfg(all(feature = "notify", not(target_os = "wasi")))]
mod events;
#[cfg(not(all(feature = "notify", not(target_os = "wasi"))))]
#[path = "no_events.rs"]
mod events;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nanoembed::digest::digest;
use nanoembed::{Encoder, Error, Observer, Result};

use crate::tree::{Tree, TreeOptions};
use crate::walk::{Files, Found};
use events::Events;

/// The least time between two looks at the files.
const INTERVAL: Duration = Duration::from_secs(3);

/// The time between two looks at the files, as a multiple of the time that one takes: 1 % of a
/// processor's.
const REST: u32 = 100;

/// Looks in a row at files that still change, after which they are read all the same.
const PATIENCE: usize = 3;

/// Folders whose indices are kept up to date.
///
/// ```no_run
/// use nanoembed::{Encoder, Silent};
/// use nanoembed_search::{TreeOptions, Watch, cache_folder};
///
/// let encoder = Encoder::open("model.weights")?;
/// let options = TreeOptions { store: cache_folder(), ..TreeOptions::default() };
/// let mut watch = Watch::new(&["docs"], &options)?;
/// loop {
///     let tree = watch.next_update(&encoder, &Silent)?;
///     println!("{} passages", tree.passages());
/// }
/// # Ok::<(), nanoembed::Error>(())
/// ```
#[derive(Debug)]
pub struct Watch {
    /// As they were given.
    folders: Vec<PathBuf>,
    /// As absolute paths without links.
    roots: Vec<PathBuf>,
    options: TreeOptions,
    changes: Changes,
    /// The state of the files when the indices were updated last.
    seen: Option<u128>,
    is_begun: bool,
}

/// The way to learn of changes.
#[derive(Debug)]
enum Changes {
    /// They are told by the system.
    Told(Events),
    /// The files are looked at, which took so long.
    Looked(Duration),
}

impl Watch {
    /// Watches folders.
    ///
    /// # Errors
    ///
    /// Fails if a folder does not exist.
    pub fn new(folders: &[impl AsRef<Path>], options: &TreeOptions) -> Result<Self> {
        let folders: Vec<PathBuf> = folders.iter().map(|it| it.as_ref().to_owned()).collect();
        let root = |folder: &PathBuf| {
            folder.canonicalize().map_err(|error| Error::reading(folder.display(), &error))
        };
        let roots = folders.iter().map(root).collect::<Result<_>>()?;
        let options = options.clone();
        let changes = Changes::Looked(Duration::ZERO);
        Ok(Self { folders, roots, options, changes, seen: None, is_begun: false })
    }

    /// Brings the indices up to date: at once the first time, and then when files have changed, which
    /// it waits for. Changes that follow one another are one update, and so are those during an update.
    ///
    /// # Errors
    ///
    /// Fails if a folder is gone, or the model fails, or `observer` cancels an update.
    pub fn next_update(&mut self, encoder: &Encoder, observer: &dyn Observer) -> Result<Tree> {
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        if is_first {
            self.begin(observer);
        }
        let mut still_changing = 0;
        loop {
            if !is_first {
                self.wait(observer);
            }
            let state = self.look(observer)?;
            if !is_first && self.may_wait(state, still_changing) {
                still_changing += usize::from(state.is_none());
                continue;
            }
            still_changing = 0;
            let tree = Tree::open(&self.folders, &self.options, encoder, observer)?;
            self.seen = state;
            if is_first || tree.files_read + tree.files_removed > 0 {
                return Ok(tree);
            }
        }
    }

    /// True if there is nothing to update: no file has changed, or some still change.
    fn may_wait(&self, state: Option<u128>, still_changing: usize) -> bool {
        match (state, &self.changes) {
            (Some(_), _) => state == self.seen,
            (None, Changes::Looked(_)) => still_changing < PATIENCE,
            // The system tells of changes when they have ended.
            (None, Changes::Told(_)) => false,
        }
    }

    /// Begins to be told of changes, if the system does so.
    fn begin(&mut self, observer: &dyn Observer) {
        match Events::new() {
            Ok(events) => self.changes = Changes::Told(events),
            Err(reason) => warn(observer, &reason),
        }
    }

    /// Waits until files may have changed.
    fn wait(&mut self, observer: &dyn Observer) {
        match &self.changes {
            Changes::Told(events) => {
                if !events.wait() {
                    self.changes = Changes::Looked(Duration::ZERO);
                    warn(observer, "its thread ended");
                }
            }
            Changes::Looked(took) => thread::sleep(INTERVAL.max(took.saturating_mul(REST))),
        }
    }

    /// The state of all files; `None` if one may change without a change of its state. Folders that are
    /// new are watched from now on.
    fn look(&mut self, observer: &dyn Observer) -> Result<Option<u128>> {
        loop {
            let (start, mut files) = (Instant::now(), Files::default());
            let texts = self.options.texts();
            self.roots.iter().try_for_each(|root| texts.find(root, &mut files))?;
            match &mut self.changes {
                Changes::Looked(took) => *took = start.elapsed(),
                Changes::Told(events) => match events.follow(&self.roots, files.folders) {
                    Ok(true) => {
                        // Files of a new folder may have changed before it was watched.
                        continue;
                    }
                    Ok(false) => {}
                    Err(error) => {
                        self.changes = Changes::Looked(start.elapsed());
                        warn(observer, &error);
                    }
                },
            }
            return Ok(state(&files.found));
        }
    }
}

fn warn(observer: &dyn Observer, reason: &str) {
    let seconds = INTERVAL.as_secs();
    observer.warn(&format!(
        "the system does not tell of changes, as {reason}: files are looked at every {seconds} s or more"
    ));
}

/// A digest of the files' names, sizes and times; `None` if one may change without a change of these.
fn state(found: &[Found]) -> Option<u128> {
    let mut bytes = Vec::new();
    for found in found {
        if found.changed == 0 || found.is_recent() {
            return None;
        }
        bytes.extend(found.path.as_os_str().as_encoded_bytes());
        bytes.extend([0]);
        bytes.extend(found.size.to_le_bytes());
        bytes.extend(found.changed.to_le_bytes());
    }
    Some(digest(&bytes))
}
