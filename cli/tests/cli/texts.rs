//! Where texts come from: arguments, files, JSON lines; and what happens to those that cannot be
//! used.

use serde_json::Value;

use crate::tiny_model::TinyModel;
use crate::{failure, nanoembed, numbers, objects, stdout};

fn stderr(arguments: &[&str], stdin: &str) -> String {
    let assert = nanoembed(arguments).write_stdin(stdin).assert().success();
    String::from_utf8(assert.get_output().stderr.clone()).unwrap()
}

fn model() -> (TinyModel, String) {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    (tiny, model)
}

fn tokenized(arguments: &[&str], stdin: &str) -> Vec<Value> {
    objects(&stdout(&[&["tokenize"], arguments].concat(), stdin))
}

fn file(tiny: &TinyModel, name: &str, content: &str) -> String {
    let path = tiny.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

#[test]
fn several_files_stand_after_one_option_or_several() {
    let (tiny, model) = model();
    let (a, b) = (file(&tiny, "a.txt", "hello\n"), file(&tiny, "b.txt", "world\nthe cats\n"));
    let expected = stdout(&["embed", "-m", &model, "hello", "world", "the cats"], "");
    assert_eq!(stdout(&["embed", "-m", &model, "-f", &a, &b], ""), expected);
    assert_eq!(stdout(&["embed", "-m", &model, "-f", &a, "-f", &b], ""), expected);
    assert_eq!(stdout(&["embed", "-f", &a, &b, "-m", &model], ""), expected);
    assert_eq!(stdout(&["embed", "-m", &model, "-f", "-", &b], "hello\n"), expected);
}

#[test]
fn a_text_with_a_dash_stands_after_two_or_is_explained() {
    let (_tiny, model) = model();
    let by_line = stdout(&["embed", "-m", &model], "-hello\n");
    assert_eq!(stdout(&["embed", "-m", &model, "--", "-hello"], ""), by_line);
    // Rows of letters that are options each, or begin with some.
    for text in ["-hello", "-question", "-Version", "- milk", "-x y"] {
        let said = failure(&["embed", "-m", &model, text], b"", 2);
        assert!(said.contains(text) && said.contains("hint: ") && said.contains("`--`"), "{said}");
    }
    // Numbers are no options.
    assert_eq!(
        stdout(&["embed", "-m", &model, "-1"], ""),
        stdout(&["embed", "-m", &model], "-1\n")
    );
}

/// Values as Python's `csv.DictReader` reads them.
#[test]
fn rows_of_columns_are_read_as_csv_says() {
    let (tiny, model) = model();
    let rows = "\u{feff}id,body,url\r\n1,hello,a\r\n\r\n\"2\",\"the \"\"cats\"\",\nhello\",\"b,c\"\r\n3,the 5\" cats,\r\n";
    let path = file(&tiny, "rows.csv", rows);
    let read = ["-i", "csv", "--field", "body", "--keep", "url", "--json", "-m", &model];
    let found = tokenized(&[&["-f", &path], &read[..]].concat(), "");
    let texts = ["hello", "the \"cats\",\nhello", "the 5\" cats"];
    let kept = [["1", "a"], ["2", "b,c"], ["3", ""]];
    assert_eq!(found.len(), texts.len());
    for ((found, text), [id, url]) in found.iter().zip(texts).zip(kept) {
        let alone = tokenized(&["--json", "-m", &model, text], "");
        assert_eq!(found["ids"], alone[0]["ids"], "{text}");
        assert_eq!((&found["id"], &found["url"]), (&id.into(), &url.into()));
    }
    let tabs = "text\tid\nhello, world\t7\n";
    let found = tokenized(&["-i", "tsv", "--json", "-m", &model], tabs);
    let alone = tokenized(&["--json", "-m", &model, "hello, world"], "");
    assert_eq!((&found[0]["ids"], &found[0]["id"]), (&alone[0]["ids"], &"7".into()));
    let pairs = "query,document\na,hello\n";
    let said = failure(&["rerank", "-i", "csv", "-m", &model], pairs.as_bytes(), 1);
    assert!(said.contains("compare"), "{said}");
    assert_eq!(stdout(&["embed", "-i", "csv", "-m", &model], ""), "");
}

#[test]
fn rows_that_do_not_fit_their_columns_are_refused_or_got_over() {
    let (_tiny, model) = model();
    let read = ["tokenize", "-i", "csv", "-m", &model];
    let said = failure(&read, b"id,body\n1,hello\n", 1);
    assert!(said.contains("no column `text`") && said.contains("`id`, `body`"), "{said}");
    let said = failure(&read, b"text,text\na,b\n", 1);
    assert!(said.contains("two columns `text`"), "{said}");
    let said = failure(&read, b"text\n\"hello\n", 1);
    assert!(said.contains("line 2") && said.contains("not closed"), "{said}");
    let rows = "id,text\n1,hello\n2\n3,world\n";
    let said = failure(&read, rows.as_bytes(), 1);
    assert!(said.contains("line 3") && said.contains("1 values for 2 columns"), "{said}");
    let found = tokenized(&[&read[1..], &["--json", "--on-error", "skip"]].concat(), rows);
    assert_eq!(
        found.iter().map(|it| it["id"].as_str()).collect::<Vec<_>>(),
        [Some("1"), Some("3")]
    );
}

#[test]
fn files_are_looked_at_before_the_first_text() {
    let (tiny, model) = model();
    let notes = file(&tiny, "notes.txt", "hello\n");
    for (missing, hint) in [("nosuch.txt", ""), ("a text", "taken for files")] {
        let said = failure(&["embed", "-m", &model, "-f", &notes, missing], b"", 3);
        assert!(said.contains("no such file") && said.contains(hint), "{said}");
        let run = nanoembed(&["embed", "-m", &model, "-f", &notes, missing]).assert();
        assert!(run.get_output().stdout.is_empty());
    }
    let folder = tiny.join("");
    let said = failure(&["embed", "-m", &model, "-f", &folder], b"", 3);
    assert!(said.contains("folder") && said.contains("name the files in it"), "{said}");
    let rows = file(&tiny, "rows.CSV", "text\nhello\n");
    let said = stderr(&["embed", "-m", &model, "-f", &rows], "");
    assert!(said.contains("--input csv --field COLUMN"), "{said}");
}

#[test]
fn a_file_that_is_given_as_a_text_is_hinted_at() {
    let (tiny, model) = model();
    let notes = file(&tiny, "notes.txt", "hello\n");
    let said = stderr(&["embed", "-m", &model, &notes], "");
    assert!(said.contains("-f ") && said.contains("notes.txt"), "{said}");
    assert_eq!(stderr(&["embed", "-q", "-m", &model, &notes], ""), "");
    let lines = file(&tiny, "notes.jsonl", "{\"text\": \"hello\"}\n");
    let said = stderr(&["embed", "-m", &model, "-f", &lines], "");
    assert!(said.contains("--input jsonl"), "{said}");
}

#[test]
fn numbers_out_of_range_are_refused_with_what_they_should_be() {
    let (_tiny, model) = model();
    let cases: [(&[&str], &str); 9] = [
        (&["embed", "-m", &model, "--threads", "0", "x"], "1 to 1024"),
        (&["embed", "-m", &model, "--max-tokens", "-1", "x"], "0 or more"),
        (&["embed", "-m", &model, "--max-tokens", "1", "x"], "out of range"),
        (&["embed", "-m", &model, "--truncate-dim", "0", "x"], "out of range"),
        (&["embed", "-m", &model, "--truncate-dim", "100000", "x"], "out of range"),
        (&["search", "-m", &model, "-k", "0", "x", "-"], "1 or more"),
        (&["search", "-m", &model, "-k", "-3", "x", "-"], "1 or more"),
        (&["search", "-m", &model, "--min", "nan", "x", "-"], "expected a number"),
        (&["generate", "-m", &model, "--seed", "-1", "x"], "-1"),
    ];
    for (arguments, expected) in cases {
        let said = failure(arguments, b"", 2);
        assert!(said.starts_with("error[601]: ") && said.contains(expected), "{said}");
        assert!(!said.contains("unexpected argument"), "{said}");
    }
}

#[test]
fn any_member_can_be_the_text_and_others_stand_beside_the_result() {
    let (_tiny, model) = model();
    let lines = "{\"id\": \"a1\", \"body\": \"hello\", \"url\": \"u\"}\n{\"body\": \"world\"}\n";
    let expected = objects(&stdout(&["embed", "-m", &model, "--json"], "hello\nworld\n"));
    let read = ["-i", "jsonl", "--field", "body", "--keep", "url", "--json", "-m", &model];
    let found = objects(&stdout(&[&["embed"], &read[..]].concat(), lines));
    assert_eq!(found.len(), 2);
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found["embedding"], expected["embedding"]);
        assert_eq!(found["index"], expected["index"]);
    }
    assert_eq!((&found[0]["id"], &found[0]["url"]), (&"a1".into(), &"u".into()));
    assert!(found[1].get("id").is_none() && found[1].get("url").is_none());
    let ids = objects(&stdout(&[&["tokenize"], &read[..]].concat(), lines));
    assert_eq!((&ids[0]["id"], &ids[1]["index"]), (&"a1".into(), &1.into()));
    // What would be mistaken for a result's own.
    for taken in ["embedding", "index"] {
        failure(&["embed", "-m", &model, "-i", "jsonl", "--keep", taken], b"", 2);
    }
    for option in [["--field", "body"], ["--keep", "url"]] {
        let said = failure(&[&["embed", "-m", &model], &option[..]].concat(), b"x\n", 2);
        assert!(said.contains("JSON lines"), "{said}");
    }
}

