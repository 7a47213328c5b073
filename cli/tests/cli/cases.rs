//! The cases in `tests/data/cases`: small files on which programs of this kind have gone wrong,
//! each with what is right, which comes from an independent program. `case.json` says what is run
//! and what it must do.

use std::path::{Path, PathBuf};

use predicates::Predicate as _;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{nanoembed, objects};

/// Expectations that say how a command may refuse, not what it must do.
const REFUSALS: [&str; 3] = ["or_refuse", "refusal", "refusal_exit"];

/// A command that has run.
struct Done {
    folder: PathBuf,
    out: PathBuf,
    code: i32,
    stdout: String,
    stderr: String,
}

#[test]
fn every_case_holds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/cases");
    let mut folders: Vec<PathBuf> =
        root.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.retain(|folder| folder.join("case.json").is_file());
    folders.sort();
    assert!(!folders.is_empty());
    let short: Vec<String> = folders.iter().filter_map(|folder| run(folder).err()).collect();
    assert!(short.is_empty(), "{} fall short:\n{}", short.len(), short.join("\n"));
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Runs the case in `folder`; the error says what fell short.
fn run(folder: &Path) -> Result<(), String> {
    let folder = folder.canonicalize().unwrap();
    let case = read(&folder.join("case.json"));
    let steps = case["steps"].as_array().cloned().unwrap_or_else(|| vec![case.clone()]);
    let out = TempDir::new().unwrap();
    for (number, step) in (1..).zip(&steps) {
        let done = command(&folder, out.path(), step);
        let expect = step.get("expect").cloned().unwrap_or_else(|| json!({}));
        match check(&done, &expect) {
            Ok(false) => {}
            Ok(true) => break,
            Err(short) => return Err(format!("{}: step {number}: {short}", case["name"])),
        }
    }
    Ok(())
}

fn command(folder: &Path, out: &Path, step: &Value) -> Done {
    let places = [("{dir}", folder), ("{out}", out)];
    let words: Vec<String> = step["command"]
        .as_array()
        .unwrap()
        .iter()
        .map(|word| {
            let word = word.as_str().unwrap().to_owned();
            places
                .iter()
                .fold(word, |word, (name, path)| word.replace(name, path.to_str().unwrap()))
        })
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let stdin = step["stdin"].as_str().unwrap_or_default();
    let output = nanoembed(&words).write_stdin(stdin).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    // A pattern must not match the name of a folder.
    let stderr =
        places.iter().fold(stderr, |text, (name, path)| text.replace(path.to_str().unwrap(), name));
    Done {
        folder: folder.to_owned(),
        out: out.to_owned(),
        code: output.status.code().expect("the program crashed"),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr,
    }
}

/// Whether the case is done because the command refused, as it may; the error says what fell short.
fn check(done: &Done, expect: &Value) -> Result<bool, String> {
    if done.code == 101 {
        return Err(format!("the program panicked: {}", done.stderr));
    }
    let expect = expect.as_object().unwrap();
    let may_refuse = expect.get("or_refuse").is_some_and(|it| it == true);
    let refusal = expect.get("refusal_exit").cloned().unwrap_or_else(|| json!([1]));
    if may_refuse && refusal.as_array().unwrap().contains(&json!(done.code)) {
        return matches(&expect["refusal"], &done.stderr, true).map(|()| true);
    }
    let codes = expect.get("exit").cloned().unwrap_or_else(|| json!([0]));
    if !codes.as_array().unwrap().contains(&json!(done.code)) {
        return Err(format!("exit {} instead of {codes}: {}", done.code, done.stderr));
    }
    for (name, rule) in expect {
        match name.as_str() {
            "exit" => {}
            "stderr" => matches(rule, &done.stderr, true)?,
            "stderr_not" => matches(rule, &done.stderr, false)?,
            "stdout" => matches(rule, &done.stdout, true)?,
            "ids" => same_ids(done, rule)?,
            "generated" => {
                let ids = objects(&done.stdout)[0]["ids"].clone();
                if !rule.as_array().unwrap().contains(&ids) {
                    return Err(format!("generated {ids} instead of one of {rule}"));
                }
            }
            "embedding" => same_embeddings(done, rule)?,
            "vectors" => same_vectors(done, rule)?,
            "json" => same_members(done, rule)?,
            "file" => written(done, rule)?,
            name if REFUSALS.contains(&name) => {}
            name => return Err(format!("the expectation `{name}` is not known")),
        }
    }
    Ok(false)
}

fn matches(pattern: &Value, text: &str, wanted: bool) -> Result<(), String> {
    let pattern = pattern.as_str().unwrap();
    // Python's look-ahead for the end of a number, as a class.
    let pattern = pattern.replace(r"(?![\de])", r"(?:[^\de]|$)");
    let found = predicates::str::is_match(format!("(?is){pattern}")).unwrap().eval(text);
    let not = if wanted { "" } else { "not " };
    (found == wanted).then_some(()).ok_or_else(|| format!("should {not}match /{pattern}/: {text}"))
}

