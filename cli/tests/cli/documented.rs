//! The examples of `docs/texts.md`, run as they stand there.

#![cfg(feature = "default-model")]

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::nanoembed;

/// The contents of the page's blocks that begin with `fence`.
fn blocks<'p>(page: &'p str, fence: &str) -> Vec<&'p str> {
    let parts = page.split("\n```");
    // Every other part is a block.
    parts.skip(1).step_by(2).filter_map(|block| block.strip_prefix(fence)).collect()
}

/// The arguments of a command, of which some are in quotes.
fn arguments(command: &str) -> Vec<&str> {
    command.split_whitespace().map(|word| word.trim_matches('"')).collect()
}

#[test]
fn examples_about_texts_print_what_the_page_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = fs::read_to_string(root.join("docs/texts.md")).unwrap();
    let folder = TempDir::new().unwrap();
    for file in blocks(&page, "\n") {
        let (name, content) = file.split_once('\n').unwrap();
        fs::write(folder.path().join(name), format!("{content}\n")).unwrap();
    }
    let prompted = root.join("tests/data/cases/default-prompt/model");
    let mut count = 0;
    for block in blocks(&page, "console\n") {
        for example in block.trim_start_matches("$ ").split("\n$ ") {
            let (command, expected) = example.split_once('\n').unwrap_or((example, ""));
            let words = arguments(command.strip_prefix("nanoembed ").unwrap());
            let model = prompted.to_str().unwrap();
            let words: Vec<&str> = words
                .into_iter()
                .map(|word| if word == "prompted" { model } else { word })
                .collect();
            let run = nanoembed(&words).current_dir(folder.path()).output().unwrap();
            let said = String::from_utf8(run.stdout).unwrap();
            assert!(run.status.success(), "{command}: {}", String::from_utf8_lossy(&run.stderr));
            // Numbers of vectors end differently on other CPUs.
            match words.first() {
                Some(&"tokenize") => assert_eq!(said.trim_end(), expected.trim_end(), "{command}"),
                _ => assert_eq!(said.lines().count(), expected.trim_end().lines().count()),
            }
            count += 1;
        }
    }
    assert!(count > 5, "{count} examples");
}
