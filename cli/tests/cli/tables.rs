//! Parquet and Arrow in and out of `embed`, and vectors in fewer bits.

#[cfg(all(feature = "parquet", unix))]
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::tiny_model::{HIDDEN, TinyModel};
use crate::{failure, nanoembed, numbers, objects, stdout};

const TEXTS: &str = "hello world\nthe cats\n\nsing cat sing\n";

fn embeddings(lines: &[Value]) -> Vec<Vec<f64>> {
    lines.iter().map(|line| numbers(&line["embedding"])).collect()
}

fn nearest(codes: &[f64], scale: f64, vector: &[f64]) -> bool {
    codes.iter().zip(vector).all(|(code, x)| (code * scale - x).abs() <= scale * 0.501)
}

#[test]
fn vectors_come_in_fewer_bits() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let lines = |dtype: &str| {
        objects(&stdout(&["embed", "-m", &model, "--format", "jsonl", "--dtype", dtype], TEXTS))
    };
    let floats = embeddings(&lines("f32"));
    assert_eq!(embeddings(&lines("float32")), floats);
    for (half, float) in embeddings(&lines("f16")).iter().zip(&floats) {
        assert!(half.iter().zip(float).all(|(a, b)| (a - b).abs() <= b.abs() / 2048.0 + 1e-7));
        assert_ne!(half, float);
    }
    for (line, float) in lines("int8").iter().zip(&floats) {
        let scale = line["embedding_scale"].as_f64().unwrap();
        assert!(nearest(&numbers(&line["embedding"]), scale, float));
    }
    for (bits, float) in embeddings(&lines("binary")).iter().zip(&floats) {
        let byte = float.iter().fold(0, |byte, x| byte << 1 | u8::from(*x > 0.0));
        assert_eq!(bits, &[f64::from(byte)]);
    }
    failure(&["embed", "-m", &model, "--dtype", "int4", "x"], b"", 2);
}

#[test]
fn arrays_have_the_type_that_was_asked_for() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    for (dtype, element, row_bytes) in [
        ("f32", "<f4", 4 * HIDDEN),
        ("f16", "<f2", 2 * HIDDEN),
        ("int8", "|i1", HIDDEN),
        ("binary", "|u1", 1),
    ] {
        let out = tiny.join("e.npy");
        let arguments = ["embed", "-m", &model, "--dtype", dtype, "-o", &out];
        nanoembed(&arguments).write_stdin(TEXTS).assert().success();
        let bytes = std::fs::read(&out).unwrap();
        let array = npyz::NpyFile::new(&bytes[..]).unwrap();
        assert_eq!(array.shape(), [4, (row_bytes / array_element(element)) as u64]);
        let header = String::from_utf8_lossy(&bytes[..128]).into_owned();
        assert!(header.contains(element), "{header}");
        assert_eq!(bytes.len(), 128 + 4 * row_bytes, "{dtype}");
    }
}

fn array_element(name: &str) -> usize {
    name[2..].parse().unwrap()
}

#[test]
fn fvecs_has_dimensions_before_every_vector() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let out = tiny.join("e.fvecs");
    let arguments = ["embed", "-m", &model, "-o", &out];
    nanoembed(&arguments).write_stdin(TEXTS).assert().success();
    let text = stdout(&["embed", "-m", &model], TEXTS);
    let expected: Vec<f32> = text.split_whitespace().map(|x| x.parse().unwrap()).collect();
    let bytes = std::fs::read(&out).unwrap();
    let rows = bytes.chunks_exact(4 + 4 * HIDDEN);
    assert!(rows.remainder().is_empty());
    let mut found = Vec::new();
    for row in rows {
        assert_eq!(row[..4], 8_u32.to_le_bytes());
        found.extend(row[4..].chunks_exact(4).map(|x| f32::from_le_bytes(x.try_into().unwrap())));
    }
    assert_eq!(found, expected);
    let said = failure(&[&arguments[..], &["--dtype", "int8", "x"]].concat(), b"", 2);
    assert!(said.contains("`.fvecs` has f32 only"), "{said}");
}

