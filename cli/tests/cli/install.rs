//! `install`: the server for agents in their settings.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::nanoembed;

/// A user's home folder.
struct Home(TempDir);

impl Home {
    /// The home folder of a user of the agents that have these folders.
    fn new(folders: &[&str]) -> Self {
        let home = TempDir::new().unwrap();
        for folder in folders {
            fs::create_dir_all(home.path().join(folder)).unwrap();
        }
        Self(home)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    fn run(&self, arguments: &[&str], status: i32) -> (String, String) {
        let mut command = nanoembed(&[&["install"], arguments].concat());
        command.env("HOME", self.path()).env_remove("XDG_CONFIG_HOME");
        let output = command.assert().code(status).get_output().clone();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr))
    }

    /// What the command says when it is done.
    fn installed(&self, arguments: &[&str]) -> String {
        self.run(arguments, 0).1
    }

    fn refused(&self, arguments: &[&str], status: i32) -> String {
        self.run(arguments, status).1
    }
}

/// The path of the program, as the entries have it.
fn program() -> Value {
    nanoembed(&[]).get_program().to_str().unwrap().into()
}

#[test]
fn an_entry_is_added_once_and_removed_without_a_trace() {
    let home = Home::new(&[".gemini"]);
    let before = "{\n  \"theme\": \"dark\",\n  \"mcpServers\": {\n    \"other\": {\n      \"command\": \
                  \"x\"\n    }\n  },\n  \"a\": 1.5\n}\n";
    home.write(".gemini/settings.json", before);
    assert!(home.installed(&["gemini"]).contains("added"));
    let settings = home.json(".gemini/settings.json");
    let entry = json!({"command": program(), "args": ["mcp"]});
    let expected = json!({
        "theme": "dark", "mcpServers": {"other": {"command": "x"}, "nanoembed": entry}, "a": 1.5,
    });
    assert_eq!(settings.to_string(), expected.to_string(), "in their order");
    assert_eq!(home.read(".gemini/settings.json.bak"), before);

    let after = home.read(".gemini/settings.json");
    assert!(home.installed(&["gemini"]).contains("was there already"));
    assert_eq!(home.read(".gemini/settings.json"), after);
    assert_eq!(home.read(".gemini/settings.json.bak"), before, "nothing was written");

    assert!(home.installed(&["gemini", "--folder", "src"]).contains("replaced"));
    assert!(home.installed(&["gemini", "--remove"]).contains("removed"));
    assert_eq!(home.read(".gemini/settings.json"), before);
    assert!(home.installed(&["gemini", "--remove"]).contains("was not there"));
}

#[test]
fn every_agent_has_its_form_in_its_file() {
    let folders = [
        ".claude",
        ".config/Claude",
        ".cursor",
        ".gemini",
        ".config/opencode",
        ".config/Code/User",
        ".codeium/windsurf",
    ];
    let home = Home::new(&folders);
    let src = Path::new("src").canonicalize().unwrap();
    home.installed(&["--folder", "src"]);
    let (command, arguments) = (program(), json!(["mcp", src]));
    let plain = json!({"mcpServers": {"nanoembed": {"command": command, "args": arguments}}});
    let typed = json!({"type": "stdio", "command": command, "args": arguments});
    for (file, expected) in [
        (".claude.json", json!({"mcpServers": {"nanoembed": typed}})),
        (".config/Claude/claude_desktop_config.json", plain.clone()),
        (".cursor/mcp.json", plain.clone()),
        (".gemini/settings.json", plain.clone()),
        (".codeium/windsurf/mcp_config.json", plain),
        (".config/Code/User/mcp.json", json!({"servers": {"nanoembed": typed}})),
        (
            ".config/opencode/opencode.json",
            json!({"mcp": {"nanoembed": {
                "type": "local", "command": [command, "mcp", src], "enabled": true,
            }}}),
        ),
    ] {
        assert_eq!(home.json(file), expected, "{file}");
    }
}

#[test]
fn the_folder_of_the_project_is_searched_unless_there_is_none() {
    let home = Home::new(&[".claude", ".cursor", ".config/Code/User"]);
    let said = home.installed(&[]);
    let warning = "warning: Cursor does not start servers in a project, and is left out: name what";
    assert!(said.contains(warning), "{said}");
    assert!(!home.path().join(".cursor/mcp.json").exists());
    assert_eq!(home.json(".claude.json")["mcpServers"]["nanoembed"]["args"], json!(["mcp"]));
    let arguments = json!(["mcp", "${workspaceFolder}"]);
    assert_eq!(home.json(".config/Code/User/mcp.json")["servers"]["nanoembed"]["args"], arguments);
    let said = home.refused(&["cursor"], 2);
    assert!(said.contains("--folder FOLDER"), "{said}");
}

#[test]
fn printing_writes_nothing() {
    let home = Home::new(&[]);
    let model = format!("{}/tests/cli/install.rs", env!("CARGO_MANIFEST_DIR"));
    let (printed, said) = home.run(&["claude", "--print", "-m", &model], 0);
    let printed: Value = serde_json::from_str(&printed).unwrap();
    let entry = &printed["mcpServers"]["nanoembed"];
    assert_eq!(entry["args"], json!(["mcp", "--model", model]));
    assert!(said.contains(".claude.json"), "{said}");
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn settings_that_are_not_understood_are_left_alone() {
    let home = Home::new(&[".cursor"]);
    for (text, reason) in [
        ("{\n  // mine\n  \"mcpServers\": {}\n}", "no JSON object: key must be a string at line 2"),
        ("[]", "no JSON object"),
        ("{\"mcpServers\": []}", "`mcpServers` is no object"),
    ] {
        home.write(".cursor/mcp.json", text);
        for arguments in [&["cursor", "--folder", "src"][..], &["cursor", "--remove"]] {
            let said = home.refused(arguments, 1);
            assert!(said.contains(reason), "{said}");
            assert_eq!(home.read(".cursor/mcp.json"), text);
        }
    }
    // Agents that are not there, and a folder that is not.
    assert!(home.refused(&["gemini"], 1).contains("Gemini CLI has no settings here"));
    home.refused(&["cursor", "--folder", "none"], 3);
    assert!(Home::new(&[]).refused(&[], 1).contains("no agent has settings"));
}

#[cfg(unix)]
#[test]
fn links_stay_and_secrets_stay_secret() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let home = Home::new(&["dotfiles", ".claude"]);
    home.write("dotfiles/claude.json", "{\"token\": \"secret\"}");
    let file = home.path().join("dotfiles/claude.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&file, home.path().join(".claude.json")).unwrap();
    home.installed(&["claude"]);
    assert!(home.path().join(".claude.json").is_symlink());
    assert!(home.json("dotfiles/claude.json")["mcpServers"]["nanoembed"].is_object());
    for name in ["dotfiles/claude.json", ".claude.json.bak"] {
        let mode = home.path().join(name).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}
