//! The filter `tojson` as transformers has it: JSON as Python's `json.dumps` writes it, with
//! characters of all scripts as they are.

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, ErrorKind, Value};

/// The most bytes of a text.
const MOST_BYTES: usize = 1 << 22;

/// The most levels of lists.
const MOST_LEVELS: usize = 64;

/// The filter.
pub(super) fn to_json(value: &Value, options: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = options.get("indent")?;
    let sorts: Option<bool> = options.get("sort_keys")?;
    let ascii: Option<bool> = options.get("ensure_ascii")?;
    let separators: Option<Vec<String>> = options.get("separators")?;
    options.assert_all_used()?;
    if ascii == Some(true) {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            "`ensure_ascii=true` is not supported",
        ));
    }
    let usual = [if indent.is_some() { "," } else { ", " }.to_owned(), ": ".to_owned()];
    let [items, members] = match separators {
        Some(given) => <[String; 2]>::try_from(given)
            .map_err(|_| Error::new(ErrorKind::InvalidOperation, "`separators` are two texts"))?,
        None => usual,
    };
    let sorts = sorts.unwrap_or_default();
    let mut written = Written { text: String::new(), indent, sorts, items, members };
    written.value(value, 0)?;
    Ok(written.text)
}

struct Written {
    text: String,
    indent: Option<usize>,
    sorts: bool,
    items: String,
    members: String,
}

impl Written {
    fn value(&mut self, value: &Value, level: usize) -> Result<(), Error> {
        if self.text.len() > MOST_BYTES || level > MOST_LEVELS {
            return Err(Error::from(ErrorKind::OutOfFuel));
        }
        match value.kind() {
            ValueKind::None => self.text.push_str("null"),
            ValueKind::Bool => self.text.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => self.text.push_str(&value.to_string()),
            ValueKind::String => self.string(value.as_str().unwrap_or_default()),
            ValueKind::Seq | ValueKind::Iterable => {
                let items = value.try_iter()?.checked().collect::<Result<Vec<_>, Error>>()?;
                self.list(('[', ']'), items, level, |all, item| all.value(item, level + 1))?;
            }
            ValueKind::Map => {
                let mut names = value.try_iter()?.checked().collect::<Result<Vec<_>, Error>>()?;
                if self.sorts {
                    names.sort();
                }
                self.list(('{', '}'), names, level, |all, name| {
                    all.string(&name.to_string());
                    all.text.push_str(&all.members.clone());
                    all.value(&value.get_item(name)?, level + 1)
                })?;
            }
            kind => {
                let message = format!("a value of the kind {kind} is no JSON");
                return Err(Error::new(ErrorKind::BadSerialization, message));
            }
        }
        Ok(())
    }

    fn list(
        &mut self,
        (open, close): (char, char),
        items: Vec<Value>,
        level: usize,
        mut write: impl FnMut(&mut Self, &Value) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.text.push(open);
        let is_empty = items.is_empty();
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.text.push_str(&self.items.clone());
            }
            self.line(level + 1);
            write(self, item)?;
        }
        if !is_empty {
            self.line(level);
        }
        self.text.push(close);
        Ok(())
    }

    /// A new line, if there are any.
    fn line(&mut self, level: usize) {
        if let Some(indent) = self.indent {
            self.text.push('\n');
            self.text.extend(std::iter::repeat_n(' ', indent.min(16) * level));
        }
    }

    fn string(&mut self, text: &str) {
        self.text.push('"');
        for c in text.chars() {
            match c {
                '"' => self.text.push_str("\\\""),
                '\\' => self.text.push_str("\\\\"),
                '\n' => self.text.push_str("\\n"),
                '\r' => self.text.push_str("\\r"),
                '\t' => self.text.push_str("\\t"),
                '\u{8}' => self.text.push_str("\\b"),
                '\u{c}' => self.text.push_str("\\f"),
                '\0'..='\u{1f}' => self.text.push_str(&format!("\\u{:04x}", u32::from(c))),
                _ => self.text.push(c),
            }
        }
        self.text.push('"');
    }
}

#[cfg(test)]
mod tests {
    use minijinja::Environment;

    use super::*;

    /// As Python 3.12 writes them: `json.dumps(value, ensure_ascii=False, …)`.
    #[test]
    fn json_is_that_of_python() {
        let mut environment = Environment::new();
        environment.add_filter("tojson", to_json);
        for (template, expected) in [
            (
                r#"{{ [1, 2.5, true, none, "a<'é\n\"\\"] | tojson }}"#,
                r#"[1, 2.5, true, null, "a<'é\n\"\\"]"#,
            ),
            (r#"{{ {"b": {}, "a": []} | tojson }}"#, r#"{"b": {}, "a": []}"#),
            (r#"{{ {"b": 1, "a": 2} | tojson(sort_keys=true) }}"#, r#"{"a": 2, "b": 1}"#),
            (r#"{{ {"a": [1, {}]} | tojson(indent=2) }}"#, "{\n  \"a\": [\n    1,\n    {}\n  ]\n}"),
            (r#"{{ [1, {"a": 2}] | tojson(separators=(",", ":")) }}"#, r#"[1,{"a":2}]"#),
            ("{{ '\x01\x7f' | tojson }}", "\"\\u0001\x7f\""),
        ] {
            assert_eq!(environment.render_str(template, ()).unwrap(), expected, "{template}");
        }
        for template in ["{{ nothing | tojson }}", "{{ 1 | tojson(ensure_ascii=true) }}"] {
            assert!(environment.render_str(template, ()).is_err(), "{template}");
        }
    }
}
