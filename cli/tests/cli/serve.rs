//! `serve`: where it is built in, from the first line to the last.

#[cfg(not(feature = "serve"))]
#[test]
fn without_the_feature_the_command_to_build_it_is_told() {
    let said = crate::failure(&["serve"], b"", 2);
    assert!(said.contains("error[601]: this program was built without the server"), "{said}");
    assert!(said.contains("cargo install --path cli --features serve"), "{said}");
}

#[cfg(all(unix, feature = "serve"))]
mod built_in {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpStream;
    use std::process::{Child, Command, Stdio};

    use serde_json::{Value, json};

    use crate::tiny_model::TinyModel;
    use crate::{failure, stdout};

    fn program() -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("nanoembed"));
        command.env_remove("NANOEMBED_API_KEY").stderr(Stdio::piped());
        command
    }

    /// A server that ends with the test, however that ends.
    struct Killed(Child);

    impl Drop for Killed {
        fn drop(&mut self) {
            drop(self.0.kill());
            drop(self.0.wait());
        }
    }

    /// The answer of a server to a request.
    fn post(address: &str, path: &str, body: &Value) -> (String, Value) {
        let body = body.to_string();
        let mut stream = TcpStream::connect(address).unwrap();
        let head = format!("POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close");
        write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), serde_json::from_str(body).unwrap())
    }

    #[test]
    fn a_signal_ends_the_server_with_its_counts() {
        let tiny = TinyModel::new();
        let model = tiny.converted("m.weights", &[]);
        let mut command = program();
        command.args(["serve", &format!("tiny={model}"), "--port", "0", "--log"]);
        let mut server = command.spawn().unwrap();
        let mut said = BufReader::new(server.stderr.take().unwrap()).lines().map(Result::unwrap);
        assert!(said.next().unwrap().starts_with("tiny embeds up to "));
        let line = said.next().unwrap();
        let address = line.split("http://").nth(1).unwrap().split(';').next().unwrap();
        let (head, answer) =
            post(address, "/v1/embeddings", &json!({"input": "a", "model": "tiny"}));
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        let expected = stdout(&["embed", "-m", &model, "--format", "jsonl", "a"], "");
        let expected: Value = serde_json::from_str(&expected).unwrap();
        assert_eq!(answer["data"][0]["embedding"], expected["embedding"]);
        assert!(said.next().unwrap().starts_with("POST /v1/embeddings 200 "));
        // Not Ctrl-C's own signal: whoever runs tests in the background may have them ignore that.
        let id = server.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        let tokens = expected["tokens"].as_u64().unwrap();
        let line =
            format!("answered 1 requests, 0 of them with an error: 1 texts of {tokens} tokens");
        assert_eq!(said.next().unwrap(), line);
        assert_eq!(server.wait().unwrap().code(), Some(0));
    }

    #[test]
    fn texts_go_on_as_with_generate() {
        let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/llama/tiny.gguf");
        let mut command = program();
        let mut server = command.args(["serve", model, "--port", "0"]).spawn().unwrap();
        let mut said = BufReader::new(server.stderr.take().unwrap()).lines().map(Result::unwrap);
        assert!(said.next().unwrap().starts_with("tiny continues texts up to "));
        let line = said.next().unwrap();
        let address = line.split("http://").nth(1).unwrap().split(';').next().unwrap();
        let settings = ["-n", "24", "--seed", "11", "--temperature", "1.2", "--json", "-m", model];
        let generated = |arguments: &[&str]| -> Value {
            let said = stdout(&[&["generate", "the weather"], arguments, &settings].concat(), "");
            serde_json::from_str(&said).unwrap()
        };
        let members = json!({"seed": 11, "max_tokens": 24, "temperature": 1.2});
        let with = |name: &str, value: Value| {
            let mut body = members.clone();
            body[name] = value;
            body
        };
        let body = with("prompt", json!("the weather"));
        let (_, answer) = post(address, "/v1/completions", &body);
        let expected = generated(&[]);
        assert_eq!(answer["choices"][0]["text"], expected["text"]);
        let tokens = expected["ids"].as_array().unwrap().len();
        assert_eq!(answer["usage"]["completion_tokens"], tokens);
        let messages = json!([{"role": "system", "content": "Be brief."},
            {"role": "user", "content": "the weather"}]);
        let (_, answer) = post(address, "/v1/chat/completions", &with("messages", messages));
        let expected = generated(&["--chat", "--system", "Be brief."]);
        assert_eq!(answer["choices"][0]["message"]["content"], expected["text"]);
        let tokens = tokens + expected["ids"].as_array().unwrap().len();
        let id = server.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        let line = said.next().unwrap();
        assert!(
            line.ends_with(&format!("0 texts of 0 tokens, {tokens} tokens generated")),
            "{line}"
        );
        assert_eq!(server.wait().unwrap().code(), Some(0));
    }

    #[test]
    fn files_are_searched_as_by_search() {
        let folder = tempfile::tempdir().unwrap();
        let (notes, cache) = (folder.path().join("notes"), folder.path().join("cache"));
        std::fs::create_dir(&notes).unwrap();
        std::fs::write(notes.join("a.txt"), "The cat sat on a mat.\n\nThe price of oil.\n")
            .unwrap();
        let record = "{\"id\": 7, \"text\": \"A dog and a cat.\"}\n";
        std::fs::write(notes.join("b.jsonl"), record).unwrap();
        let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../ffi/tests/data/small_bert.weights");
        let notes_name = notes.to_str().unwrap();
        let mut command = program();
        command.args(["serve", model, "--search", notes_name, "--port", "0"]);
        let mut server = Killed(command.env("NANOEMBED_CACHE", &cache).spawn().unwrap());
        let mut said = BufReader::new(server.0.stderr.take().unwrap()).lines().map(Result::unwrap);
        let line = said.find(|line| line.contains("listening on")).unwrap();
        let address = line.split("http://").nth(1).unwrap().split(';').next().unwrap();
        let found = |body: &Value| post(address, "/search", body).1["results"].clone();
        let expected = |arguments: &[&str]| -> Value {
            let mut command = program();
            command.args(["search", "cat", notes_name, "-m", model, "--json", "-q"]);
            let output = command.args(arguments).env("NANOEMBED_CACHE", &cache).output().unwrap();
            let lines = String::from_utf8(output.stdout).unwrap();
            lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect()
        };
        let both = found(&json!({"query": "cat"}));
        assert_eq!(both, expected(&[]));
        assert!(both.as_array().unwrap().iter().any(|result| result["id"] == 7), "{both}");
        assert_eq!(found(&json!({"query": "cat", "k": 1})), expected(&["-k", "1"]));
        assert_eq!(found(&json!({"query": "cat", "by": "words"})), expected(&["--exact"]));
        assert_eq!(found(&json!({"query": "cat", "by": "meaning"})), expected(&["--meaning"]));
        let min = both[0]["similarity"].as_f64().unwrap();
        let similar = found(&json!({"query": "cat", "min": min}));
        assert_eq!(similar, expected(&["--min", &min.to_string()]));
        assert_ne!(similar, both);
        assert_eq!(found(&json!({"query": "cat", "min": 1.5})), json!([]));
        for body in [
            json!({"query": " "}),
            json!({"query": "cat", "by": "exact"}),
            json!({"query": "cat", "by": "words", "min": 0.5}),
        ] {
            let (head, answer) = post(address, "/search", &body);
            assert!(head.starts_with("HTTP/1.1 400"), "{body}: {answer}");
        }
        // A file that is new is found at once, and one that is gone no longer.
        std::fs::write(notes.join("c.txt"), "A cat, a cat!").unwrap();
        std::fs::remove_file(notes.join("b.jsonl")).unwrap();
        let changed = found(&json!({"query": "cat"}));
        assert_eq!(changed, expected(&[]));
        let text = changed.to_string();
        assert!(text.contains("c.txt") && !text.contains("b.jsonl"), "{text}");
    }

    #[test]
    fn what_cannot_be_served_is_refused() {
        let other = failure(&["serve", "--host", "0.0.0.0", "--port", "0"], b"", 2);
        assert!(other.contains("--host 0.0.0.0 can be reached from other machines"), "{other}");
        assert!(other.contains("NANOEMBED_API_KEY"), "{other}");
        let missing = failure(&["serve", "no/such/model", "--port", "0"], b"", 3);
        assert!(missing.contains("no/such/model"), "{missing}");
        let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/llama/tiny.gguf");
        let tokens = failure(&["serve", model, "--port", "0", "--max-tokens", "9"], b"", 2);
        assert!(tokens.contains("--max-tokens is for models that embed or rank texts"), "{tokens}");
        let search = failure(&["serve", model, "--port", "0", "--search", "."], b"", 2);
        assert!(search.contains("--search needs a model that embeds texts"), "{search}");
        let stdin = failure(&["serve", "--port", "0", "--search", "-"], b"", 2);
        assert!(stdin.contains("--search is for files and folders"), "{stdin}");
        let both = failure(&["serve", "--unix-socket", "x", "--port", "1"], b"", 2);
        assert!(both.contains("cannot be used with"), "{both}");
    }
}
