//! The parts of several requests that are computed at once.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::available_parallelism;

use nanoembed::{Encoder, Error, Observer, Prefix, Reranker, Result, Score};
use tokio::sync::oneshot;

use crate::line::Wait;
use crate::place::Place;

/// The number of tokens that a thread computes in a turn: so many that threads seldom idle at its end,
/// and so few that a short request does not wait long behind a long one.
const TOKENS_OF_THREAD: usize = 1024;

/// The work that a request asks for.
pub(crate) enum Work {
    /// Texts as token ids to embed.
    Embed { lane: Lane, ids: Vec<Vec<u32>> },
    /// Texts to score for a question.
    Score { model: Ranker, query: Arc<str>, texts: Vec<String> },
}

/// A model with the settings that vectors depend on. Texts of one lane are computed together.
pub(crate) struct Lane {
    pub(crate) model: String,
    pub(crate) prompt: Prefix,
    pub(crate) dimensions: Option<usize>,
    pub(crate) normalize: bool,
    /// The model with these settings.
    pub(crate) encoder: Encoder,
}

/// A model that ranks, by its name.
pub(crate) struct Ranker {
    pub(crate) name: String,
    pub(crate) model: Reranker,
}

/// The results of a request so far, in the order of its texts.
pub(crate) enum Output {
    /// Vectors, one after the other.
    Vectors(Vec<f32>),
    /// Scores.
    Scores(Vec<Score>),
}

/// A request that waits for the models or is computed.
pub(crate) struct Job {
    pub(crate) work: Work,
    pub(crate) output: Output,
    /// The number of finished texts.
    done: usize,
    reply: oneshot::Sender<Result<Output>>,
    /// Held until the job is dropped.
    _place: Place,
}

/// The texts and tokens of a turn.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) texts: u64,
    pub(crate) tokens: u64,
}

impl Work {
    fn len(&self) -> usize {
        match self {
            Self::Embed { ids, .. } => ids.len(),
            Self::Score { texts, .. } => texts.len(),
        }
    }

    /// The number of tokens of a text; an estimate if it has not been tokenised.
    fn tokens(&self, at: usize) -> usize {
        match self {
            Self::Embed { ids, .. } => ids.get(at).map_or(0, Vec::len),
            Self::Score { query, texts, .. } => {
                (query.len() + texts.get(at).map_or(0, String::len)) / 4
            }
        }
    }

    /// True if texts of both can be computed together.
    fn joins(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Embed { lane: a, .. }, Self::Embed { lane: b, .. }) => {
                (&a.model, &a.prompt, a.dimensions, a.normalize)
                    == (&b.model, &b.prompt, b.dimensions, b.normalize)
            }
            (Self::Score { model: a, .. }, Self::Score { model: b, .. }) => a.name == b.name,
            _ => false,
        }
    }
}

impl Job {
    pub(crate) fn new(work: Work, reply: oneshot::Sender<Result<Output>>, place: Place) -> Self {
        let output = match &work {
            Work::Embed { .. } => Output::Vectors(Vec::new()),
            Work::Score { .. } => Output::Scores(Vec::new()),
        };
        Self { work, output, done: 0, reply, _place: place }
    }

    /// The next texts of about `tokens` tokens, at least one text.
    fn part(&self, tokens: usize) -> Range<usize> {
        let (mut end, mut sum) = (self.done, 0);
        while end < self.work.len() && (end == self.done || sum + self.work.tokens(end) <= tokens) {
            sum += self.work.tokens(end);
            end += 1;
        }
        self.done..end
    }
}

impl Wait for Job {
    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }

    fn joins(&self, other: &Self) -> bool {
        self.work.joins(&other.work)
    }
}

/// Returns true if nobody waits for any of these jobs any longer.
struct Abandoned<'j>(&'j [(Job, Range<usize>)]);

impl Observer for Abandoned<'_> {
    fn is_cancelled(&self) -> bool {
        self.0.iter().all(|(job, _)| job.is_abandoned())
    }
}

/// The tokens of a turn.
pub(crate) fn turn_tokens() -> usize {
    TOKENS_OF_THREAD * available_parallelism().map_or(1, usize::from)
}

