//! `embed`: texts to embeddings.
//!
//! | file | role |
//! |---|---|
//! | `format` | the forms that embeddings are written in |
//! | `writing` | texts in, vectors of any kind out |
//! | `lines` | dense vectors as lines and arrays |
//! | `sparse_lines`, `multi_lines` | sparse vectors, and a vector for each token, as lines |
//! | `table_args` | options for tables, and where they are meaningless |
//! | `tables` | tables of texts in, tables with vectors out: with the feature `parquet` |

mod format;
mod lines;
mod multi_lines;
mod sparse_lines;
mod table_args;
#[cfg(feature = "parquet")]
mod tables;
mod writing;

use std::process::ExitCode;

use clap::Args;
use nanoembed::{Encoder, Precision, Role, VectorKind};

use crate::args::EmbedderArgs;
use crate::args::choice::choice;
use crate::error::{Error, Result};
use crate::input::{InputArgs, Texts};
use crate::output::create;
use crate::output::result_args::ResultArgs;
use crate::output::truncation::Limits;
use format::Format;
use table_args::TableArgs;

/// Turn texts into embeddings
///
/// Results come in the order of the texts, while texts are still being read. Similar texts have
/// embeddings with a cosine near 1.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed embed \"How do I reset my password?\"
  nanoembed embed --format jsonl < questions.txt
  nanoembed embed -i jsonl -f articles.jsonl -o articles.npy
  jq -c '{text: .title}' items.jsonl | nanoembed embed -i jsonl --format jsonl
  nanoembed embed -f articles.parquet --column body -o vectors.parquet --dtype int8

With `--format jsonl` every text gives one line:
  {\"index\": 0, \"id\": …, \"tokens\": 7, \"truncated\": false, \"embedding\": [0.0123, …]}
`index` counts texts from 0, also those left out by `--on-error skip`. `id` stands there if the
input is JSON lines and has one. A line that `--on-error null` gets over has `null` for its
embedding. A blank line is an empty text and has a result as any other. `--vectors sparse` gives
weights of tokens in place of the embedding, and `--vectors multi` a vector for each token:
  \"sparse\": {\"indices\": [27, …], \"values\": [0.1229, …]}
  \"embeddings\": [[0.0123, …], …]
A model for late interaction makes other vectors of questions (`--as query`) than of texts that
answer (`--as document`).

Files whose names end in `.parquet`, `.arrow`, `.feather` or `.arrows` are tables. A table that is
written has all columns of the input, and `embedding`, `embedding_tokens`, `embedding_truncated`,
`embedding_error`, with `--dtype int8` also `embedding_scale`. A null text has a null vector. As
long as OUT.parquet is not complete, OUT.parquet.unfinished is what there is of it, which
`--resume` goes on with.")]
pub(crate) struct Embed {
    #[command(flatten)]
    pub(super) input: InputArgs,

    #[command(flatten)]
    pub(super) embedder: EmbedderArgs,

    #[command(flatten)]
    table: TableArgs,

    #[command(flatten)]
    pub(super) output: ResultArgs<Format>,

    /// Type of the numbers of vectors; `int8` codes have a scale for each vector, `binary` packs 8
    /// into a byte, the first into its highest bit
    #[arg(long, value_parser = choice::<Precision>(), value_name = "TYPE", default_value = "f32",
        help_heading = "Output")]
    dtype: Precision,

    /// Kind of vectors [default: what the model is made for, dense if it makes several]
    #[arg(long, value_parser = choice::<VectorKind>(), value_name = "KIND", help_heading = "Output")]
    vectors: Option<VectorKind>,

    /// Write the tokens of sparse vectors themselves, too, with jsonl; text always has them
    #[arg(long, help_heading = "Output")]
    pieces: bool,
}

impl Embed {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        self.embedder.model.use_threads()?;
        let format = self.output.form()?;
        if format == Format::Fvecs && self.dtype != Precision::F32 {
            return Err(Error::usage(format!("`.fvecs` has f32 only, not {}", self.dtype.name())));
        }
        self.input.form().check_kept(format == Format::Jsonl || format.is_table())?;
        let reads_tables = self.input.tables()?.is_some();
        self.table.check(reads_tables, format)?;
        if self.vectors.is_some_and(|kind| kind != VectorKind::Dense) {
            writing::is_json(format)?;
        }
        #[cfg(feature = "parquet")]
        {
            if format.is_table() {
                return self.run_table(format, quiet);
            }
            if reads_tables {
                let (encoder, texts) = (self.embedder.open(quiet)?, self.texts_of_tables(format)?);
                return self.run_lines(&encoder, texts, format, quiet);
            }
        }
        #[cfg(not(feature = "parquet"))]
        if reads_tables || format.is_table() {
            let message = "this program was built without Parquet and Arrow (`.parquet`, `.arrow`)";
            return Err(Error::usage(message).with_hint(
                "`cargo install --path cli --features parquet` builds them in, in some minutes; \
                 vectors are also written as `.npy`, `.fvecs` and lines (`--format`)",
            ));
        }
        let encoder = self.embedder.open(quiet)?;
        let texts = self.input.clone().open(quiet)?;
        self.run_lines(&encoder, texts, format, quiet)
    }

    /// Writes lines, or an array.
    fn run_lines(
        &self,
        encoder: &Encoder,
        texts: Texts,
        format: Format,
        quiet: bool,
    ) -> Result<ExitCode> {
        let kind = self.vectors.unwrap_or_else(|| encoder.vector_kind());
        if kind != VectorKind::Dense && self.dtype != Precision::F32 {
            let name = kind.name();
            return Err(Error::usage(format!("--dtype is for dense vectors, not {name} ones")));
        }
        if kind != VectorKind::Sparse && self.pieces {
            return Err(Error::usage("--pieces is for sparse vectors"));
        }
        let limits = Limits::new(encoder);
        match kind {
            VectorKind::Sparse => {
                let is_json = writing::is_json(format)?;
                let file = create(&self.output.path, false)?;
                let output = sparse_lines::Output::new(file, is_json, self.pieces, encoder);
                let embed = |texts: &[String]| encoder.embed_sparse_all_as(Role::Text, texts);
                writing::write(texts, output, embed, limits, quiet)
            }
            VectorKind::Multi => {
                let is_json = writing::is_json(format)?;
                let output = multi_lines::Output::new(create(&self.output.path, false)?, is_json);
                let embed = |texts: &[String]| encoder.embed_multi_all_as(Role::Text, texts);
                let limits = Limits::of_multi(encoder);
                writing::write(texts, output, embed, limits, quiet)
            }
            _ => {
                let file = create(&self.output.path, format.is_binary())?;
                let output = lines::Output::new(file, format, self.dtype, encoder)?;
                let embed = |texts: &[String]| encoder.embed_all_as(Role::Text, texts);
                writing::write(texts, output, embed, limits, quiet)
            }
        }
    }
}
