//! The forms that embeddings are written in.

use clap::ValueEnum;

use crate::output::form;
use crate::output::result_args::Readable;

/// A format for embeddings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::commands) enum Format {
    /// Numbers with spaces between, a line for each text
    Text,
    /// A JSON object for each text
    Jsonl,
    /// One NumPy array, a row for each text
    Npy,
    /// For each text the number of dimensions in 32 bits, then its numbers; f32 only
    Fvecs,
    /// A Parquet table: the columns of the input, and those of vectors
    Parquet,
    /// The same as an Arrow IPC file
    Arrow,
    /// The same as an Arrow IPC stream
    Arrows,
}

impl form::Form for Format {
    fn endings(&self) -> &'static [&'static str] {
        match self {
            Self::Text => &["txt"],
            Self::Jsonl => &["jsonl", "ndjson"],
            Self::Npy => &["npy"],
            Self::Fvecs => &["fvecs"],
            Self::Parquet => &["parquet", "pq"],
            Self::Arrow => &["arrow", "feather", "ipc"],
            Self::Arrows => &["arrows"],
        }
    }
}

impl Readable for Format {
    const TEXT: Self = Self::Text;
    const JSONL: Self = Self::Jsonl;
}

impl Format {
    pub(super) const fn is_binary(self) -> bool {
        !matches!(self, Self::Text | Self::Jsonl)
    }

    /// True if the format has columns, and so names for the values beside vectors.
    pub(super) const fn is_table(self) -> bool {
        matches!(self, Self::Parquet | Self::Arrow | Self::Arrows)
    }
}
