use crate::tiny_model::TinyModel;
use crate::{failure, objects, stdout};

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

#[test]
fn ids_become_text_again_in_every_form() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let decode = ["tokenize", "-m", &model, "--decode"];
    let decoded = |options: &[&str], stdin: &str| stdout(&[&decode[..], options].concat(), stdin);
    let texts = "Hello cats\n\nsinging cats.\n";
    let ids = stdout(&["tokenize", "-m", &model], texts);
    assert_eq!(decoded(&[], &ids), "hello cats\n\nsinging cats.\n");
    assert_eq!(decoded(&["2 5 3", "10, 8"], ""), "hello\ncats\n");
    let lines = stdout(&["tokenize", "-m", &model, "--json"], texts);
    let found = objects(&decoded(&["-i", "jsonl", "--json"], &lines));
    assert_eq!((&found[0]["index"], &found[0]["text"]), (&0.into(), &"hello cats".into()));
    let other = "{\"id\": 7, \"tokens\": [10, 8]}\n";
    assert_eq!(decoded(&["-i", "jsonl", "--field", "tokens"], other), "cats\n");
    for (list, said) in [("8 cat", "`cat` is no token id"), ("8 99999", "there is no token 99999")]
    {
        let error = failure(&decode, format!("8\n{list}\n").as_bytes(), 1);
        assert!(error.contains(said) && error.contains("line 2"), "{error}");
    }
    for option in ["--pieces", "--max-tokens=3", "--prompt=a", "--as=query"] {
        failure(&[&decode[..], &[option, "8"]].concat(), b"", 2);
    }
}
