//! Texts that are continued, as OpenAI has it.

use std::io::Write;

use nanoembed::{FinishReason, Generator, Message, Prompt, Sampling};
use nanoembed_serve::Options;
use serde_json::{Value, json};

use crate::client::{Answer, BERT, LLAMA, RANKER, answer, head, path, request, start_with};

const CHAT: &str = "/v1/chat/completions";
const TEXT: &str = "/v1/completions";

/// A decoder without the tokens around messages.
const PLAIN: &str = "tests/data/cases/llama-llama3-scaling/model";

fn generator(name: &str) -> Generator {
    Generator::open(path(name)).unwrap()
}

/// The library's continuation, and the numbers of tokens of the prompt and of the continuation.
fn expected(
    prompt: Prompt<'_>,
    sampling: Sampling,
    stops: &[&str],
) -> (String, FinishReason, [usize; 2]) {
    let generator = generator(LLAMA);
    let mut pieces = generator.generate(prompt, sampling).unwrap().until(stops.iter().copied());
    let text: String = pieces.by_ref().map(Result::unwrap).collect();
    let tokens = [pieces.prompt_tokens(), pieces.ids().len()];
    (text, pieces.finish_reason().unwrap(), tokens)
}

fn usage([prompt, added]: [usize; 2]) -> Value {
    json!({"prompt_tokens": prompt, "completion_tokens": added, "total_tokens": prompt + added})
}

/// The chunks of a stream, up to its last line.
fn chunks(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.head.contains("\r\ncontent-type: text/event-stream"), "{answer:?}");
    let text = std::str::from_utf8(&answer.body).unwrap();
    let mut events: Vec<&str> = text
        .split_terminator("\n\n")
        .map(|event| event.strip_prefix("data: ").unwrap_or_else(|| panic!("{event}")))
        .collect();
    assert_eq!(events.pop(), Some("[DONE]"));
    events.into_iter().map(|event| serde_json::from_str(event).unwrap()).collect()
}

/// The texts of chunks, put together.
fn joined(chunks: &[Value], pointer: &str) -> String {
    chunks.iter().filter_map(|chunk| chunk.pointer(pointer)?.as_str()).collect()
}

/// The same with further members.
fn with(body: &Value, more: Value) -> Value {
    let mut body = body.clone();
    let Value::Object(more) = more else { panic!("{more}") };
    body.as_object_mut().unwrap().extend(more);
    body
}

#[test]
fn conversations_go_on_as_by_the_library() {
    let server = start_with(&[BERT, LLAMA], Options::default());
    let messages =
        [Message::system("Be brief."), Message::user("the weather"), Message::assistant("today")];
    let messages = [&messages[..], &[Message::user("and\nnow <|im_end|>")]].concat();
    let usual = Sampling::default();
    let sampling = usual.temperature(1.5).top_k(0).top_p(0.9).seed(7).max_tokens(20);
    let (text, reason, tokens) = expected(Prompt::Chat(&messages), sampling, &[]);
    assert!(!text.is_empty());
    let parts =
        json!([{"type": "text", "text": "and"}, {"type": "text", "text": "now <|im_end|>"}]);
    let body = json!({
        "messages": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": "the weather"},
            {"role": "assistant", "content": "today", "refusal": null},
            {"role": "user", "content": parts},
        ],
        "temperature": 1.5, "top_k": 0, "top_p": 0.9, "seed": 7, "max_completion_tokens": 20,
        "n": 1, "presence_penalty": 0, "frequency_penalty": 0.0, "logprobs": false,
        "response_format": {"type": "text"}, "user": "somebody",
    });
    let answer = server.ok(CHAT, &body);
    let message = json!({"role": "assistant", "content": text, "refusal": null});
    let reason = if reason == FinishReason::Length { "length" } else { "stop" };
    let choice = json!({"index": 0, "message": message, "logprobs": null, "finish_reason": reason});
    assert_eq!(answer["choices"], json!([choice]));
    assert_eq!(answer["usage"], usage(tokens));
    assert_eq!((&answer["object"], &answer["model"]), (&json!("chat.completion"), &json!("tiny")));
    assert!(answer["id"].as_str().unwrap().starts_with("chatcmpl-"));
    // In pieces.
    let streamed = with(&body, json!({"stream": true}));
    let chunks = chunks(&server.post(CHAT, &streamed.to_string()));
    assert_eq!(chunks[0]["choices"][0]["delta"], json!({"role": "assistant", "content": ""}));
    assert_eq!(joined(&chunks, "/choices/0/delta/content"), text);
    let (last, others) = chunks.split_last().unwrap();
    assert_eq!(last["choices"][0]["delta"], json!({}));
    assert_eq!(last["choices"][0]["finish_reason"], reason);
    assert!(others.iter().all(|chunk| chunk["choices"][0]["finish_reason"].is_null()));
    assert!(chunks.iter().all(|chunk| chunk["id"] == chunks[0]["id"]));
    assert!(chunks.iter().all(|chunk| chunk.get("usage").is_none()));
    assert_eq!(server.end().generated, 2 * tokens[1] as u64);
}

