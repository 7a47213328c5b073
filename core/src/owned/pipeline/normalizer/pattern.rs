//! What is looked for in a text: a string, or a run of characters of one kind. Searches are linear
//! in the text.

use alloc::string::String;

use crate::token::spec::Run;

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::owned::pipeline) enum Pattern {
    /// This string, which is not empty.
    Text(String),
    Run(Run),
}

impl Pattern {
    /// The first place in `text` from byte `from` on where it is found.
    pub(in crate::owned::pipeline) fn find(
        &self,
        text: &str,
        from: usize,
    ) -> Option<(usize, usize)> {
        match self {
            Self::Text(wanted) => {
                let start = from + text.get(from..)?.find(wanted.as_str())?;
                Some((start, start + wanted.len()))
            }
            Self::Run(run) => run.find(text, from),
        }
    }
}
