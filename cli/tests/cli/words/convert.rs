use super::{Folder, TEXT, data, upstream, vectors};
use crate::{failure, nanoembed, numbers, stdout};

fn read(path: &str) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

#[test]
fn rows_go_through_every_form_and_come_back_as_they_were() {
    let folder = Folder::new();
    let text = folder.file("words.txt", TEXT);
    let mut file = folder.converted(&text, "a.fifu", &["-q", "--no-normalize"]);
    let first = read(&file);
    for form in ["b.vec", "c.w2v", "d.txt"] {
        let other = folder.converted(&file, form, &["-q"]);
        file = folder.converted(&other, &format!("{form}.fifu"), &["-q", "--no-normalize"]);
        assert_eq!(read(&file), first, "{form}");
    }
    let back = folder.converted(&file, "back.txt", &["-q"]);
    assert_eq!(
        String::from_utf8(read(&back)).unwrap(),
        TEXT.replace("3e-3 1e10", "0.003 10000000000")
    );
    let sizes = String::from_utf8(read(&folder.join("b.vec"))).unwrap();
    assert!(sizes.starts_with("4 2\none 1 2\n"));
}

#[test]
fn from_one_foreign_form_to_another_nothing_is_lost() {
    let folder = Folder::new();
    let text = folder.file("words.txt", TEXT);
    let binary = folder.converted(&text, "words.w2v", &["-q"]);
    let bytes = read(&binary);
    assert!(bytes.starts_with(b"4 2\none \0\0\x80\x3f\0\0\0\x40\ntwo "));
    let back = folder.converted(&binary, "back.glove", &["-q"]);
    assert_eq!(
        String::from_utf8(read(&back)).unwrap(),
        TEXT.replace("3e-3 1e10", "0.003 10000000000")
    );
}

#[test]
fn lengths_are_kept_beside_normalised_vectors() {
    let folder = Folder::new();
    let text = folder.file("words.txt", TEXT);
    let file = folder.converted(&text, "a.fifu", &["-q"]);
    let answer = &vectors(&file, &["one"])[0];
    let norm = 5_f64.sqrt();
    assert!((answer["norm"].as_f64().unwrap() - norm).abs() < 1e-6);
    let unit = numbers(&answer["embedding"]);
    assert!((unit[0] - 1.0 / norm).abs() < 1e-7 && (unit[1] - 2.0 / norm).abs() < 1e-7);
    let lines = |options: &[&str]| {
        let output = folder.converted(&file, "back.txt", options);
        let text = String::from_utf8(read(&output)).unwrap();
        let number = |field: &str| field.parse::<f64>().unwrap();
        text.lines()
            .map(|line| line.split(' ').skip(1).map(number).collect())
            .collect::<Vec<Vec<f64>>>()
    };
    for (ours, line) in lines(&["-q"]).iter().zip(TEXT.lines()) {
        for (ours, field) in ours.iter().zip(line.split(' ').skip(1)) {
            let expected: f64 = field.parse().unwrap();
            assert!((ours - expected).abs() <= 2e-7 * expected.abs(), "{line}");
        }
    }
    for row in lines(&["-q", "--normalized"]) {
        assert!((row.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-6);
    }
}

#[test]
fn the_references_files_become_the_same_bytes() {
    let folder = Folder::new();
    let Some(expected) = upstream("similarity.fifu") else { return };
    for name in ["similarity.bin", "similarity.txt", "similarity.nodims"] {
        let input = upstream(name).unwrap();
        let ours = folder.converted(&input, "s.fifu", &["-q", "--no-normalize"]);
        assert_eq!(read(&ours), read(&expected), "{name}");
    }
    for name in ["py_embeddings.dims.txt", "py_embeddings.txt", "py_embeddings.w2v"] {
        let input = upstream(name).unwrap();
        let ours = folder.converted(&input, "p.fifu", &["-q"]);
        let theirs = upstream("py_embeddings.fifu").unwrap();
        for (ours, theirs) in
            vectors(&ours, &["one", "seven"]).iter().zip(vectors(&theirs, &["one", "seven"]))
        {
            assert_eq!(ours["rows"], theirs["rows"], "{name}");
            let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-5, "{name}: {a} {b}");
            // The word2vec file was written from vectors of length 1.
            let length = if name.ends_with(".w2v") { Some(1.0) } else { theirs["norm"].as_f64() };
            near(ours["norm"].as_f64().unwrap(), length.unwrap());
            for (a, b) in numbers(&ours["embedding"]).iter().zip(numbers(&theirs["embedding"])) {
                near(*a, b);
            }
        }
    }
}