#[test]
fn texts_go_on_as_by_the_library() {
    let server = start_with(&[LLAMA], Options::default());
    // Special tokens are spelled, as in a template that is filled in.
    let text = "<|im_start|>user\nthe weather<|im_end|>\n";
    let sampling = Sampling::default().seed(3).max_tokens(16);
    let (added, _, tokens) = expected(Prompt::WithSpecialTokens(text), sampling, &[]);
    let body = json!({"prompt": text, "seed": 3, "max_tokens": 16});
    let answer = server.ok(TEXT, &body);
    assert_eq!(answer["choices"][0]["text"], added);
    assert_eq!((&answer["object"], &answer["usage"]), (&json!("text_completion"), &usage(tokens)));
    let ids = generator(LLAMA).encode(Prompt::WithSpecialTokens(text)).unwrap();
    assert_eq!(server.ok(TEXT, &with(&body, json!({"prompt": ids})))["choices"], answer["choices"]);
    let options = json!({"stream": true, "stream_options": {"include_usage": true}});
    let chunks = chunks(&server.post(TEXT, &with(&body, options).to_string()));
    assert_eq!(joined(&chunks, "/choices/0/text"), added);
    let (last, others) = chunks.split_last().unwrap();
    assert_eq!((&last["choices"], &last["usage"]), (&json!([]), &usage(tokens)));
    assert!(others.iter().all(|chunk| chunk["usage"].is_null()));
    assert!(others.iter().all(|chunk| chunk.get("usage").is_some()));
}

#[test]
fn texts_end_at_a_stop_at_the_most_tokens_or_at_the_models_end() {
    let server = start_with(&[LLAMA], Options::default());
    let sampling = Sampling::greedy().max_tokens(24);
    let prompt = Prompt::WithSpecialTokens("the weather");
    let (whole, reason, [_, count]) = expected(prompt, sampling, &[]);
    assert_eq!((reason, count), (FinishReason::Length, 24));
    let letters: Vec<char> = whole.chars().collect();
    let stop: String = letters[letters.len() / 2..letters.len() / 2 + 3].iter().collect();
    let (until, reason, tokens) = expected(prompt, sampling, &[&stop]);
    assert_eq!(reason, FinishReason::Stop);
    assert!(whole.starts_with(&until) && until.len() < whole.len());
    let body = json!({"prompt": "the weather", "temperature": 0, "max_tokens": 24});
    let answer = server.ok(TEXT, &body);
    assert_eq!(answer["choices"][0]["text"], whole);
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
    for stop in [json!(stop), json!(["no such text", stop])] {
        let answer = server.ok(TEXT, &with(&body, json!({"stop": stop})));
        assert_eq!(answer["choices"][0]["text"], until);
        assert_eq!(answer["choices"][0]["finish_reason"], "stop");
        assert_eq!(answer["usage"], usage(tokens));
    }
    // Without a number of tokens there are as many as the model has positions for.
    let (positions, answer) =
        (generator(LLAMA).positions(), server.ok(TEXT, &json!({"prompt": "a"})));
    let total = answer["usage"]["total_tokens"].as_u64().unwrap();
    let is_full = answer["choices"][0]["finish_reason"] == "length";
    assert!(total == positions as u64 || !is_full && total < positions as u64, "{answer}");
}

#[test]
fn without_a_seed_answers_differ() {
    let server = start_with(&[LLAMA], Options::default());
    let body = json!({"prompt": "the weather", "temperature": 2, "top_k": 0, "top_p": 1,
        "max_tokens": 32});
    let first = server.ok(TEXT, &body)["choices"][0]["text"].clone();
    assert!((0..5).any(|_| server.ok(TEXT, &body)["choices"][0]["text"] != first));
}

