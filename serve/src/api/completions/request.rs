//! The members of requests.

use nanoembed::GenerationSettings;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::Completion;
use super::answer::Form;
use super::message::Message;
use super::wanted::{Text, Wanted};
use crate::api::failure::Failure;
use crate::api::input::Input;

/// The most texts that end a continuation: each is looked for after every token.
const MOST_STOPS: usize = 16;

/// A request with the members of its own endpoint and those that both have. `top_k`, `min_p` and
/// `repetition_penalty` are those of other servers.
macro_rules! request {
    ($(#[$doc:meta])* $name:ident { $($own:tt)* }) => {
        $(#[$doc])*
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(in crate::api) struct $name {
            $($own)*
            model: Option<String>,
            max_tokens: Option<usize>,
            temperature: Option<f32>,
            top_p: Option<f32>,
            top_k: Option<usize>,
            min_p: Option<f32>,
            repetition_penalty: Option<f32>,
            seed: Option<u64>,
            stop: Option<Stop>,
            stream: Option<bool>,
            stream_options: Option<StreamOptions>,
            n: Option<u64>,
            presence_penalty: Option<f32>,
            frequency_penalty: Option<f32>,
            /// Tells OpenAI's customers apart.
            #[serde(rename = "user")]
            _user: Option<IgnoredAny>,
        }

        impl $name {
            /// The continuation of `text` that the members ask for.
            fn of(self, text: Text, max_tokens: Option<usize>) -> Result<Wanted, Failure> {
                only("n", self.n, 1)?;
                let sampling = GenerationSettings {
                    temperature: self.temperature,
                    top_p: self.top_p,
                    top_k: self.top_k,
                    min_p: self.min_p,
                    repetition_penalty: self.repetition_penalty,
                    presence_penalty: self.presence_penalty,
                    frequency_penalty: self.frequency_penalty,
                };
                let is_streamed = self.stream.unwrap_or_default();
                let includes_usage = includes_usage(self.stream_options, is_streamed)?;
                let stops = stops(self.stop)?;
                let model = self.model;
                Ok(Wanted { model, text, sampling,
                    seed: self.seed, max_tokens, stops, is_streamed, includes_usage })
            }
        }
    };
}

request! {
    /// A conversation that goes on.
    ChatRequest {
        messages: Vec<Message>,
        max_completion_tokens: Option<usize>,
        logprobs: Option<bool>,
        response_format: Option<Format>,
    }
}

request! {
    /// A text that goes on.
    TextRequest {
        prompt: Input,
    }
}

/// Texts that end the continuation.
#[derive(Deserialize)]
#[serde(untagged, expecting = "`stop` is a text, or an array of texts")]
enum Stop {
    One(String),
    Several(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StreamOptions {
    include_usage: Option<bool>,
}

/// The form of the answer's text.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum Format {
    Text {},
}

/// Refuses another value of a member than the one that changes nothing.
fn only<T: PartialEq + std::fmt::Display>(
    param: &'static str,
    value: Option<T>,
    usual: T,
) -> Result<(), Failure> {
    match value.filter(|value| *value != usual) {
        Some(value) => {
            Err(Failure::invalid(param, format!("is {value}, and can only be {usual} here")))
        }
        None => Ok(()),
    }
}

fn includes_usage(options: Option<StreamOptions>, is_streamed: bool) -> Result<bool, Failure> {
    if options.is_some() && !is_streamed {
        return Err(Failure::invalid("stream_options", "is for answers with `\"stream\": true`"));
    }
    Ok(options.and_then(|options| options.include_usage).unwrap_or_default())
}

fn stops(stop: Option<Stop>) -> Result<Vec<String>, Failure> {
    let stops = match stop {
        None => Vec::new(),
        Some(Stop::One(text)) => vec![text],
        Some(Stop::Several(texts)) => texts,
    };
    if stops.len() > MOST_STOPS {
        let count = stops.len();
        let message = format!("has {count} texts, and a request may have {MOST_STOPS}");
        return Err(Failure::invalid("stop", message));
    }
    if stops.iter().any(String::is_empty) {
        return Err(Failure::invalid("stop", "has an empty text, which would end every answer"));
    }
    Ok(stops)
}

impl Completion for ChatRequest {
    const PATH: &'static str = "/v1/chat/completions";
    const FORM: Form = Form::Chat;

    fn wanted(mut self) -> Result<Wanted, Failure> {
        only("logprobs", self.logprobs, false)?;
        let _of_text: Option<Format> = self.response_format.take();
        let max_tokens = match (self.max_completion_tokens, self.max_tokens) {
            (Some(_), Some(_)) => {
                let message = "cannot stand beside `max_completion_tokens`";
                return Err(Failure::invalid("max_tokens", message));
            }
            (most, older) => most.or(older),
        };
        let messages = std::mem::take(&mut self.messages);
        self.of(Text::Messages(messages), max_tokens)
    }
}

impl Completion for TextRequest {
    const PATH: &'static str = "/v1/completions";
    const FORM: Form = Form::Text;

    fn wanted(mut self) -> Result<Wanted, Failure> {
        let max_tokens = self.max_tokens;
        let text = match std::mem::replace(&mut self.prompt, Input::Ids(Vec::new())) {
            Input::Texts(texts) => one(texts).map(Text::Prompt),
            Input::Ids(lists) => one(lists).map(Text::Ids),
        }?;
        self.of(text, max_tokens)
    }
}

/// The only prompt.
fn one<T>(mut prompts: Vec<T>) -> Result<T, Failure> {
    let count = prompts.len();
    match prompts.pop() {
        Some(prompt) if count == 1 => Ok(prompt),
        None => Err(Failure::empty("prompt")),
        _ => {
            let message = format!("has {count} texts, and a request may have one");
            Err(Failure::invalid("prompt", message))
        }
    }
}
