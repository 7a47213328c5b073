//! The files that a server searches, as `search` does.

use std::path::PathBuf;

use nanoembed::{Encoder, Observer, VectorKind};
use nanoembed_search::{By, DEPTH, Query, Tree, TreeOptions, cache_folder};
use nanoembed_serve::{Found, Search, SearchRequest};

use crate::commands::search::found::found;
use crate::commands::search::records::{Records, is_stdin};
use crate::commands::search::{by_named, check_query, keep_similar, warn_of_files};
use crate::error::{Error, Result};
use crate::progress::Terminal;

/// The results of a search, unless a request says another number.
const USUAL_RESULTS: usize = 10;

/// The files and folders that are searched, and the model.
pub(super) struct Files {
    paths: Vec<PathBuf>,
    encoder: Encoder,
    is_built_in: bool,
    records: Records,
}

impl Files {
    /// Makes the indices of folders, or brings them up to date.
    pub(super) fn open(
        paths: &[PathBuf],
        encoder: &Encoder,
        is_built_in: bool,
        quiet: bool,
    ) -> Result<Self> {
        if paths.iter().any(|path| is_stdin(path)) {
            return Err(Error::argument("search", "is for files and folders, not stdin"));
        }
        let (paths, encoder) = (paths.to_vec(), encoder.clone());
        let files = Self { paths, encoder, is_built_in, records: Records::usual()? };
        let tree = files.tree(By::Both, &Terminal::new(quiet))?;
        if !quiet {
            warn_of_files(&tree);
        }
        Ok(files)
    }

    /// The files as they are now: those that have changed are read again.
    fn tree(&self, by: By, observer: &dyn Observer) -> Result<Tree> {
        let is_dense = self.encoder.vector_kind() == VectorKind::Dense;
        let options = TreeOptions {
            store: cache_folder(),
            vectors: by != By::Words && is_dense,
            ..TreeOptions::default()
        };
        Tree::open_with(&self.paths, &options, &self.encoder, &self.records, observer)
    }
}

impl Search for Files {
    fn search(&self, request: &SearchRequest, observer: &dyn Observer) -> Result<Found> {
        check_query(&request.query)?;
        let by = by_named(request.by.as_deref())?;
        if by == By::Words && request.min.is_some() {
            return Err(Error::argument("min", "is for meanings, and `by` is words"));
        }
        let count = request.k.unwrap_or(USUAL_RESULTS);
        let (is_built_in, depth) = (self.is_built_in, DEPTH.max(count));
        let query = Query { by, is_built_in, depth, ..Query::new(&request.query) };
        let tree = self.tree(by, observer)?;
        let mut answers = tree.search(&query, &self.encoder)?;
        if let Some(min) = request.min {
            keep_similar(&mut answers, min);
        }
        let results = found(&answers, count, false);
        let written = |found| serde_json::to_string(found);
        let results = results.iter().map(written).collect::<Result<_, _>>();
        let results = results.map_err(|error| Error::bad_input(error.to_string()))?;
        Ok(Found { results, query_truncated: answers.query_truncated })
    }
}
