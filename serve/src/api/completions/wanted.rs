//! The continuation that a request asks for.

use nanoembed::{GenerationSettings, Generator, Kind, Prompt, Sampling};

use super::answer::{Answer, Form};
use super::message::Message;
use crate::api::App;
use crate::api::failure::Failure;
use crate::continuation::Beginning;

/// The continuation that a request asks for.
pub(in crate::api) struct Wanted {
    pub(super) model: Option<String>,
    pub(super) text: Text,
    pub(super) sampling: GenerationSettings,
    pub(super) seed: Option<u64>,
    pub(super) max_tokens: Option<usize>,
    pub(super) stops: Vec<String>,
    pub(super) is_streamed: bool,
    pub(super) includes_usage: bool,
}

/// The text to continue.
pub(super) enum Text {
    Messages(Vec<Message>),
    Prompt(String),
    Ids(Vec<u32>),
}

impl App {
    /// The model called `name`, or the first that continues texts.
    fn generator(&self, name: Option<&str>) -> Result<(&str, &Generator), Failure> {
        self.model(name, "continue texts", |model| model.generator.as_ref())
    }
}

impl Wanted {
    /// Chooses the model and tokenises the text. Returns what answers need to know, what is to be
    /// computed, and true if the answer is streamed.
    pub(super) fn prepare(
        self,
        app: &App,
        form: Form,
    ) -> Result<(Answer, Beginning, bool), Failure> {
        let (name, generator) = app.generator(self.model.as_deref())?;
        let param = self.text.param();
        let ids = self.text.tokenized(app, generator)?;
        if ids.is_empty() {
            return Err(Failure::empty(param));
        }
        let positions = generator.positions();
        let room = positions.saturating_sub(ids.len());
        let max_tokens = self.max_tokens.unwrap_or(Sampling::ANSWER_TOKENS.min(room.max(1)));
        if max_tokens > room {
            let count = ids.len();
            let message = format!(
                "`{param}` has {count} tokens and {max_tokens} more are to be added, and {name} \
                 takes {positions}"
            );
            return Err(Failure::too_long(param, message));
        }
        let answer = Answer::new(form, name, ids.len(), self.includes_usage);
        let seed = self.seed.unwrap_or_else(Sampling::random_seed);
        let sampling = generator.sampling().with(&self.sampling).max_tokens(max_tokens).seed(seed);
        let (generator, stops) = (generator.clone(), self.stops);
        Ok((answer, Beginning { generator, ids, sampling, stops }, self.is_streamed))
    }
}

impl Text {
    /// The member of the request that it is in.
    const fn param(&self) -> &'static str {
        match self {
            Self::Messages(_) => "messages",
            Self::Prompt(_) | Self::Ids(_) => "prompt",
        }
    }

    fn tokenized(self, app: &App, generator: &Generator) -> Result<Vec<u32>, Failure> {
        match self {
            Self::Ids(ids) => Ok(ids),
            // As with `generate`, special tokens can be spelled: a template that is filled in.
            Self::Prompt(text) => Ok(generator.encode(Prompt::WithSpecialTokens(&text))?),
            Self::Messages(messages) => conversation(app, generator, messages),
        }
    }
}

fn conversation(
    app: &App,
    generator: &Generator,
    messages: Vec<Message>,
) -> Result<Vec<u32>, Failure> {
    if messages.is_empty() {
        return Err(Failure::empty("messages"));
    }
    app.check_texts(messages.len(), "messages")?;
    let parts: Vec<(&str, String)> =
        messages.into_iter().map(Message::into_role_and_text).collect();
    let messages: Vec<nanoembed::Message<'_>> =
        parts.iter().map(|(role, content)| nanoembed::Message::new(role, content)).collect();
    generator.encode(Prompt::Chat(&messages)).map_err(|error| match error.kind() {
        Kind::Usage => {
            let message = format!(
                "cannot be put to this model: {}; /v1/completions takes a `prompt` in the model's \
                 own form",
                error.message()
            );
            Failure::invalid("messages", message)
        }
        _ => error.into(),
    })
}
