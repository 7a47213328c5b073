//! Sentence embeddings by a BERT encoder.

use std::sync::{Mutex, PoisonError};

use nanoembed_core::event::{Format, Mode};
use nanoembed_core::format::amb::Amb;
use nanoembed_core::format::embd::Embd;
use nanoembed_core::format::sniff;
use nanoembed_core::model::{BertConfig, InOrder, Job, Parallel, Parts, Plan, amb_config_value};
use nanoembed_core::owned::{self, Session};
use nanoembed_core::{Error as CoreError, ErrorKind};
use rayon::prelude::*;

use super::{EmbedderOptions, Embedding};
use crate::embed::tokens::{self, Tokenizer, Tokens};
use crate::error::{Error, Result};
use crate::open::model_file::ModelFile;

/// How many tokens short texts are put together to: enough that the weights are read once for many,
/// few enough that the vectors stay in the cache.
const BATCH_TOKENS: usize = 256;

/// An encoder that is ready to run.
pub(super) struct Encoder<'f> {
    model: owned::Embedder<&'f [u8]>,
    max_tokens: usize,
    precise: bool,
    /// Scratch memory that no thread is using.
    sessions: Mutex<Vec<Session>>,
}

impl<'f> Encoder<'f> {
    /// Opens the model in `file`, to be used as `options` say.
    pub(super) fn open(file: &'f ModelFile, options: &EmbedderOptions<'_>) -> Result<Self> {
        let mut model = open(file)?;
        let max_tokens = limit(options.max_tokens, model.config())?;
        if options.requantize {
            model.requantize().map_err(|error| file.failure(error))?;
        }
        Ok(Self { model, max_tokens, precise: options.precise, sessions: Mutex::default() })
    }

    /// Scratch memory for `tokens` tokens at a time, in `jobs` parts.
    fn session(&self, tokens: usize, jobs: usize) -> Result<Session, CoreError> {
        let plan = self.model.plan(tokens);
        let quantized = plan.quantized && !self.precise;
        self.model.session_for(Plan { jobs, quantized, ..plan })
    }

    /// Elements of an embedding.
    pub(super) const fn width(&self) -> usize {
        self.model.config().hidden
    }

    /// Whether embeddings have length 1.
    pub(super) const fn normalizes(&self) -> bool {
        self.model.config().normalize
    }

    /// How many tokens of a text are embedded.
    pub(super) const fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// The most tokens of a text that the model can embed.
    pub(super) const fn positions(&self) -> usize {
        self.model.config().positions
    }

    /// The embeddings of `texts`, in their order.
    pub(super) fn embed(&self, texts: &[String]) -> Result<Vec<Embedding>, CoreError> {
        let tokenizer: Tokenizer<'_> = self.model.tokenizer()?;
        let encode = |text: &String| tokens::encode(&tokenizer, text, Some(self.max_tokens));
        let tokens: Vec<Tokens> = texts.par_iter().map(encode).collect::<Result<_, CoreError>>()?;
        let batches = batches(&tokens);
        let width = self.width();
        let vectors: Vec<Vec<f32>> = if batches.len() < rayon::current_num_threads() {
            // Too few to give each thread its own: the threads share the work of each.
            let embed = |batch: &&[Tokens]| {
                let tokens = batch.iter().map(|tokens| tokens.ids.len()).sum();
                let mut session = self.session(tokens, Threads.jobs())?;
                self.embed_batch(batch, &mut session, &Threads)
            };
            batches.iter().map(embed).collect::<Result<_, CoreError>>()?
        } else {
            let embed = |batch: &&[Tokens]| {
                let mut session = self.borrow_session()?;
                let vectors = self.embed_batch(batch, &mut session, &InOrder);
                self.sessions.lock().unwrap_or_else(PoisonError::into_inner).push(session);
                vectors
            };
            batches.par_iter().with_max_len(1).map(embed).collect::<Result<_, CoreError>>()?
        };
        let vectors = vectors.iter().flat_map(|batch| batch.chunks_exact(width));
        let embedding = |(tokens, vector): (Tokens, &[f32])| Embedding {
            tokens: tokens.ids.len(),
            truncated: tokens.truncated,
            vector: vector.to_vec(),
        };
        Ok(tokens.into_iter().zip(vectors).map(embedding).collect())
    }

