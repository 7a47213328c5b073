use super::data;
use crate::{failure, nanoembed, objects, stdout};

#[test]
fn a_line_of_json_has_the_documented_shape() {
    let object =
        objects(&stdout(&["inspect", "--json", &data("finalfusion/fasttext.fifu")], "")).remove(0);
    assert_eq!((&object["format"], &object["variant"]), (&"finalfusion".into(), &"array".into()));
    assert_eq!(object["file_bytes"], 53_548);
    assert!(object["tokenizer"].is_null() && object["deviation"].is_null());
    assert_eq!(object["metadata"]["model"], "SkipGram");
    assert_eq!(object["metadata"]["sampling_threshold"], 0.0001);
    assert_eq!(object["vocabulary"]["kind"], "fasttext");
    assert_eq!(object["vocabulary"]["buckets"], 100);
    let names: Vec<&str> = object["chunks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|chunk| chunk["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["metadata", "fasttext vocabulary", "array", "norms"]);
    assert_eq!(object["tensors"][0]["name"], "embeddings");
    assert_eq!(object["tensors"][0]["shape"][1], 50);
    assert_eq!(object["tensors"][1]["name"], "norms");
}

#[test]
fn people_are_told_the_same() {
    let text = stdout(
        &[
            "inspect",
            &data("finalfusion/floret.fifu"),
            &data("finalfusion/quantized_p1_n1_pad0.fifu"),
        ],
        "",
    );
    for part in [
        "floret vocabulary",
        "buckets 10",
        "hashes 2",
        "quantized storage",
        "subquantizers",
        "projection",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = stdout(&["inspect", &data("finalfusion/unlisted_norms.fifu")], "");
    assert!(text.contains("deviates"), "{text}");
}

#[test]
fn verify_finds_what_is_wrong_and_where() {
    for name in ["fasttext", "explicit", "floret", "bucket_e2", "quantized_p1_n1_pad2"] {
        assert!(
            stdout(&["verify", "--strict", &data(&format!("finalfusion/{name}.fifu"))], "")
                .contains(": ok (")
        );
    }
    let finding = |bytes: Vec<u8>, options: &[&str]| {
        let arguments = [&["verify", "--json", "-"], options].concat();
        let output = nanoembed(&arguments).write_stdin(bytes).assert().code(1);
        let finding = objects(&String::from_utf8_lossy(&output.get_output().stdout)).remove(0);
        (finding["code"].as_u64().unwrap(), finding["offset"].as_u64().unwrap())
    };
    let unlisted = std::fs::read(data("finalfusion/unlisted_norms.fifu")).unwrap();
    stdout(&["verify", &data("finalfusion/unlisted_norms.fifu")], "");
    assert_eq!(finding(unlisted, &["--strict"]).0, 103);
    // A code that no centroid has.
    let mut quantized = std::fs::read(data("finalfusion/quantized_p0_n0_pad1.fifu")).unwrap();
    let last = quantized.len() - 1;
    quantized[last] = 255;
    assert_eq!(finding(quantized, &[]), (124, last as u64));
    // Metadata that is no TOML: the first "=" of it.
    let mut model = std::fs::read(data("finalfusion/fasttext.fifu")).unwrap();
    let at = model.iter().position(|&byte| byte == b'=').unwrap();
    model[at] = b'x';
    assert_eq!(finding(model.clone(), &[]).0, 125);
    // A word twice: "die" becomes "der".
    let word = model.windows(7).position(|window| window == b"\x03\0\0\0die").unwrap();
    model[at] = b'=';
    model[word + 4..word + 7].copy_from_slice(b"der");
    assert_eq!(finding(model.clone(), &[]).0, 123);
    nanoembed(&["verify", "-", "--duplicates", "first"]).write_stdin(model).assert().success();
}

#[test]
fn hostile_files_are_refused_by_every_command() {
    // Forty bytes that announce 26 TB of words.
    let mut file =
        b"FiFu\0\0\0\0\x02\0\0\0\x01\0\0\0\x02\0\0\0\x01\0\0\0\x0e\0\0\0\0\0\0\0".to_vec();
    file.extend((1_u64 << 40).to_le_bytes());
    let folder = super::Folder::new();
    let (bad, output) = (folder.file("bad.fifu", &file), folder.join("out.fifu"));
    let text = folder.join("out.txt");
    for arguments in [
        &["inspect", &bad][..],
        &["vector", &bad, "a"],
        &["similar", &bad, "a"],
        &["analogy", &bad, "a", "b", "c"],
        &["select", &bad, &output],
        &["reconstruct", &bad, &output],
        &["metadata", &bad],
        &["bucket-to-explicit", &bad, &output],
        &["compute-accuracy", &bad],
        &["quantize", &bad, &output, "--type", "pq"],
        &["convert", &bad, &text, "--to", "text"],
    ] {
        let error = failure(arguments, b"", 1);
        assert!(
            error.contains("error[121]: ") && error.contains("byte 32: "),
            "{arguments:?}: {error}"
        );
    }
}
