//! Requests and answers of JSON-RPC 2.0, a line each.

use std::io::{self, BufRead as _, BufReader, Read as _, Stdin, Write as _};

use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::streams;

/// The bytes of a request, more than any agent sends.
const MOST_BYTES: u64 = 16 << 20;

/// The lines of stdin, and of stdout.
pub(super) struct Lines {
    stdin: BufReader<Stdin>,
    stdout: streams::Stdout,
}

impl Lines {
    pub(super) fn new() -> Result<Self> {
        streams::check_stdin().map_err(|error| reading(&error))?;
        Ok(Self { stdin: BufReader::new(io::stdin()), stdout: streams::stdout() })
    }

    /// The next line that is not empty; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<String>> {
        loop {
            let mut bytes = Vec::new();
            let read = self.stdin.by_ref().take(MOST_BYTES).read_until(b'\n', &mut bytes);
            let read = read.map_err(|error| reading(&error))?;
            if read == 0 {
                return Ok(None);
            }
            if read as u64 == MOST_BYTES && bytes.last() != Some(&b'\n') {
                return Err(Error::usage(format!("a request has at most {MOST_BYTES} bytes")));
            }
            let line = String::from_utf8_lossy(&bytes);
            if !line.trim().is_empty() {
                return Ok(Some(line.into_owned()));
            }
        }
    }

    pub(super) fn write(&mut self, answer: &Value) -> Result<()> {
        let line = format!("{answer}\n");
        let written = self.stdout.write_all(line.as_bytes()).and_then(|()| self.stdout.flush());
        written.map_err(|error| Error::writing("stdout", &error))
    }
}

fn reading(error: &io::Error) -> Error {
    Error::reading("stdin", error)
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