    fn embed_batch(
        &self,
        batch: &[Tokens],
        session: &mut Session,
        parallel: &impl Parallel,
    ) -> Result<Vec<f32>, CoreError> {
        let ids: Vec<u32> = batch.iter().flat_map(|tokens| tokens.ids.iter().copied()).collect();
        let lengths: Vec<usize> = batch.iter().map(|tokens| tokens.ids.len()).collect();
        let mut out = vec![0.0; lengths.len() * self.width()];
        self.model.embed(session, parallel, &ids, &lengths, &mut out)?;
        Ok(out)
    }

    /// Scratch memory for one thread, for any batch.
    fn borrow_session(&self) -> Result<Session, CoreError> {
        let session = self.sessions.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match session {
            Some(session) => Ok(session),
            None => self.session(self.max_tokens.max(BATCH_TOKENS), 1),
        }
    }
}

/// Opens the model in `file`; says which key of the metadata is at fault.
pub fn open(file: &ModelFile) -> Result<owned::Embedder<&[u8]>> {
    owned::Embedder::open(file.bytes()).map_err(|error| {
        let failure = file.failure(error);
        if !matches!(error.kind(), ErrorKind::MissingMetadata | ErrorKind::BadMetadata) {
            return failure;
        }
        let key = match sniff(file.bytes()) {
            Some(Format::Gguf) => None,
            Some(Format::Amb) => {
                let amb = Amb::parse(file.bytes(), Mode::Lenient).ok();
                amb.and_then(|amb| BertConfig::key_at_fault(|key| amb_config_value(&amb, key)))
            }
            _ => {
                let embd = Embd::parse(file.bytes(), Mode::Lenient).ok();
                embd.and_then(|embd| BertConfig::key_at_fault(|key| embd.metadata_value(key)))
            }
        };
        match key {
            Some((key, _)) => failure.at(format_args!("`{key}`")),
            None => failure,
        }
    })
}

/// How many tokens of a text are used: `asked`, or as many as the model was trained for.
pub fn limit(asked: Option<usize>, config: &BertConfig) -> Result<usize> {
    match asked {
        None => Ok(config.max_tokens),
        Some(asked) if (2..=config.positions).contains(&asked) => Ok(asked),
        Some(asked) => Err(Error::usage(format!("--max-tokens {asked} is out of range")).with_hint(
            format!(
                "two special tokens stand around every text, and this model has {} positions: 2 to {}",
                config.positions, config.positions
            ),
        )),
    }
}

/// Neighbouring texts put together up to [`BATCH_TOKENS`].
fn batches(tokens: &[Tokens]) -> Vec<&[Tokens]> {
    let mut batches = Vec::new();
    let mut rest = tokens;
    while !rest.is_empty() {
        let mut total = 0;
        let fitting = rest.iter().take_while(|tokens| {
            total += tokens.ids.len();
            total <= BATCH_TOKENS
        });
        let (batch, behind) = rest.split_at(fitting.count().max(1));
        batches.push(batch);
        rest = behind;
    }
    batches
}

/// The parts of one batch on the threads of rayon's pool.
struct Threads;

impl Parallel for Threads {
    fn jobs(&self) -> usize {
        rayon::current_num_threads()
    }

    fn run(&self, parts: Parts<'_>, job: &Job<'_>) -> Result<(), CoreError> {
        parts.collect::<Vec<_>>().into_par_iter().try_for_each(job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(lengths: &[usize]) -> Vec<Vec<usize>> {
        let tokens: Vec<Tokens> =
            lengths.iter().map(|&n| Tokens { ids: vec![0; n], truncated: false }).collect();
        let of = |batch: &[Tokens]| batch.iter().map(|tokens| tokens.ids.len()).collect();
        batches(&tokens).into_iter().map(of).collect()
    }

    #[test]
    fn short_texts_are_put_together_and_long_ones_stand_alone() {
        assert_eq!(
            lengths(&[100, 100, 100, 512, 3]),
            [vec![100, 100], vec![100], vec![512], vec![3]]
        );
    }
}