#[test]
fn a_blank_line_is_an_empty_text_in_every_form() {
    let (_tiny, model) = model();
    let text = stdout(&["embed", "-m", &model], "hello\n\nworld\n");
    let lines = "{\"text\": \"hello\"}\n\n{\"text\": \"world\"}\n";
    assert_eq!(stdout(&["embed", "-m", &model, "-i", "jsonl"], lines), text);
    assert_eq!(text.lines().count(), 3);
}

const BAD: &[u8] = b"{\"text\": \"hello\"}\n{\"id\": 7, \"txt\": 1}\nnot json\n{\"text\": \"\xff\"}\n{\"text\": \"world\"}\n";

#[test]
fn bad_lines_end_the_work_or_are_left_out_or_become_null() {
    let (tiny, model) = model();
    let said = failure(&["embed", "-m", &model, "-i", "jsonl"], BAD, 1);
    assert!(said.contains("error[131]: stdin: line 2: byte 18: "), "{said}");
    assert!(said.contains("`txt`") && said.contains("--field"), "{said}");

    let run = |command: &str, policy: &str, form: &str| {
        let arguments =
            [command, "-m", &model, "-i", "jsonl", "--on-error", policy, "--format", form];
        let assert = nanoembed(&arguments).write_stdin(BAD).assert().success();
        let output = assert.get_output().clone();
        (output.stdout, String::from_utf8(output.stderr).unwrap())
    };
    for command in ["embed", "tokenize"] {
        let result = if command == "embed" { "embedding" } else { "ids" };
        let (out, said) = run(command, "skip", "jsonl");
        let lines = objects(str::from_utf8(&out).unwrap());
        assert_eq!(lines.iter().map(|line| &line["index"]).collect::<Vec<_>>(), [0, 4]);
        assert!(said.contains("3 lines left out") && said.contains("line 2"), "{said}");
        let (out, _) = run(command, "null", "jsonl");
        let lines = objects(str::from_utf8(&out).unwrap());
        assert_eq!(lines.len(), 5);
        let nulls: Vec<bool> = lines.iter().map(|line| line[result].is_null()).collect();
        assert_eq!(nulls, [false, true, true, true, false]);
        assert_eq!(lines[1]["id"], 7);
        assert!(lines[3]["error"].as_str().unwrap().contains("UTF-8"));
    }
    let (npy, _) = run("embed", "null", "npy");
    let array = npyz::NpyFile::new(&npy[..]).unwrap();
    assert_eq!(array.shape()[0], 5);
    let values: Vec<f32> = array.into_vec().unwrap();
    let width = values.len() / 5;
    assert!(values[width..4 * width].iter().all(|x| x.is_nan()));
    assert!(!values[..width].iter().chain(&values[4 * width..]).any(|x| x.is_nan()));

    let path = tiny.join("bad.jsonl");
    std::fs::write(&path, BAD).unwrap();
    let search = ["search", "-m", &model, "-i", "jsonl", "--json", "hello", &path];
    failure(&search, b"", 1);
    let found = objects(&stdout(&[&search[..], &["--on-error", "skip"]].concat(), ""));
    assert_eq!(found.len(), 2);
    assert_eq!(found[0]["text"], "hello");
}

