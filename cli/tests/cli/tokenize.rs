use crate::tiny_model::TinyModel;
use crate::{objects, stdout};

#[test]
fn ids_are_those_of_the_vocabulary() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    assert_eq!(
        stdout(&["tokenize", "-m", &model, "Hello, CATS singing [MASK]."], ""),
        "2 5 1 10 8 11 9 4 12 3\n"
    );
    assert_eq!(
        stdout(&["tokenize", "-m", &model, "--pieces", "cats"], ""),
        "[CLS] cat ##s [SEP]\n"
    );
}

#[test]
fn without_a_limit_nothing_is_cut() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let text = "cat ".repeat(40);
    let tokenize = |limit| {
        let lines = stdout(
            &["tokenize", "-m", &model, "--format", "jsonl", "--max-tokens", limit, &text],
            "",
        );
        let line = objects(&lines).remove(0);
        (line["ids"].as_array().unwrap().len(), line["truncated"].clone())
    };
    assert_eq!(tokenize("0"), (42, false.into()));
    assert_eq!(tokenize("5"), (5, true.into()));
}
