//! Texts to embed, of every interface.

use nanoembed::{Encoder, Prefix};

use super::App;
use super::failure::Failure;
use super::input::Input;
use crate::turn::{Lane, Output, Work};

/// A request for embeddings.
pub(super) struct Wanted {
    pub(super) model: Option<String>,
    /// The member that has the texts.
    pub(super) param: &'static str,
    pub(super) input: Input,
    pub(super) prompt: Prefix,
    /// True if texts that are too long are cut.
    pub(super) truncate: bool,
    pub(super) dimensions: Option<usize>,
    pub(super) normalize: bool,
}

/// A request whose texts are tokenised.
pub(super) struct Prepared {
    pub(super) model: String,
    pub(super) texts: usize,
    pub(super) tokens: usize,
    pub(super) work: Work,
}

impl App {
    /// The model called `name`, or the first that embeds.
    pub(super) fn embedder(&self, name: Option<&str>) -> Result<(&str, &Encoder), Failure> {
        self.model(name, "embed texts", |model| model.embedder.as_ref())
    }

    /// Refuses a request with more texts than the limit.
    pub(super) fn check_texts(&self, texts: usize, param: &'static str) -> Result<(), Failure> {
        let most = self.options.limits.texts;
        if texts > most {
            let message = format!("`{param}` has {texts} texts, and a request may have {most}");
            return Err(Failure::too_long(param, message));
        }
        Ok(())
    }
}

impl Wanted {
    /// Chooses the model and tokenises the texts.
    pub(super) fn prepare(self, app: &App) -> Result<Prepared, Failure> {
        let Self { model, param, input, prompt, truncate, dimensions, normalize } = self;
        if input.len() == 0 {
            return Err(Failure::empty(param));
        }
        app.check_texts(input.len(), param)?;
        let (name, encoder) = app.embedder(model.as_deref())?;
        let prompt = match (&input, prompt) {
            (Input::Texts(_), prompt) => prompt,
            // Ids are embedded as they are, after nothing.
            (Input::Ids(_), Prefix::Usual) => Prefix::Text(String::new()),
            (Input::Ids(_), _) => {
                return Err(Failure::invalid(
                    param,
                    "has token ids, before which no prompt stands",
                ));
            }
        };
        let encoder = encoder.with_prompt(prompt.clone())?;
        let encoder = encoder.with_truncate_dim(dimensions)?.with_normalize(normalize);
        let ids = match input {
            Input::Texts(texts) => tokenized(name, &encoder, &texts, (param, truncate))?,
            Input::Ids(ids) => {
                check_ids(name, &encoder, &ids, param)?;
                ids
            }
        };
        let model = name.to_owned();
        let lane = Lane { model: model.clone(), prompt, dimensions, normalize, encoder };
        let (texts, tokens) = (ids.len(), ids.iter().map(Vec::len).sum());
        Ok(Prepared { model, texts, tokens, work: Work::Embed { lane, ids } })
    }
}

/// The token ids of texts. Texts that are too long are cut if `truncate`, otherwise refused.
pub(super) fn tokenized(
    name: &str,
    encoder: &Encoder,
    texts: &[String],
    (param, truncate): (&'static str, bool),
) -> Result<Vec<Vec<u32>>, Failure> {
    let tokenize = |(at, text): (usize, &String)| {
        let tokens = encoder.tokenize(text)?;
        if tokens.truncated && !truncate {
            let (count, most) = (encoder.count_tokens(text)?, encoder.max_tokens());
            let message = format!(
                "`{param}`: text {at} has {count} tokens, and {name} takes {most}: send a shorter \
                 one, or `\"truncate\": true` to have it cut"
            );
            return Err(Failure::too_long(param, message));
        }
        Ok(tokens.ids)
    };
    texts.iter().enumerate().map(tokenize).collect()
}

fn check_ids(
    name: &str,
    encoder: &Encoder,
    texts: &[Vec<u32>],
    param: &'static str,
) -> Result<(), Failure> {
    let most = encoder.max_tokens();
    for (at, ids) in texts.iter().enumerate() {
        if ids.is_empty() {
            return Err(Failure::invalid(param, format!("has no token ids for text {at}")));
        }
        if ids.len() > most {
            let count = ids.len();
            let message =
                format!("`{param}`: text {at} has {count} tokens, and {name} takes {most}");
            return Err(Failure::too_long(param, message));
        }
        if let Some(id) = ids.iter().find(|id| !encoder.has_token(**id)) {
            let message = format!("has the token id {id}, which {name} has no token for");
            return Err(Failure::invalid(param, message));
        }
    }
    Ok(())
}

/// The vectors of `texts` texts.
pub(super) fn rows(output: &Option<Output>, texts: usize) -> impl Iterator<Item = &[f32]> {
    let values = match output {
        Some(Output::Vectors(values)) => &values[..],
        _ => &[],
    };
    values.chunks_exact((values.len() / texts.max(1)).max(1))
}
