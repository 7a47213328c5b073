//! Answers, whole and in chunks.

use std::hash::{BuildHasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

use nanoembed::FinishReason;
use serde_json::{Value, json};

/// The form of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::api) enum Form {
    Chat,
    Text,
}

/// What all parts of an answer share.
pub(super) struct Answer {
    form: Form,
    id: String,
    created: u64,
    model: String,
    prompt_tokens: usize,
    /// True if the last chunk of a stream tells the numbers of tokens.
    includes_usage: bool,
}

impl Answer {
    pub(super) fn new(form: Form, model: &str, prompt_tokens: usize, includes_usage: bool) -> Self {
        let kind = match form {
            Form::Chat => "chatcmpl",
            Form::Text => "cmpl",
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let id = RandomState::new().hash_one(now);
        Self {
            form,
            id: format!("{kind}-{id:016x}"),
            created: now.as_secs(),
            model: model.to_owned(),
            prompt_tokens,
            includes_usage,
        }
    }

    /// The whole answer.
    pub(super) fn whole(&self, text: &str, reason: FinishReason, tokens: usize) -> Value {
        let reason = spelled(reason);
        let (object, choice) = match self.form {
            Form::Chat => {
                let message = json!({"role": "assistant", "content": text, "refusal": null});
                ("chat.completion", choice("message", message, Some(reason)))
            }
            Form::Text => ("text_completion", choice("text", text.into(), Some(reason))),
        };
        let mut answer = self.part(object, &json!([choice]));
        answer["usage"] = self.usage(tokens);
        answer
    }

    /// The chunk before the first text, if there is one.
    pub(super) fn opening(&self) -> Option<Value> {
        match self.form {
            Form::Chat => Some(self.chunk(json!({"role": "assistant", "content": ""}), None)),
            Form::Text => None,
        }
    }

    /// The chunk of a text.
    pub(super) fn piece(&self, text: &str) -> Value {
        match self.form {
            Form::Chat => self.chunk(json!({"content": text}), None),
            Form::Text => self.chunk(text.into(), None),
        }
    }

    /// The chunks after the last text.
    pub(super) fn closing(&self, reason: FinishReason, tokens: usize) -> Vec<Value> {
        let nothing = match self.form {
            Form::Chat => json!({}),
            Form::Text => json!(""),
        };
        let mut chunks = vec![self.chunk(nothing, Some(spelled(reason)))];
        if self.includes_usage {
            let mut last = self.part(self.object(), &json!([]));
            last["usage"] = self.usage(tokens);
            chunks.push(last);
        }
        chunks
    }

    fn chunk(&self, content: Value, reason: Option<&str>) -> Value {
        let name = match self.form {
            Form::Chat => "delta",
            Form::Text => "text",
        };
        let mut chunk = self.part(self.object(), &json!([choice(name, content, reason)]));
        if self.includes_usage {
            chunk["usage"] = Value::Null;
        }
        chunk
    }

    /// The kind of object that a chunk is.
    const fn object(&self) -> &'static str {
        match self.form {
            Form::Chat => "chat.completion.chunk",
            Form::Text => "text_completion",
        }
    }

    fn part(&self, object: &str, choices: &Value) -> Value {
        let Self { id, created, model, .. } = self;
        json!({"id": id, "object": object, "created": created, "model": model, "choices": choices})
    }

    fn usage(&self, tokens: usize) -> Value {
        json!({
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": tokens,
            "total_tokens": self.prompt_tokens + tokens,
        })
    }
}

/// The answer's one choice; `name` is the member for its text or message.
fn choice(name: &str, content: Value, reason: Option<&str>) -> Value {
    json!({"index": 0, name: content, "logprobs": null, "finish_reason": reason})
}

/// OpenAI's word for the reason of an end.
const fn spelled(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Length => "length",
        _ => "stop",
    }
}