#[test]
fn vectors_can_be_cut_and_have_length_one_again() {
    let (_tiny, model) = model();
    let whole =
        numbers(&objects(&stdout(&["embed", "-m", &model, "--json", "hello"], ""))[0]["embedding"]);
    let cut = ["embed", "-m", &model, "--json", "--truncate-dim", "3", "hello"];
    let normalized = [&cut[..], &["--normalize"]].concat();
    let cut = numbers(&objects(&stdout(&cut, ""))[0]["embedding"]);
    assert_eq!(cut, whole[..3]);
    let cut = numbers(&objects(&stdout(&normalized, ""))[0]["embedding"]);
    let length = whole[..3].iter().map(|x| x * x).sum::<f64>().sqrt();
    assert_eq!(cut.len(), 3);
    assert!(cut.iter().zip(&whole).all(|(a, b)| (a - b / length).abs() < 1e-6), "{cut:?}");
}

#[test]
fn truncation_names_the_lines_and_the_question() {
    let (tiny, model) = model();
    let long = "hello ".repeat(40);
    let a = file(&tiny, "a.txt", &format!("hello\n{long}\nworld\n{long}\n"));
    let b = file(&tiny, "b.txt", &format!("{long}\n"));
    let said = stderr(&["embed", "-m", &model, "--max-tokens", "8", "-f", &a, &b], "");
    assert!(said.contains("of 3 of 5 texts only the first 8 tokens"), "{said}");
    assert!(said.contains(&format!("line 2, 4 of {a}, line 1 of {b}")), "{said}");
    let said = stderr(&["tokenize", "-m", &model, "--max-tokens", "8", "-f", &a], "");
    assert!(said.contains(&format!("line 2, 4 of {a}")), "{said}");
    let said = stderr(&["search", "-m", &model, "--max-tokens", "8", &long, &a], "");
    assert!(said.contains("of the question"), "{said}");
}

