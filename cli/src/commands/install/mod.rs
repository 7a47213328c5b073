//! `install`: the entry of `mcp` in the settings of agents.
//!
//! | file | role |
//! |---|---|
//! | `agent` | the agents, and where their settings are |
//! | `settings` | a file of settings, with one entry added or removed |

mod agent;
mod settings;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use nanoembed::open::source::is_known_name;
use serde_json::{Value, json};

use super::mcp::folders::Folders;
use crate::error::{Error, Result, name_of, warn};
use crate::output::lines::LineWriter;
use crate::streams::say;
use agent::Agent;
use settings::{Change, Settings};

/// The name of the entry.
const NAME: &str = "nanoembed";

/// Add `nanoembed mcp` to the settings of agents, or remove it
///
/// Without AGENT, for every agent below that has settings on this machine. The file is kept beside
/// the new one, with `.bak` after its name. Start the agent again afterwards.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanoembed install claude
  nanoembed install --print
  nanoembed install cursor claude-desktop --folder ~/src --folder ~/notes
  nanoembed install --remove

Agents that start in a project search its folder unless others are named. The rest need `--folder`.
Codex has a command of its own:
  codex mcp add nanoembed -- nanoembed mcp")]
pub(crate) struct Install {
    /// The agents
    #[arg(value_enum, value_name = "AGENT")]
    agents: Vec<Agent>,

    /// A folder that may be searched [default: the project's]
    #[arg(long = "folder", value_name = "FOLDER", conflicts_with = "remove")]
    folders: Vec<PathBuf>,

    /// The model of the server [default: the one that is built in]
    #[arg(long, short, value_name = "FILE", conflicts_with = "remove")]
    model: Option<PathBuf>,

    /// Print the entry of each agent, and write nothing
    #[arg(long, conflicts_with = "remove")]
    print: bool,

    /// Remove the entry
    #[arg(long)]
    remove: bool,
}

impl Install {
    pub(crate) fn run(self, quiet: bool) -> Result<ExitCode> {
        let is_named = !self.agents.is_empty();
        let mut is_done = false;
        for agent in self.agents()? {
            let done = match self.remove {
                true => self.change(agent, None, quiet),
                false => self.add(agent, quiet),
            };
            match done {
                // An agent that nobody named may need what was not given.
                Err(error) if !is_named && agent.folders().is_none() => {
                    let hint = error.hint().unwrap_or_default();
                    warn(format_args!("{error}, and is left out: {hint}"));
                }
                done => is_done |= done.map(|()| true)?,
            }
        }
        match is_done {
            true => Ok(ExitCode::SUCCESS),
            false => Err(Error::usage("no settings were changed")),
        }
    }

    /// The agents that were named, else those that are there.
    fn agents(&self) -> Result<Vec<Agent>> {
        if !self.agents.is_empty() {
            return Ok(self.agents.clone());
        }
        let found: Vec<Agent> = Agent::all().filter(|agent| agent.is_there()).collect();
        match found.is_empty() {
            true => Err(Error::not_found("no agent has settings on this machine")
                .with_hint("`nanoembed install AGENT --print` shows what to add by hand")),
            false => Ok(found),
        }
    }

    fn add(&self, agent: Agent, quiet: bool) -> Result<()> {
        let (command, arguments) = (program()?, self.arguments(agent)?);
        let entry = agent.entry(&command, &arguments);
        if !self.print {
            return self.change(agent, Some(entry), quiet);
        }
        if !quiet {
            say(format_args!("{}: {}", agent.title(), name_of(&agent.file()?)));
        }
        let whole = json!({agent.member(): {NAME: entry}});
        let mut out = LineWriter::stdout();
        out.block(&format!("{whole:#}"))?;
        out.finish()
    }

    /// Puts an entry into an agent's settings, or takes it out.
    fn change(&self, agent: Agent, entry: Option<Value>, quiet: bool) -> Result<()> {
        let (title, path) = (agent.title(), agent.file()?);
        if !agent.is_there() {
            let message = format!("{title} has no settings here");
            return Err(Error::not_found(message).at(name_of(&path)).with_hint(
                "start it once, or look with `--print` at what to add to its settings by hand",
            ));
        }
        let name = name_of(&path);
        let mut settings = Settings::read(path)?;
        let change = settings.set(agent.member(), NAME, entry)?;
        let saved = settings.write(change)?;
        if !quiet {
            let did = match change {
                Change::Added => "added",
                Change::Replaced => "replaced",
                Change::Removed => "removed",
                Change::None if self.remove => "was not there",
                Change::None => "was there already",
            };
            say(format_args!("{title}: {name}: {did}"));
            if let Some(saved) = saved {
                say(format_args!("  as it was: {}", name_of(&saved)));
            }
        }
        Ok(())
    }

    /// The arguments of the program that an agent starts.
    fn arguments(&self, agent: Agent) -> Result<Vec<String>> {
        let mut arguments = vec!["mcp".to_owned()];
        if let Some(model) = &self.model {
            arguments.extend(["--model".to_owned(), text(&lasting(model)?)?]);
        }
        if !self.folders.is_empty() {
            for folder in Folders::new(&self.folders)?.all() {
                arguments.push(text(folder)?);
            }
            return Ok(arguments);
        }
        let usual = agent.folders().ok_or_else(|| {
            let message = format!("{} does not start servers in a project", agent.title());
            Error::usage(message).with_hint("name what may be searched: `--folder FOLDER`")
        })?;
        arguments.extend(usual.iter().map(ToString::to_string));
        Ok(arguments)
    }
}

/// The path of this program: what agents start may have another `PATH`.
fn program() -> Result<String> {
    let path = std::env::current_exe();
    text(&path.map_err(|error| Error::reading("the program", &error))?)
}

/// The name of a model that holds in every folder: a path from the root, or the name by which it is
/// known.
fn lasting(model: &Path) -> Result<PathBuf> {
    if is_known_name(model) {
        return Ok(model.to_owned());
    }
    model.canonicalize().map_err(|error| Error::reading(name_of(model), &error))
}

/// A path as JSON has it.
fn text(path: &Path) -> Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| {
        Error::bad_input("the path is not UTF-8, as JSON has to be").at(name_of(path))
    })
}
