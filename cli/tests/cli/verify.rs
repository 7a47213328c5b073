use crate::tiny_model::{TinyModel, stream_file};
use crate::{failure, nanoembed, objects, stdout};

#[test]
fn a_converted_file_has_no_findings() {
    let tiny = TinyModel::new();
    for weight_type in ["f32", "f16", "int8"] {
        let model = tiny.converted("m.weights", &["--type", weight_type]);
        assert!(stdout(&["verify", "--strict", &model], "").contains(": ok ("));
        assert_eq!(stdout(&["verify", "--strict", "--json", &model], ""), "");
    }
}

#[test]
fn every_changed_byte_is_found() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &["--type", "int8"]);
    let good = std::fs::read(&model).unwrap();
    let last = good.len() - 1;
    for at in (0..good.len()).step_by(good.len() / 40).chain([last - 4]) {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        let output =
            nanoembed(&["verify", "--strict", "--json", "-"]).write_stdin(bad).assert().code(1);
        let lines = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
        let finding = &objects(&lines)[0];
        let keys: Vec<&str> = finding.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["file", "offset", "code", "name", "message"], "byte {at}");
        assert_eq!(finding["file"], "stdin");
    }
}

#[test]
fn each_checksum_has_its_own_finding() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    let good = std::fs::read(&model).unwrap();
    let data = u32::from_le_bytes(good[36..40].try_into().unwrap()) as usize;
    let name = 64 + 8 + 4 + 10 + 1;
    for (at, code, offset) in
        [(20, 115, 56), (data + 5, 116, good.len() - 16), (name, 117, good.len() - 12)]
    {
        let mut bad = good.clone();
        bad[at] ^= 1;
        let output = nanoembed(&["verify", "--json", "-"]).write_stdin(bad).assert().code(1);
        let lines = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
        let finding = &objects(&lines)[0];
        assert_eq!((&finding["code"], &finding["offset"]), (&code.into(), &offset.into()));
    }
}

#[test]
fn a_transposed_model_is_found_out() {
    let output = nanoembed(&["verify", "--json", "-"]).write_stdin(stream_file()).assert().code(1);
    let lines = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    let codes: Vec<u64> = objects(&lines).iter().map(|f| f["code"].as_u64().unwrap()).collect();
    assert_eq!(codes, [301, 305]);
}

#[test]
fn one_bad_file_among_good_ones_is_status_1() {
    let tiny = TinyModel::new();
    let model = tiny.converted("m.weights", &[]);
    nanoembed(&["verify", &model, &tiny.join("config.json")]).assert().code(1);
    failure(&["verify", &tiny.join("none")], b"", 3);
}

#[test]
fn files_that_cannot_be_read_do_not_keep_others_from_being_checked() {
    let tiny = TinyModel::new();
    let (good, missing) = (tiny.converted("m.weights", &[]), tiny.join("missing"));
    for command in ["verify", "inspect"] {
        let assert = nanoembed(&[command, &missing, &good]).assert().code(3);
        let output = assert.get_output();
        assert!(String::from_utf8_lossy(&output.stderr).contains("no such file"));
        assert!(String::from_utf8_lossy(&output.stdout).contains("m.weights"), "{command}");
    }
}

#[test]
fn an_encoder_is_no_model_that_continues_texts() {
    let tiny = TinyModel::new();
    for name in ["m.weights", "m.amb"] {
        let said = failure(&["generate", "-m", &tiny.converted(name, &[]), "hello"], b"", 1);
        assert!(said.contains("continues texts") && said.contains("embed"), "{said}");
    }
}

/// A copy of the folder of a model, changed.
fn folder_with(change: impl FnOnce(&std::path::Path)) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/models/bert_cased");
    let copied = std::process::Command::new("cp")
        .args(["-r", &format!("{model}/."), folder.path().to_str().unwrap()])
        .status();
    assert!(copied.unwrap().success());
    change(folder.path());
    folder
}

#[cfg(unix)]
#[test]
fn a_folder_that_does_not_open_is_told_with_the_error_of_opening() {
    let json = |path: &std::path::Path| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    };
    let set = move |folder: &std::path::Path, key: &str, value: serde_json::Value| {
        let path = folder.join("config.json");
        let mut config = json(&path);
        config[key] = value;
        std::fs::write(path, config.to_string()).unwrap();
    };
    let remove = |path: std::path::PathBuf| std::fs::remove_file(path).unwrap();
    let good = folder_with(|_| {});
    let good = good.path().to_str().unwrap();
    assert!(stdout(&["verify", good], "").contains("the model opens"));
    assert!(stdout(&["verify", "--strict", good], "").contains("the model embeds a text"));
    let broken = [
        folder_with(|folder| {
            remove(folder.join("tokenizer.json"));
            let _ = std::fs::remove_file(folder.join("vocab.txt"));
        }),
        folder_with(|folder| set(folder, "num_hidden_layers", 7.into())),
        folder_with(|folder| set(folder, "hidden_size", 96.into())),
        folder_with(|folder| set(folder, "model_type", "umt5".into())),
        folder_with(|folder| remove(folder.join("1_Pooling/config.json"))),
        folder_with(|folder| std::fs::remove_dir_all(folder.join("2_Dense")).unwrap()),
    ];
    for folder in &broken {
        let folder = folder.path().to_str().unwrap();
        let assert = nanoembed(&["embed", "-m", folder, "hello"]).assert().failure();
        let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
        let code: u64 = said.split(['[', ']']).nth(1).unwrap().parse().unwrap();
        for strict in [&[][..], &["--strict"]] {
            let arguments = [&["verify", "--json", folder], strict].concat();
            let assert = nanoembed(&arguments).assert().code(1);
            let lines = String::from_utf8_lossy(&assert.get_output().stdout).into_owned();
            let finding = &objects(&lines)[0];
            assert_eq!(finding["code"], code, "{said}: {finding}");
            let message = finding["message"].as_str().unwrap();
            assert!(said.contains(message.rsplit(": ").next().unwrap()), "{said}: {message}");
        }
    }
}
