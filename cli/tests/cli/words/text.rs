//! Text as it is found: wide rows, other encodings, blanks in words, headers that are off, files
//! that are cut.

use super::{Folder, data, vectors};
use crate::{failure, nanoembed, numbers, stdout};

/// The words that `vector` gives at their lengths, in the order asked for.
fn rows(file: &str, words: &[&str]) -> Vec<Vec<f64>> {
    let answers = vectors(file, words);
    let scaled = answers.iter().map(|answer| {
        let norm = answer["norm"].as_f64().unwrap();
        numbers(&answer["embedding"]).iter().map(|x| x * norm).collect()
    });
    scaled.collect()
}

fn assert_close(ours: &[f64], expected: &[f64]) {
    assert_eq!(ours.len(), expected.len());
    let pairs = ours.iter().zip(expected);
    pairs.for_each(|(ours, expected)| assert!((ours - expected).abs() < 1e-5, "{ours} {expected}"));
}

#[test]
fn words_may_be_or_have_blanks() {
    let folder = Folder::new();
    for (name, text) in [
        ("a.vec", "3 2\n\u{a0} 1 2\n\t 3 4\na b 5 6\n"),
        ("b.txt", "\u{a0} 1 2\n\t 3 4\na b 5 6\n"),
        ("c.txt", "\u{feff}\u{a0} 1e0 2E+0\r\n\t 3 4\r\na b 5 6\r\n"),
    ] {
        let file = folder.converted(&folder.file(name, text), "o.fifu", &["-q"]);
        let found = rows(&file, &["\u{a0}", "\t", "a b"]);
        for (row, expected) in found.iter().zip([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]) {
            assert_close(row, &expected);
        }
        assert_eq!(found.len(), 3, "{name}");
    }
}

#[test]
fn rows_longer_than_what_tells_the_form_are_text() {
    let folder = Folder::new();
    let row = |scale: f64| (0..9000).map(move |at| f64::from(at) / 7000.0 * scale);
    let line = |word: &str, scale| {
        row(scale).fold(word.to_owned(), |line, value| format!("{line} {value:.7}"))
    };
    let (a, b) = (line("a", 1.0), line("b", -0.5));
    for (name, text) in [("a.vec", format!("2 9000\n{a}\n{b}\n")), ("b.txt", format!("{a}\n{b}\n"))]
    {
        let file = folder.converted(&folder.file(name, text), "o.fifu", &["-q"]);
        assert_close(&rows(&file, &["b"])[0], &row(-0.5).collect::<Vec<_>>());
    }
}

#[test]
fn latin_1_is_text_and_says_which_option_reads_it() {
    let folder = Folder::new();
    for (name, text) in
        [("a.vec", &b"2 2\ncaf\xe9 1 2\nchat 3 4\n"[..]), ("b.txt", b"caf\xe9 1 2\nchat 3 4\n")]
    {
        let input = folder.file(name, text);
        let said = failure(&["convert", &input, &folder.join("o.fifu")], b"", 1);
        assert!(said.starts_with("error[104]") && said.contains("--utf8 lossy"), "{said}");
        let file = folder.converted(&input, "o.fifu", &["-q", "--utf8", "lossy"]);
        assert_close(&rows(&file, &["caf\u{fffd}"])[0], &[1.0, 2.0]);
        assert_close(&rows(&file, &["chat"])[0], &[3.0, 4.0]);
    }
}

#[test]
fn the_beginning_of_a_file_is_read_after_an_option() {
    let folder = Folder::new();
    let text = folder.file("a.vec", "2000000 2\na 1 2\nb 3 4\n");
    let mut binary = b"2000000 2\n".to_vec();
    for (word, row) in [(b"a ", [1_f32, 2.0]), (b"b ", [3.0, 4.0])] {
        binary.extend_from_slice(word);
        binary.extend(row.iter().flat_map(|value| value.to_le_bytes()));
    }
    let binary = folder.file("a.bin", binary);
    for input in [&text, &binary] {
        let output = folder.join("o.fifu");
        let said = failure(&["convert", input, &output], b"", 1);
        assert!(said.starts_with("error[101]") && said.contains("2000000 words"), "{said}");
        assert!(said.contains("`--ignore-count`") && said.contains("`--first N`"), "{said}");
        for options in [&["-q", "--ignore-count"][..], &["-q", "--first", "2"]] {
            let file = folder.converted(input, "o.fifu", options);
            assert_close(&rows(&file, &["b"])[0], &[3.0, 4.0]);
        }
        let file = folder.converted(input, "o.fifu", &["-q", "--limit", "1"]);
        nanoembed(&["vector", &file, "b"]).assert().code(1);
    }
    let more = folder.file("b.vec", "1 2\na 1 2\nb 3 4\n");
    let said = failure(&["convert", &more, &folder.join("o.fifu")], b"", 1);
    assert!(said.starts_with("error[103]") && said.contains("`--ignore-count`"), "{said}");
}

