//! The best passages for a query.

use std::borrow::Cow;

use nanoembed::{Encoder, Observer, Reranker, Result};
use nanoembed_ranking::{Hit, Scores, WEIGHT, Words, best_part, weight_of_built_in};
use serde_json::{Map, Value};

use super::Tree;
use super::options::{By, Query};
use crate::meaning::{Meaning, compare};
use crate::records;

/// A passage that answers a query: its best part.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Answer<'t> {
    /// The file's name, beginning with the folder as it was given.
    pub file: &'t str,
    /// The number of the part's first line, from 1.
    pub line: u64,
    /// The number of its last line.
    pub end_line: u64,
    /// Its text.
    pub text: &'t str,
    /// The extra text of the passage.
    extra: &'t str,
    /// How well it answers: the larger, the better.
    pub score: f32,
    /// The similarity of the part's meaning, if meanings were compared.
    pub similarity: Option<f32>,
    /// The part as models read it.
    read: Cow<'t, str>,
}

impl Answer<'_> {
    /// Other members of the JSON line that has the passage, such as its `id`; `None` for a passage of
    /// another kind of file.
    #[must_use]
    pub fn members(&self) -> Option<Map<String, Value>> {
        records::members(self.extra)
    }
}

/// The warning to users if [`Answers::leans_on_words`].
pub const KNOWS_ENGLISH: &str = "the built-in model knows English: other languages are found by their words rather than their \
     meaning; a multilingual model, such as multilingual-e5-small, finds both";

/// The answers to a query.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Answers<'t> {
    /// The best first.
    pub all: Vec<Answer<'t>>,
    /// True if the query has more tokens than the model takes.
    pub query_truncated: bool,
    /// True if the built-in model knows too little of the language for its usual share.
    pub leans_on_words: bool,
}

impl<'t> Answers<'t> {
    /// The best `count`.
    pub fn best(&self, count: usize) -> impl Iterator<Item = &Answer<'t>> {
        self.all.iter().take(count)
    }

    /// Leaves out answers whose meanings are less similar than `least`, or were not compared.
    pub fn leave_out_below(&mut self, least: f32) {
        self.all.retain(|it| it.similarity.is_some_and(|similarity| similarity >= least));
    }

    /// Keeps as many of the best as the query's depth, replaces their scores by those of a second
    /// model, and sorts them by these.
    ///
    /// # Errors
    ///
    /// Fails if the model fails or `observer` cancels.
    pub fn rerank(
        &mut self,
        query: &Query<'_>,
        model: &Reranker,
        observer: &dyn Observer,
    ) -> Result<()> {
        self.all.truncate(query.depth);
        let pairs: Vec<(&str, &str)> =
            self.all.iter().map(|answer| (query.text, &*answer.read)).collect();
        let scores = model.score_pairs_watched(&pairs, observer)?;
        for (answer, score) in self.all.iter_mut().zip(scores) {
            answer.score = score.score();
        }
        // Stable: equals stay in their order.
        self.all.sort_by(|a, b| b.score.total_cmp(&a.score));
        Ok(())
    }
}

impl Tree {
    /// The passages that answer a query: among the best by meaning and the best by words.
    ///
    /// # Errors
    ///
    /// Fails if the model fails, or makes no vectors of the kind, or `observer` cancels.
    pub fn search(
        &self,
        query: &Query<'_>,
        encoder: &Encoder,
        observer: &dyn Observer,
    ) -> Result<Answers<'_>> {
        let live = &self.live;
        let words = (query.by != By::Meaning).then(|| Words::new(query.text, live));
        if query.by == By::Words {
            let scores = words.as_ref().map(|words| words.scores(live));
            let scores = Scores { words: scores.as_deref(), meaning: None };
            let best_of =
                |passage| (words.as_ref().map_or(0, |it| self.best_of(it, passage)), None);
            let all = self.answers(scores.rank(0.0, query.depth), &best_of);
            return Ok(Answers { all, ..Answers::default() });
        }
        let kind = query.vectors.unwrap_or_else(|| encoder.vector_kind());
        let meaning = compare(encoder, kind, query.text, live, observer)?;
        let Meaning { passages, query_truncated } = meaning;
        let weight = query.weight.unwrap_or_else(|| match encoder.is_built_in() {
            true => weight_of_built_in(query.text, live),
            false => WEIGHT,
        });
        let words = words.filter(Words::count_beside_meaning).map(|words| words.scores(live));
        let by_meaning = best_part::scores(&passages);
        let scores = Scores { meaning: Some(&by_meaning), words: words.as_deref() };
        let best_of = |passage: usize| match passages.get(passage) {
            Some(best) => (best.number(), Some(best.similarity())),
            None => (0, None),
        };
        let all = self.answers(scores.rank(weight, query.depth), &best_of);
        let leans_on_words = encoder.is_built_in() && query.weight.is_none() && weight < WEIGHT;
        Ok(Answers { all, query_truncated, leans_on_words })
    }

    /// The passages that were found, where `best_of` gives the number of a passage's best part and the
    /// similarity of that.
    fn answers(
        &self,
        hits: Vec<Hit>,
        best_of: &dyn Fn(usize) -> (u32, Option<f32>),
    ) -> Vec<Answer<'_>> {
        let answer = |hit: Hit| {
            let place = self.live.place(hit.passage)?;
            let passage = place.segment.passage(place.passage);
            let (best, similarity) = best_of(hit.passage);
            let part = passage.parts.start.checked_add(best)?;
            let part = place.segment.part(part);
            Some(Answer {
                file: place.name,
                line: part.line.into(),
                end_line: part.end_line.into(),
                text: passage.text_of(&part),
                extra: passage.extra,
                score: hit.score,
                similarity,
                read: passage.read_of(&part),
            })
        };
        hits.into_iter().filter_map(answer).collect()
    }

    /// The part with the rarest words of a query.
    fn best_of(&self, words: &Words, passage: usize) -> u32 {
        let Some(place) = self.live.place(passage) else { return 0 };
        let passage = place.segment.passage(place.passage);
        if passage.parts.len() < 2 {
            return 0;
        }
        let parts = passage.parts.clone().map(|part| passage.text_of(&place.segment.part(part)));
        u32::try_from(words.best_of(parts)).unwrap_or(0)
    }
}
