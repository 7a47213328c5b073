use super::{Folder, TEXT, data, vectors};
use crate::{failure, numbers, objects, stdout};

fn read(path: &str) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

fn inspected(file: &str) -> serde_json::Value {
    objects(&stdout(&["inspect", "--json", file], "")).remove(0)
}

#[test]
fn listed_ngrams_are_those_of_the_reference() {
    let folder = Folder::new();
    let output = folder.join("e.fifu");
    stdout(&["bucket-to-explicit", &data("finalfusion/fasttext.fifu"), &output, "-q"], "");
    let (ours, theirs) = (inspected(&output), inspected(&data("finalfusion/explicit.fifu")));
    assert_eq!(ours["vocabulary"], theirs["vocabulary"]);
    assert_eq!(ours["metadata"], inspected(&data("finalfusion/fasttext.fifu"))["metadata"]);
    stdout(&["verify", "--strict", &output], "");
    // Both number rows in an order of their own, but their vectors are the same up to the order of
    // sums.
    for word in ["über", "unknown", "sicherlich", "unde"] {
        let (ours, theirs) = (
            &vectors(&output, &[word])[0],
            &vectors(&data("finalfusion/explicit.fifu"), &[word])[0],
        );
        assert_eq!(ours["rows"].as_array().map(Vec::len), theirs["rows"].as_array().map(Vec::len));
        for (ours, theirs) in numbers(&ours["embedding"]).iter().zip(numbers(&theirs["embedding"]))
        {
            assert!((ours - theirs).abs() < 1e-6, "{word}");
        }
    }
    failure(&["bucket-to-explicit", &output, &folder.join("again.fifu")], b"", 1);
}

#[test]
fn quantised_rows_are_listed_too() {
    let folder = Folder::new();
    let model = folder.converted(&data("words/licence.bin"), "m.fifu", &["-q"]);
    let (small, both) = (folder.join("pq.fifu"), folder.join("pqe.fifu"));
    stdout(&["quantize", &model, &small, "--type", "pq", "-s", "5", "-b", "4", "-q"], "");
    stdout(&["bucket-to-explicit", &small, &both, "-q"], "");
    stdout(&["verify", "--strict", &both], "");
    for word in ["License", "the", "Works"] {
        assert_eq!(
            vectors(&small, &[word])[0]["embedding"],
            vectors(&both, &[word])[0]["embedding"]
        );
    }
}

#[test]
fn chosen_words_keep_their_vectors() {
    let folder = Folder::new();
    let file = data("finalfusion/fasttext.fifu");
    let output = folder.join("few.fifu");
    stdout(&["select", &file, &output, "-q"], "unknown\nüber\nund\nüber\n");
    assert_eq!(inspected(&output)["vocabulary"], serde_json::json!({"kind": "simple", "words": 3}));
    for (row, word) in ["unknown", "über", "und"].iter().enumerate() {
        let (ours, theirs) = (&vectors(&output, &[word])[0], &vectors(&file, &[word])[0]);
        assert_eq!(ours["embedding"], theirs["embedding"]);
        assert_eq!(ours["norm"], theirs["norm"]);
        assert_eq!(ours["rows"], serde_json::json!([row]));
    }
    let text = folder.converted(&folder.file("w.txt", TEXT), "w.fifu", &["-q"]);
    let list = folder.file("list", "one\nnone\n");
    assert!(failure(&["select", &text, &output, &list], b"", 1).contains("--ignore-unknown"));
    stdout(&["select", &text, &output, &list, "--ignore-unknown"], "");
    assert_eq!(inspected(&output)["vocabulary"]["words"], 1);
}

#[test]
fn a_quantised_file_stands_for_what_its_codes_say() {
    let folder = Folder::new();
    let output = folder.join("r.fifu");
    for name in ["quantized_p1_n1_pad2", "quantized_p0_n0_pad1", "quantized_p0_n1_pad3"] {
        let file = data(&format!("finalfusion/{name}.fifu"));
        stdout(&["reconstruct", &file, &output, "-q"], "");
        assert_eq!(inspected(&output)["variant"], "array");
        let (ours, theirs) = (&vectors(&output, &["w0"])[0], &vectors(&file, &["w0"])[0]);
        assert_eq!((&ours["embedding"], &ours["norm"]), (&theirs["embedding"], &theirs["norm"]));
    }
    failure(&["reconstruct", &output, &folder.join("again.fifu")], b"", 1);
}