#[test]
fn words_twice_are_a_matter_of_policy() {
    let folder = Folder::new();
    let text = folder.file("twice.txt", "a 1 2\nb 3 4\na 5 6\n");
    let output = folder.join("o.fifu");
    let error = failure(&["convert", &text, &output], b"", 1);
    assert!(error.contains("error[123]: ") && error.contains("line 3: byte 12: "), "{error}");
    assert!(error.contains("after row 0") && error.contains("--duplicates first"), "{error}");
    assert!(!std::path::Path::new(&output).exists());
    nanoembed(&["convert", &text, &output, "--duplicates", "first", "--no-normalize"])
        .assert()
        .success()
        .stderr(predicates::str::contains("1 words stood there twice"));
    assert_eq!(numbers(&vectors(&output, &["a"])[0]["embedding"]), [1.0, 2.0]);
    assert_eq!(vectors(&output, &["b"])[0]["rows"], serde_json::json!([1]));
}

#[test]
fn broken_utf8_is_a_matter_of_policy() {
    let folder = Folder::new();
    let text = folder.file("broken.txt", b"ok 1 2\nb\xff\xe6d 3 4\n");
    let output = folder.join("o.fifu");
    let error = failure(&["convert", &text, &output, "--from", "text"], b"", 1);
    assert!(
        error.contains("error[104]: ") && error.contains("line 2: byte 7: byte 1 of the word"),
        "{error}"
    );
    let options = ["-q", "--from", "text", "--utf8"];
    let lossy = folder.converted(&text, "l.fifu", &[&options[..], &["lossy"]].concat());
    assert_eq!(vectors(&lossy, &["b\u{fffd}\u{fffd}d"])[0]["known"], true);
    let bytes = folder.converted(&text, "b.fifu", &[&options[..], &["bytes"]].concat());
    assert!(read(&bytes).windows(4).any(|window| window == b"b\xff\xe6d"));
    failure(&["verify", &bytes], b"", 1);
    stdout(&["verify", &bytes, "--utf8", "bytes"], "");
    let back = folder.converted(&bytes, "back.txt", &["-q", "--utf8", "bytes", "--normalized"]);
    assert!(read(&back).windows(5).any(|window| window == b"b\xff\xe6d "));
    for name in ["utf8-incomplete.bin", "utf8-incomplete.dims", "utf8-incomplete.txt"] {
        let Some(input) = upstream(name) else { return };
        assert!(failure(&["convert", &input, &output], b"", 1).contains("error[104]"), "{name}");
        folder.converted(&input, "l.fifu", &["-q", "--utf8", "lossy"]);
    }
}

