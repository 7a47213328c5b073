//! Models of fastText and floret have, converted, the vectors that their own programs give.

use serde_json::Value;

use super::{Folder, data, upstream, vectors};
use crate::{failure, numbers, stdout};

fn unit(vector: &[f64]) -> Vec<f64> {
    let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    vector.iter().map(|x| x / length).collect()
}

#[track_caller]
fn assert_near(ours: &[f64], theirs: &[f64], bound: f64, what: &str) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    for (ours, theirs) in ours.iter().zip(theirs) {
        assert!((ours - theirs).abs() <= bound, "{what}: {ours} {theirs}");
    }
}

#[test]
fn words_known_and_unknown_have_fasttexts_own_vectors() {
    let folder = Folder::new();
    let expected = std::fs::read(data("words/expected.json")).unwrap();
    let expected: Value = serde_json::from_slice(&expected).unwrap();
    let mut unknown = 0;
    for (model, words) in expected.as_object().unwrap() {
        let file = folder.converted(&data(&format!("words/{model}")), "m.fifu", &["-q"]);
        let words = words.as_object().unwrap();
        let asked: Vec<&str> = words.keys().map(String::as_str).collect();
        for answer in vectors(&file, &asked) {
            let word = answer["word"].as_str().unwrap();
            let theirs = numbers(&words[word]);
            let what = format!("{model} {word:?}");
            // No n-gram at all, or in a quantised model none that was kept.
            if theirs.iter().all(|x| *x == 0.0) {
                let embedding = &answer["embedding"];
                assert!(
                    embedding.is_null() || numbers(embedding).iter().all(|x| *x == 0.0),
                    "{what}"
                );
                continue;
            }
            let ours = numbers(&answer["embedding"]);
            // floret's text has five digits or so, from which its program's own vectors differ.
            let bound = if model == "licence.floret" { 1e-5 } else { 1e-6 };
            assert_near(&ours, &unit(&theirs), bound, &what);
            let norm = answer["norm"].as_f64().unwrap();
            let rows = answer["rows"].as_array().unwrap().len();
            // A known word's norm is that of its mean, an unknown one's that of the sum. In a
            // quantised model some of the rows are dropped and not counted by fastText.
            let known = answer["known"].as_bool().unwrap();
            unknown += u32::from(!known);
            let count = if known { 1.0 } else { rows as f64 };
            if known || model != "labels.ftz" {
                let ours: Vec<f64> = ours.iter().map(|x| x * norm / count).collect();
                assert_near(&ours, &theirs, bound, &what);
            }
        }
    }
    assert!(unknown > 30, "{unknown}");
}

/// A model as fastText wrote it before files had a magic number: without it and the version, the
/// number of kept buckets, and the byte before each matrix.
fn before_magic(model: &[u8]) -> Vec<u8> {
    let i64_at = |at: usize| i64::from_le_bytes(model[at..at + 8].try_into().unwrap());
    let entries = i32::from_le_bytes(model[64..68].try_into().unwrap());
    let (dictionary, mut matrix) = (64 + 20, 64 + 28);
    for _ in 0..entries {
        let word = model[matrix..].iter().position(|byte| *byte == 0).unwrap();
        matrix += word + 1 + 9;
    }
    let after = matrix + 17 + usize::try_from(i64_at(matrix + 1) * i64_at(matrix + 9) * 4).unwrap();
    let parts = [
        &model[8..dictionary],
        &model[dictionary + 8..matrix],
        &model[matrix + 1..after],
        &model[after + 1..],
    ];
    parts.concat()
}

#[test]
fn models_from_before_magic_numbers_have_the_same_vectors() {
    let folder = Folder::new();
    // What `</s>` has in this one is held by the test of fastText's own vectors.
    let new = data("words/licence.bin");
    let old = folder.file("old.bin", before_magic(&std::fs::read(&new).unwrap()));
    let converted = [&new, &old]
        .map(|model| std::fs::read(folder.converted(model, "m.fifu", &["-q"])).unwrap());
    assert!(converted[0] == converted[1]);
}

#[test]
fn a_model_becomes_the_bytes_that_the_reference_writes() {
    let Some(model) = upstream("fasttext.bin") else { return };
    let folder = Folder::new();
    let ours = std::fs::read(folder.converted(&model, "m.fifu", &["-q"])).unwrap();
    let theirs = std::fs::read(data("finalfusion/fasttext.fifu")).unwrap();
    assert_eq!(ours.len(), theirs.len());
    let different: Vec<usize> = (0..ours.len()).filter(|&at| ours[at] != theirs[at]).collect();
    // The reference gives `</s>`, row 0, n-grams, which fastText does not: its vector and its norm
    // differ.
    const WORDS: usize = 157;
    const ROW_BYTES: usize = 4 * 50;
    let norms = ours.len() - 4 * WORDS;
    let (rows, lengths): (Vec<usize>, Vec<usize>) =
        different.into_iter().partition(|&at| at < norms);
    assert!(rows.last().unwrap() - rows[0] < ROW_BYTES, "{rows:?}");
    assert!(lengths.iter().all(|&at| at < norms + 4), "{lengths:?}");
}

