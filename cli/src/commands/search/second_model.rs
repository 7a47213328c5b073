//! A second model that puts the first hundred results in a better order.

use std::path::{Path, PathBuf};

use clap::Args;
use nanoembed::open::source::Source;
use nanoembed::{CrossEncoder, Encoder, Reranker};

use crate::error::{Error, Result, warn};

/// The arguments about the second model.
#[derive(Args, Debug)]
#[command(next_help_heading = "Model")]
pub(super) struct SecondModelArgs {
    /// Order the first hundred results by a model that reads query and passage together, as
    /// `nanoembed rerank` does
    #[arg(long, value_name = "MODEL", conflicts_with = "late")]
    rerank: Option<PathBuf>,

    /// Order the first hundred results by the vectors of their tokens (MaxSim), which a model for
    /// late interaction makes: ColBERT, BGE-M3
    #[arg(long, value_name = "MODEL")]
    late: Option<PathBuf>,
}

impl SecondModelArgs {
    pub(super) fn path(&self) -> Option<&Path> {
        self.rerank.as_deref().or(self.late.as_deref())
    }

    pub(super) fn open(&self) -> Result<Option<Reranker>> {
        let model = match (&self.rerank, &self.late) {
            (Some(path), _) => {
                Reranker::open_source(Source::open(path)?, &CrossEncoder::options())?
            }
            (_, Some(path)) => {
                let encoder = Encoder::options().open_source(Source::open(path)?)?;
                Reranker::Late(encoder)
            }
            _ => return Ok(None),
        };
        model.warnings().iter().for_each(warn);
        if model.labels().len() > 1 {
            return Err(Error::usage("--rerank is for models with one label")
                .with_hint(format!("this one has {}", model.labels().join(", "))));
        }
        Ok(Some(model))
    }
}