#[test]
fn options_of_tables_are_refused_where_there_is_none() {
    for (arguments, said) in [
        (&["--column", "body"][..], "--column is for tables"),
        (&["--id-column", "key"], "--id-column is for tables"),
        (&["--vector-column", "v"], "--vector-column is for tables that are written"),
        (&["--resume"], "--resume is for Parquet files"),
        (&["--resume", "-o", "x.npy"], "--resume is for Parquet files"),
    ] {
        let said_now = failure(&[&["embed"], arguments, &["text"]].concat(), b"", 2);
        assert!(said_now.contains(said), "{said_now}");
    }
    let mixed = failure(&["embed", "-f", "a.parquet", "b.txt"], b"", 2);
    assert!(mixed.contains("a.parquet is a table and b.txt is not"), "{mixed}");
    let field = failure(&["embed", "-f", "a.parquet", "--field", "body"], b"", 2);
    assert!(field.contains("--column"), "{field}");
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_program_without_tables_says_how_to_get_them() {
    for arguments in [&["-f", "texts.parquet"][..], &["-o", "x.arrow", "text"]] {
        let said = failure(&[&["embed"], arguments].concat(), b"", 2);
        assert!(said.contains("--features parquet"), "{said}");
    }
}

#[cfg(feature = "parquet")]
const TABLE: &str = "../tests/data/tables/texts.parquet";

#[cfg(feature = "parquet")]
#[test]
fn rows_of_tables_are_what_lines_are() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let run = |more: &[&str]| {
        let arguments = [&["embed", "-m", &model, "--format", "jsonl", "-f", TABLE][..], more];
        objects(&stdout(&arguments.concat(), ""))
    };
    let lines = run(&["--keep", "dictionary"]);
    assert_eq!(lines.len(), 7);
    assert_eq!((&lines[0]["id"], &lines[6]["id"]), (&10.into(), &16.into()));
    assert_eq!(lines[6]["dictionary"], "hello world");
    let expected = objects(&stdout(&["embed", "-m", &model, "--json", "hello world"], ""));
    assert_eq!(lines[6]["embedding"], expected[0]["embedding"]);
    assert!(lines[2]["embedding"].is_null());
    assert!(lines[2]["error"].as_str().unwrap().ends_with("row 3: the text is null"));
    assert_eq!(lines[5]["truncated"], true);
    let skipped = run(&["--column", "bytes", "--on-error", "skip", "--id-column", "large"]);
    let indices: Vec<&Value> = skipped.iter().map(|line| &line["index"]).collect();
    assert_eq!(indices, [0, 1, 3, 4, 5]);
    assert_eq!(skipped[1]["id"], "The cat sleeps on the sofa");
    let lossy = run(&["--column", "bytes", "--lossy"]);
    assert!(lossy[6]["error"].is_null() && lossy[6]["tokens"].as_u64() > Some(3));
    let base = ["embed", "-m", &model, "-f", TABLE];
    let said = failure(&[&base[..], &["--column", "bytes", "--json"]].concat(), b"", 1);
    assert!(said.contains("row 7: not valid UTF-8 at its byte 6"), "{said}");
    // Text and arrays have no nulls.
    let said = failure(&base, b"", 1);
    assert!(said.contains("row 3: the text is null") && said.contains("--on-error"), "{said}");
    let said = failure(&[&base[..], &["--json", "--keep", "nested"]].concat(), b"", 2);
    assert!(said.contains("`nested`") && said.contains("no form in JSON"), "{said}");
    let said = failure(&[&base[..], &["--column", "body"]].concat(), b"", 1);
    assert!(said.contains("error[602]") && said.contains("`--column NAME`"), "{said}");
}

