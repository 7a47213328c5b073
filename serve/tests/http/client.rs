//! A server for a test, and requests to it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nanoembed::{Encoder, Model, Result};
use nanoembed_serve::{Address, Models, Options, Server, Stopper, Summary};
use serde_json::Value;

/// A model that embeds.
pub(crate) const BERT: &str = "ffi/tests/data/small_bert.weights";

/// A model that ranks.
pub(crate) const RANKER: &str = "tests/data/models/cross_encoder";

/// A model that continues texts and knows the tokens around messages.
pub(crate) const LLAMA: &str = "tests/data/llama/tiny.gguf";

pub(crate) fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// The model that the server of [`start`] embeds with.
pub(crate) fn bert() -> Encoder {
    Encoder::open(path(BERT)).unwrap()
}

/// A server on a thread, which is stopped with this value.
pub(crate) struct Running {
    pub(crate) url: String,
    pub(crate) stopper: Stopper,
    thread: Option<JoinHandle<Result<Summary>>>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Serves models of the repository.
pub(crate) fn start_with(models: &[&str], options: Options) -> Running {
    let address = Address::Tcp { host: "127.0.0.1".into(), port: 0 };
    start_on(&address, models, options)
}

pub(crate) fn start_on(address: &Address, names: &[&str], options: Options) -> Running {
    let mut models = Models::default();
    for name in names {
        models.add(None, &path(name), &Model::options()).unwrap();
    }
    start_server(Server::bind(address, models, options).unwrap())
}

pub(crate) fn start_models(models: Models, options: Options) -> Running {
    let address = Address::Tcp { host: "127.0.0.1".into(), port: 0 };
    start_server(Server::bind(&address, models, options).unwrap())
}

fn start_server(server: Server) -> Running {
    let (url, stopper) = (server.url(), server.stopper());
    Running { url, stopper, thread: Some(std::thread::spawn(|| server.run())) }
}

/// Serves a model that embeds and one that ranks.
pub(crate) fn start() -> Running {
    start_with(&[BERT, RANKER], Options::default())
}

impl Running {
    fn address(&self) -> SocketAddr {
        self.url.strip_prefix("http://").unwrap().parse().unwrap()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address()).unwrap()
    }

    /// Sends bytes, and reads the answer.
    pub(crate) fn send(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        stream.write_all(bytes).unwrap();
        answer(&mut stream)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send(
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
                .as_bytes(),
        )
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        self.send(&request(path, body))
    }

    /// The answer to a request that has to succeed.
    pub(crate) fn ok(&self, path: &str, body: &Value) -> Value {
        let answer = self.post(path, &body.to_string());
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// Waits until the page of metrics has this line.
    pub(crate) fn wait_for(&self, line: &str) {
        let start = Instant::now();
        loop {
            let page = String::from_utf8(self.get("/metrics").body).unwrap();
            if page.lines().any(|found| found == line) {
                return;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "no {line} in {page}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Stops the server; its counts.
    pub(crate) fn end(mut self) -> Summary {
        self.stopper.stop();
        self.thread.take().unwrap().join().unwrap().unwrap()
    }

    /// Waits for the end of a server that was stopped.
    pub(crate) fn ended(mut self) -> Summary {
        self.thread.take().unwrap().join().unwrap().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
    }
}

/// The head of a request with a body of so many bytes.
pub(crate) fn head(path: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
    )
}

pub(crate) fn request(path: &str, body: &str) -> Vec<u8> {
    [head(path, body.len()).as_bytes(), body.as_bytes()].concat()
}

/// Reads an answer to its end.
pub(crate) fn answer(stream: &mut impl Read) -> Answer {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no head: {:?}", String::from_utf8_lossy(&bytes)));
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap().to_lowercase();
    let status = head[9..12].parse().unwrap();
    let body = bytes[end + 4..].to_vec();
    let body = if head.contains("transfer-encoding: chunked") { unchunked(&body) } else { body };
    Answer { status, head, body }
}

/// The bytes of a body in chunks, which has to be complete.
fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = bytes.windows(2).position(|two| two == b"\r\n").unwrap();
        let length =
            usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        let (chunk, rest) = bytes[end + 2..].split_at(length);
        body.extend(chunk);
        bytes = rest.strip_prefix(b"\r\n").unwrap();
        if length == 0 {
            return body;
        }
    }
}

/// The numbers of an array of JSON, as floats of 32 bits.
pub(crate) fn floats(array: &Value) -> Vec<f32> {
    #[expect(clippy::cast_possible_truncation, reason = "they were f32")]
    array.as_array().unwrap().iter().map(|x| x.as_f64().unwrap() as f32).collect()
}
