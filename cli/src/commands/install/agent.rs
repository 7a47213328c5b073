//! Agents, as their public documentation describes their settings.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use nanoembed::files::user_folders;
use serde_json::{Value, json};

use crate::error::{Error, Result};

/// An agent whose settings are JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Agent {
    /// Claude Code
    Claude,
    /// Claude Desktop
    ClaudeDesktop,
    /// Cursor
    Cursor,
    /// Gemini CLI
    Gemini,
    /// opencode
    Opencode,
    /// Visual Studio Code
    Vscode,
    /// Windsurf
    Windsurf,
}

/// The folder that a path begins in.
#[derive(Clone, Copy)]
enum Base {
    Home,
    Settings,
}

impl Agent {
    /// All of them.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        Self::value_variants().iter().copied()
    }

    /// The name that people know.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Cursor => "Cursor",
            Self::Gemini => "Gemini CLI",
            Self::Opencode => "opencode",
            Self::Vscode => "Visual Studio Code",
            Self::Windsurf => "Windsurf",
        }
    }

    /// The file of the settings that hold for all projects of the user.
    pub(super) fn file(self) -> Result<PathBuf> {
        let (base, path) = match self {
            Self::Claude => (Base::Home, ".claude.json"),
            Self::ClaudeDesktop => (Base::Settings, "Claude/claude_desktop_config.json"),
            Self::Cursor => (Base::Home, ".cursor/mcp.json"),
            Self::Gemini => (Base::Home, ".gemini/settings.json"),
            Self::Opencode => (Base::Home, ".config/opencode/opencode.json"),
            Self::Vscode => (Base::Settings, "Code/User/mcp.json"),
            Self::Windsurf => (Base::Home, ".codeium/windsurf/mcp_config.json"),
        };
        let folder = match base {
            Base::Home => user_folders::home(),
            Base::Settings => user_folders::for_settings(),
        };
        let unknown = || Error::not_found("the environment does not tell the user's home folder");
        folder.map(|folder| folder.join(path)).ok_or_else(unknown)
    }

    /// True if the agent has run here: it makes a folder.
    pub(super) fn is_there(self) -> bool {
        let Ok(file) = self.file() else { return false };
        match self {
            Self::Claude => file.exists() || file.with_extension("").is_dir(),
            _ => file.parent().is_some_and(Path::is_dir),
        }
    }

    /// The member of the settings that has the servers.
    pub(super) const fn member(self) -> &'static str {
        match self {
            Self::Opencode => "mcp",
            Self::Vscode => "servers",
            _ => "mcpServers",
        }
    }

    /// The entry of a server.
    pub(super) fn entry(self, command: &str, arguments: &[String]) -> Value {
        match self {
            Self::Opencode => {
                let line: Vec<&str> =
                    std::iter::once(command).chain(arguments.iter().map(String::as_str)).collect();
                json!({"type": "local", "command": line, "enabled": true})
            }
            Self::Claude | Self::Vscode => {
                json!({"type": "stdio", "command": command, "args": arguments})
            }
            _ => json!({"command": command, "args": arguments}),
        }
    }

    /// The arguments that name the project's folder; `None` if servers are not started in a project.
    pub(super) const fn folders(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Claude | Self::Gemini | Self::Opencode => Some(&[]),
            Self::Vscode => Some(&["${workspaceFolder}"]),
            Self::ClaudeDesktop | Self::Cursor | Self::Windsurf => None,
        }
    }
}
