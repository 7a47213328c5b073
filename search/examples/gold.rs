//! nDCG@10 of search with several weights of meaning, which the program has no option for, on the gold
//! sets of `tests/quality`.
//!
//! usage: gold SET [--model FILE|FOLDER] [--same-group]
//!
//! SET is a folder of `~/.cache/nanoembed-tests/gold/sets`, where `tests/quality/measure.py` makes them.
//! With `--same-group` each query searches the passages of its own group, as those of `faq_mono` do.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::error::Error;
use std::fs;
use std::path::Path;

use nanoembed::{Encoder, Silent};
use nanoembed_search::{Answers, By, Query, Tree};
use serde_json::Value;

/// Shares of meaning that are tried.
const WEIGHTS: [f32; 9] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

struct Row {
    id: String,
    text: String,
    group: String,
}

fn rows(file: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    let member = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let row = |line: &str| {
        let row = serde_json::from_str::<Value>(line)?;
        Ok(Row { id: member(&row, "id"), text: member(&row, "text"), group: member(&row, "group") })
    };
    fs::read_to_string(file)?.lines().map(row).collect()
}

fn ndcg(answers: &Answers<'_>, relevant: &HashSet<String>) -> f64 {
    let mut seen = HashSet::new();
    let order = answers.all.iter().map(|it| it.file).filter(|id| seen.insert(*id)).take(10);
    let gain = |at: usize| 1.0 / (at as f64 + 2.0).log2();
    let found = order.enumerate().filter(|(_, id)| relevant.contains(*id));
    let best: f64 = (0..relevant.len().min(10)).map(gain).sum();
    found.map(|(at, _)| gain(at)).sum::<f64>() / best
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (mut set, mut encoder, mut same_group) = (None, None, false);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--model" => encoder = Some(Encoder::open(arguments.next().ok_or("which model?")?)?),
            "--same-group" => same_group = true,
            _ => set = Some(argument),
        }
    }
    let set = set.ok_or("usage: gold SET [--model FILE|FOLDER] [--same-group]")?;
    let encoder = encoder.map_or_else(Encoder::built_in, Ok)?;
    let folder = Path::new(&set);
    let mut relevant: BTreeMap<String, HashSet<String>> = BTreeMap::new();
    for line in fs::read_to_string(folder.join("qrels.tsv"))?.lines() {
        let mut cells = line.split('\t').map(String::from);
        if let (Some(query), Some(passage)) = (cells.next(), cells.next()) {
            relevant.entry(query).or_default().insert(passage);
        }
    }
    let (queries, texts) =
        (rows(&folder.join("queries.jsonl"))?, rows(&folder.join("passages.jsonl"))?);
    let groups: BTreeSet<&str> = match same_group {
        true => queries.iter().map(|row| row.group.as_str()).collect(),
        false => BTreeSet::from([""]),
    };
    let mut totals = vec![0.0; WEIGHTS.len() + 2];
    for group in groups {
        let is_own = |row: &&Row| !same_group || row.group == group;
        let named: Vec<(&str, &str)> =
            texts.iter().filter(is_own).map(|row| (&*row.id, &*row.text)).collect();
        let own: Vec<&Row> = queries.iter().filter(is_own).collect();
        let tree = Tree::from_texts(&named, &encoder, &Silent)?;
        let mut sums = vec![0.0; WEIGHTS.len() + 2];
        for row in &own {
            let query = Query::new(&row.text);
            let weighed = WEIGHTS.iter().map(|weight| Query { weight: Some(*weight), ..query });
            let alone = [By::Words, By::Meaning].map(|by| Query { by, ..query });
            for (sum, query) in sums.iter_mut().zip(alone.into_iter().chain(weighed)) {
                *sum += ndcg(&tree.search(&query, &encoder, &Silent)?, &relevant[&row.id]);
            }
        }
        let count = own.len() as f64;
        if same_group {
            let (words, meaning) = (sums[0] / count, sums[1] / count);
            let both: Vec<String> =
                sums[2..].iter().map(|sum| format!("{:.3}", sum / count)).collect();
            println!(
                "{group:6} {} queries, {} passages: words {words:.3}, meaning {meaning:.3}, both {}",
                own.len(),
                tree.passages(),
                both.join(" ")
            );
        }
        totals.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
    }
    let name = |at: usize| match at {
        0 => "words".to_owned(),
        1 => "meaning".to_owned(),
        at => format!("both, {} of meaning", WEIGHTS[at - 2]),
    };
    for (at, total) in totals.iter().enumerate() {
        println!("{:22} {:.3}", name(at), total / queries.len() as f64);
    }
    Ok(())
}
