//! Files and folders that are searched.
//!
//! | file | role |
//! |---|---|
//! | `options` | options of a tree and of a query |
//! | `making` | segments of files: read, cut, embedded |
//! | `indexed` | segments of folders that are kept in an index |
//! | `answers` | the best passages for a query |

mod answers;
mod indexed;
mod making;
mod options;
#[cfg(test)]
pub(crate) mod tests;

use std::path::{Path, PathBuf};

use nanoembed::lines::told_of_unusable;
use nanoembed::{Encoder, Observer, Result, VectorKind};
use nanoembed_ranking::Passages as _;

use crate::cutting::{Reader, UsualReader};
use crate::live::{Live, Named};
use crate::walk::{Files, Found};

pub use answers::{Answer, Answers, KNOWS_ENGLISH};
pub use indexed::{IndexStatus, drop_index, index_status};
use making::Making;
pub use options::{By, Query, TreeOptions};

/// Files and folders whose passages are searched.
///
/// ```
/// use nanoembed::{Encoder, Silent};
/// use nanoembed_search::{Query, Tree, TreeOptions};
///
/// # let path = "../ffi/tests/data/small_bert.weights";
/// let encoder = Encoder::open(path)?;
/// let tree = Tree::open(&["README.md"], &TreeOptions::default(), &encoder, &Silent)?;
/// for answer in tree.search(&Query::new("which files are found?"), &encoder, &Silent)?.best(3) {
///     println!("{}:{}: {}", answer.file, answer.line, answer.text);
/// }
/// # Ok::<(), nanoembed::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Tree {
    live: Live,
    /// Warnings: files that could not be read, an index that could not be kept.
    pub warnings: Vec<String>,
    /// An error for each part of a file, such as a line of JSON, that could not be used.
    pub left_out: Vec<String>,
    /// The number of texts that had to be embedded.
    pub embedded: u64,
    /// The number of tokens of these texts.
    pub tokens: u64,
    /// The number of files that had to be read.
    pub files_read: u64,
    /// The number of files that were removed from indices, as they are gone.
    pub files_removed: u64,
}

/// Warnings about files that are told one by one.
const MOST_WARNINGS: usize = 5;

/// The files of one segment.
enum Group {
    Given(Vec<Found>),
    Folder(PathBuf, Vec<Found>),
}

impl Tree {
    /// Opens files and folders. If [`TreeOptions::store`] names a folder, the passages and vectors of
    /// every folder are kept in an index there, and only files that have changed since are read.
    ///
    /// # Errors
    ///
    /// Fails if a path does not exist, a file that was named cannot be read, or the model fails.
    pub fn open(
        paths: &[impl AsRef<Path>],
        options: &TreeOptions,
        encoder: &Encoder,
        observer: &dyn Observer,
    ) -> Result<Self> {
        Self::open_with(paths, options, encoder, &UsualReader, observer)
    }

    /// As [`open`](Self::open), but `reader` reads files in another way, and `-`.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_with(
        paths: &[impl AsRef<Path>],
        options: &TreeOptions,
        encoder: &Encoder,
        reader: &dyn Reader,
        observer: &dyn Observer,
    ) -> Result<Self> {
        let mut tree = Self::default();
        let groups = tree.groups(paths, options)?;
        let has_rows = options.vectors && encoder.makes(VectorKind::Dense);
        let mut making = Making::new(options, encoder, reader, observer, has_rows)?;
        let mut segments = Vec::new();
        for group in groups {
            segments.push(match group {
                Group::Given(found) => making.in_memory(&found)?,
                Group::Folder(folder, found) => making.add_folder(&folder, &found)?,
            });
        }
        Ok(tree.with(making, segments))
    }

    /// A tree of texts that come from no file, each with the name to show for it. Each is one passage.
    ///
    /// # Errors
    ///
    /// Fails if the model fails.
    pub fn from_texts(
        texts: &[(&str, &str)],
        encoder: &Encoder,
        observer: &dyn Observer,
    ) -> Result<Self> {
        let options = TreeOptions::default();
        let has_rows = encoder.makes(VectorKind::Dense);
        let mut making = Making::new(&options, encoder, &UsualReader, observer, has_rows)?;
        let named = making.add_texts(texts)?;
        Ok(Self::default().with(making, vec![named]))
    }

    /// The tree of these segments.
    fn with(mut self, mut making: Making<'_>, segments: Vec<Named>) -> Self {
        self.warnings.append(&mut making.warnings);
        self.left_out.append(&mut making.left_out);
        (self.embedded, self.tokens) = (making.embedded, making.tokens);
        (self.files_read, self.files_removed) = (making.files_read, making.files_removed);
        Self { live: Live::new(segments), ..self }
    }

    /// Messages to users about what was left out: a word about each of the first files, and about all
    /// lines together.
    #[must_use]
    pub fn messages(&self) -> Vec<String> {
        let mut messages: Vec<String> = self.warnings.iter().take(MOST_WARNINGS).cloned().collect();
        let more = self.warnings.len().saturating_sub(MOST_WARNINGS);
        if more > 0 {
            messages.push(format!("{more} more files or folders could not be read"));
        }
        if let Some(first) = self.left_out.first() {
            let count = self.left_out.len() as u64;
            messages.push(told_of_unusable(count, "line", "left out", first));
        }
        messages
    }

    /// The number of different passages.
    #[must_use]
    pub fn passages(&self) -> usize {
        self.live.searched()
    }

    /// Finds the files, in the order of `paths`: each folder's are a group.
    fn groups(&mut self, paths: &[impl AsRef<Path>], options: &TreeOptions) -> Result<Vec<Group>> {
        let (texts, mut groups) = (options.texts(), Vec::new());
        for path in paths.iter().map(AsRef::as_ref) {
            let mut files = Files::default();
            match path == Path::new("-") {
                true => files.found.push(Found::given(path)),
                false => texts.find(path, &mut files)?,
            }
            self.warnings.append(&mut files.warnings);
            let is_folder = path != Path::new("-") && path.is_dir();
            match groups.last_mut() {
                _ if is_folder => groups.push(Group::Folder(path.to_owned(), files.found)),
                Some(Group::Given(found)) => found.append(&mut files.found),
                _ => groups.push(Group::Given(files.found)),
            }
        }
        Ok(groups)
    }
}
