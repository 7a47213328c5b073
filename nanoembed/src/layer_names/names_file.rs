//! Numbers of layers and their names, as a user gives them: JSON or lines.

use std::collections::HashMap;
use std::path::Path;

use nanoembed_core::{Error as CoreError, ErrorKind, limit};
use serde_json::Value;

use crate::error::{Error, Result, name_of};
use crate::folder::json_file::tree;
use crate::hashed;

/// Names by number, and the other way round.
#[derive(Debug, Default, PartialEq)]
pub struct NamesFile {
    names: HashMap<u32, String>,
    numbers: HashMap<String, u32>,
}

/// The reason that names are not taken.
enum Refusal {
    Bad(String),
    Failed(CoreError),
}

impl From<String> for Refusal {
    fn from(message: String) -> Self {
        Self::Bad(message)
    }
}

impl From<CoreError> for Refusal {
    fn from(error: CoreError) -> Self {
        Self::Failed(error)
    }
}

impl NamesFile {
    /// Reads `{"0": "lm_head", …}`, `["lm_head", …]`, or lines `0 lm_head` (`=`, `:` or a tab
    /// between is fine, `#` begins a comment).
    pub fn read(path: &Path) -> Result<Self> {
        let text = crate::files::whole_file::read_text(path)
            .map_err(|error| Error::reading(name_of(path), &error))?;
        let mut this = Self::default();
        let added = match text.trim_start().chars().next() {
            Some('{' | '[') => this.add_json(&text),
            _ => this.add_lines(&text),
        };
        added.map_err(|refusal| match refusal {
            Refusal::Failed(error) => Error::in_file(name_of(path), error),
            Refusal::Bad(message) => Error::input(ErrorKind::BadField, message)
                .at(name_of(path))
                .with_hint("give JSON `{\"0\": \"lm_head\", …}` or lines `0 lm_head`"),
        })?;
        Ok(this)
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

impl NamesFile {
    fn add_json(&mut self, text: &str) -> Result<(), Refusal> {
        let parsed = tree(text.as_bytes()).map_err(|fault| fault.to_string())?;
        let mut named = |number: &str, name: &Value| match name.as_str() {
            Some(name) => self.add(number, name),
            None => Err(format!("the name of layer {number} is no text").into()),
        };
        match &parsed {
            Value::Object(members) => members.iter().try_for_each(|(key, name)| named(key, name)),
            Value::Array(names) => {
                let mut numbered = (0..).zip(names);
                numbered.try_for_each(|(number, name): (u32, _)| named(&number.to_string(), name))
            }
            _ => Err("this is neither an object nor an array".to_owned().into()),
        }
    }

    fn add_lines(&mut self, text: &str) -> Result<(), Refusal> {
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let (layer, name) = line
                .split_once(|c: char| c.is_whitespace() || c == '=' || c == ':')
                .ok_or_else(|| format!("line {number} has no name"))?;
            let name = name.trim_matches(|c: char| c.is_whitespace() || c == '=' || c == ':');
            self.add(layer, name).map_err(|refusal| match refusal {
                Refusal::Bad(message) => format!("line {number}: {message}").into(),
                failed => failed,
            })?;
        }
        Ok(())
    }

    fn add(&mut self, number: &str, name: &str) -> Result<(), Refusal> {
        let parsed = number.parse().map_err(|_| format!("`{number}` is no number of a layer"))?;
        let name = name.strip_suffix(".weight").unwrap_or(name);
        if name.is_empty() {
            return Err(format!("the name of layer {number} is empty").into());
        }
        if self.names.contains_key(&parsed) {
            return Err(format!("layer {number} is named twice").into());
        }
        if self.numbers.contains_key(name) {
            return Err(format!("two layers are called `{name}`").into());
        }
        hashed::insert(&mut self.names, parsed, limit::copied(name)?)?;
        Ok(hashed::insert(&mut self.numbers, limit::copied(name)?, parsed)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Add = fn(&mut NamesFile, &str) -> Result<(), Refusal>;

    fn added(add: Add, text: &str) -> Option<NamesFile> {
        let mut names = NamesFile::default();
        add(&mut names, text).ok().map(|()| names)
    }

    #[test]
    fn json_and_lines_mean_the_same() {
        let json = added(NamesFile::add_json, r#"{"0": "lm_head.weight", "2": "model.x"}"#);
        let lines = "# layers\n0 = lm_head\n\n2\tmodel.x  # the other\n";
        assert_eq!(json, added(NamesFile::add_lines, lines));
        let list = added(NamesFile::add_json, r#"["lm_head"]"#).unwrap();
        assert_eq!((list.name(0), list.number("lm_head")), (Some("lm_head"), Some(0)));
    }

    #[test]
    fn what_is_wrong_is_told() {
        for text in ["x y", "0", "0 a\n0 b", "0 a\n1 a", "-1 a"] {
            assert_eq!(added(NamesFile::add_lines, text), None, "{text}");
        }
        for text in [r#"{"0": 1}"#, "[[]]", "{", r#"{"0": ""}"#] {
            assert_eq!(added(NamesFile::add_json, text), None, "{text}");
        }
    }
}
