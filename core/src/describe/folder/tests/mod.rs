//! Rejected settings of folders, and written ones.

extern crate std;

mod listed_modules;
mod modules;
#[cfg(feature = "std")]
mod words;
mod written;

use super::{TextPath, Texts};
use crate::error::Result;

/// Texts by their paths.
struct Files<'a, S>(&'a [(S, S)]);

impl<'a, S: AsRef<str>> Texts<'a> for Files<'a, S> {
    fn text(&self, path: TextPath<'_>) -> Result<Option<&'a str>> {
        let text = self.0.iter().find(|(known, _)| path.is(known.as_ref()));
        Ok(text.map(|(_, text)| text.as_ref()))
    }
}
