use super::{Folder, data, upstream};
use crate::{failure, nanoembed, objects, stdout};

/// Words and similarities of lines of JSON.
fn found(lines: &str) -> Vec<(String, f64)> {
    let pair = |object: &serde_json::Value| {
        (object["word"].as_str().unwrap().to_owned(), object["similarity"].as_f64().unwrap())
    };
    objects(lines).iter().map(pair).collect()
}

#[track_caller]
fn assert_found(lines: &str, expected: &[(&str, f64)]) {
    let found = found(lines);
    assert_eq!(found.len(), expected.len());
    for ((word, similarity), (expected, value)) in found.iter().zip(expected) {
        assert_eq!(word, expected);
        assert!((similarity - value).abs() < 1e-5, "{word}: {similarity}");
    }
}

#[test]
fn neighbours_are_the_references() {
    let file = data("finalfusion/fasttext.fifu");
    let known = [("auf", 0.568_513), ("vor", 0.551_551), ("durch", 0.547_349)];
    let unknown = [("einer", 0.691_177), ("und", 0.576_449), ("des", 0.570_398)];
    assert_found(&stdout(&["similar", &file, "über", "-k", "3", "--json"], ""), &known);
    assert_found(&stdout(&["similar", &file, "unknown", "-k", "3", "--json"], ""), &unknown);
    // Several in one pass, from arguments or lines.
    let both = [known, unknown].concat();
    assert_found(&stdout(&["similar", &file, "über", "unknown", "-k", "3", "--json"], ""), &both);
    let lines =
        stdout(&["similar", &file, "-k", "3", "--json", "--threads", "3"], "über\nunknown\n");
    assert_found(&lines, &both);
    assert_eq!(objects(&lines)[4]["query"], "unknown");
    let text = stdout(&["similar", &file, "über", "-k", "1"], "");
    assert_eq!(text, " 0.56851  auf\n");
    let angular =
        stdout(&["similar", &file, "über", "-k", "1", "--json", "--measure", "angular"], "");
    assert_found(&angular, &[("auf", 1.0 - 0.568_513_f64.acos() / std::f64::consts::PI)]);
}

#[test]
fn similarities_are_cosines_whatever_the_lengths() {
    let folder = Folder::new();
    let row = |at: i32| format!("w{at} {} {}\n", at * 30, (at * at) % 100);
    let text: String = (0..150).map(row).collect();
    let text = folder.file("w.txt", format!("a 3 4\nsame 0.6 0.8\nfar -90 -120\n{text}"));
    let unit = folder.converted(&text, "unit.fifu", &["-q"]);
    let raw = folder.converted(&text, "raw.fifu", &["-q", "--no-normalize"]);
    let all = |file: &str, words: &[&str], measure: &str| {
        let options = ["-k", "200", "--json", "--measure", measure];
        found(&stdout(&[&["similar", file], words, &options].concat(), ""))
    };
    for words in [&["a"][..], &["a", "w149"]] {
        for measure in ["cosine", "angular", "euclidean"] {
            let (mut ours, mut expected) = (all(&raw, words, measure), all(&unit, words, measure));
            assert_eq!((&ours[0].0[..], &ours[151].0[..]), ("same", "far"));
            ours.sort_by(|a, b| a.0.cmp(&b.0));
            expected.sort_by(|a, b| a.0.cmp(&b.0));
            for (ours, expected) in ours.iter().zip(&expected) {
                assert!(ours.0 == expected.0 && (ours.1 - expected.1).abs() < 1e-3, "{ours:?}");
            }
        }
    }
    let answer = stdout(&["analogy", &raw, "a", "same", "w9", "--measure", "angular"], "");
    assert!(!answer.contains("NaN"), "{answer}");
}

#[test]
fn a_word_without_vector_has_no_neighbours() {
    let folder = Folder::new();
    let text = folder.file("words.txt", super::TEXT);
    let file = folder.converted(&text, "a.fifu", &["-q"]);
    assert!(failure(&["similar", &file, "none"], b"", 1).contains("\"none\" has no vector"));
    nanoembed(&["similar", &file, "one", "none"]).assert().code(1);
    // No hint to an option that the command has not.
    let broken = failure(&["similar", &file], b"one\n\xff\n", 1);
    assert!(broken.contains("line 2") && !broken.contains("--lossy"), "{broken}");
    assert!(failure(&["analogy", &file, "one", "none", "two"], b"", 1).contains("\"none\""));
    assert_eq!(
        found(&stdout(&["similar", &file, "one", "--json", "-k", "4000000000"], "")).len(),
        3
    );
}

#[test]
fn analogies_leave_out_the_words_asked_with() {
    let folder = Folder::new();
    let text = "man 1 0 0\nwoman 1 1 0\nking 1 0 1\nqueen 1 1 1\nprince 1 0 0.9\n";
    let file = folder.converted(&folder.file("w.txt", text), "w.fifu", &["-q", "--no-normalize"]);
    let ask = |options: &[&str]| {
        let arguments = [&["analogy", &file, "man", "king", "woman", "--json"], options].concat();
        found(&stdout(&arguments, "")).into_iter().map(|(word, _)| word).collect::<Vec<_>>()
    };
    assert_eq!(ask(&[]), ["queen", "prince"]);
    assert_eq!(ask(&["--include-query", "-k", "9"]).len(), 5);
    assert_eq!(ask(&["--include-query=b"]).len(), 3);
    let Some(file) = upstream("py_simple_vocab.fifu") else { return };
    let lines =
        stdout(&["analogy", &file, "Paris", "Frankreich", "Berlin", "-k", "1", "--json"], "");
    assert_eq!(found(&lines)[0].0, "Deutschland");
}

#[test]
fn accuracy_is_counted_by_section() {
    let folder = Folder::new();
    let text = "man 1 0 0\nwoman 1 1 0\nking 1 0 1\nqueen 1 1 1\nprince 1 0 0.9\n";
    let file = folder.converted(&folder.file("w.txt", text), "w.fifu", &["-q", "--no-normalize"]);
    let questions = ": royal\nman king woman queen\nman king woman prince\nman king woman duke\n\
                     : none\nman king duchess queen\n";
    let lines = objects(&stdout(&["compute-accuracy", &file, "--json"], questions));
    let counts: Vec<(&str, u64, u64, u64)> = lines
        .iter()
        .map(|line| {
            let count = |key: &str| line[key].as_u64().unwrap();
            (line["section"].as_str().unwrap(), count("correct"), count("total"), count("skipped"))
        })
        .collect();
    assert_eq!(counts, [("royal", 1, 2, 1), ("none", 0, 1, 0), ("Total", 1, 3, 1)]);
    assert!((lines[0]["accuracy"].as_f64().unwrap() - 0.5).abs() < 1e-9);
    let text = stdout(&["compute-accuracy", &file, &folder.file("q.txt", questions)], "");
    assert!(text.starts_with("royal: 1/2 correct, accuracy: 50.00, avg cos: "), "{text}");
    let error = failure(&["compute-accuracy", &file], b": s\na b c\n", 1);
    assert!(error.contains("line 2: expected four words"), "{error}");
    failure(&["compute-accuracy", &file], b"", 1);
}