/// Computes a part of each of these jobs, which join each other, and replies to those that are
/// finished; returns the others, and the count of what was computed.
pub(crate) fn run(jobs: Vec<Job>, tokens: usize) -> (Vec<Job>, Count) {
    let share = tokens / jobs.len().max(1);
    let parts = jobs.into_iter().map(|job| {
        let part = job.part(share);
        (job, part)
    });
    let mut parts: Vec<(Job, Range<usize>)> = parts.collect();
    let mut count = Count::default();
    match computed(&parts) {
        Ok(outputs) => {
            let jobs = parts.into_iter().zip(outputs);
            let unfinished =
                jobs.filter_map(|((job, part), output)| proceed(job, part, output, &mut count));
            (unfinished.collect(), count)
        }
        // Each by itself, so that only the one that fails is told so.
        Err(_) if parts.len() > 1 => {
            let mut unfinished = Vec::new();
            for (job, _) in parts {
                let (rest, own) = run(vec![job], share);
                unfinished.extend(rest);
                count.texts += own.texts;
                count.tokens += own.tokens;
            }
            (unfinished, count)
        }
        Err(error) => {
            if let Some((job, _)) = parts.pop() {
                drop(job.reply.send(Err(error)));
            }
            (Vec::new(), count)
        }
    }
}

/// Adds the output of a part to its job, and replies if it was the last part.
fn proceed(mut job: Job, part: Range<usize>, output: Output, count: &mut Count) -> Option<Job> {
    count.texts += part.len() as u64;
    count.tokens += match (&output, &job.work) {
        (Output::Scores(scores), _) => scores.iter().map(|score| score.tokens as u64).sum(),
        (_, work) => part.clone().map(|at| work.tokens(at) as u64).sum::<u64>(),
    };
    match (&mut job.output, output) {
        (Output::Vectors(all), Output::Vectors(part)) => all.extend(part),
        (Output::Scores(all), Output::Scores(part)) => all.extend(part),
        _ => {}
    }
    job.done = part.end;
    if job.done < job.work.len() {
        return (!job.is_abandoned()).then_some(job);
    }
    drop(job.reply.send(Ok(job.output)));
    None
}

/// The output of each part. If a part panics, it has an error.
fn computed(parts: &[(Job, Range<usize>)]) -> Result<Vec<Output>> {
    let compute = || match parts.first().map(|(job, _)| &job.work) {
        Some(Work::Embed { lane, .. }) => embedded(&lane.encoder, parts),
        Some(Work::Score { model, .. }) => scored(&model.model, parts),
        None => Ok(Vec::new()),
    };
    catch_unwind(AssertUnwindSafe(compute)).unwrap_or_else(|panic| Err(panicked(&*panic)))
}

/// The error for a panic.
pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Error {
    let message = panic.downcast_ref::<String>().map(String::as_str);
    let message = message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
    Error::bad_input(format!("the model failed: {message}"))
}

fn embedded(encoder: &Encoder, parts: &[(Job, Range<usize>)]) -> Result<Vec<Output>> {
    let mut texts: Vec<&[u32]> = Vec::new();
    for (job, part) in parts {
        if let Work::Embed { ids, .. } = &job.work {
            texts.extend(ids.get(part.clone()).unwrap_or_default().iter().map(Vec::as_slice));
        }
    }
    let vectors = encoder.embed_ids(&texts, &Abandoned(parts))?;
    let mut rows = vectors.rows();
    let output = |(_, part): &(Job, Range<usize>)| {
        Output::Vectors(rows.by_ref().take(part.len()).flatten().copied().collect())
    };
    Ok(parts.iter().map(output).collect())
}

fn scored(model: &Reranker, parts: &[(Job, Range<usize>)]) -> Result<Vec<Output>> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for (job, part) in parts {
        if let Work::Score { query, texts, .. } = &job.work {
            let texts = texts.get(part.clone()).unwrap_or_default();
            pairs.extend(texts.iter().map(|text| (&**query, text.as_str())));
        }
    }
    let mut scores = model.score_pairs_watched(&pairs, &Abandoned(parts))?.into_iter();
    let output = |(_, part): &(Job, Range<usize>)| {
        Output::Scores(scores.by_ref().take(part.len()).collect())
    };
    Ok(parts.iter().map(output).collect())
}