#[test]
fn quantisers_with_rotations_err_less_and_depend_on_the_seed_only() {
    let folder = Folder::new();
    let model = folder.converted(&data("words/licence.bin"), "m.fifu", &["-q"]);
    let quantized = |name: &str, options: &[&str]| {
        let output = folder.join(name);
        let arguments =
            ["quantize", &model, &output, "--type", "pq", "-s", "5", "-b", "5", "-q", "--json"];
        let line = objects(&stdout(&[&arguments[..], options].concat(), "")).remove(0);
        stdout(&["verify", "--strict", &output], "");
        (read(&output), line["nmse"].as_f64().unwrap(), output)
    };
    let (plain, plain_error, file) = quantized("a.fifu", &[]);
    let (again, _, _) = quantized("b.fifu", &["--threads", "1"]);
    assert!(plain == again, "the number of threads makes a difference");
    let (other, _, _) = quantized("c.fifu", &["--seed", "7"]);
    assert!(plain != other);
    let (_, opq_error, opq) = quantized("d.fifu", &["--rotation", "opq"]);
    let (_, pca_error, _) = quantized("e.fifu", &["--rotation", "pca"]);
    assert!(
        opq_error < plain_error && pca_error < 1.0 && plain_error < 0.5,
        "{plain_error} {pca_error} {opq_error}"
    );
    // What the command says of the error is what the file has.
    for (file, error) in [(file, plain_error), (opq, opq_error)] {
        let back = folder.join("back.fifu");
        stdout(&["reconstruct", &file, &back, "-q"], "");
        let floats = |file: &str| -> Vec<f32> {
            let bytes = read(file);
            let tensor = inspected(file)["tensors"][0].clone();
            let start = tensor["offset"].as_u64().unwrap() as usize;
            let bytes = &bytes[start..start + tensor["bytes"].as_u64().unwrap() as usize];
            bytes.chunks(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
        };
        let (x, y) = (floats(&model), floats(&back));
        let square = |x: f32| f64::from(x) * f64::from(x);
        let lost: f64 = x.iter().zip(&y).map(|(x, y)| square(x - y)).sum();
        let all: f64 = x.iter().map(|x| square(*x)).sum();
        assert!((lost / all - error).abs() < 1e-4 * error.max(1e-3), "{} {error}", lost / all);
    }
    let error =
        failure(&["quantize", &model, &folder.join("x.fifu"), "--type", "pq", "-s", "3"], b"", 2);
    assert!(error.contains("can be 1, 2, 5, 10"), "{error}");
}

#[test]
fn metadata_are_shown_and_changed() {
    let folder = Folder::new();
    let model = folder.converted(&data("words/licence.bin"), "m.fifu", &["-q"]);
    let before = vectors(&model, &["License"]);
    stdout(&["metadata", &model, "--set", "note=a b", "--set", "run.seed=7", "-o", &model], "");
    assert_eq!(stdout(&["metadata", &model, "run.seed"], ""), "7\n");
    assert_eq!(stdout(&["metadata", &model, "note"], ""), "a b\n");
    assert_eq!(inspected(&model)["metadata"]["run"]["seed"], 7);
    assert_eq!(vectors(&model, &["License"]), before);
    stdout(&["verify", "--strict", &model], "");
    assert!(failure(&["metadata", &model, "none"], b"", 1).contains("there is no none"));
    let toml = folder.file("m.toml", "# new\na = [1]\n");
    stdout(&["metadata", &model, "--from", &toml, "-o", &model], "");
    assert_eq!(stdout(&["metadata", &model], ""), "# new\na = [1]\n");
    failure(
        &["metadata", &model, "--from", &folder.file("bad.toml", "a = "), "-o", &model],
        b"",
        1,
    );
    failure(&["metadata", &model, "--set", "a=1"], b"", 2);
}