#[test]
fn several_files_are_searched_and_named() {
    let (tiny, model) = model();
    let (a, b) =
        (file(&tiny, "a.txt", "hello\n"), file(&tiny, "b.txt", "\nworld\n\nhello world\n"));
    let found =
        objects(&stdout(&["search", "-m", &model, "--json", "--exact", "hello", &a, &b], ""));
    let places: Vec<(String, u64)> = found
        .iter()
        .map(|f| (f["file"].as_str().unwrap().to_owned(), f["line"].as_u64().unwrap()))
        .collect();
    assert_eq!(places, [(a.clone(), 1), (b.clone(), 4)]);
    assert!(
        stdout(&["search", "-m", &model, "hello world", &a, &b], "").contains("b.txt:2: world")
    );
}

/// Text and arrays have no place for them.
#[test]
fn members_are_kept_in_json_alone() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let array = tiny.join("out.npy");
    let kept = ["-m", &model, "-i", "jsonl", "--keep", "url"];
    for command in [&["embed"][..], &["embed", "-o", &array], &["tokenize"]] {
        let said = failure(&[command, &kept].concat(), b"{\"text\": \"cat\", \"url\": 1}\n", 2);
        assert!(said.contains("--keep is for results that are JSON"), "{said}");
    }
    let said = failure(&["embed", "-m", &model, "--precise", "--requantize", "cat"], b"", 2);
    assert!(said.contains("--requantize"), "{said}");
}
