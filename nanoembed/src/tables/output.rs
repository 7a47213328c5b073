//! Tables being written.

use std::io::Write;
use std::path::PathBuf;

use arrow_array::RecordBatch;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{ArrowError, SchemaRef};

use super::row_group::{self, MAGIC, Placed};
use super::schema::Facts;
use super::unfinished_file::{Begun, Unfinished};
use crate::error::{Error, Result};
use crate::files::new_file::{NewFile, check_replaceable, is_stream};

/// The form of a table that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableForm {
    /// Parquet.
    Parquet,
    /// Arrow IPC: a file with a footer.
    Arrow,
    /// Arrow IPC: a stream of messages.
    ArrowStream,
}

/// The output for a table.
#[derive(Clone, Debug)]
pub struct TableOutput {
    /// The file; `-` is stdout.
    pub path: PathBuf,
    /// The form of the output.
    pub form: TableForm,
    /// True to go on where an interrupted run has ended.
    pub resume: bool,
}

/// A table that is being written.
pub(super) struct Writing {
    sink: Sink,
    schema: SchemaRef,
    vector_column: String,
    name: String,
}

enum Sink {
    /// Nothing to do: the file is there as it shall be.
    Done,
    Resumable(Unfinished),
    /// Parquet into a pipe: written bytes cannot be read again.
    Pipe {
        to: NewFile,
        groups: Vec<Placed>,
        end: u64,
    },
    File(FileWriter<NewFile>),
    Stream(StreamWriter<NewFile>),
}

impl TableOutput {
    /// Starts to write a table of these columns, made as the facts say.
    pub(super) fn begin(
        &self,
        schema: SchemaRef,
        vector_column: &str,
        facts: &Facts,
    ) -> Result<Writing> {
        let name = crate::error::name_of_output(&self.path);
        let failed = |error: ArrowError| unwritable_table(&name, &error);
        let is_stream = is_stream(&self.path);
        if self.resume && (self.form != TableForm::Parquet || is_stream) {
            return Err(Error::argument("resume", "is for Parquet files"));
        }
        let create = || NewFile::create(&self.path, true);
        let sink = match self.form {
            TableForm::Parquet if is_stream => {
                let mut to = create()?;
                to.write_all(MAGIC).map_err(|error| Error::writing(&name, &error))?;
                Sink::Pipe { to, groups: Vec::new(), end: MAGIC.len() as u64 }
            }
            TableForm::Parquet => {
                let target = check_replaceable(&self.path)?;
                match Unfinished::begin(&target, facts, self.resume)? {
                    Begun::Done => Sink::Done,
                    Begun::Unfinished(file) => Sink::Resumable(file),
                }
            }
            TableForm::Arrow => {
                Sink::File(FileWriter::try_new(create()?, &schema).map_err(failed)?)
            }
            TableForm::ArrowStream => {
                Sink::Stream(StreamWriter::try_new(create()?, &schema).map_err(failed)?)
            }
        };
        Ok(Writing { sink, schema, vector_column: vector_column.to_owned(), name })
    }
}

impl Writing {
    pub(super) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// The number of finished rows of the input; `None` if all are.
    pub(super) const fn done(&self) -> Option<u64> {
        match &self.sink {
            Sink::Done => None,
            Sink::Resumable(file) => Some(file.rows()),
            _ => Some(0),
        }
    }

    /// Writes rows, after which `rows` rows of the input are done.
    pub(super) fn push(&mut self, batch: &RecordBatch, rows: u64) -> Result<()> {
        let encode = || {
            row_group::encode(&self.schema, &self.vector_column, batch)
                .map_err(|error| super::unwritable_parquet(&self.name, &error))
        };
        match &mut self.sink {
            Sink::Done => Ok(()),
            Sink::Resumable(file) => file.push(encode()?, rows),
            Sink::Pipe { to, groups, end } => {
                let group = encode()?;
                to.write_all(&group.chunks).map_err(|error| Error::writing(&self.name, &error))?;
                groups.push(Placed { start: *end, footer: group.footer });
                *end += group.chunks.len() as u64;
                Ok(())
            }
            Sink::File(writer) => {
                writer.write(batch).map_err(|error| unwritable_table(&self.name, &error))
            }
            // Someone may be waiting for it at the other end of a pipe.
            Sink::Stream(writer) => writer
                .write(batch)
                .and_then(|()| writer.get_mut().flush().map_err(ArrowError::from))
                .map_err(|error| unwritable_table(&self.name, &error)),
        }
    }

    /// Writes the end, and puts the file in its place.
    pub(super) fn finish(self) -> Result<()> {
        let Self { sink, schema, vector_column, name } = self;
        let end = |groups: &[Placed]| {
            row_group::end(groups, &schema, &vector_column)
                .map_err(|error| super::unwritable_parquet(&name, &error))
        };
        let failed = |error: ArrowError| unwritable_table(&name, &error);
        match sink {
            Sink::Done => Ok(()),
            Sink::Resumable(file) => file.finish(end),
            Sink::Pipe { mut to, groups, .. } => {
                to.write_all(&end(&groups)?).map_err(|error| Error::writing(&name, &error))?;
                to.commit()
            }
            Sink::File(mut writer) => {
                writer.finish().map_err(failed)?;
                writer.into_inner().map_err(failed)?.commit()
            }
            Sink::Stream(mut writer) => {
                writer.finish().map_err(failed)?;
                writer.into_inner().map_err(failed)?.commit()
            }
        }
    }
}

/// Arrow's error about a table that is written. A file with a footer has one dictionary a column.
fn unwritable_table(name: &str, error: &ArrowError) -> Error {
    let failure = super::unwritable(name, error);
    match error.to_string().contains("ictionary") {
        true => failure.with_hint("`.parquet` and `.arrows` take dictionaries that change"),
        false => failure,
    }
}
