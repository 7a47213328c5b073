//! The files that a server searches, as `search` does.

use std::path::{Path, PathBuf};

use nanoembed::{Encoder, Observer};
use nanoembed_search::{By, Query, Tree, TreeOptions};
use nanoembed_serve::{Found, Search, SearchRequest};

use crate::commands::search::found::found;
use crate::error::{Error, Result, warn};
use crate::progress::Terminal;

/// The results of a search, unless a request says another number.
const USUAL_RESULTS: usize = 10;

/// The files and folders that are searched, and the model.
pub(super) struct Files {
    paths: Vec<PathBuf>,
    encoder: Encoder,
}

impl Files {
    /// Makes the indices of folders, or brings them up to date.
    pub(super) fn open(paths: &[PathBuf], encoder: &Encoder, quiet: bool) -> Result<Self> {
        if paths.iter().any(|path| path == Path::new("-")) {
            return Err(Error::argument("search", "is for files and folders, not stdin"));
        }
        let files = Self { paths: paths.to_vec(), encoder: encoder.clone() };
        let terminal = Terminal::new(quiet);
        let tree = files.tree(&Query::new(""), &terminal)?;
        if !quiet {
            tree.messages().iter().for_each(warn);
        }
        Ok(files)
    }

    /// The files as they are now: those that have changed are read again.
    fn tree(&self, query: &Query<'_>, observer: &dyn Observer) -> Result<Tree> {
        let options = TreeOptions::for_query(query, &self.encoder);
        Tree::open(&self.paths, &options, &self.encoder, observer)
    }
}

impl Search for Files {
    fn search(&self, request: &SearchRequest, observer: &dyn Observer) -> Result<Found> {
        let by = request.by.as_deref().map_or(Ok(By::Both), str::parse)?;
        if by == By::Words && request.min.is_some() {
            return Err(Error::argument("min", "is for meanings, and `by` is words"));
        }
        let count = request.k.unwrap_or(USUAL_RESULTS);
        let query = Query { by, ..Query::new(&request.query).at_least(count) };
        query.check()?;
        let tree = self.tree(&query, observer)?;
        let mut answers = tree.search(&query, &self.encoder, observer)?;
        if let Some(min) = request.min {
            answers.leave_out_below(min);
        }
        let results = found(&answers, count, false);
        let written = |found| serde_json::to_string(found);
        let results = results.iter().map(written).collect::<Result<_, _>>();
        let results = results.map_err(|error| Error::bad_input(error.to_string()))?;
        Ok(Found { results, query_truncated: answers.query_truncated })
    }
}