#[cfg(feature = "parquet")]
#[test]
fn lines_become_a_table_and_come_back() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let input = tiny.join("in.jsonl");
    std::fs::write(
        &input,
        "{\"id\": 7, \"body\": \"hello world\", \"tags\": [1, \"b\"]}\n{\"id\": \"x\"}\n{\"body\": \"cat\"}\n",
    )
    .unwrap();
    let table = tiny.join("t.parquet");
    let arguments =
        ["embed", "-m", &model, "-i", "jsonl", "-f", &input, "--field", "body", "--keep", "tags"];
    let said = nanoembed(&[&arguments[..], &["--on-error", "null", "-o", &table]].concat())
        .assert()
        .success();
    let said = String::from_utf8_lossy(&said.get_output().stderr).into_owned();
    assert!(said.contains("1 row became null, the first: ") && said.contains("line 2"), "{said}");
    let back = ["embed", "-m", &model, "-f", &table, "--column", "body", "--json"];
    let lines = objects(&stdout(&[&back[..], &["--keep", "tags,embedding_error"]].concat(), ""));
    assert_eq!(lines[0]["tags"], "[1,\"b\"]");
    let ids: Vec<&Value> = lines.iter().map(|line| &line["id"]).collect();
    assert_eq!(ids, [&Value::from("7"), &"x".into(), &Value::Null]);
    assert!(lines[1]["embedding_error"].as_str().unwrap().contains("no member `body`"));
    let alone = objects(&stdout(&["embed", "-m", &model, "--json", "cat"], ""));
    assert_eq!(lines[2]["embedding"], alone[0]["embedding"]);
    let said = failure(&[&arguments[..], &["-o", &table]].concat(), b"", 1);
    assert!(said.contains("line 2"), "{said}");
}

/// A table of many rows, and a way to start the program on it.
#[cfg(all(feature = "parquet", unix))]
fn many(tiny: &TinyModel) -> (String, impl Fn(&str) -> Command) {
    let model = tiny.converted("m.weights", &[]);
    let words = ["hello", "world", "the", "cats", "sing"];
    let lines = (0..20_000_usize).map(|row| {
        let words: Vec<&str> = (0..row % 4).map(|word| words[(row + word) % 5]).collect();
        words.join(" ") + "\n"
    });
    let (lines_file, table) = (tiny.join("many.txt"), tiny.join("many.parquet"));
    std::fs::write(&lines_file, lines.collect::<String>()).unwrap();
    nanoembed(&["embed", "-q", "-m", &model, "-f", &lines_file, "-o", &table]).assert().success();
    let input = table.clone();
    let start = move |out: &str| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("nanoembed"));
        command.args(["embed", "-m", &model, "-f", &input, "--vector-column", "v", "-o", out]);
        command.arg("--resume").stderr(Stdio::piped());
        command
    };
    (table, start)
}

#[cfg(all(feature = "parquet", unix))]
#[test]
fn a_run_that_is_killed_anywhere_is_continued_to_the_same_bytes() {
    let tiny = TinyModel::new();
    let (_, start) = many(&tiny);
    let (whole, out) = (tiny.join("whole.parquet"), tiny.join("out.parquet"));
    assert!(start(&whole).status().unwrap().success());
    let groups = format!("{out}.unfinished.groups");
    let size = |path: &str| std::fs::metadata(path).map_or(0, |there| there.len());
    for signal in ["-KILL", "-TERM"] {
        let _ = std::fs::remove_file(&out);
        // Killed when it has begun, and whenever it has done some more.
        for _ in 0..3 {
            let before = size(&groups);
            let mut child = start(&out).spawn().unwrap();
            while child.try_wait().unwrap().is_none() && size(&groups) <= before {
                std::thread::yield_now();
            }
            let id = child.id().to_string();
            let _ = Command::new("kill").args([signal, &id]).stderr(Stdio::null()).status();
            child.wait().unwrap();
        }
        assert!(start(&out).status().unwrap().success());
        assert!(std::fs::read(&out).unwrap() == std::fs::read(&whole).unwrap(), "{signal}");
        assert!(!std::path::Path::new(&groups).exists());
        let again = start(&out).output().unwrap();
        let said = String::from_utf8_lossy(&again.stderr).into_owned();
        assert!(again.status.success() && said.contains("is complete: nothing to do"), "{said}");
    }
}

