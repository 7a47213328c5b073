//! Small inputs that ask for much: each is used or refused within an address space of 400 MB and
//! some seconds of work.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/hostile");

/// Runs the program within limits; it must end by itself with a status of its own. Returns that and
/// stderr.
fn run(arguments: &[&str], text: &str) -> (i32, String) {
    let mut child = Command::new("sh")
        // Kilobytes and seconds; the program may be built without optimisation.
        .args([
            "-c",
            "ulimit -v 400000 && ulimit -t 20 && exec \"$@\"",
            "sh",
            env!("CARGO_BIN_EXE_nanoembed"),
        ])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The program may refuse its model before it reads the text.
    let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes());
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&stderr).into_owned();
    let code = status.code().unwrap_or_else(|| panic!("{arguments:?}: {status}: {stderr}"));
    assert!((0..=3).contains(&code), "{arguments:?}: {code}: {stderr}");
    (code, stderr)
}

/// What the program says where it must refuse.
fn refused(arguments: &[&str], text: &str) -> String {
    let (code, stderr) = run(arguments, text);
    assert_eq!(code, 1, "{arguments:?}: {stderr}");
    assert!(stderr.contains("error["), "{arguments:?}: {stderr}");
    stderr
}

/// A copy of a folder whose JSON file `name` is changed.
fn changed(
    folder: &str,
    name: &str,
    change: impl FnOnce(&mut Value),
) -> (tempfile::TempDir, PathBuf) {
    let temporary = tempfile::tempdir().unwrap();
    for entry in Path::new(DATA).join(folder).read_dir().unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, temporary.path().join(path.file_name().unwrap())).unwrap();
    }
    let path = temporary.path().join(name);
    let mut value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut value);
    std::fs::write(&path, value.to_string()).unwrap();
    let folder = temporary.path().to_owned();
    (temporary, folder)
}

#[test]
fn sizes_beyond_all_models_are_refused_by_name() {
    let sizes = [
        "num_hidden_layers",
        "hidden_size",
        "num_attention_heads",
        "intermediate_size",
        "max_position_embeddings",
        "vocab_size",
    ];
    let values = [
        json!(1_u64 << 31),
        json!(u64::MAX),
        json!(-1),
        json!(0),
        json!(2.5),
        json!(1e30),
        json!("2"),
    ];
    for size in sizes {
        for value in &values {
            let (_keep, folder) = changed("config_layers", "config.json", |config| {
                config["num_hidden_layers"] = json!(2);
                config[size] = value.clone();
            });
            let folder = folder.to_str().unwrap();
            let out = format!("{folder}/out.weights");
            for arguments in [vec!["embed", "-m", folder, "a"], vec!["convert", folder, &out]] {
                let message = refused(&arguments, "");
                assert!(message.contains(size), "{size} {value}: {message}");
            }
        }
    }
}

#[test]
fn sizes_of_decoders_beyond_all_models_are_refused() {
    let sizes = [
        "num_hidden_layers",
        "num_attention_heads",
        "num_key_value_heads",
        "head_dim",
        "vocab_size",
    ];
    for size in sizes {
        for value in [json!(1_u64 << 31), json!(u64::MAX), json!(0)] {
            let (_keep, folder) = changed("sparse_ids_bpe", "config.json", |config| {
                config[size] = value.clone();
            });
            let path = folder.join("tokenizer.json");
            let mut tokenizer: Value =
                serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            tokenizer["added_tokens"].as_array_mut().unwrap().pop();
            std::fs::write(&path, tokenizer.to_string()).unwrap();
            refused(&["embed", "-m", folder.to_str().unwrap(), "a"], "");
        }
    }
}

#[test]
fn ids_out_of_proportion_to_the_tokens_are_refused() {
    let sparse = format!("{DATA}/sparse_ids_bpe");
    assert!(refused(&["tokenize", "-m", &sparse, "hello"], "").contains("16777215"));
    // In the vocabulary, as one that is there twice, and beyond 32 bits.
    for id in [json!(16_777_215), json!(5_000_000_000_u64), json!(0), json!(-1), json!(1.5)] {
        let (_keep, folder) = changed("sparse_ids_bpe", "tokenizer.json", |tokenizer| {
            tokenizer["added_tokens"].as_array_mut().unwrap().pop();
            tokenizer["model"]["vocab"]["the"] = id.clone();
        });
        refused(&["tokenize", "-m", folder.to_str().unwrap(), "hello"], "");
    }
    // A few holes are fine, but for added tokens, which `tokenizers` numbers by itself.
    let (_keep, folder) = changed("sparse_ids_bpe", "tokenizer.json", |tokenizer| {
        tokenizer["added_tokens"].as_array_mut().unwrap().last_mut().unwrap()["id"] = json!(300);
    });
    assert!(refused(&["tokenize", "-m", folder.to_str().unwrap(), "hello"], "").contains("300"));
    let (_keep, folder) = changed("sparse_ids_bpe", "tokenizer.json", |tokenizer| {
        tokenizer["added_tokens"].as_array_mut().unwrap().pop();
        tokenizer["model"]["vocab"]["the"] = json!(300);
    });
    let (code, message) = run(&["tokenize", "-m", folder.to_str().unwrap(), "hello"], "");
    assert_eq!(code, 0, "{message}");
}

