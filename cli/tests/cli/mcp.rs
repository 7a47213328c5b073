//! `mcp`: the tools that agents call, by the Model Context Protocol.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::tiny_model::TinyModel;
use crate::{failure, nanoembed, objects, stdout};

/// A folder to search, a folder for notes, and a model.
struct Scene {
    _tiny: TinyModel,
    model: String,
    folder: TempDir,
}

impl Scene {
    fn new() -> Self {
        let tiny = TinyModel::new();
        let model = tiny.converted("m.weights", &[]);
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join("docs")).unwrap();
        let guide = "# Cats\n\nthe cat sat\n\n# Songs\n\nsing sing hello\n";
        fs::write(folder.path().join("docs/guide.md"), guide).unwrap();
        fs::write(folder.path().join("other.txt"), "hello world\n").unwrap();
        Self { _tiny: tiny, model, folder }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// The answers to lines, in their order.
    fn answers(&self, lines: &[String]) -> Vec<Value> {
        self.answers_by(&["-m", &self.model], lines)
    }

    /// The answers by this model.
    fn answers_by(&self, model: &[&str], lines: &[String]) -> Vec<Value> {
        let (docs, notes) = (self.path("docs"), self.path("notes"));
        let server = ["mcp", &docs, "--notes", &notes];
        objects(&stdout(&[&server, model].concat(), &lines.join("\n")))
    }

    /// The result of a call.
    fn called(&self, name: &str, arguments: &Value) -> Value {
        let call = request("tools/call", &json!({"name": name, "arguments": arguments}));
        let [answer] = &self.answers(&[call])[..] else { panic!("no answer") };
        answer["result"].clone()
    }

    /// What a call that fails tells the model.
    fn refused(&self, name: &str, arguments: &Value) -> String {
        let result = self.called(name, arguments);
        assert_eq!(result["isError"], true, "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }
}

fn request(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string()
}

#[test]
fn the_handshake_opens_no_model_and_takes_every_version() {
    let scene = Scene::new();
    let initialize = |version: &str| {
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
        request("initialize", &params)
    };
    let lines = [
        initialize("2025-03-26"),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
        initialize("2199-01-01"),
        String::new(),
        request("ping", &json!({})),
        request("tools/list", &json!({})),
        request("resources/list", &json!({})),
        "{".to_owned(),
        "[]".to_owned(),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}}).to_string(),
    ];
    // A model that is not there is no fault until it is asked for.
    let docs = scene.path("docs");
    let answers = objects(&stdout(&["mcp", &docs, "-m", &scene.model], &lines.join("\n")));
    let versions: Vec<&Value> =
        answers.iter().take(2).map(|it| &it["result"]["protocolVersion"]).collect();
    assert_eq!(versions, ["2025-03-26", "2025-11-25"]);
    let instructions = answers[0]["result"]["instructions"].as_str().unwrap();
    assert!(instructions.contains("docs"), "{instructions}");
    assert!(answers.iter().take(5).all(|it| it["id"] == 7 && it["jsonrpc"] == "2.0"));
    assert_eq!(answers[2]["result"], json!({}));
    let tools = answers[3]["result"]["tools"].as_array().unwrap();
    let names: Vec<&Value> = tools.iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["search", "remember", "recall", "embed"]);
    assert!(tools.iter().all(|tool| tool["inputSchema"]["type"] == "object"));
    let codes: Vec<&Value> = answers[4..].iter().map(|it| &it["error"]["code"]).collect();
    assert_eq!(codes, [-32601, -32700, -32600]);
    assert!(failure(&["mcp", "/none"], b"", 3).contains("/none"));
    assert!(failure(&["mcp", &scene.path("other.txt")], b"", 2).contains("no folder"));
}

#[test]
fn passages_are_those_of_the_command() {
    let scene = Scene::new();
    let result = scene.called("search", &json!({"query": "sing sing", "k": 2.0}));
    assert_eq!(result["isError"], false);
    let found = result["structuredContent"]["results"].as_array().unwrap();
    let docs = fs::canonicalize(scene.path("docs")).unwrap();
    let search = ["search", "sing sing", docs.to_str().unwrap(), "-m", &scene.model, "--json"];
    let expected = objects(&stdout(&[&search[..], &["-k", "2"]].concat(), ""));
    assert_eq!(found.len(), 2);
    for (found, expected) in found.iter().zip(&expected) {
        for member in ["file", "line", "end_line", "text", "score"] {
            assert_eq!(found[member], expected[member], "{member}");
        }
    }
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("guide.md:5-7\n# Songs"), "{text}");
    let within = |path: &str| json!({"query": "cat", "path": path, "by": "words"});
    for path in ["guide.md", docs.join("guide.md").to_str().unwrap(), "."] {
        let result = scene.called("search", &within(path));
        let found = result["structuredContent"]["results"].as_array().unwrap();
        assert_eq!((found.len(), &found[0]["line"]), (1, &json!(1)), "{path}");
    }
    for outside in ["../other.txt", "..", "/", "none.md", scene.path("other.txt").as_str()] {
        let said = scene.refused("search", &within(outside));
        assert!(said.contains("no such file"), "{outside}: {said}");
    }
    let result = scene.called("search", &json!({"query": "zebra", "by": "words"}));
    assert_eq!(result["content"][0]["text"], "nothing was found");
}

