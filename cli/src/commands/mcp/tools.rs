//! The tools: their descriptions, arguments and results.

use std::cell::OnceCell;
use std::fmt::Write as _;
use std::path::PathBuf;

use nanoembed::json_float::json_float;
use nanoembed::{Encoder, Silent};
use nanoembed_search::{Answer, By, Query, Tree, TreeOptions};
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::folders::Folders;
use super::notes::Notes;
use super::rpc::Failure;
use crate::args::EmbedderArgs;
use crate::error::{Result, name_of};

/// The results of a search, at most.
const MOST_RESULTS: usize = 100;

/// The texts that are embedded by a call, at most: their numbers are read by a model.
const MOST_TEXTS: usize = 64;

/// The tools, and what they work on.
pub(super) struct Tools<'a> {
    embedder: &'a EmbedderArgs,
    /// Opened by the first call that needs it.
    encoder: OnceCell<Encoder>,
    folders: Folders,
    notes: Notes,
}

/// The result of a tool: for a model to read, and for a program.
struct Output {
    text: String,
    structured: Value,
}

impl<'a> Tools<'a> {
    pub(super) const fn new(embedder: &'a EmbedderArgs, folders: Folders, notes: Notes) -> Self {
        Self { embedder, encoder: OnceCell::new(), folders, notes }
    }

    /// What agents are told of the server.
    pub(super) fn instructions(&self) -> String {
        let folders: Vec<String> = self.folders.all().iter().map(|path| name_of(path)).collect();
        format!(
            "`search` finds passages by meaning and by exact words in {}: ask it a question, or for identifiers. \
             `remember` and `recall` keep notes over sessions.",
            folders.join(", ")
        )
    }

    /// The result of a call; the failure of a tool is one, too, which a model reads.
    pub(super) fn call(&self, params: &Value) -> std::result::Result<Value, Failure> {
        let name = params["name"].as_str().ok_or_else(|| Failure::params("`name` is needed"))?;
        let arguments = Arguments::new(params["arguments"].clone());
        let output = match name {
            "search" => arguments.and_then(|arguments| self.search(arguments)),
            "remember" => arguments.and_then(|arguments| self.remember(arguments)),
            "recall" => arguments.and_then(|arguments| self.recall(arguments)),
            "embed" => arguments.and_then(|arguments| self.embed(arguments)),
            name => return Err(Failure::params(format!("there is no tool `{name}`"))),
        };
        Ok(match output {
            Ok(Output { text, structured }) => json!({
                "content": [{"type": "text", "text": text}],
                "structuredContent": structured,
                "isError": false,
            }),
            Err(error) => json!({
                "content": [{"type": "text", "text": error.to_string()}],
                "isError": true,
            }),
        })
    }

    fn search(&self, mut arguments: Arguments) -> Result<Output> {
        let query = arguments.needed("query")?;
        let path = arguments.text("path")?;
        let count = arguments.count("k", 10, MOST_RESULTS)?;
        let by = arguments.text("by")?.map_or(Ok(By::Both), |name| name.parse())?;
        arguments.finish()?;
        let paths = match path {
            Some(path) => vec![self.folders.find(&path)?],
            None => self.folders.all().to_vec(),
        };
        self.found(&query, by, &paths, count)
    }

    fn remember(&self, mut arguments: Arguments) -> Result<Output> {
        let text = arguments.needed("text")?;
        arguments.finish()?;
        let file = name_of(&self.notes.add(&text)?);
        Ok(Output { text: format!("kept in {file}"), structured: json!({"file": file}) })
    }

    fn recall(&self, mut arguments: Arguments) -> Result<Output> {
        let query = arguments.needed("query")?;
        let count = arguments.count("k", 5, MOST_RESULTS)?;
        arguments.finish()?;
        let folder = self.notes.folder()?;
        if !folder.is_dir() {
            let structured = json!({"results": []});
            return Ok(Output { text: "there are no notes".to_owned(), structured });
        }
        self.found(&query, By::Both, &[folder.to_owned()], count)
    }