#[test]
fn rules_that_blow_texts_up_are_refused_in_time() {
    let model = format!("{DATA}/r100000.model");
    let message = refused(&["tokenize", "-m", &model], &"a".repeat(20_000));
    assert!(message.contains("error[209]"), "{message}");
    // One letter is not worth refusing the text for where the text is long enough.
    run(&["tokenize", "-m", &model], &format!("a{}", "b".repeat(20_000)));
}

#[test]
fn many_added_tokens_cost_no_more_time_than_few_and_repeated_ids_are_refused() {
    let model = format!("{DATA}/n20000.amb");
    refused(&["tokenize", "-m", &model, "--max-tokens", "1000000"], &"a".repeat(100_000));
    // The same many tokens, each with an id of its own.
    let (_keep, folder) = changed("sparse_ids_bpe", "tokenizer.json", |tokenizer| {
        let added = tokenizer["added_tokens"].as_array_mut().unwrap();
        let last = added.pop().unwrap();
        for id in 265..20_265 {
            let mut token = last.clone();
            token["id"] = json!(id);
            token["content"] = json!(format!("{}{id}", "a".repeat(100)));
            added.push(token);
        }
    });
    let folder = folder.to_str().unwrap();
    let (code, message) =
        run(&["tokenize", "-m", folder, "--max-tokens", "1000000"], &"a".repeat(20_000));
    assert_eq!(code, 0, "{message}");
}

#[test]
fn long_words_deep_json_and_long_lines_come_to_an_end() {
    let (_keep, bpe) = changed("sparse_ids_bpe", "tokenizer.json", |tokenizer| {
        tokenizer["added_tokens"].as_array_mut().unwrap().pop();
    });
    let word = "the".repeat(30_000);
    let (code, message) =
        run(&["tokenize", "-m", bpe.to_str().unwrap(), "--max-tokens", "1000000"], &word);
    assert_eq!(code, 0, "{message}");
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for name in ["config.json", "tokenizer.json"] {
        std::fs::write(bpe.join(name), &deep).unwrap();
        refused(&["tokenize", "-m", bpe.to_str().unwrap(), "hello"], "");
    }
    let (_keep, folder) = changed("config_layers", "config.json", |config| {
        config["num_hidden_layers"] = json!(2);
    });
    run(&["embed", "-m", folder.to_str().unwrap()], &word);
    std::fs::remove_file(folder.join("tokenizer.json")).unwrap();
    std::fs::write(folder.join("vocab.txt"), "a".repeat(5_000_000)).unwrap();
    refused(&["embed", "-m", folder.to_str().unwrap(), "hello"], "");
}

#[test]
fn pipes_and_devices_are_refused_where_a_file_is_wanted() {
    let temporary = tempfile::tempdir().unwrap();
    let out = temporary.path().join("out.safetensors");
    let out = out.to_str().unwrap();
    let mut inputs = vec!["/dev/zero".to_owned()];
    for name in ["a", "a.weights", "a.amb", "a.gguf", "a.safetensors", "a.uqff", "a.fifu"] {
        let path = temporary.path().join(name);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        inputs.push(path.to_str().unwrap().to_owned());
    }
    for input in &inputs {
        for command in [
            &["inspect", input][..],
            &["verify", input],
            &["migrate", input, out],
            &["dequantize", input, "-o", out],
            &["convert", input, out],
            &["quantize", input, out, "--type", "q8_0"],
            &["similar", input, "a"],
            &["embed", "-m", input, "a"],
            &["generate", "-m", input, "a"],
        ] {
            let (code, stderr) = run(command, "");
            // Some commands know by the name that this is nothing for them.
            assert!(code != 0, "{command:?}: {stderr}");
            assert!(stderr.contains("error["), "{command:?}: {stderr}");
        }
        for command in [["inspect", input], ["verify", input]] {
            let said = refused(&command, "");
            assert!(said.contains("this is no regular file"), "{said}");
        }
    }
}

#[test]
fn files_of_a_folder_are_regular_and_of_bounded_size() {
    for name in ["config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt"] {
        let sound = |config: &mut Value| config["num_hidden_layers"] = json!(2);
        let (_keep, folder) = changed("config_layers", "config.json", sound);
        let path = folder.join(name);
        let embed = ["embed", "-m", folder.to_str().unwrap(), "a"];
        let _ = std::fs::remove_file(&path);
        if name == "vocab.txt" {
            // It is read where there is no other.
            std::fs::remove_file(folder.join("tokenizer.json")).unwrap();
        }
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        let said = refused(&embed, "");
        assert!(said.contains(name) && said.contains("this is no regular file"), "{said}");
        std::fs::remove_file(&path).unwrap();
        std::fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
        let said = refused(&embed, "");
        assert!(said.contains(name) && said.contains("1099511627776 bytes of a file"), "{said}");
    }
}
