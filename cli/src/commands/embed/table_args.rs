//! Options for tables.

use clap::Args;

use super::format::Format;
use crate::error::{Error, Result};

/// The arguments about columns of tables.
#[derive(Args, Debug)]
pub(super) struct TableArgs {
    /// The column of a table that has the texts [default: text]
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    pub(super) column: Option<String>,

    /// The column of a table that stands as `id` beside results in lines of JSON [default: id, if
    /// there is one]
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    pub(super) id_column: Option<String>,

    /// Name of the column of vectors in a table that is written; the columns beside it begin with
    /// this name [default: embedding]
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    pub(super) vector_column: Option<String>,

    /// Go on with a Parquet file where an interrupted run has ended; do nothing if it is complete
    #[arg(long, help_heading = "Output")]
    pub(super) resume: bool,
}

impl TableArgs {
    /// Refuses options that mean nothing for this input and output.
    pub(super) fn check(&self, reads_tables: bool, format: Format) -> Result<()> {
        let of_input = [("--column", &self.column), ("--id-column", &self.id_column)];
        if let Some((option, _)) = of_input.iter().find(|(_, given)| given.is_some())
            && !reads_tables
        {
            return Err(Error::usage(format!("{option} is for tables")).with_hint(
                "tables are files whose names end in `.parquet`, `.arrow`, `.feather` or `.arrows`; `--field` is for JSON lines",
            ));
        }
        if self.vector_column.is_some() && !format.is_table() {
            return Err(Error::usage("--vector-column is for tables that are written"));
        }
        if self.resume && format != Format::Parquet {
            return Err(Error::usage("--resume is for Parquet files"));
        }
        Ok(())
    }
}