    fn embed(&self, mut arguments: Arguments) -> Result<Output> {
        let texts = arguments.texts("texts", MOST_TEXTS)?;
        arguments.finish()?;
        let encoder = self.encoder()?;
        let vectors = encoder.embed_all(&texts)?;
        let (model, dimensions) = (encoder.model_name(), vectors.dimensions());
        let row = |row: &[f32]| row.iter().copied().map(json_float).collect::<Vec<Value>>();
        let rows: Vec<Vec<Value>> = vectors.rows().map(row).collect();
        let structured = json!({"model": model, "dimensions": dimensions, "embeddings": rows});
        Ok(Output { text: structured.to_string(), structured })
    }

    /// The passages of files and folders that answer a query.
    fn found(&self, query: &str, by: By, paths: &[PathBuf], count: usize) -> Result<Output> {
        let encoder = self.encoder()?;
        let query = Query { by, ..Query::new(query).at_least(count) };
        let options = TreeOptions::for_query(&query, encoder);
        let tree = Tree::open(paths, &options, encoder, &Silent)?;
        let answers = tree.search(&query, encoder, &Silent)?;
        let best: Vec<&Answer<'_>> = answers.best(count).collect();
        let mut text = String::new();
        for Answer { file, line, end_line, text: passage, .. } in &best {
            let _ = write!(text, "{file}:{line}-{end_line}\n{}\n\n", passage.trim_end());
        }
        if best.is_empty() {
            text.push_str("nothing was found");
        }
        for warning in tree.messages() {
            let _ = writeln!(text, "warning: {warning}");
        }
        let results: Vec<Value> = best.iter().map(|answer| structured(answer)).collect();
        Ok(Output { text, structured: json!({"results": results}) })
    }

    fn encoder(&self) -> Result<&Encoder> {
        if let Some(encoder) = self.encoder.get() {
            return Ok(encoder);
        }
        let encoder = self.embedder.open(true)?;
        Ok(self.encoder.get_or_init(|| encoder))
    }
}

fn structured(answer: &Answer<'_>) -> Value {
    let Answer { file, line, end_line, text, score, .. } = answer;
    let score = json_float(*score);
    json!({"file": file, "line": line, "end_line": end_line, "text": text, "score": score})
}

/// The descriptions of the tools.
pub(super) fn descriptions() -> Value {
    let text = |about: &str| json!({"type": "string", "description": about});
    let count = |usual: usize| {
        json!({
            "type": "integer", "minimum": 1, "maximum": MOST_RESULTS, "default": usual,
            "description": "The number of results",
        })
    };
    let read_only = json!({"readOnlyHint": true, "openWorldHint": false});
    json!([
        {
            "name": "search",
            "title": "Search files",
            "description": "Finds passages of text and code in the user's folders by meaning and by exact words \
                            together: questions, descriptions, identifiers, error codes. Each result is a section, \
                            paragraph, function or class with its file and lines, the best first.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "query": text("A question or words, such as `how are retries delayed` or `max_bytes`"),
                    "path": text("A file or folder in the folders that may be searched; all of them without it"),
                    "k": count(10),
                    "by": {
                        "type": "string", "enum": ["both", "words", "meaning"], "default": "both",
                        "description": "`words` finds only passages with words of the query",
                    },
                },
                "required": ["query"],
                "additionalProperties": false,
            },
            "annotations": read_only,
        },
        {
            "name": "remember",
            "title": "Keep a note",
            "description": "Keeps a note over sessions: decisions, preferences, facts about a project. `recall` finds it.",
            "inputSchema": {
                "type": "object",
                "properties": {"text": text("The note, in Markdown; one fact or decision")},
                "required": ["text"],
                "additionalProperties": false,
            },
            "annotations": {"readOnlyHint": false, "destructiveHint": false, "openWorldHint": false},
        },
        {
            "name": "recall",
            "title": "Find notes",
            "description": "Finds notes that were kept by `remember`, in this session or earlier ones.",
            "inputSchema": {
                "type": "object",
                "properties": {"query": text("A question or words"), "k": count(5)},
                "required": ["query"],
                "additionalProperties": false,
            },
            "annotations": read_only,
        },
        {
            "name": "embed",
            "title": "Embed texts",
            "description": "Vectors of texts, for programs that compare them.",
            "inputSchema": {
                "type": "object",
                "properties": {"texts": {
                    "type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MOST_TEXTS,
                    "description": "The texts",
                }},
                "required": ["texts"],
                "additionalProperties": false,
            },
            "annotations": read_only,
        },
    ])
}