#[test]
fn rows_that_are_off_are_refused_where_they_stand() {
    let folder = Folder::new();
    for (text, place) in [
        ("2 3\na 1 2\nb 3 4\n", "line 2: byte 4: expected a word and 3 numbers"),
        ("a 1 2\nb 3\nc 4 5\n", "line 2: byte 6: expected a word and 2 numbers"),
        ("a 1 2\nb 3 4 5\nc 4 5\n", "line 2: byte 6: expected a word and 2 numbers"),
        ("a 1 nan\nb 3 4\n", "line 1: byte 0: \"nan\" is not a finite number"),
        ("2 2\na 1 inf\nb 3 4\n", "line 2: byte 4: \"inf\" is not a finite number"),
    ] {
        let input = folder.file("a.txt", text);
        let said = failure(&["convert", &input, &folder.join("o.fifu")], b"", 1);
        assert!(said.starts_with(&format!("error[603]: {input}: {place}")), "{said}");
    }
    let input = folder.file("a.vec", "2 2\na 1 2\nb 3 4\n");
    let said = failure(&["convert", &input, &folder.join("o.fifu"), "--from", "text"], b"", 1);
    assert!(said.contains("header") && said.contains("--from textdims"), "{said}");
}

#[test]
fn a_word_in_other_case_is_offered() {
    let folder = Folder::new();
    let text = folder.file("a.txt", "berlin 1 2\nmünchen 3 4\n");
    let file = folder.converted(&text, "o.fifu", &["-q"]);
    for arguments in [
        &["similar", &file, "Berlin"][..],
        &["vector", &file, "Berlin"],
        &["analogy", &file, "Berlin", "münchen", "münchen"],
    ] {
        let said = failure(arguments, b"", 1);
        assert!(said.contains("\"Berlin\" has no vector"), "{said}");
        assert!(said.contains("the file has \"berlin\""), "{said}");
    }
    let said = failure(&["similar", &file, "Paris"], b"", 1);
    assert!(!said.contains("the file has"), "{said}");
}

#[test]
fn n_grams_dropped_from_a_pruned_model_do_not_count() {
    let folder = Folder::new();
    let file =
        folder.converted(&data("cases/fasttext-pruned-lengths/model.ftz"), "o.fifu", &["-q"]);
    let expected = std::fs::read(data("cases/fasttext-pruned-lengths/others.json")).unwrap();
    let expected: serde_json::Value = serde_json::from_slice(&expected).unwrap();
    let expected = expected.as_object().unwrap();
    assert!(!expected.is_empty());
    for (word, vector) in expected {
        let answer = &vectors(&file, &[word])[0];
        let count = answer["rows"].as_array().unwrap().len() as f64;
        let length = answer["norm"].as_f64().unwrap() / count;
        let ours: Vec<f64> = numbers(&answer["embedding"]).iter().map(|x| x * length).collect();
        let pairs = ours.iter().zip(numbers(vector));
        pairs.for_each(|(ours, fasttext)| assert!((ours - fasttext).abs() < 2e-6, "{word}"));
    }
}

/// One word, and n-grams of any length in two buckets.
fn fasttext_of_long_ngrams(word: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut int = |values: &[i32]| {
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    };
    // Magic, version; columns, window, epochs, minimal count, negatives, word n-grams, loss, model,
    // buckets, n-grams of 1 to 2^30 letters, rate.
    int(&[793_712_314, 12, 1, 5, 5, 1, 5, 1, 2, 2, 2, 1, 1 << 30, 100]);
    bytes.extend(1e-4_f64.to_le_bytes());
    bytes.extend([1_i32, 1, 0].iter().flat_map(|value| value.to_le_bytes()));
    bytes.extend([1_i64, -1].iter().flat_map(|value| value.to_le_bytes()));
    bytes.extend((0..word).map(|at| b'a' + (at % 26) as u8));
    bytes.push(0);
    bytes.extend(1_i64.to_le_bytes());
    // No label; not quantised; three rows of one column, then one of output.
    bytes.extend([0, 0]);
    bytes.extend([3_i64, 1].iter().flat_map(|value| value.to_le_bytes()));
    bytes.extend([1_f32, 2.0, 3.0].iter().flat_map(|value| value.to_le_bytes()));
    bytes.push(0);
    bytes.extend([1_i64, 1].iter().flat_map(|value| value.to_le_bytes()));
    bytes.extend(0_f32.to_le_bytes());
    bytes
}

#[test]
fn n_grams_are_bounded_by_the_file() {
    let folder = Folder::new();
    let output = folder.join("o.fifu");
    let few = folder.file("few.bin", fasttext_of_long_ngrams(20));
    stdout(&["convert", "-q", &few, &output], "");
    stdout(&["bucket-to-explicit", "-q", &output, &folder.join("e.fifu")], "");
    let many = folder.file("many.bin", fasttext_of_long_ngrams(20_000));
    let said = failure(&["convert", &many, &output], b"", 1);
    assert!(said.starts_with("error[121]") && said.contains("n-grams"), "{said}");
}
