//! Limits: bodies, texts, requests at a time, slow clients, the key.

use std::io::{Read, Write};
use std::time::Duration;

use nanoembed_serve::{Address, Limits, Models, Options, Server};
use serde_json::json;

use crate::client::{BERT, answer, head, request, start_with};

const BODY: &str = r#"{"input": "a cat"}"#;

fn limited(limits: Limits) -> Options {
    Options { limits, ..Options::default() }
}

#[test]
fn large_bodies_and_batches_are_refused() {
    let limits = Limits { body_bytes: 100, texts: 2, ..Limits::default() };
    let server = start_with(&[BERT], limited(limits));
    let long = json!({"input": "a ".repeat(100)}).to_string();
    let refused = server.post("/v1/embeddings", &long);
    assert_eq!(refused.status, 413);
    let message = "the body of the request is larger than 100 bytes";
    assert_eq!(refused.json()["error"]["message"], message);
    // A body that does not say how long it is.
    let chunks = format!("{:x}\r\n{long}\r\n0\r\n\r\n", long.len());
    let head = head("/v1/embeddings", 0).replace("content-length: 0", "transfer-encoding: chunked");
    assert_eq!(server.send(format!("{head}{chunks}").as_bytes()).status, 413);
    let chunks = format!("{:x}\r\n{BODY}\r\n0\r\n\r\n", BODY.len());
    assert_eq!(server.send(format!("{head}{chunks}").as_bytes()).status, 200);
    let refused = server.post("/v1/embeddings", r#"{"input": ["a", "b", "c"]}"#);
    assert_eq!(refused.status, 400);
    let message = "`input` has 3 texts, and a request may have 2";
    assert_eq!(refused.json()["error"]["message"], message);
}

#[test]
fn more_requests_than_places_are_to_come_again() {
    let limits = Limits { requests: 2, ..Limits::default() };
    let server = start_with(&[BERT], limited(limits));
    let begun = [(); 2].map(|()| {
        let mut stream = server.connect();
        stream.write_all(head("/v1/embeddings", BODY.len()).as_bytes()).unwrap();
        stream
    });
    server.wait_for("nanoembed_requests_in_flight 2");
    for path in ["/v1/embeddings", "/embed", "/api/embed", "/rerank"] {
        let refused = server.post(path, BODY);
        assert_eq!(refused.status, 429);
        assert!(refused.head.contains("\r\nretry-after: 1"), "{refused:?}");
    }
    // Others are answered all the same.
    assert_eq!(server.get("/health").status, 200);
    for mut stream in begun {
        stream.write_all(BODY.as_bytes()).unwrap();
        assert_eq!(answer(&mut stream).status, 200);
    }
    server.wait_for("nanoembed_requests_in_flight 0");
    assert_eq!(server.post("/v1/embeddings", BODY).status, 200);
}

#[test]
fn clients_who_go_away_free_their_places() {
    let limits = Limits { requests: 1, ..Limits::default() };
    let server = start_with(&[BERT], limited(limits));
    // While its body is read.
    let mut stream = server.connect();
    stream.write_all(head("/v1/embeddings", BODY.len()).as_bytes()).unwrap();
    server.wait_for("nanoembed_requests_in_flight 1");
    drop(stream);
    server.wait_for("nanoembed_requests_in_flight 0");
    // After all of it is sent, whatever the server does then.
    let texts: Vec<String> = (0..2000).map(|at| format!("{at} cats")).collect();
    for _ in 0..10 {
        let body = json!({"input": texts}).to_string();
        server.connect().write_all(&request("/v1/embeddings", &body)).unwrap();
    }
    server.wait_for("nanoembed_requests_in_flight 0");
    assert_eq!(server.post("/v1/embeddings", BODY).status, 200);
}

#[test]
fn slow_clients_are_not_waited_for() {
    let limits = Limits { patience: Duration::from_secs(1), ..Limits::default() };
    let server = start_with(&[BERT], limited(limits));
    let mut stream = server.connect();
    stream.write_all(head("/v1/embeddings", BODY.len()).as_bytes()).unwrap();
    stream.write_all(&BODY.as_bytes()[..4]).unwrap();
    assert_eq!(answer(&mut stream).status, 408);
    // In the head the connection is closed.
    let mut stream = server.connect();
    stream.write_all(b"POST /v1/embeddings HTTP/1.1\r\nhost: ").unwrap();
    let mut rest = Vec::new();
    let _closed = stream.read_to_end(&mut rest);
    assert!(!rest.starts_with(b"HTTP/1.1 2"), "{:?}", String::from_utf8_lossy(&rest));
    assert_eq!(server.post("/v1/embeddings", BODY).status, 200);
}

#[test]
fn what_is_no_http_is_refused() {
    let server = start_with(&[BERT], Options::default());
    for bytes in [&b"hello\r\n\r\n"[..], b"\x16\x03\x01\x02\x00\x01", b"POST / HTTP/9.9\r\n\r\n"] {
        assert_eq!(server.send(&[bytes, b"\r\n\r\n"].concat()).status, 400);
    }
    let long = format!("GET / HTTP/1.1\r\nhost: x\r\nlong: {}\r\n\r\n", "x".repeat(100_000));
    let mut stream = server.connect();
    // The connection may be closed while this is written.
    let _written = stream.write_all(long.as_bytes());
    let mut start = [0; 12];
    if stream.read_exact(&mut start).is_ok() {
        assert_eq!(&start, b"HTTP/1.1 431");
    }
    assert_eq!(server.post("/v1/embeddings", BODY).status, 200);
}

#[test]
fn a_key_is_asked_for() {
    let options = Options { api_key: Some("secret".into()), ..Options::default() };
    let server = start_with(&[BERT], options);
    let with = |key: &str| {
        let request = String::from_utf8(request("/v1/embeddings", BODY)).unwrap();
        server.send(request.replacen("\r\n\r\n", &format!("\r\n{key}\r\n\r\n"), 1).as_bytes())
    };
    for key in [
        "x: y",
        "authorization: Bearer secre",
        "authorization: Bearer secret2",
        "authorization: Bearer Secret",
        "authorization: Basic secret",
        "authorization: secret",
        "authorization: ",
    ] {
        let refused = with(key);
        assert_eq!(
            (refused.status, &refused.json()["error"]["code"]),
            (401, &json!("invalid_api_key"))
        );
    }
    assert_eq!(with("authorization: Bearer secret").status, 200);
    assert_eq!(with("Authorization: bearer secret").status, 200);
    for path in ["/v1/models", "/metrics", "/openapi.json", "/api/tags", "/"] {
        assert_eq!(server.get(path).status, 401, "{path}");
    }
    assert_eq!(server.get("/health").status, 200);
}

#[test]
fn addresses_for_others_and_empty_keys_are_refused() {
    let bind = |host: &str, key: Option<&str>| {
        let mut models = Models::default();
        models.add(None, &crate::client::path(BERT), &nanoembed::Model::options()).unwrap();
        let address = Address::Tcp { host: host.into(), port: 0 };
        let options = Options { api_key: key.map(str::to_owned), ..Options::default() };
        Server::bind(&address, models, options)
    };
    assert_eq!(bind("0.0.0.0", None).unwrap_err().argument_name(), Some("host"));
    assert_eq!(bind("127.0.0.1", Some(" ")).unwrap_err().argument_name(), Some("api_key"));
    assert!(bind("0.0.0.0", Some("secret")).is_ok());
}
