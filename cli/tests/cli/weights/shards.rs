//! Files of UQFF that belong together.

use std::path::Path;

use serde_json::{Value, json};

use super::{diff, read, success, worst};
use crate::weight_files::SmallLlama;
use crate::{failure, nanoembed, objects, stdout};

#[test]
fn large_files_are_cut_in_shards_that_open_together() {
    let model = SmallLlama::new();
    let out = model.join("q8-0.uqff");
    success(&["quantize", &model.model(), &out, "-t", "q8_0", "--shard-size", "20K", "--report"]);
    assert!(Path::new(&model.join("q8-2.uqff")).exists());
    let object = objects(&stdout(&["inspect", "--json", &out], "")).remove(0);
    assert!(object["shards"].as_array().unwrap().len() > 2);
    assert_eq!(object["layers"].as_array().unwrap().len(), 16);
    let report: Value = serde_json::from_slice(&read(&model.join("uqff_report.json"))).unwrap();
    assert_eq!((&report["schema"], &report["uqff_version"]), (&json!(1), &json!("1.2.0")));
    let output = &report["outputs"][0];
    assert_eq!((&output["quant"], &output["layers"]), (&json!("q8"), &json!(16)));
    assert_eq!(output["actual_counts"], json!({"q8_0": 16}));
    assert_eq!(output["shards"][1], "q8-1.uqff");
    success(&["verify", "--strict", &out]);
    assert!(worst(&diff(&model.model(), &out, &[]), 16) < 1e-4);

    // Fewer shards would leave some of these behind them, and a shard that is read is not replaced.
    let said = failure(&["quantize", &model.model(), &out, "-t", "q8_0"], b"", 2);
    assert!(said.contains("q8-1.uqff would be taken for one of these shards"), "{said}");
    let said = failure(&["migrate", &out, &model.join("q8-2.uqff")], b"", 2);
    assert!(said.contains("q8-2.uqff is read, and would be overwritten"), "{said}");
    success(&["verify", "--strict", &out]);
}

#[test]
fn the_residual_of_another_model_is_not_replaced() {
    let model = SmallLlama::new();
    let (source, a, b) = (model.model(), model.join("a-0.uqff"), model.join("b-0.uqff"));
    let quantize = |out| ["quantize", &source, out, "-t", "q8_0"];
    success(&quantize(&a));
    // The same again is the same.
    success(&quantize(&a));
    let residual = model.join("residual.safetensors");
    let own = read(&residual);
    std::fs::write(&residual, [&own[..], b" "].concat()).unwrap();
    let said = failure(&quantize(&b), b"", 2);
    assert!(said.contains("residual.safetensors belongs to another model"), "{said}");
    assert!(!Path::new(&b).exists());
    assert_eq!(read(&residual).len(), own.len() + 1);
    success(&[&quantize(&b)[..], &["--residual", &residual]].concat());
    assert_eq!(read(&residual), own);
}

#[test]
fn shards_of_two_sets_are_not_taken_for_one() {
    for to in ["uqff-1.2", "uqff-0.2"] {
        let model = SmallLlama::new();
        let shards = |name: &str, to_type: &str| {
            let folder = Path::new(&model.join(name)).to_owned();
            std::fs::create_dir(&folder).unwrap();
            let first = folder.join("m-0.uqff").to_str().unwrap().to_owned();
            let arguments = ["quantize", &model.model(), &first, "-t", to_type, "--to", to];
            success(&[&arguments[..], &["--shard-size", "20K"]].concat());
            first
        };
        let (old, new) = (shards("old", "q8_0"), shards("new", "q5_0"));
        let later = |first: &str| first.replace("m-0", "m-1");
        let out = model.join("o.safetensors");
        let refused = |first: &str| {
            for arguments in [
                &["verify", first][..],
                &["inspect", first],
                &["migrate", first, &out, "--keep-names"],
                &["dequantize", first, "-o", &out],
            ] {
                let output = nanoembed(arguments).assert().code(1).get_output().clone();
                let said = [output.stdout, output.stderr].concat();
                let said = String::from_utf8_lossy(&said).into_owned();
                assert!(said.contains("309"), "{arguments:?}: {said}");
            }
        };
        success(&["verify", &old]);
        // As a process that was killed between two shards leaves them: either may be the new one.
        let kept = std::fs::read(later(&old)).unwrap();
        std::fs::copy(later(&new), later(&old)).unwrap();
        refused(&old);
        std::fs::write(later(&old), kept).unwrap();
        success(&["verify", &old]);
        // The last one is missing.
        let last = (1..).map(|k| old.replace("m-0", &format!("m-{k}")));
        let last = last.take_while(|path| Path::new(path).exists()).last().unwrap();
        std::fs::remove_file(last).unwrap();
        refused(&old);
        // Another set takes the place of the first.
        std::fs::remove_file(Path::new(&new).with_file_name("residual.safetensors")).unwrap();
        let arguments = ["quantize", &model.model(), &new, "-t", "q8_0", "--to", to];
        success(&[&arguments[..], &["--shard-size", "20K"]].concat());
        success(&["verify", &new]);
    }
}