#[test]
fn json_lines_are_texts_as_for_the_command() {
    let scene = Scene::new();
    fs::write(scene.path("docs/a.jsonl"), "{\"id\": 1, \"text\": \"hello world\"}\nno json\n")
        .unwrap();
    let result = scene.called("search", &json!({"query": "world", "by": "words"}));
    assert_eq!(result["structuredContent"]["results"][0]["text"], "hello world", "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("warning: 1 line left out"), "{text}");
}

#[test]
fn notes_are_kept_and_found() {
    let scene = Scene::new();
    let result = scene.called("recall", &json!({"query": "cat"}));
    assert_eq!(result["content"][0]["text"], "there are no notes");
    for note in ["the cat is called hello", "sing at nine"] {
        let result = scene.called("remember", &json!({"text": note}));
        let file = result["structuredContent"]["file"].as_str().unwrap();
        assert!(Path::new(file).is_file(), "{file}");
    }
    // The small model reads no more than a heading.
    let arguments = json!({"query": "when is the song?", "k": 1});
    let call = request("tools/call", &json!({"name": "recall", "arguments": arguments}));
    let [answer] = &scene.answers_by(&[], &[call])[..] else { panic!("no answer") };
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("sing at nine") && !text.contains("the cat"), "{text}");
    let text = fs::read_to_string(scene.path("notes/notes.md")).unwrap();
    assert_eq!(text.matches("## 2").count(), 2, "{text}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: String| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let modes = (mode(scene.path("notes")), mode(scene.path("notes/notes.md")));
        assert_eq!(modes, (0o700, 0o600));
    }
}

#[test]
fn vectors_are_those_of_embed() {
    let scene = Scene::new();
    let result = scene.called("embed", &json!({"texts": ["hello world", "the cat"]}));
    let embed = ["embed", "-m", &scene.model, "--format", "jsonl", "hello world", "the cat"];
    let expected = objects(&stdout(&embed, ""));
    let found = result["structuredContent"]["embeddings"].as_array().unwrap();
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, &expected["embedding"]);
    }
    assert_eq!(
        (found.len(), &result["structuredContent"]["dimensions"]),
        (2, &json!(found[0].as_array().unwrap().len()))
    );
}

#[test]
fn wrong_calls_are_told_to_the_model() {
    let scene = Scene::new();
    for (tool, arguments, expected) in [
        ("search", json!({}), "query"),
        ("search", json!({"query": "  "}), "query"),
        ("search", json!({"query": 1}), "query"),
        ("search", json!({"query": "a", "k": 0}), "from 1 to 100"),
        ("search", json!({"query": "a", "k": 1.5}), "from 1 to 100"),
        ("search", json!({"query": "a", "by": "luck"}), "both, words or meaning"),
        ("search", json!({"query": "a", "odd": 1}), "odd"),
        ("search", json!([]), "object"),
        ("remember", json!({"text": ""}), "text"),
        ("embed", json!({"texts": []}), "1 to 64 texts"),
        ("embed", json!({"texts": ["a", 1]}), "1 to 64 texts"),
    ] {
        let said = scene.refused(tool, &arguments);
        assert!(said.contains(expected), "{tool} {arguments}: {said}");
    }
    let call = request("tools/call", &json!({"name": "none"}));
    assert_eq!(scene.answers(&[call])[0]["error"]["code"], -32602);
    // A server without its model goes on, and says so to each call.
    let docs = scene.path("docs");
    let call = request("tools/call", &json!({"name": "embed", "arguments": {"texts": ["a"]}}));
    let lines = format!("{call}\n{}\n", request("ping", &json!({})));
    let mut server = nanoembed(&["mcp", &docs, "-m", &scene.path("docs/guide.md")]);
    let output = server.write_stdin(lines).assert().get_output().clone();
    let answers = objects(&String::from_utf8(output.stdout).unwrap());
    assert_eq!((answers.len(), &answers[0]["result"]["isError"]), (2, &json!(true)));
}