#[test]
fn models_do_what_they_are_made_for() {
    let server = start_with(&[BERT, RANKER, LLAMA], Options::default());
    let models = server.get("/v1/models").json();
    let names: Vec<&Value> =
        models["data"].as_array().unwrap().iter().map(|model| &model["id"]).collect();
    assert_eq!(names, ["small_bert", "cross_encoder", "tiny"]);
    let shown = server.ok("/api/show", &json!({"model": "tiny"}));
    assert_eq!(shown["model_info"]["nanoembed.context_length"], generator(LLAMA).positions());
    let messages = json!([{"role": "user", "content": "a"}]);
    for (path, body, does) in [
        (CHAT, json!({"model": "small_bert", "messages": messages}), "continue texts"),
        (TEXT, json!({"model": "cross_encoder", "prompt": "a"}), "continue texts"),
        ("/v1/embeddings", json!({"model": "tiny", "input": "a"}), "embed texts"),
        ("/v1/rerank", json!({"model": "tiny", "query": "a", "documents": ["b"]}), "rank texts"),
    ] {
        let refused = server.post(path, &body.to_string());
        assert_eq!(refused.status, 404, "{path}");
        let message = format!("the model `{}` does not {does}", body["model"].as_str().unwrap());
        assert_eq!(refused.json()["error"]["message"], message);
    }
    let decoder = start_with(&[LLAMA], Options::default());
    let refused = decoder.post("/v1/embeddings", r#"{"input": "a"}"#);
    assert_eq!(refused.json()["error"]["message"], "no model of this server can embed texts");
}

#[test]
fn penalties_of_a_request_are_those_of_the_library() {
    let server = start_with(&[LLAMA], Options::default());
    let sampling = Sampling::greedy().max_tokens(20).presence_penalty(3.0);
    let sampling = sampling.frequency_penalty(-0.5).repetition_penalty(1.25).min_p(0.1);
    let (text, ..) = expected(Prompt::WithSpecialTokens("the weather"), sampling, &[]);
    let body = json!({"prompt": "the weather", "temperature": 0, "max_tokens": 20,
        "presence_penalty": 3, "frequency_penalty": -0.5, "repetition_penalty": 1.25, "min_p": 0.1});
    let answer = server.ok(TEXT, &body);
    assert_eq!(answer["choices"][0]["text"], json!(text));
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    let server = start_with(&[LLAMA, PLAIN], Options::default());
    let chat = json!({"messages": [{"role": "user", "content": "a"}]});
    let text = json!({"prompt": "a"});
    let long = generator(LLAMA).positions() + 1;
    let stops: Vec<String> = (0..17).map(|at| at.to_string()).collect();
    for (path, body, message, param) in [
        (CHAT, with(&chat, json!({"tools": []})), "unknown field `tools`", None),
        (CHAT, with(&chat, json!({"n": 2})), "`n` is 2, and can only be 1 here", Some("n")),
        (CHAT, with(&chat, json!({"logprobs": true})), "`logprobs` is true", Some("logprobs")),
        (CHAT, with(&chat, json!({"logit_bias": {}})), "logit_bias", None),
        (
            CHAT,
            with(&chat, json!({"repetition_penalty": 0})),
            "`repetition_penalty` is no number above 0",
            Some("repetition_penalty"),
        ),
        (
            CHAT,
            with(&chat, json!({"response_format": {"type": "json_object"}})),
            "unknown variant `json_object`",
            None,
        ),
        (
            CHAT,
            with(&chat, json!({"response_format": {"type": "text", "strict": true}})),
            "unknown field `strict`",
            None,
        ),
        (
            CHAT,
            json!({"messages": [{"role": "user", "content": [
                {"type": "text", "text": "a", "cache_control": {}},
            ]}]}),
            "the content of a message is a text, or parts of the type `text`",
            None,
        ),
        (
            CHAT,
            with(&chat, json!({"max_tokens": 1, "max_completion_tokens": 1})),
            "`max_tokens` cannot stand beside `max_completion_tokens`",
            Some("max_tokens"),
        ),
        (
            CHAT,
            with(&chat, json!({"stream_options": {"include_usage": true}})),
            "`stream_options` is for answers with",
            Some("stream_options"),
        ),
        (CHAT, json!({"messages": []}), "`messages` is empty", Some("messages")),
        (CHAT, json!({"messages": [{"role": "tool", "content": "a"}]}), "unknown variant", None),
        (
            CHAT,
            json!({"messages": [{"role": "user", "content": [{"type": "image_url", "text": ""}]}]}),
            "the content of a message is a text, or parts of the type `text`",
            None,
        ),
        (CHAT, with(&chat, json!({"temperature": -1})), "`temperature` is no", Some("temperature")),
        (
            CHAT,
            with(&chat, json!({"temperature": 1e39})),
            "`temperature` is no",
            Some("temperature"),
        ),
        (CHAT, with(&chat, json!({"top_p": 1.5})), "`top_p` is no number", Some("top_p")),
        (CHAT, with(&chat, json!({"min_p": 2})), "`min_p` is no number", Some("min_p")),
        (CHAT, with(&chat, json!({"stop": [""]})), "`stop` has an empty text", Some("stop")),
        (CHAT, with(&chat, json!({"stop": stops})), "`stop` has 17 texts", Some("stop")),
        (CHAT, with(&chat, json!({"stop": 1})), "`stop` is a text, or an array of texts", None),
        (
            CHAT,
            with(&chat, json!({"model": "model"})),
            "`messages` cannot be put to this model: there is no token <|im_start|>",
            Some("messages"),
        ),
        (TEXT, json!({"prompt": ["a", "b"]}), "`prompt` has 2 texts", Some("prompt")),
        (TEXT, json!({"prompt": []}), "`prompt` is empty", Some("prompt")),
        (TEXT, json!({"prompt": [[]]}), "`prompt` is empty", Some("prompt")),
        (TEXT, json!({"prompt": [4_000_000]}), "a token id", None),
        (TEXT, with(&text, json!({"echo": true})), "unknown field `echo`", None),
        (TEXT, with(&text, json!({"max_tokens": long})), "more are to be added", Some("prompt")),
        (TEXT, json!({"prompt": "a ".repeat(2 * long)}), "more are to be added", Some("prompt")),
    ] {
        for streamed in [json!({}), json!({"stream": true})] {
            let body = with(&body, streamed);
            if param == Some("stream_options") && body.get("stream").is_some() {
                continue;
            }
            let answer = server.post(path, &body.to_string());
            assert_eq!(answer.status, 400, "{message}: {answer:?}");
            let error = &answer.json()["error"];
            let found = error["message"].as_str().unwrap();
            assert!(found.contains(message), "{message}: {found}");
            assert_eq!(error["param"], json!(param), "{found}");
            assert_eq!(error["type"], "invalid_request_error");
            let is_long = message.contains("to be added");
            assert_eq!(error["code"] == "context_length_exceeded", is_long, "{found}");
        }
    }
}

#[test]
fn memory_for_more_tokens_than_the_limit_is_the_clients_fault() {
    let limits = nanoembed::Limits { session_bytes: 180_000, ..Default::default() };
    let mut models = nanoembed_serve::Models::default();
    models.add(None, &path(LLAMA), &nanoembed::Model::options().limits(limits)).unwrap();
    let server = crate::client::start_models(models, Options::default());
    let refused = server.post(TEXT, r#"{"prompt": "a"}"#);
    assert_eq!(refused.status, 400, "{refused:?}");
    let message = refused.json()["error"]["message"].clone();
    assert!(message.as_str().unwrap().contains("`session_bytes`"), "{message}");
    server.ok(TEXT, &json!({"prompt": "a", "max_tokens": 1}));
}

#[test]
fn clients_who_go_away_free_their_places() {
    let limits = nanoembed_serve::Limits { continuations: 1, ..Default::default() };
    let server = start_with(&[LLAMA], Options { limits, ..Options::default() });
    for streamed in [true, false].repeat(5) {
        let body = json!({"prompt": "a", "stream": streamed}).to_string();
        let mut stream = server.connect();
        stream.write_all(&request(TEXT, &body)).unwrap();
    }
    server.wait_for("nanoembed_requests_in_flight 0");
    server.ok(TEXT, &json!({"prompt": "a", "max_tokens": 1}));
}

#[test]
fn answers_that_were_begun_are_ended() {
    let server = start_with(&[LLAMA], Options::default());
    let body = json!({"prompt": "a", "max_tokens": 64, "temperature": 0, "stream": true});
    let whole = chunks(&server.post(TEXT, &body.to_string()));
    let body = body.to_string();
    let mut begun = server.connect();
    begun.write_all(head(TEXT, body.len()).as_bytes()).unwrap();
    server.wait_for("nanoembed_requests_in_flight 1");
    server.stopper.stop();
    begun.write_all(body.as_bytes()).unwrap();
    let chunks = chunks(&answer(&mut begun));
    assert_eq!(joined(&chunks, "/choices/0/text"), joined(&whole, "/choices/0/text"));
    assert_eq!(server.ended().requests, 3);
}
