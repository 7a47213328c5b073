//! Writes JSON: strings, and the members of objects and lists.

use core::fmt::{self, Display, Formatter, Write as _};

/// Displays a value as a JSON string.
#[derive(Clone, Copy, Debug)]
pub struct Quoted<T>(pub T);

impl<T: Display> Display for Quoted<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        write!(Escaped(f), "{}", self.0)?;
        f.write_str("\"")
    }
}

/// Escapes everything written to it for a JSON string.
struct Escaped<'w, 'f>(&'w mut Formatter<'f>);

impl fmt::Write for Escaped<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|c| match c {
            '"' | '\\' => write!(self.0, "\\{c}"),
            '\0'..='\x1f' => write!(self.0, "\\u{:04x}", u32::from(c)),
            _ => write!(self.0, "{c}"),
        })
    }
}

/// Separates items by commas.
#[derive(Clone, Copy, Debug, Default)]
pub struct Comma {
    is_needed: bool,
}

impl Comma {
    /// Writes a comma, except before the first item.
    ///
    /// # Errors
    ///
    /// Any error of the formatter.
    pub fn write(&mut self, f: &mut Formatter<'_>) -> fmt::Result {
        if core::mem::replace(&mut self.is_needed, true) { f.write_str(",") } else { Ok(()) }
    }
}

/// Writes the members of an object.
pub struct Members<'w, 'f> {
    f: &'w mut Formatter<'f>,
    comma: Comma,
}

impl<'w, 'f> Members<'w, 'f> {
    /// Begins an object.
    ///
    /// # Errors
    ///
    /// Any error of the formatter.
    pub fn new(f: &'w mut Formatter<'f>) -> Result<Self, fmt::Error> {
        f.write_str("{")?;
        Ok(Self { f, comma: Comma::default() })
    }

    /// Writes a member whose value displays as JSON.
    ///
    /// # Errors
    ///
    /// Any error of the formatter.
    pub fn put(&mut self, name: &str, value: &dyn Display) -> fmt::Result {
        self.comma.write(self.f)?;
        write!(self.f, "{}:{value}", Quoted(name))
    }

    /// Writes a member with a string.
    ///
    /// # Errors
    ///
    /// Any error of the formatter.
    pub fn text(&mut self, name: &str, text: &str) -> fmt::Result {
        self.put(name, &Quoted(text))
    }

    /// Ends the object.
    ///
    /// # Errors
    ///
    /// Any error of the formatter.
    pub fn finish(self) -> fmt::Result {
        self.f.write_str("}")
    }
}

/// Displays the items of an iterator, each of which displays as JSON, as a list.
#[derive(Clone, Copy, Debug)]
pub struct List<I>(pub I);

impl<I: Iterator<Item: Display> + Clone> Display for List<I> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        let mut comma = Comma::default();
        for item in self.0.clone() {
            comma.write(f)?;
            write!(f, "{item}")?;
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::ToString as _;

    use super::*;
    use crate::text::json::{Object, Value};

    struct Example;

    impl Display for Example {
        fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
            let mut members = Members::new(f)?;
            members.text("a \"b\"", "\\ \n é \u{1}")?;
            members.put("list", &List([1, 2].iter()))?;
            members.put("none", &List([""; 0].iter()))?;
            members.finish()
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let text = Example.to_string();
        assert_eq!(text, r#"{"a \"b\"":"\\ \u000a é \u0001","list":[1,2],"none":[]}"#);
        let object = Object::new(Value::parse(&text, 0).unwrap()).unwrap();
        let value = object.value().member("a \"b\"").unwrap();
        assert!(value.is_text("\\ \n é \u{1}"));
    }
}
