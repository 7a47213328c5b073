//! `mcp`: a server of the Model Context Protocol over stdin and stdout.
//!
//! | file | role |
//! |---|---|
//! | `rpc` | requests and answers of JSON-RPC, a line each |
//! | `tools` | the tools: their descriptions, arguments and results |
//! | `arguments` | the arguments of a call |
//! | `folders` | the folders that agents may search |
//! | `notes` | notes that agents keep |

mod arguments;
pub(super) mod folders;
mod notes;
mod rpc;
mod tools;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use crate::args::EmbedderArgs;
use crate::args::limits::Read;
use crate::error::Result;
use folders::Folders;
use notes::Notes;
use rpc::{Connection, Failure, Request};
use tools::Tools;

/// The versions of the protocol, the newest last. What is used of it is the same in all.
const VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Serve tools to search folders, keep notes and embed texts to agents, by the Model Context Protocol
///
/// An agent starts this command and talks to it over stdin and stdout. The model is opened by the
/// first call that needs it; processes share the model's file, and the index of a folder.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed mcp
  nanoembed mcp ~/src ~/notes

`nanoembed install` adds it to the settings of agents.

Tools:
  search    passages of the folders, by words and by meaning
  remember  keep a note
  recall    find notes
  embed     vectors of texts

Only folders that are named, by default the present one, can be searched. Notes are in the file
`notes.md` of a folder that the tools alone write to.")]
pub(crate) struct Mcp {
    /// Folders that may be searched [default: the present folder]
    #[arg(value_name = "FOLDER")]
    folders: Vec<PathBuf>,

    /// Folder of the notes [default: `nanoembed/notes` in the user's folder for data]
    #[arg(long, value_name = "FOLDER")]
    notes: Option<PathBuf>,

    #[command(flatten)]
    embedder: EmbedderArgs,
}

impl Mcp {
    /// The models that it reads.
    pub(super) fn reads(&self) -> Vec<Read<'_>> {
        self.embedder.model.reads()
    }

    pub(crate) fn run(self) -> Result<ExitCode> {
        self.embedder.model.use_threads()?;
        let folders = Folders::new(&self.folders)?;
        let tools = Tools::new(&self.embedder, folders, Notes::new(self.notes));
        let mut connection = Connection::new()?;
        while let Some(line) = connection.next()? {
            if let Some(answer) = answered(&tools, &line) {
                connection.write(&answer)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The answer to a line; none to a notification.
fn answered(tools: &Tools<'_>, line: &str) -> Option<Value> {
    let request = match Request::parse(line) {
        Ok(request) => request,
        Err(failure) => return Some(failure.answer(&Value::Null)),
    };
    // Notifications have no answer, whatever they say.
    let id = request.id.as_ref()?;
    Some(match result(tools, &request) {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(failure) => failure.answer(id),
    })
}

fn result(tools: &Tools<'_>, request: &Request) -> std::result::Result<Value, Failure> {
    match &*request.method {
        "initialize" => Ok(initialized(tools, &request.params)),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({"tools": tools::descriptions()})),
        "tools/call" => tools.call(&request.params),
        method => Err(Failure::no_method(method)),
    }
}

/// The server's side of the handshake.
fn initialized(tools: &Tools<'_>, params: &Value) -> Value {
    let [.., newest] = VERSIONS;
    let asked = params["protocolVersion"].as_str();
    let version = asked.filter(|asked| VERSIONS.contains(asked)).unwrap_or(newest);
    json!({
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "nanoembed", "version": env!("CARGO_PKG_VERSION")},
        "instructions": tools.instructions(),
    })
}