#[test]
fn what_is_wrong_with_a_text_is_said_with_its_line() {
    let folder = Folder::new();
    let output = folder.join("o.fifu");
    for (text, form, message) in [
        ("a 1 2\nb 3\n", "text", "line 2: byte 6: expected a word and 2 numbers, but there are 1"),
        ("a 1 2\nb 3 x\n", "text", "line 2: byte 6: \"x\" is not a number"),
        ("a 1 2\nb 3 1e400\n", "text", "line 2: byte 6: \"1e400\" is not a finite number"),
        ("a 1 2\nb -1e39 4\n", "text", "line 2: byte 6: \"-1e39\" is not a finite number"),
        ("1 2\na 1 nan\n", "textdims", "line 2: byte 4: \"nan\" is not a finite number"),
        ("a 1 2\nb 3e38 3e38\n", "text", "line 2: byte 6: the vector is too long"),
        ("\u{feff}a 1 2\nb 3 inf\n", "text", "line 2: byte 9: \"inf\" is not a finite number"),
        ("a 1 2\n\n", "text", "line 2: byte 6: expected a word"),
        ("", "text", "line 1: byte 0: expected a word and its numbers"),
        ("word\n", "text", "line 1: byte 0: expected a word and its numbers"),
        ("3 2\na 1 2\n", "textdims", "announces 3 words, but there are 1"),
        (
            "1 2\na 1 2\nb 1 2\n",
            "textdims",
            "line 3: byte 10: the first line announces 1 words, but there are more",
        ),
        ("a 2\n", "textdims", "expected the number of words"),
        ("1 0\na\n", "textdims", "no word vectors have 0 columns"),
        ("1 99999999999\na 1\n", "textdims", "no word vectors have 99999999999 columns"),
        (
            "2 1\na \0\0\0\0\nb \0\0\0",
            "word2vec",
            "byte 10: the first line announces 2 words, but the file ends in word 2",
        ),
        ("1 1\na \0\0\0\0\nmore", "word2vec", "byte 10: bytes follow the 1 words announced"),
        ("x y\n", "word2vec", "byte 0: expected the number of words"),
        (
            "1 2\na \0\0\0\0\u{7f}\u{7f}\u{7f}\u{7f}",
            "word2vec",
            "byte 4: the vector is too long for its length to be a number",
        ),
    ] {
        let file = folder.file("bad", text);
        let error = failure(&["convert", &file, &output, "--from", form], b"", 1);
        assert!(error.contains(message), "{text:?}: {error}");
    }
    assert!(!std::path::Path::new(&output).exists());
    assert_eq!(std::fs::read_dir(folder.0.path()).unwrap().count(), 1, "nothing is left behind");
}

#[test]
fn binary_numbers_that_are_not_finite_are_refused() {
    let folder = Folder::new();
    let output = folder.join("o.fifu");
    let infinite = [b"1 2\na \0\0\0\0".as_slice(), &f32::INFINITY.to_le_bytes()].concat();
    let file = folder.file("bad.w2v", infinite);
    for options in [&[][..], &["--no-normalize"]] {
        let error = failure(&[&["convert", &file, &output], options].concat(), b"", 1);
        assert!(error.contains("byte 4: number 2 of the vector is inf"), "{error}");
    }
}

#[test]
fn a_byte_order_mark_is_not_part_of_the_first_word() {
    let folder = Folder::new();
    for (name, text) in [
        ("words.txt", TEXT.to_owned()),
        ("words.vec", format!("4 2\n{TEXT}")),
        ("words.floret", std::fs::read_to_string(data("words/licence.floret")).unwrap()),
    ] {
        let plain = folder.file(name, &text);
        let marked = folder.file(&format!("marked.{name}"), format!("\u{feff}{text}"));
        let plain = folder.converted(&plain, "plain.fifu", &["-q"]);
        let marked = folder.converted(&marked, "marked.fifu", &["-q"]);
        assert!(read(&plain) == read(&marked), "{name}");
    }
}

#[test]
fn a_word_may_have_blanks_in_it() {
    let folder = Folder::new();
    let text = folder.file("glove.txt", "the 1 2\n. . . 3 4\nat name@domain.com 5 6\n");
    let file = folder.converted(&text, "g.fifu", &["-q", "--no-normalize"]);
    assert_eq!(vectors(&file, &[". . ."])[0]["rows"], serde_json::json!([1]));
    let back = folder.converted(&file, "back.txt", &["-q"]);
    assert_eq!(read(&back), read(&text));
    let error = failure(&["convert", &file, &folder.join("g.w2v")], b"", 1);
    assert!(error.contains("has a blank, which this form cannot hold"), "{error}");
}

