//! Texts to rank, of every interface.

use nanoembed::Score;

use super::App;
use super::failure::Failure;
use crate::turn::{Output, Ranker, Work};

/// Texts that are to be ranked.
pub(super) struct Ranking {
    pub(super) model: String,
    most: usize,
    /// The member that has the texts.
    param: &'static str,
    /// True if pairs that are too long are cut.
    truncate: bool,
}

/// A text by its rank.
pub(super) struct Ranked {
    pub(super) index: usize,
    pub(super) score: Score,
}

impl Ranking {
    /// Chooses the model, and returns it with its work.
    pub(super) fn prepare(
        app: &App,
        model: Option<&str>,
        query: &str,
        (param, texts): (&'static str, Vec<String>),
        truncate: bool,
    ) -> Result<(Self, Work), Failure> {
        if texts.is_empty() {
            return Err(Failure::empty(param));
        }
        app.check_texts(texts.len(), param)?;
        let (name, model) = app.model(model, "rank texts", |model| model.reranker.as_ref())?;
        let ranking = Self { model: name.to_owned(), most: model.max_tokens(), param, truncate };
        let model = Ranker { name: name.to_owned(), model: model.clone() };
        Ok((ranking, Work::Score { model, query: query.into(), texts }))
    }

    /// The texts by their scores, the best first, equal ones in their own order; and the number of
    /// tokens.
    pub(super) fn ranked(&self, output: Option<Output>) -> Result<(Vec<Ranked>, usize), Failure> {
        let Some(Output::Scores(scores)) = output else {
            return Err(Failure::failed("there are no scores"));
        };
        if let Some(at) = scores.iter().position(|score| score.truncated && !self.truncate) {
            let Self { param, most, model, .. } = self;
            let message = format!(
                "`{param}`: the query and text {at} have more tokens than the {most} that {model} \
                 takes: send shorter ones, or `\"truncate\": true` to have them cut"
            );
            return Err(Failure::too_long(param, message));
        }
        let tokens = scores.iter().map(|score| score.tokens).sum();
        let ranked = scores.into_iter().enumerate().map(|(index, score)| Ranked { index, score });
        let mut ranked: Vec<Ranked> = ranked.collect();
        // By logits, which tell apart what scores round to 1.
        ranked.sort_by(|a, b| b.score.logit().total_cmp(&a.score.logit()));
        Ok((ranked, tokens))
    }
}
