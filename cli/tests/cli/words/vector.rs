use super::{Folder, TEXT, data, vectors};
use crate::{failure, nanoembed, numbers, objects, stdout};

#[test]
fn a_line_of_json_has_the_documented_shape() {
    let file = data("finalfusion/fasttext.fifu");
    let answers = vectors(&file, &["über", "unknown"]);
    let keys: Vec<&String> = answers[0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["word", "known", "rows", "norm", "embedding"]);
    assert_eq!(answers[0]["known"], true);
    assert_eq!(answers[0]["rows"].as_array().unwrap().len(), 1);
    assert_eq!(answers[1]["known"], false);
    assert!(answers[1]["rows"].as_array().unwrap().len() > 10);
    assert_eq!(numbers(&answers[1]["embedding"]).len(), 50);
}

#[test]
fn one_word_is_read_as_many_are() {
    for name in ["fasttext", "explicit", "bucket_e2", "floret", "quantized_p1_n1_pad2"] {
        let file = data(&format!("finalfusion/{name}.fifu"));
        let expected: serde_json::Value =
            serde_json::from_slice(&std::fs::read(data("finalfusion/expected.json")).unwrap())
                .unwrap();
        let key = match name.split_once("_pad") {
            Some((kind, _)) => format!("{kind}_pad*.fifu"),
            None => format!("{name}.fifu"),
        };
        let expected = &expected[key];
        let words = expected.as_object().unwrap();
        let words: Vec<&str> =
            words.keys().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
        let lines = words.join("\n") + "\n";
        let many = nanoembed(&["vector", &file, "--json"]).write_stdin(lines).assert();
        let many = objects(&String::from_utf8_lossy(&many.get_output().stdout));
        assert_eq!(many.len(), words.len());
        for (word, many) in words.iter().zip(many) {
            assert_eq!(vectors(&file, &[word])[0], many, "{name} {word:?}");
            let expected = &expected[*word];
            if let Some(bits) = expected["embedding"].as_array() {
                let ours = numbers(&many["embedding"]);
                for (ours, theirs) in ours.iter().zip(bits) {
                    let theirs = theirs.as_f64().unwrap();
                    let bound = 1e-6 * theirs.abs().max(1.0);
                    assert!((ours - theirs).abs() < bound, "{name} {word:?}: {ours} {theirs}");
                }
            }
        }
    }
}

#[test]
fn a_word_without_vector_is_null_and_status_1() {
    let folder = Folder::new();
    let text = folder.file("words.txt", TEXT);
    let file = folder.converted(&text, "a.fifu", &["-q"]);
    let output = nanoembed(&["vector", &file, "--json", "one", "none"]).assert().code(1);
    let answers = objects(&String::from_utf8_lossy(&output.get_output().stdout));
    assert!(answers[1]["embedding"].is_null() && answers[1]["norm"].is_null());
    assert_eq!(answers[1]["known"], false);
    assert!(failure(&["vector", &file, "none"], b"", 1).contains("\"none\" has no vector"));
    failure(&["vector", &data("words/licence.bin"), "a"], b"", 1);
    failure(&["vector", &folder.join("none"), "a"], b"", 3);
}

#[test]
fn text_lines_are_word2vecs() {
    let folder = Folder::new();
    let text = folder.file("words.txt", TEXT);
    let file = folder.converted(&text, "a.fifu", &["-q", "--no-normalize"]);
    assert_eq!(stdout(&["vector", &file, "two", "one"], ""), "two -0.5 0.25\none 1 2\n");
    assert_eq!(stdout(&["vector", &file], "four\none\n"), "four 0 -0.1\none 1 2\n");
}

#[test]
fn all_vectors_go_into_one_array() {
    let folder = Folder::new();
    let text = folder.file("words.txt", TEXT);
    let file = folder.converted(&text, "a.fifu", &["-q", "--no-normalize"]);
    let output = folder.join("v.npy");
    nanoembed(&["vector", &file, "-o", &output, "one", "none", "two"]).assert().code(1);
    let array = npyz::NpyFile::new(std::fs::File::open(&output).unwrap()).unwrap();
    assert_eq!(array.shape(), [3, 2]);
    let values: Vec<f32> = array.into_vec().unwrap();
    assert_eq!((&values[..2], &values[4..]), (&[1.0, 2.0][..], &[-0.5, 0.25][..]));
    assert!(values[2].is_nan() && values[3].is_nan());
}
