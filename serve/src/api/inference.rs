//! The interface of text-embeddings-inference.

use nanoembed::Prefix;
use serde::{Deserialize, Serialize};

use super::App;
use super::embedding::{Wanted, rows, tokenized};
use super::exchange::{Endpoint, to_json};
use super::failure::{Failure, Shape};
use super::input::Input;
use super::ranking::{Ranked, Ranking};
use crate::turn::{Output, Work};

/// `/embed`: vectors of length 1 unless `normalize` is false.
pub(super) struct Embed {
    texts: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EmbedRequest {
    inputs: Input,
    model: Option<String>,
    normalize: Option<bool>,
    prompt_name: Option<String>,
    truncate: Option<bool>,
    truncation_direction: Option<Direction>,
    dimensions: Option<usize>,
}

/// The end at which a text is cut.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
enum Direction {
    #[serde(alias = "right")]
    Right,
    #[serde(alias = "left")]
    Left,
}

/// Refuses to cut a text's beginning.
fn check_direction(direction: Option<Direction>, truncate: bool) -> Result<(), Failure> {
    if truncate && direction == Some(Direction::Left) {
        return Err(Failure::invalid("truncation_direction", "can only be `Right`"));
    }
    Ok(())
}

/// `/rerank`.
pub(super) struct Rerank {
    ranking: Ranking,
    raw_scores: bool,
    /// The texts, if they are part of the answer.
    texts: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RerankRequest {
    query: String,
    texts: Vec<String>,
    model: Option<String>,
    raw_scores: Option<bool>,
    return_text: Option<bool>,
    truncate: Option<bool>,
    truncation_direction: Option<Direction>,
}

#[derive(Serialize)]
struct Rank<'a> {
    index: usize,
    score: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

/// `/tokenize`: the tokens that `/embed` would embed.
pub(super) struct Tokenize {
    model: String,
    ids: Vec<Vec<u32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TokenizeRequest {
    inputs: Input,
    model: Option<String>,
    prompt_name: Option<String>,
    truncate: Option<bool>,
    add_special_tokens: Option<bool>,
}

#[derive(Serialize)]
struct Token {
    id: u32,
    text: Option<String>,
}

/// The prompt of a name; without one the model's default.
fn prompt(name: Option<String>) -> Prefix {
    name.map_or(Prefix::Usual, Prefix::Named)
}

impl Endpoint for Embed {
    const PATH: &'static str = "/embed";
    const SHAPE: Shape = Shape::Inference;
    type Request = EmbedRequest;

    fn read(app: &App, request: EmbedRequest) -> Result<(Self, Option<Work>), Failure> {
        let truncate = request.truncate.unwrap_or_default();
        check_direction(request.truncation_direction, truncate)?;
        let wanted = Wanted {
            model: request.model,
            param: "inputs",
            input: request.inputs,
            prompt: prompt(request.prompt_name),
            truncate,
            dimensions: request.dimensions,
            normalize: request.normalize.unwrap_or(true),
        };
        let prepared = wanted.prepare(app)?;
        Ok((Self { texts: prepared.texts }, Some(prepared.work)))
    }

    fn answer(self, _: &App, output: Option<Output>) -> Result<Vec<u8>, Failure> {
        to_json(&rows(&output, self.texts).collect::<Vec<_>>())
    }
}

impl Endpoint for Rerank {
    const PATH: &'static str = "/rerank";
    const SHAPE: Shape = Shape::Inference;
    type Request = RerankRequest;

    fn read(app: &App, request: RerankRequest) -> Result<(Self, Option<Work>), Failure> {
        let truncate = request.truncate.unwrap_or_default();
        check_direction(request.truncation_direction, truncate)?;
        let texts = request.return_text.unwrap_or_default().then(|| request.texts.clone());
        let given = ("texts", request.texts);
        let (ranking, work) =
            Ranking::prepare(app, request.model.as_deref(), &request.query, given, truncate)?;
        let raw_scores = request.raw_scores.unwrap_or_default();
        Ok((Self { ranking, raw_scores, texts }, Some(work)))
    }

    fn answer(self, _: &App, output: Option<Output>) -> Result<Vec<u8>, Failure> {
        let (ranked, _) = self.ranking.ranked(output)?;
        let rank = |Ranked { index, score }: Ranked| {
            let text = self.texts.as_ref().and_then(|texts| texts.get(index));
            let score = if self.raw_scores { score.logit() } else { score.score() };
            Rank { index, score, text: text.map(String::as_str) }
        };
        let ranks: Vec<Rank<'_>> = ranked.into_iter().map(rank).collect();
        to_json(&ranks)
    }
}

impl Endpoint for Tokenize {
    const PATH: &'static str = "/tokenize";
    const SHAPE: Shape = Shape::Inference;
    type Request = TokenizeRequest;

    fn read(app: &App, request: TokenizeRequest) -> Result<(Self, Option<Work>), Failure> {
        if request.add_special_tokens == Some(false) {
            let message = "can only be true: the tokens are those that the model embeds";
            return Err(Failure::invalid("add_special_tokens", message));
        }
        let Input::Texts(texts) = request.inputs else {
            return Err(Failure::invalid("inputs", "has token ids instead of texts"));
        };
        if texts.is_empty() {
            return Err(Failure::empty("inputs"));
        }
        app.check_texts(texts.len(), "inputs")?;
        let (name, encoder) = app.embedder(request.model.as_deref())?;
        let encoder = encoder.with_prompt(prompt(request.prompt_name))?;
        let truncate = request.truncate.unwrap_or_default();
        let ids = tokenized(name, &encoder, &texts, ("inputs", truncate))?;
        Ok((Self { model: name.to_owned(), ids }, None))
    }

    fn answer(self, app: &App, _: Option<Output>) -> Result<Vec<u8>, Failure> {
        let (_, encoder) = app.embedder(Some(&self.model))?;
        let token = |id: &u32| Token { id: *id, text: encoder.token(*id) };
        let tokens: Vec<Vec<Token>> =
            self.ids.iter().map(|ids| ids.iter().map(token).collect()).collect();
        to_json(&tokens)
    }
}