#[cfg(all(feature = "parquet", unix))]
#[test]
fn one_file_is_written_by_one_process() {
    let tiny = TinyModel::new();
    let (_, start) = many(&tiny);
    let out = tiny.join("out.parquet");
    let lock = std::fs::File::create(format!("{out}.unfinished")).unwrap();
    lock.try_lock().unwrap();
    let refused = start(&out).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(1) && said.contains("another process"), "{said}");
    drop(lock);
    assert!(start(&out).status().unwrap().success());
}

#[cfg(feature = "parquet")]
#[test]
fn a_table_goes_through_a_pipe() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let file = tiny.join("t.parquet");
    nanoembed(&["embed", "-q", "-m", &model, "-f", TABLE, "-o", &file]).assert().success();
    let arguments = ["embed", "-q", "-m", &model, "-f", TABLE, "--format", "parquet"];
    let piped = nanoembed(&arguments).output().unwrap();
    assert!(piped.status.success() && piped.stdout == std::fs::read(&file).unwrap());
    let said = failure(&[&arguments[..], &["--resume"]].concat(), b"", 2);
    assert!(said.contains("--resume"), "{said}");
}

/// Embeds a hostile table within an address space of so many kilobytes; the exit code, and stderr.
#[cfg(all(feature = "parquet", target_os = "linux"))]
fn within(kilobytes: u32, model: &str, name: &str) -> (Option<i32>, String) {
    let input = format!("{}/../tests/data/hostile/{name}", env!("CARGO_MANIFEST_DIR"));
    let limits = format!("ulimit -v {kilobytes} && exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &limits, env!("CARGO_BIN_EXE_nanoembed"), "embed", "--threads", "1"]);
    command.args(["-m", model, "-f", &input, "-o", &format!("{model}.parquet")]);
    let output = command.output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[cfg(all(feature = "parquet", target_os = "linux"))]
#[test]
fn tables_take_memory_in_proportion_and_panics_have_no_text() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let (code, said) = within(400_000, &model, "brotli.parquet");
    assert!(code == Some(1) && said.starts_with("error[209]: "), "{said}");
    let (code, said) = within(700_000, &model, "dictionary.parquet");
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = within(400_000, &model, "panic.arrow");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.starts_with("error[603]: ") && !said.contains("panick"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[cfg(all(feature = "parquet", unix))]
#[test]
fn unfinished_files_of_somebody_else_are_not_written_to() {
    let tiny = TinyModel::new();
    let (_, start) = many(&tiny);
    let (out, precious) = (tiny.join("out.parquet"), tiny.join("precious"));
    std::fs::write(&precious, "precious").unwrap();
    for ending in ["unfinished", "unfinished.groups"] {
        let place = format!("{out}.{ending}");
        let link: fn(&str, &str) -> _ = |from, to| std::os::unix::fs::symlink(from, to);
        let hard_link: fn(&str, &str) -> _ = |from, to| std::fs::hard_link(from, to);
        let pipe: fn(&str, &str) -> _ = |_, to| Command::new("mkfifo").arg(to).status().map(|_| ());
        for make in [link, hard_link, pipe] {
            let _ = std::fs::remove_file(format!("{out}.unfinished.groups"));
            make(&precious, &place).unwrap();
            let refused = start(&out).output().unwrap();
            let said = String::from_utf8_lossy(&refused.stderr).into_owned();
            assert!(
                refused.status.code() == Some(1) && said.contains("no file of its own"),
                "{said}"
            );
            assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
            std::fs::remove_file(&place).unwrap();
        }
    }
}
