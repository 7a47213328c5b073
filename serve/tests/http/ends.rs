//! The end of a server, and its socket.

use std::io::{Read, Write};
use std::net::TcpStream;

use nanoembed_serve::Options;

use crate::client::{BERT, answer, head, start_with};

const BODY: &str = r#"{"input": "a cat"}"#;

#[test]
fn what_was_begun_is_answered() {
    let server = start_with(&[BERT], Options::default());
    let address = server.url.strip_prefix("http://").unwrap().to_owned();
    let mut begun = server.connect();
    begun.write_all(head("/v1/embeddings", BODY.len()).as_bytes()).unwrap();
    server.wait_for("nanoembed_requests_in_flight 1");
    // One that waits for its next request is closed.
    let mut idle = server.connect();
    idle.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut start = [0; 15];
    idle.read_exact(&mut start).unwrap();
    server.stopper.stop();
    let mut rest = Vec::new();
    idle.read_to_end(&mut rest).unwrap();
    begun.write_all(BODY.as_bytes()).unwrap();
    assert_eq!(answer(&mut begun).status, 200);
    assert_eq!(server.ended().texts, 1);
    assert!(TcpStream::connect(address).is_err());
}

#[cfg(unix)]
#[test]
fn a_unix_socket_is_served_and_removed() {
    use std::os::unix::net::UnixStream;

    use nanoembed_serve::Address;

    use crate::client::{request, start_on};

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nanoembed.socket");
    let server = start_on(&Address::Unix(path.clone()), &[BERT], Options::default());
    assert_eq!(server.url, format!("unix:{}", path.display()));
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.write_all(&request("/v1/embeddings", BODY)).unwrap();
    assert_eq!(answer(&mut stream).status, 200);
    assert_eq!(server.end().requests, 1);
    assert!(!path.exists());
}