#[test]
fn metadata_are_those_of_the_training() {
    let folder = Folder::new();
    let file =
        folder.converted(&data("words/licence.bin"), "m.fifu", &["-q", "--metadata", "run.by=us"]);
    let text = stdout(&["metadata", &file], "");
    assert!(
        text.contains("bucket = 300\ndims = 10\n") && text.contains("[run]\nby = \"us\""),
        "{text}"
    );
    assert_eq!(stdout(&["metadata", &file, "loss"], ""), "NegativeSampling\n");
}

#[test]
fn damaged_models_are_refused() {
    let folder = Folder::new();
    for model in ["licence.bin", "labels.ftz", "no_subwords.bin"] {
        let good = std::fs::read(data(&format!("words/{model}"))).unwrap();
        for cut in [4, 8, 30, 70, 200, 5000, good.len() - 1] {
            // After the input matrix comes the output, which is not read.
            let cut = cut.min(good.len() / 2);
            let file = folder.file("bad.bin", &good[..cut]);
            let error = failure(&["convert", &file, &folder.join("out.fifu")], b"", 1);
            assert!(error.starts_with("error[101]: "), "{model} {cut}: {error}");
        }
        for (at, bytes, code) in [
            (4, 13_u32, 201),
            (8, 11, 304),
            (8, u32::MAX, 121),
            (32, 9, 131),
            (64, u32::MAX - 5, 121),
        ] {
            let mut bad = good.clone();
            bad[at..at + 4].copy_from_slice(&bytes.to_le_bytes());
            let file = folder.file("bad.bin", &bad);
            let error = failure(&["convert", &file, &folder.join("out.fifu")], b"", 1);
            assert!(error.starts_with(&format!("error[{code}]: ")), "{model} {at}: {error}");
        }
    }
    assert!(!std::path::Path::new(&folder.join("out.fifu")).exists());
}

#[test]
fn buckets_that_a_pruned_model_cannot_mean_are_refused() {
    let folder = Folder::new();
    let mut bad = std::fs::read(data("words/labels.ftz")).unwrap();
    bad[43] = 0x10;
    let file = folder.file("bad.ftz", bad);
    let error = failure(&["convert", &file, &folder.join("out.fifu")], b"", 1);
    let message = "byte 40: 268435956 buckets would be rows of 10.7 GB, more than 4096 times";
    assert!(error.starts_with("error[121]: ") && error.contains(message), "{error}");
    assert!(!std::path::Path::new(&folder.join("out.fifu")).exists());
}

#[test]
fn vectors_that_are_not_finite_are_refused() {
    let folder = Folder::new();
    let good = std::fs::read(data("words/licence.bin")).unwrap();
    let number = |at: usize| i64::from(i32::from_le_bytes(good[at..at + 4].try_into().unwrap()));
    let (dims, buckets, words) = (number(8), number(40), number(68));
    // The matrix: its sizes, then a row a word and a row a bucket.
    let sizes = [(words + buckets).to_le_bytes(), dims.to_le_bytes()].concat();
    let data = good.windows(16).position(|window| window == sizes).unwrap() + 16;
    let last = usize::try_from((words + buckets) * dims - 1).unwrap();
    // No word has n-grams of 40 letters: its row alone counts, and no bucket.
    let mut bad = good;
    bad[44..52].copy_from_slice(&[40, 0, 0, 0, 40, 0, 0, 0]);
    let end = format!("bucket {}: number {dims} of the vector is NaN", buckets - 1);
    for (number, message) in [(last, &end[..]), (0, ": number 1 of the vector is NaN")] {
        bad[data + 4 * number..][..4].copy_from_slice(&f32::NAN.to_le_bytes());
        let file = folder.file("bad.bin", &bad);
        let error = failure(&["convert", &file, &folder.join("out.fifu")], b"", 1);
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn a_floret_file_comes_back_as_it_was() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(data("words/licence.floret")).unwrap();
    let file = folder.converted(&data("words/licence.floret"), "f.fifu", &["-q"]);
    let back = std::fs::read_to_string(folder.converted(&file, "back.floret", &["-q"])).unwrap();
    let trimmed: Vec<&str> = text.lines().map(str::trim_end).collect();
    assert_eq!(back.lines().count(), trimmed.len());
    for (ours, theirs) in back.lines().zip(trimmed).skip(1) {
        let numbers =
            |line: &str| line.split(' ').map(|x| x.parse().unwrap()).collect::<Vec<f64>>();
        assert_eq!(numbers(ours), numbers(theirs));
    }
    let error = failure(&["convert", &file, &folder.join("f.vec")], b"", 1);
    assert!(error.contains("no words") && error.contains("hint: "), "{error}");
    for (from, to, message) in [
        ("50 10 2", "50 10 0", "error[307]"),
        ("50 10 2", "51 10 2", "error[101]"),
        ("50 10 2", "49 10 2", "no more buckets"),
        ("\n1 ", "\n7 ", "expected bucket 1"),
        ("\n1 ", "\n1 x ", "\"x\" is not a number"),
        ("\n1 ", "\n1 1e39 ", "\"1e39\" is not a finite number"),
        ("\n1 ", "\n1 0 ", "more than 10 numbers"),
    ] {
        let bad = folder.file("bad.floret", text.replacen(from, to, 1));
        let error = failure(&["convert", &bad, &folder.join("bad.fifu")], b"", 1);
        assert!(error.contains(message), "{to}: {error}");
    }
}
