use predicates::str::contains;

use crate::{failure, nanoembed, stdout};

pub(crate) const COMMANDS: [&str; 28] = [
    "embed",
    "rerank",
    "generate",
    "search",
    "index",
    "mcp",
    "install",
    "serve",
    "tokenize",
    "models",
    "inspect",
    "verify",
    "convert",
    "quantize",
    "prune-vocabulary",
    "dequantize",
    "diff",
    "histogram",
    "migrate",
    "vector",
    "similar",
    "analogy",
    "select",
    "reconstruct",
    "bucket-to-explicit",
    "metadata",
    "compute-accuracy",
    "completions",
];

#[test]
fn every_command_explains_itself_with_examples() {
    let help = stdout(&["--help"], "");
    for command in COMMANDS {
        assert!(help.contains(command), "{command}");
        nanoembed(&[command, "--help"])
            .assert()
            .success()
            .stdout(contains("Usage: nanoembed "))
            .stdout(contains("Examples:\n  nanoembed "));
    }
}

#[test]
fn wrong_usage_is_status_2() {
    for arguments in
        [&[][..], &["frobnicate"], &["inspect"], &["search"], &["embed", "--threads", "0", "x"]]
    {
        failure(arguments, b"", 2);
    }
}

#[test]
fn completions_name_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(stdout(&["completions", shell], "").contains("tokenize"), "{shell}");
    }
}