fn same_ids(done: &Done, expected: &Value) -> Result<(), String> {
    let ids: Vec<Value> = objects(&done.stdout).iter().map(|line| line["ids"].clone()).collect();
    (json!(ids) == *expected)
        .then_some(())
        .ok_or_else(|| format!("ids {} instead of {expected}", json!(ids)))
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

/// Holds numbers against others by `cosine` (at least) and `max_abs` (at most, times the largest
/// value or 1).
fn close(what: &str, got: &[f64], expected: &[f64], rule: &Value) -> Result<(), String> {
    if got.len() != expected.len() {
        return Err(format!("{what}: {} numbers instead of {}", got.len(), expected.len()));
    }
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let norms = (dot(got, got) * dot(expected, expected)).sqrt();
    let cosine = if norms == 0.0 { 1.0 } else { dot(got, expected) / norms };
    let largest = expected.iter().fold(1.0_f64, |largest, x| largest.max(x.abs()));
    let error = got.iter().zip(expected).fold(0.0_f64, |most, (x, y)| most.max((x - y).abs()));
    let (least, most) = (rule["cosine"].as_f64(), rule["max_abs"].as_f64());
    let is_close = least.is_none_or(|least| cosine >= least)
        && most.is_none_or(|most| error / largest <= most);
    is_close.then_some(()).ok_or_else(|| format!("{what}: cosine {cosine}, error {error:e}"))
}

fn expected_of(done: &Done, rule: &Value) -> Value {
    read(&done.folder.join(rule["file"].as_str().unwrap()))
}

fn same_embeddings(done: &Done, rule: &Value) -> Result<(), String> {
    let (lines, expected) = (objects(&done.stdout), expected_of(done, rule));
    let expected = expected.as_array().unwrap();
    if lines.len() != expected.len() {
        return Err(format!("{} embeddings instead of {}", lines.len(), expected.len()));
    }
    for (at, (line, expected)) in lines.iter().zip(expected).enumerate() {
        close(&format!("embedding {at}"), &numbers(&line["embedding"]), &numbers(expected), rule)?;
    }
    Ok(())
}

/// Word vectors at the length that `scale` tells: `norm`, or `norm/rows` as the mean of n-grams
/// has.
fn same_vectors(done: &Done, rule: &Value) -> Result<(), String> {
    let lines = objects(&done.stdout);
    for (word, expected) in expected_of(done, rule).as_object().unwrap() {
        let line = lines.iter().find(|line| line["word"] == word.as_str());
        let line = line.ok_or_else(|| format!("no vector of {word:?}"))?;
        let norm = line["norm"].as_f64().unwrap_or(1.0);
        let by = match rule["scale"].as_str() {
            Some("norm") => norm,
            Some("norm/rows") => norm / line["rows"].as_array().map_or(1.0, |it| it.len() as f64),
            _ => 1.0,
        };
        let mut got: Vec<f64> = numbers(&line["embedding"]).iter().map(|x| x * by).collect();
        got.truncate(rule["first"].as_u64().map_or(usize::MAX, |first| first as usize));
        close(&format!("vector of {word:?}"), &got, &numbers(expected), rule)?;
    }
    Ok(())
}

/// A file that is there, holds a pattern, or is a `.npy` file with the numbers of another.
fn written(done: &Done, rule: &Value) -> Result<(), String> {
    let name = rule["path"].as_str().unwrap();
    let path = name.replace("{out}", done.out.to_str().unwrap());
    let bytes = std::fs::read(&path).map_err(|error| format!("{name}: {error}"))?;
    if rule.get("matches").is_some() {
        matches(&rule["matches"], &String::from_utf8_lossy(&bytes), true)?;
    }
    if rule.get("npy").is_some() {
        let numbers_in = npyz::NpyFile::new(&bytes[..]).unwrap().into_vec::<f32>().unwrap();
        let got: Vec<f64> = numbers_in.into_iter().map(f64::from).collect();
        let expected = numbers(&read(&done.folder.join(rule["npy"].as_str().unwrap())));
        close(name, &got, &expected, rule)?;
    }
    Ok(())
}

/// Pairs of a path into the JSON of stdout and the value that stands there; `#` is a length, and
/// lists of named things are entered by name.
fn same_members(done: &Done, pairs: &Value) -> Result<(), String> {
    let whole = objects(&done.stdout).first().cloned().unwrap_or_default();
    for pair in pairs.as_array().unwrap() {
        let mut at = whole.clone();
        for key in pair[0].as_array().unwrap() {
            at = match (&at, key.as_str()) {
                (Value::Array(all), Some("#")) => json!(all.len()),
                (Value::Object(all), Some("#")) => json!(all.len()),
                (Value::Array(all), Some(name)) => {
                    all.iter().find(|it| it["name"] == name).cloned().unwrap_or_default()
                }
                (_, Some(name)) => at[name].clone(),
                (_, None) => at[key.as_u64().unwrap() as usize].clone(),
            };
        }
        if !same(&at, &pair[1]) {
            return Err(format!("{} is {at} instead of {}", pair[0], pair[1]));
        }
    }
    Ok(())
}

fn same(got: &Value, expected: &Value) -> bool {
    match (got, expected) {
        (Value::Number(got), Value::Number(expected)) => {
            let (got, expected) = (got.as_f64().unwrap(), expected.as_f64().unwrap());
            (got - expected).abs() <= 1e-6 * expected.abs().max(1.0)
        }
        (Value::Array(got), Value::Array(expected)) => {
            got.len() == expected.len() && got.iter().zip(expected).all(|(a, b)| same(a, b))
        }
        _ => got == expected,
    }
}
