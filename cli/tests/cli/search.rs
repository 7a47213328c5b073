use crate::tiny_model::TinyModel;
use crate::{failure, objects, stdout};

const TEXT: &str = "\nhello world\n\nthe cat\nsing sing\n\n  \ncat cats\n";

#[test]
fn the_line_itself_is_found_first() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let found =
        objects(&stdout(&["search", "-m", &model, "-", "sing sing", "--json", "-k", "3"], TEXT));
    assert_eq!(found.len(), 3);
    let keys: Vec<&str> = found[0].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["file", "line", "text", "similarity"]);
    assert_eq!((&found[0]["line"], &found[0]["text"]), (&5.into(), &"sing sing".into()));
    assert!(found[0]["similarity"].as_f64().unwrap() > 0.999_99);
    let similarities: Vec<f64> = found.iter().map(|f| f["similarity"].as_f64().unwrap()).collect();
    assert!(similarities.is_sorted_by(|a, b| a >= b));
}

#[test]
fn paragraphs_end_at_blank_lines() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let found = stdout(
        &["search", "-m", &model, "--by", "paragraph", "-", "the cat sing sing", "--json"],
        TEXT,
    );
    let found = objects(&found);
    assert_eq!(found.len(), 3);
    assert_eq!((&found[0]["line"], &found[0]["text"]), (&4.into(), &"the cat\nsing sing".into()));
}

#[test]
fn text_output_has_no_colours_in_a_pipe() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let text = stdout(&["search", "-m", &model, "-", "hello world", "-k", "1"], TEXT);
    assert_eq!(text, " 1.000  2  hello world\n");
}

#[test]
fn nothing_found_is_status_1_and_no_query_status_2() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    failure(&["search", "-m", &model, "-", "cat"], b"\n \n", 1);
    failure(&["search", "-m", &model, "-", "cat", "--min", "2"], b"dog\n", 1);
    failure(&["search", "-m", &model, "-", " "], b"dog\n", 2);
    failure(&["search", "-m", &model, &tiny.join("none.txt"), "cat"], b"", 3);
}
