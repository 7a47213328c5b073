//! Numbers of layers and their names, as a user gives them: JSON or lines.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use nanoembed_core::ErrorKind;
use serde_json::Value;

use crate::error::{Error, Result, name_of};

/// Names by number, and the other way round.
pub struct NamesFile {
    names: BTreeMap<u32, String>,
    numbers: HashMap<String, u32>,
}

impl NamesFile {
    /// Reads `{"0": "lm_head", …}`, `["lm_head", …]`, or lines `0 lm_head` (`=`, `:` or a tab
    /// between is fine, `#` begins a comment).
    pub fn read(path: &Path) -> Result<Self> {
        let text = crate::files::whole_file::read_text(path)
            .map_err(|error| Error::reading(name_of(path), &error))?;
        let names = match text.trim_start().chars().next() {
            Some('{' | '[') => names_from_json(&text),
            _ => names_from_lines(&text),
        };
        let names = names.map_err(|message| {
            Error::input(ErrorKind::BadField, message)
                .at(name_of(path))
                .with_hint("give JSON `{\"0\": \"lm_head\", …}` or lines `0 lm_head`")
        })?;
        let numbers = names.iter().map(|(number, name)| (name.clone(), *number)).collect();
        Ok(Self { names, numbers })
    }

    /// The name of a layer, without `.weight`.
    pub fn name(&self, number: u32) -> Option<&str> {
        self.names.get(&number).map(String::as_str)
    }

    /// The number of the layer called `name`.
    pub fn number(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }
}

type Names = std::result::Result<BTreeMap<u32, String>, String>;

fn names_from_json(text: &str) -> Names {
    let parsed: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let pairs: Vec<(String, &Value)> = match &parsed {
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(names) => {
            names.iter().enumerate().map(|(number, name)| (number.to_string(), name)).collect()
        }
        _ => return Err("this is neither an object nor an array".into()),
    };
    let mut names = BTreeMap::new();
    for (number, name) in pairs {
        let name = name.as_str().ok_or_else(|| format!("the name of layer {number} is no text"))?;
        add(&mut names, &number, name)?;
    }
    unique(names)
}

fn names_from_lines(text: &str) -> Names {
    let mut names = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let (layer, name) = line
            .split_once(|c: char| c.is_whitespace() || c == '=' || c == ':')
            .ok_or_else(|| format!("line {number} has no name"))?;
        let name = name.trim_matches(|c: char| c.is_whitespace() || c == '=' || c == ':');
        add(&mut names, layer, name).map_err(|message| format!("line {number}: {message}"))?;
    }
    unique(names)
}

fn add(names: &mut BTreeMap<u32, String>, number: &str, name: &str) -> Result<(), String> {
    let parsed = number.parse().map_err(|_| format!("`{number}` is no number of a layer"))?;
    let name = name.strip_suffix(".weight").unwrap_or(name);
    if name.is_empty() {
        return Err(format!("the name of layer {number} is empty"));
    }
    match names.insert(parsed, name.to_owned()) {
        None => Ok(()),
        Some(_) => Err(format!("layer {number} is named twice")),
    }
}

fn unique(names: BTreeMap<u32, String>) -> Names {
    let mut all: Vec<&String> = names.values().collect();
    all.sort_unstable();
    match all.windows(2).find(|pair| pair.first() == pair.last()).and_then(|pair| pair.first()) {
        Some(name) => Err(format!("two layers are called `{name}`")),
        None => Ok(names),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_lines_mean_the_same() {
        let json = names_from_json(r#"{"0": "lm_head.weight", "2": "model.x"}"#).unwrap();
        let lines = names_from_lines("# layers\n0 = lm_head\n\n2\tmodel.x  # the other\n").unwrap();
        assert_eq!(json, lines);
        assert_eq!(names_from_json(r#"["lm_head"]"#).unwrap()[&0], "lm_head");
    }

    #[test]
    fn what_is_wrong_is_told() {
        for text in ["x y", "0", "0 a\n0 b", "0 a\n1 a", "-1 a"] {
            assert!(names_from_lines(text).is_err(), "{text}");
        }
        for text in [r#"{"0": 1}"#, "[[]]", "{", r#"{"0": ""}"#] {
            assert!(names_from_json(text).is_err(), "{text}");
        }
    }
}
