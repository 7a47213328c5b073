//! JSON with one value replaced, left out or repeated.

use serde_json::{Value, json};

/// A step down into a document.
#[derive(Clone, Debug)]
enum Step {
    Key(String),
    Index(usize),
}

/// The number of leading values of an array or object that are changed; vocabularies have
/// thousands.
const OF_EACH: usize = 24;

/// All single changes of the document: a description of the change, and the changed document.
#[must_use]
pub fn changes(document: &Value) -> Vec<(String, Value)> {
    let mut places = Vec::new();
    collect(document, &mut Vec::new(), &mut places);
    let mut changed = Vec::new();
    for place in &places {
        let name = |what: &str| format!("{} {what}", spelled(place));
        for (what, value) in values() {
            let mut document = document.clone();
            let Some(there) = at(&mut document, place) else { continue };
            if *there != value {
                *there = value;
                changed.push((name(what), document));
            }
        }
        changed.extend(without(document, place).map(|document| (name("left out"), document)));
        changed.extend(twice(document, place).map(|document| (name("twice"), document)));
    }
    changed
}

/// Values of every kind, and boundary values of sizes, ids and strings.
fn values() -> Vec<(&'static str, Value)> {
    let deep = (0..100).fold(json!(0), |inner, _| json!([inner]));
    vec![
        ("null", Value::Null),
        ("true", json!(true)),
        ("0", json!(0)),
        ("-1", json!(-1)),
        ("2^31", json!(1_u64 << 31)),
        ("2^32-1", json!(u32::MAX)),
        ("2^64-1", json!(u64::MAX)),
        ("1e300", json!(1e300)),
        ("empty string", json!("")),
        ("long string", json!("ab ".repeat(10_000))),
        ("pattern", json!("((((a*)*)*)*)*b")),
        ("empty array", json!([])),
        ("empty object", json!({})),
        ("deep array", deep),
    ]
}

fn collect(value: &Value, place: &mut Vec<Step>, places: &mut Vec<Vec<Step>>) {
    places.push(place.clone());
    let steps: Vec<(Step, &Value)> = match value {
        Value::Array(items) => (0..).map(Step::Index).zip(items).take(OF_EACH).collect(),
        Value::Object(members) => {
            let named = members.iter().map(|(key, value)| (Step::Key(key.clone()), value));
            named.take(OF_EACH).collect()
        }
        _ => vec![],
    };
    for (step, value) in steps {
        place.push(step);
        collect(value, place, places);
        place.pop();
    }
}

fn at<'v>(document: &'v mut Value, place: &[Step]) -> Option<&'v mut Value> {
    place.iter().try_fold(document, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(index) => value.get_mut(index),
    })
}

fn without(document: &Value, place: &[Step]) -> Option<Value> {
    let (last, parents) = place.split_last()?;
    let mut document = document.clone();
    match (at(&mut document, parents)?, last) {
        (Value::Object(members), Step::Key(key)) => drop(members.remove(key)),
        (Value::Array(items), Step::Index(index)) => drop(items.remove(*index)),
        _ => return None,
    }
    Some(document)
}

fn twice(document: &Value, place: &[Step]) -> Option<Value> {
    let (Step::Index(index), parents) = place.split_last()? else { return None };
    let mut document = document.clone();
    let items = at(&mut document, parents)?.as_array_mut()?;
    items.insert(*index, items.get(*index)?.clone());
    Some(document)
}

fn spelled(place: &[Step]) -> String {
    let step = |step: &Step| match step {
        Step::Key(key) => format!(".{key}"),
        Step::Index(index) => format!("[{index}]"),
    };
    place.iter().map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_replaced_left_out_and_repeated() {
        let document = json!({"a": [1, {"b": 2}]});
        let changes = changes(&document);
        let has = |name: &str, expected: Value| {
            let found = changes.iter().find(|(place, _)| place == name).unwrap();
            assert_eq!(found.1, expected, "{name}");
        };
        has(".a[1].b 2^31", json!({"a": [1, {"b": 1_u64 << 31}]}));
        has(".a[0] left out", json!({"a": [{"b": 2}]}));
        has(".a[1] twice", json!({"a": [1, {"b": 2}, {"b": 2}]}));
        has(" null", Value::Null);
        assert!(changes.iter().all(|(_, changed)| *changed != document));
    }
}