#[test]
fn files_may_come_and_go_through_pipes() {
    let folder = Folder::new();
    let made = nanoembed(&["convert", "-", "-", "--to", "finalfusion", "-q", "--no-normalize"])
        .write_stdin(TEXT)
        .assert()
        .success();
    let text = folder.file("words.txt", TEXT);
    let expected = read(&folder.converted(&text, "a.fifu", &["-q", "--no-normalize"]));
    assert_eq!(made.get_output().stdout, expected);
    let model = read(&data("words/licence.bin"));
    let made = nanoembed(&["convert", "-", "-", "--to", "finalfusion", "-q"])
        .write_stdin(model)
        .assert()
        .success();
    let expected = folder.converted(&data("words/licence.bin"), "m.fifu", &["-q"]);
    assert_eq!(made.get_output().stdout, read(&expected));
    let back = nanoembed(&["convert", "-", "-", "--to", "textdims", "-q"])
        .write_stdin(read(&folder.join("a.fifu")))
        .assert()
        .success();
    assert!(back.get_output().stdout.starts_with(b"4 2\none 1 2\n"));
}

#[test]
fn lengths_become_one_where_that_is_asked_for() {
    let folder = Folder::new();
    let text = folder.file("words.txt", TEXT);
    let raw = folder.converted(&text, "raw.fifu", &["-q", "--no-normalize"]);
    for (input, name) in [(&raw, "from.fifu.txt"), (&text, "from.text.txt")] {
        let output = folder.converted(input, name, &["-q", "--normalized"]);
        for line in String::from_utf8(read(&output)).unwrap().lines() {
            let numbers = line.split(' ').skip(1).map(|field| field.parse::<f64>().unwrap());
            assert!((numbers.map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-6, "{name}: {line}");
        }
    }
}

#[test]
fn options_that_mean_nothing_for_word_vectors_are_refused() {
    let folder = Folder::new();
    let text = folder.file("words.txt", TEXT);
    let file = folder.converted(&text, "a.fifu", &["-q"]);
    let (fifu, vec) = (folder.join("b.fifu"), folder.join("b.vec"));
    for (arguments, message) in [
        (&[&text[..], &fifu, "-t", "int8"][..], "--type is for models"),
        (&[&text, &fifu, "--pooler"], "--pooler is for models"),
        (&[&text, &fifu, "--name", "x"], "--name is for models"),
        (&[&text, &fifu, "--json"], "--json is for models"),
        (&[&text, &fifu, "--block", "32"], "--block is for types"),
        (&[&text, &vec, "--metadata", "a=1"], "--metadata is for models and `.fifu` files"),
        (&[&text, &fifu, "--normalized"], "--normalized is for vectors of words in other files"),
        (&[&file, &fifu, "--normalized"], "--normalized is for vectors of words in other files"),
        (&[&file, &fifu, "--no-normalize"], "--no-normalize is for word vectors that are no"),
        (&[&file, &vec, "--no-normalize"], "--no-normalize is for word vectors that are no"),
    ] {
        let error = failure(&[&["convert"], arguments].concat(), b"", 2);
        assert!(error.contains(message), "{arguments:?}: {error}");
    }
    assert!(!std::path::Path::new(&fifu).exists() && !std::path::Path::new(&vec).exists());
}

#[test]
fn what_out_shall_be_must_be_known() {
    let folder = Folder::new();
    let text = folder.file("words.txt", TEXT);
    let file = folder.converted(&text, "a.fifu", &["-q"]);
    assert!(failure(&["convert", &file, &folder.join("out")], b"", 2).contains("--to"));
    assert!(failure(&["convert", &file, &folder.join("out.ftz")], b"", 2).contains("not written"));
    failure(&["convert", &file, &folder.join("out.floret")], b"", 2);
    failure(&["convert", &folder.join("none.txt"), &folder.join("out.fifu")], b"", 3);
    // A copy, with one more entry of metadata.
    let copy = folder.converted(&file, "copy.fifu", &["-q", "--metadata", "a=1"]);
    assert_eq!(stdout(&["metadata", &copy], ""), "a = 1\n");
    let plain = folder.converted(&file, "plain.fifu", &["-q"]);
    assert_eq!(read(&plain), read(&file));
}
