//! Files of records: a JSON object in each line, with a text among its members.

use nanoembed::Result;
use nanoembed::lines::Lines;
use nanoembed::lines::json_line::{Members, Object, Unusable};
use serde_json::{Map, Value};

use crate::content::Content;
use crate::passage::{Form, Measure, passages};
use crate::walk::Found;

impl Content {
    /// Adds the text of a record as one passage, with other members of the record, which are shown but
    /// not searched. `line` is the number of its line.
    pub fn add_record(
        &mut self,
        text: &str,
        members: Vec<(String, Value)>,
        line: u64,
        measure: &dyn Measure,
    ) {
        let members = Value::Object(members.into_iter().collect()).to_string();
        for mut passage in passages(Form::Whole, text, measure) {
            for part in &mut passage.parts {
                (part.line, part.end_line) = (line, line);
            }
            self.passages.push((passage, members.clone()));
        }
    }
}

/// The members beside a record's text, out of the extra text of its passage; `None` for a passage of
/// another kind.
pub(crate) fn members(extra: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(extra).ok()
}

/// The texts of the lines of a file. A line without a text is left out, but an error in a file that
/// was given.
pub(crate) fn read(found: &Found, lossy: bool, measure: &dyn Measure) -> Result<Content> {
    let members = Members::usual(lossy);
    let mut lines = Lines::open(&found.path, Some(lossy || !found.is_given))?;
    let mut content = Content::default();
    while let Some(record) = members.next(&mut lines) {
        match record {
            Ok(Object { text, kept }) => {
                content.add_record(&text, kept, lines.number(), measure);
            }
            Err(Unusable { error, .. }) if found.is_given || !error.is_about_input() => {
                return Err(*error);
            }
            Err(Unusable { error, .. }) => content.left_out.push(error.to_string()),
        }
    }
    Ok(content)
}
