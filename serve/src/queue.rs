//! Requests that wait for the models, and the thread that computes them together.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use nanoembed::Result;
use tokio::sync::oneshot;

use crate::crew::Crew;
use crate::line::{Line, Pending};
use crate::metrics::Metrics;
use crate::place::Place;
use crate::turn::{self, Job, Output, Work};

/// The queue.
pub(crate) struct Queue(Crew<Job>);

impl Queue {
    /// Starts the thread.
    pub(crate) fn start(metrics: Arc<Metrics>) -> Result<Self> {
        let tokens = turn::turn_tokens();
        let take_turn = move |line: &Line<Job>, jobs: Vec<Job>| {
            let (unfinished, count) = turn::run(jobs, tokens);
            metrics.turns.fetch_add(1, Ordering::Relaxed);
            metrics.texts.fetch_add(count.texts, Ordering::Relaxed);
            metrics.tokens.fetch_add(count.tokens, Ordering::Relaxed);
            line.put_back(unfinished);
        };
        Crew::start("models", 1, take_turn).map(Self)
    }

    /// Waits for the models to do some work, and returns the output.
    pub(crate) fn submit(&self, work: Work, place: Place) -> Pending<Job, Output> {
        let (sender, reply) = oneshot::channel();
        self.0.line.push(Job::new(work, sender, place));
        Pending::new(&self.0.line, reply)
    }
}

#[cfg(test)]
mod tests {
    use nanoembed::{Encoder, ErrorKind, Kind, Prefix};

    use super::*;
    use crate::place::Places;
    use crate::turn::{Lane, run};

    fn encoder() -> Encoder {
        Encoder::open("../ffi/tests/data/small_bert.weights").unwrap()
    }

    fn work(encoder: &Encoder, texts: &[&str], normalize: bool) -> Work {
        let ids = texts.iter().map(|text| encoder.tokenize(text).unwrap().ids).collect();
        let encoder = encoder.with_normalize(normalize);
        let (model, prompt, dimensions) = ("small".to_owned(), Prefix::Usual, None);
        Work::Embed { lane: Lane { model, prompt, dimensions, normalize, encoder }, ids }
    }

    /// A queue whose jobs the test takes.
    fn queue() -> Queue {
        Queue(Crew::start("models", 0, |_: &_, _| ()).unwrap())
    }

    fn vectors(mut pending: Pending<Job, Output>) -> Vec<f32> {
        match pending.reply.try_recv().unwrap().unwrap() {
            Output::Vectors(values) => values,
            Output::Scores(_) => panic!("scores"),
        }
    }

    #[test]
    fn jobs_of_one_lane_are_taken_together() {
        let (queue, encoder, places) = (queue(), encoder(), Places::new(10, 1));
        let submit = |texts: &[&str], normalize| {
            queue.submit(work(&encoder, texts, normalize), places.take(0).unwrap())
        };
        let first = submit(&["a cat", "a dog"], false);
        let other = submit(&["a cat"], true);
        let second = submit(&["the price of oil"], false);
        let jobs = queue.0.line.take().unwrap();
        assert_eq!(jobs.len(), 2);
        let (unfinished, count) = run(jobs, 1000);
        assert!(unfinished.is_empty());
        assert_eq!(count.texts, 3);
        let expected = |texts: &[&str]| -> Vec<f32> {
            texts.iter().flat_map(|text| encoder.embed(text).unwrap()).collect()
        };
        assert_eq!(vectors(first), expected(&["a cat", "a dog"]));
        assert_eq!(vectors(second), expected(&["the price of oil"]));
        run(queue.0.line.take().unwrap(), 1000);
        assert_eq!(vectors(other), encoder.with_normalize(true).embed("a cat").unwrap());
        assert_eq!(places.count(), 0);
    }

    #[test]
    fn long_jobs_take_several_turns_and_keep_their_order() {
        let (queue, encoder, places) = (queue(), encoder(), Places::new(10, 1));
        let texts: Vec<String> = (0..20).map(|at| format!("cat {at}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let pending = queue.submit(work(&encoder, &texts, false), places.take(0).unwrap());
        let mut turns = 0;
        let mut jobs = queue.0.line.take().unwrap();
        while !jobs.is_empty() {
            jobs = run(jobs, 20).0;
            turns += 1;
        }
        assert!(turns > 3, "{turns}");
        assert_eq!(vectors(pending), encoder.embed_all(&texts).unwrap().into_values());
    }

    #[test]
    fn only_the_job_that_fails_is_told_so() {
        let (queue, encoder, places) = (queue(), encoder(), Places::new(10, 1));
        let right = queue.submit(work(&encoder, &["a cat"], false), places.take(0).unwrap());
        let mut bad = work(&encoder, &["a cat"], false);
        if let Work::Embed { ids, .. } = &mut bad {
            ids[0][1] = u32::MAX;
        }
        let mut wrong = queue.submit(bad, places.take(0).unwrap());
        run(queue.0.line.take().unwrap(), 1000);
        assert_eq!(vectors(right), encoder.embed("a cat").unwrap());
        let error = wrong.reply.try_recv().unwrap().err().unwrap();
        assert_eq!(error.kind(), Kind::Core(ErrorKind::TokenOutOfRange));
    }

    #[test]
    fn jobs_that_nobody_waits_for_leave() {
        let (queue, encoder, places) = (queue(), encoder(), Places::new(10, 1));
        let submit = || queue.submit(work(&encoder, &["a cat"], false), places.take(0).unwrap());
        let (gone, kept) = (submit(), submit());
        drop(gone);
        assert_eq!(places.count(), 1);
        let jobs = queue.0.line.take().unwrap();
        assert_eq!(jobs.len(), 1);
        // One that is being computed is not computed to its end.
        drop(kept);
        let (unfinished, count) = run(jobs, 1000);
        assert_eq!((unfinished.len(), count.texts, places.count()), (0, 0, 0));
    }
}
