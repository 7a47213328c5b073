//! The columns of the output, and the metadata of its schema.

use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};

use super::vectors;
use crate::encoder::Precision;
use crate::error::{Error, Result};

/// The prefix of every key.
const PREFIX: &str = "nanoembed.";

/// Facts of how vectors were made: keys and values, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts(Vec<(String, String)>);

/// A fact that two runs do not share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Difference {
    /// Without the prefix.
    pub(super) name: String,
    pub(super) ours: String,
    pub(super) theirs: String,
}

impl Facts {
    pub(super) fn add(&mut self, key: &str, value: impl ToString) {
        self.0.push((format!("{PREFIX}{key}"), value.to_string()));
    }

    /// The first fact in which `other` differs.
    pub(super) fn difference(&self, other: &Self) -> Option<Difference> {
        let theirs = |key: &str| other.0.iter().find(|(known, _)| known == key);
        self.0.iter().find_map(|(key, value)| {
            let their = theirs(key).map_or("nothing", |(_, value)| value);
            let name = key.strip_prefix(PREFIX).unwrap_or(key);
            (their != value).then(|| Difference {
                name: name.to_owned(),
                ours: value.clone(),
                theirs: their.to_owned(),
            })
        })
    }

    /// The facts among a file's metadata.
    pub(super) fn among<'m>(metadata: impl Iterator<Item = (&'m str, &'m str)>) -> Self {
        let ours = metadata.filter(|(key, _)| key.starts_with(PREFIX));
        Self(ours.map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
    }

    /// The facts of a [`text`](Self::text), their values as they are spelled there.
    pub(super) fn parse(text: &str) -> Self {
        let pairs = text.lines().filter_map(|line| line.split_once(" = "));
        Self(pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
    }

    /// Both as text, a line each: `key = value`.
    pub(super) fn text(&self) -> String {
        let lines = self.0.iter().map(|(key, value)| format!("{key} = {}\n", value.escape_debug()));
        lines.collect()
    }
}

/// The columns of the input, then those of the vectors, and the facts as metadata.
pub(super) fn with_vectors(
    input: &Schema,
    name: &str,
    precision: Precision,
    dimensions: usize,
    facts: &Facts,
) -> Result<SchemaRef> {
    let mut fields: Vec<Arc<Field>> = input.fields().iter().cloned().collect();
    for field in vectors::fields(name, precision, dimensions) {
        if input.index_of(field.name()).is_ok() {
            return Err(Error::usage(format!("the table has a column `{}` already", field.name()))
                .with_hint("`--vector-column NAME` gives the columns of vectors another name"));
        }
        fields.push(Arc::new(field));
    }
    let mut metadata = input.metadata().clone();
    // What was said of vectors that the table had before is not true of those that it gets.
    metadata.retain(|key, _| !key.starts_with(PREFIX));
    metadata.extend(facts.0.iter().cloned());
    Ok(Arc::new(Schema::new_with_metadata(fields, metadata)))
}
