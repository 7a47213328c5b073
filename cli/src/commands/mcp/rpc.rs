//! Requests and answers of JSON-RPC 2.0, a line each.

use std::io::Write as _;
use std::path::Path;

use nanoembed::lines::Lines;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::input::lines;
use crate::streams;

/// The bytes of a request, more than any agent sends.
const MOST_BYTES: u64 = 16 << 20;

/// The lines of stdin, and of stdout.
pub(super) struct Connection {
    stdin: Lines,
    stdout: streams::Stdout,
}

impl Connection {
    pub(super) fn new() -> Result<Self> {
        let stdin = lines(Path::new("-"), Some(true))?.with_most_bytes(MOST_BYTES);
        Ok(Self { stdin, stdout: streams::stdout() })
    }

    /// The next line that is not empty; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<String>> {
        loop {
            match self.stdin.next_line()? {
                Some(line) if line.trim().is_empty() => {}
                line => return Ok(line),
            }
        }
    }

    pub(super) fn write(&mut self, answer: &Value) -> Result<()> {
        let line = format!("{answer}\n");
        let written = self.stdout.write_all(line.as_bytes()).and_then(|()| self.stdout.flush());
        written.map_err(|error| Error::writing("stdout", &error))
    }
}

/// A request, or without an id a notification.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) id: Option<Value>,
    pub(super) method: String,
    pub(super) params: Value,
}

impl Request {
    pub(super) fn parse(line: &str) -> std::result::Result<Self, Failure> {
        let invalid = || Failure { code: -32600, message: "this is no request".into() };
        let value: Value = serde_json::from_str(line)
            .map_err(|error| Failure { code: -32700, message: format!("no JSON: {error}") })?;
        let Value::Object(mut members) = value else { return Err(invalid()) };
        let id = members.remove("id");
        if !matches!(id, None | Some(Value::String(_) | Value::Number(_))) {
            return Err(invalid());
        }
        let params = members.remove("params").unwrap_or_default();
        match members.remove("method") {
            Some(Value::String(method)) => Ok(Self { id, method, params }),
            // An answer to a request: there are none.
            _ if members.contains_key("result") || members.contains_key("error") => {
                Ok(Self { id: None, method: String::new(), params })
            }
            _ => Err(invalid()),
        }
    }
}

/// A request that is not answered as asked.
#[derive(Debug)]
pub(super) struct Failure {
    code: i32,
    message: String,
}

impl Failure {
    pub(super) fn no_method(method: &str) -> Self {
        Self { code: -32601, message: format!("there is no method `{method}`") }
    }

    pub(super) fn params(message: impl Into<String>) -> Self {
        Self { code: -32602, message: message.into() }
    }

    pub(super) fn answer(&self, id: &Value) -> Value {
        let Self { code, message } = self;
        json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
    }
}
