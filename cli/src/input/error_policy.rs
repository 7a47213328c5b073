//! Treatment of lines that cannot be used.

use clap::ValueEnum;

/// The treatment of a line that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnError {
    /// Stop there; what came before is written to stdout
    Fail,
    /// Leave it out; `index` still counts it
    Skip,
    /// Write null for it, NaN in `.npy` and text
    Null,
}
