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
